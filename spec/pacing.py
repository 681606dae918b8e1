"""Moves: how a cluster of paced brokers is led, one event at a time (`spec/wire/pacer.proto`).

A list of moves says everything that happens to a cluster: what ZooKeeper is asked when, which
answer, watch or message is delivered next, when time passes, which broker is killed. A file holds
one move per line.
Questions and requests have the numbers that the implementation gives them.
"""

from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec


class MoveError(ValueError):
    """A file that holds no moves; one sentence."""


class Verb(StrEnum):
    """What a move does."""

    START = "start"
    """The process of a broker runs."""
    KILL = "kill"
    """It is gone, by SIGKILL; its ZooKeeper session is not."""
    LOSE_POWER = "lose_power"
    """What the broker, which is dead, had not flushed is gone."""
    ESTABLISH = "establish"
    """The broker hears of its session."""
    END_SESSION = "end_session"
    """The broker's session of this number is over at ZooKeeper; the broker has not heard of it."""
    SESSION_LOST = "session_lost"
    """The broker hears that its session is over."""
    FORGET_SESSION = "forget_session"
    """The broker takes its session for lost, and ZooKeeper is not told."""
    SUSPEND = "suspend"
    """The broker hears that it has no connection to ZooKeeper."""
    RECONNECT = "reconnect"
    """The broker hears that it has one again, in the session that it had."""
    ASK = "ask"
    """ZooKeeper does what the broker asked; the answer is held. May be said again of a read."""
    LOSE = "lose"
    """The answer to a request will be that its outcome is unknown."""
    ANSWER = "answer"
    """The broker has the answer."""
    WATCH = "watch"
    """The broker hears of a watch that fired."""
    SEND = "send"
    """A request of the broker has reached its peer, which takes it. May be said again: a copy."""
    POST = "post"
    """A request of the broker has reached its peer, which takes it when `take` says so."""
    GREET = "greet"
    """The broker says where it takes requests; only told to brokers."""
    KEEP = "keep"
    """The peer keeps what has come; only told to brokers."""
    TAKE = "take"
    """The broker takes the request that it keeps under this number; its sender may be dead."""
    HEARD = "heard"
    """The peer's answer is back, and held."""
    RESPOND = "respond"
    """The broker has the peer's answer. May be said again: a copy."""
    FAIL = "fail"
    """The broker is told that its request got no answer."""
    INVOKE = "invoke"
    """A client begins its operation of this number."""
    REQUEST = "request"
    """A client's request has reached the broker, which takes it."""
    COMPLETED = "completed"
    """The operation of a client is over, by the answer to its request `to` or without one."""
    TICK = "tick"
    """The broker hears that time has passed."""
    EXPAND = "expand"
    """The broker, a leader, asks followers into the ISR, if any is ready."""
    TRUNCATE = "truncate"
    """The broker, a follower below level 2, does the truncation that waits."""
    AWAKEN = "awaken"
    """From now on the broker has a wrong rule."""
    CREATE = "create"
    """An administrator writes a znode."""
    SET = "set"
    """An administrator overwrites a znode."""
    DELETE = "delete"
    """An administrator deletes a znode, also an ephemeral one: its session lives on."""


class Move(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One move; fields that a verb does not need are left out."""

    verb: Verb
    step: int = 0
    """The step of the counterexample that it belongs to; 0 is the way to its first state."""
    broker: int = 0
    number: int = 0
    path: str = ""
    children: bool = False
    at_ms: int = 0
    """The broker's clock."""
    wall_ms: int = 0
    """Of a request that is taken, and of a tick: the time of the world, by which tokens live."""
    idle_ms: list[int] = []
    """The clock at the ticks before this move, of which nothing comes."""
    may: list[str] = []
    """`advance`, `shrink`: what the broker may do at this tick of its own accord."""
    topic: str = ""
    partition: int = 0
    """Of `expand` and `truncate`."""
    to: int = 0
    copy: int = 0
    """Of `post`: the number under which the peer keeps the request."""
    client: str = ""
    """The node that asked for it."""
    token: int = 0
    """The client's request that made the delegation token which this is about; 0: none."""
    method: str = ""
    body: dict[str, Any] = {}
    """Of a request: the wire message's fields; of `invoke` and `completed`: the trace's."""
    checkpoint: int = -1
    """At a start: the high watermark that the disk is to show; -1 for what it has."""
    code_level: int = 0
    inter_broker_protocol: int = 0
    """Of a start: which level the broker understands and which it speaks; 0: that of the list."""
    mutant: str = ""
    data: str = ""
    takes: list[str] = []
    """The actions that the broker (for `send`, its receiver) reports at this move."""

    def __str__(self) -> str:
        said = msgspec.to_builtins(self)
        names = [name for name in said if name not in {"verb", "step", "takes", "body", "data"}]
        return " ".join([self.verb, *(f"{name}={said[name]}" for name in names)])


class MoveList(msgspec.Struct, frozen=True, kw_only=True):
    """All that it takes to lead a cluster along one counterexample."""

    name: str
    level: int
    brokers: tuple[int, ...]
    """The brokers that host replicas."""
    controllers: tuple[int, ...]
    unclean_leader_election: bool
    mutation_quota: bool = False
    is_secured: bool = False
    """Brokers and clients prove their names, by certificates."""
    flags: dict[str, int]
    """What every broker is started with besides; the names are those of its options."""
    mutant: str
    """Empty for the protocol as it should be."""
    steps: tuple[str, ...]
    """The counterexample: `action of actor`, from step 1 on."""
    taken: int
    """How many steps of it the moves take."""
    refused: str = ""
    """Why the next one cannot be taken; empty when all are."""
    violates: str = ""
    """The property that the counterexample violates."""
    is_free: bool = False
    """The moves of a run, in which brokers do at once whatever they may.

    They have the mutant from their start on.
    """
    settles: bool = False
    """By the end of the run, all that must come to hold has had its time."""
    moves: tuple[Move, ...]


def write_moves(path: Path, listed: MoveList) -> None:
    """The file holds the list: what it is about, then one move per line."""
    head = msgspec.json.encode(msgspec.structs.replace(listed, moves=()))
    path.write_bytes(b"\n".join([head, *map(msgspec.json.encode, listed.moves)]) + b"\n")


def read_moves(path: Path) -> MoveList:
    """The list of a file; raises `MoveError`."""
    try:
        head, *lines = path.read_bytes().splitlines()
        listed = msgspec.json.decode(head, type=MoveList)
        moves = tuple(msgspec.json.decode(line, type=Move) for line in lines)
    except OSError as error:
        raise MoveError(f"{path}: {error.strerror}; name a file of moves") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise MoveError(f"{path} holds no moves: {error}") from error
    return msgspec.structs.replace(listed, moves=moves)
