"""UncleanOnlyIfIsrDead: no leader outside the ISR while a member of the ISR is alive.

An election of such a leader was needless when a member of the ISR was registered as it was written,
and its author either was the controller no more, or could have known: the member had traced its
registration before the author read the state on which it decided, and a controller that reads the
live brokers after that sees it. Stepped runs are judged by it; elsewhere its premise is rare.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    LeaderAndIsr,
    MalformedZnodeError,
    parse_leader_and_isr,
    partition_of,
)

UNCLEAN_ONLY_IF_ISR_DEAD = "UncleanOnlyIfIsrDead"


@dataclass(slots=True)
class _Znodes:
    """What ZooKeeper held so far."""

    registered: dict[int, int] = field(default_factory=dict)
    """Broker -> the zxid of its registration."""
    holder: int | None = None
    """The session that has the office."""
    states: dict[str, LeaderAndIsr] = field(default_factory=dict)

    def take(self, line: TraceEvent) -> tuple[LeaderAndIsr, LeaderAndIsr] | None:
        """One line of its log; the state before and after, of a write of one."""
        path = line.path or ""
        if partition_of(path) is None:
            self._take_ephemeral(path, line)
            return None
        before = self.states.pop(path, None)
        if line.action != "Delete" and line.data is not None:
            with suppress(MalformedZnodeError):
                after = self.states[path] = parse_leader_and_isr(path, line.data.encode())
                return (before, after) if before is not None else None
        return None

    def _take_ephemeral(self, path: str, line: TraceEvent) -> None:
        """The controller and the registered brokers; an overwritten znode stays its owner's."""
        if line.action not in ("Create", "Delete"):
            return
        is_there = line.action == "Create"
        if path == CONTROLLER:
            self.holder = line.session_id if is_there else None
        parent, _, name = path.rpartition("/")
        if parent == BROKER_IDS and name.isdecimal():
            self.registered.pop(int(name), None)
            if is_there and line.zxid is not None:
                self.registered[int(name)] = line.zxid


def judge_elections(events: Sequence[TraceEvent]) -> tuple[int, tuple[str, ...]]:
    """How many leaders were elected, and one sentence per needless election."""
    znodes = _Znodes()
    elections, needless = 0, []
    lines = [event for event in events if event.kind is Kind.ZOOKEEPER and event.zxid is not None]
    for line in sorted(lines, key=lambda line: (line.zxid or 0, line.seq)):
        written = znodes.take(line)
        if written is None:
            continue
        before, after = written
        if after.leader_epoch == before.leader_epoch or after.leader < 0:
            continue
        elections += 1
        if after.leader in before.isr:
            continue
        back = {m: znodes.registered[m] for m in before.isr if m in znodes.registered}
        if znodes.holder == line.session_id:
            heard_ns = _heard_ns(events, line, after)
            back = {m: zxid for m, zxid in back.items() if _told(events, m, zxid, heard_ns)}
        if back:
            needless.append(
                f"broker {after.leader} was elected in {line.path} though broker {min(back)} of "
                "the ISR is there"
            )
    return elections, tuple(needless)


def _told(events: Sequence[TraceEvent], member: int, zxid: int, before_ns: int | None) -> bool:
    """The member had told of this registration of its own by then."""
    return before_ns is not None and any(
        event.action == Action.REGISTER_BROKER
        and event.node == f"broker-{member}"
        and event.zxid == zxid
        and event.mono_ns < before_ns
        for event in events
    )


def _heard_ns(events: Sequence[TraceEvent], line: TraceEvent, state: LeaderAndIsr) -> int | None:
    """When the author of the election heard the state that it rests on."""
    partition = partition_of(line.path or "")
    elected = next(
        (
            event
            for event in events
            if event.action == Action.ELECT_LEADER
            and partition == (event.topic, event.partition)
            and event.leader == state.leader
            and event.leader_epoch == state.leader_epoch
        ),
        None,
    )
    if elected is None:
        return None
    reads = [
        event.mono_ns
        for event in events
        if event.kind is Kind.COMPLETE
        and event.action == "ReadLeaderAndIsr"
        and event.path == line.path
        and (event.node, event.incarnation) == (elected.node, elected.incarnation)
        and event.seq < elected.seq
    ]
    return max(reads, default=None)
