"""Records a simulated cluster as moves that brokers as processes can repeat (`spec/pacing.py`).

The moves repeat what the scheduler of the simulator, or a schedule of steps, decides: which
question is answered when, which message arrives where, which broker dies, which session ends. Ticks
without effects are added to the next move of their broker. `obstacle` names the first thing that no
move can repeat.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import to_builtins

from fencepost.fault_injection.workload.config_operations import token_path
from fencepost.impl.core.types.config_messages import CreateDelegationTokenResponse
from fencepost.impl.core.types.effects import ActionTaken, Effect, Reply, ReplyRecords
from fencepost.impl.core.types.events import (
    ChildrenListed,
    Event,
    LogFailed,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    SessionSuspended,
    Tick,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
)
from fencepost.impl.core.types.messages import Response
from fencepost.impl.core.types.scripts import Answer, Ask, is_unknown
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData
from fencepost.impl.paced import told as told_action
from fencepost.impl.sim.engine.clock import VirtualClock
from fencepost.impl.trace_lines import Line
from fencepost.spec.pacing import Move, Verb
from fencepost.spec.vocabulary import BrokerId, BrokerVersion, Outcome, SessionId

NEVER_MS = 86_400_000
"""The timeouts of processes that follow moves: time passes for them when a move says so."""


class RecordedProcess(Protocol):
    """What the recorder has to know of a broker's process."""

    @property
    def broker_id(self) -> BrokerId:
        """The broker of which it is one incarnation."""

    @property
    def is_alive(self) -> bool:
        """False once the process has died."""

    @property
    def clock(self) -> VirtualClock:
        """Gives the time of each move."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestOrigin:
    """The sender of a request: a broker's process, or a client."""

    number: int
    """The number of the request, as its sender counts."""
    process: RecordedProcess | None = None
    client: str = ""


@dataclass(slots=True)
class _ClientRequests:
    """What clients have asked for so far."""

    sent: int = 0
    answering: int = 0
    """The request that is being answered."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Path of a delegation token -> the request that made it."""


class MoveRecorder:
    """The moves of one cluster, in order."""

    def __init__(self, *, is_for_processes: bool = False) -> None:
        """With `is_for_processes`, chance does nothing that no move could repeat.

        The network loses the requests that processes could not deliver, and a death leaves on the
        disk all that a step has written.
        """
        self.is_for_processes = is_for_processes
        self.step = 0
        """The step of a counterexample that the next moves belong to; 0: none."""
        self.settles = False
        """True when the cluster had its time to heal after the last fault."""
        self.obstacle = ""
        """Why processes cannot make these moves; empty when they can."""
        self._moves: list[Move] = []
        self._late: dict[int, list[Move]] = {}
        """Requests that leave before the move of this place, the death of their sender."""
        self._births: dict[int, int] = {}
        """Broker -> the place of its last start."""
        self._deaths: dict[int, int] = {}
        """The `id` of a process that has died -> the place of that."""
        self._dead: list[RecordedProcess] = []
        """Kept, so that no new process gets their `id`."""
        self._copies = 0
        self._idle: dict[int, list[int]] = {}
        """The `id` of a process -> the ticks since its last move."""
        self._origins: dict[tuple[int, int], RequestOrigin | None] = {}
        """The `id` of a process and a token -> the sender of that request."""
        self._clients = _ClientRequests()
        self._established: dict[int, int] = {}
        """Broker -> how many sessions it was told of."""
        self._sessions: dict[SessionId, tuple[int, int]] = {}
        """Session -> its broker, and which of the sessions of that broker it is."""

    @property
    def moves(self) -> tuple[Move, ...]:
        """In order."""
        places = enumerate(self._moves)
        return tuple(one for n, move in places for one in (*self._late.get(n, ()), move))

    def note(self, verb: Verb, **fields: Any) -> Move:  # noqa: ANN401 - fields of `Move`
        """Append a move."""
        move = Move(verb=verb, step=self.step, **fields)
        self._moves.append(move)
        return move

    # Brokers

    def started(
        self, broker_id: int, version: BrokerVersion | None = None, checkpoint: int = -1
    ) -> None:
        """Record the start of a process of this broker; `checkpoint` as in `Move`.

        None is the version with which all brokers begin.
        """
        self._births[broker_id] = len(self._moves)
        code, protocol = version or (0, 0)
        self.note(
            Verb.START,
            broker=broker_id,
            checkpoint=checkpoint,
            code_level=int(code),
            inter_broker_protocol=int(protocol),
        )

    def died(self, process: RecordedProcess) -> None:
        """Record the death of the process."""
        self._deaths[id(process)] = len(self._moves)
        self._idle.pop(id(process), None)
        self._dead.append(process)
        self.note(Verb.KILL, broker=process.broker_id)

    def lost_power(self, broker_id: int) -> None:
        """Record that the broker lost what it had not flushed."""
        self.note(Verb.LOSE_POWER, broker=broker_id)

    def asked(self, process: RecordedProcess, ask: Ask) -> None:
        """Record that ZooKeeper has done what the broker asked."""
        self.note(Verb.ASK, broker=process.broker_id, number=ask.op_id)

    def session_ended(self, session_id: SessionId) -> None:
        """Record the end of the session, unless no broker was told of it."""
        owner = self._sessions.pop(session_id, None)
        if owner is not None:
            self.note(Verb.END_SESSION, broker=owner[0], number=owner[1])

    def is_lost(self, receiver: int, origin: RequestOrigin | None) -> bool:
        """True of a dead broker's request that would reach a later start of its receiver."""
        sender = origin.process if origin is not None else None
        if not self.is_for_processes or sender is None or sender.is_alive:
            return False
        return self._births[receiver] > self._deaths[id(sender)]

    def arrived(self, process: RecordedProcess, token: int, origin: RequestOrigin | None) -> None:
        """Remember the sender of the request that the broker takes under this token."""
        self._origins[id(process), token] = origin

    def stepped(
        self,
        process: RecordedProcess,
        event: Event,
        effects: Sequence[Effect],
        **told: Any,  # noqa: ANN401 - fields of `Move`
    ) -> None:
        """Record the event that the broker took, with all actions that the step reports.

        `told` are fields of the move that the event alone does not decide.
        """
        if isinstance(event, Tick) and not effects and not told:
            self._idle.setdefault(id(process), []).append(process.clock.now_ms)
            return
        move = self._taken(process, event)
        if move is None:
            return
        for name, value in told.items():
            setattr(move, name, value)
        move.idle_ms = self._idle.pop(id(process), [])
        move.takes = [told_action(effect) for effect in effects if isinstance(effect, ActionTaken)]
        for effect in effects:
            if isinstance(effect, Reply | ReplyRecords):
                origin = self._origins.pop((id(process), effect.token), None)
                self._learn_token(origin, effect)
                self._replied(origin)

    def _taken(self, process: RecordedProcess, event: Event) -> Move | None:
        own = {"broker": int(process.broker_id), "at_ms": process.clock.now_ms}
        match event:
            case Tick(wall_ms=wall_ms):
                return self.note(Verb.TICK, wall_ms=wall_ms, **own)
            case ZnodesRead() | ChildrenListed() | ZnodesWritten():
                return self._answered(event, own)
            case WatchFired(path=path, children=children):
                return self.note(Verb.WATCH, path=path, children=children, **own)
            case RequestReceived():
                return self._taken_in(self._origins.get((id(process), event.token)), event, own)
            case ResponseReceived(request_id=number):
                return self.note(Verb.RESPOND, number=number, **own)
            case RequestFailed(request_id=number):
                return self.note(Verb.FAIL, number=number, **own)
            case LogFailed():
                self.obstacle = self.obstacle or "a disk fails, and no move does that"
                return None
            case _:
                return self._of_session(event, own)

    def _answered(self, event: Answer, own: dict[str, int]) -> Move:
        if is_unknown(event):
            self.note(Verb.LOSE, broker=own["broker"], number=event.op_id)
        return self.note(Verb.ANSWER, number=event.op_id, **own)

    def _of_session(self, event: Event, own: dict[str, int]) -> Move:
        match event:
            case SessionEstablished(session_id=session_id):
                return self._begun(session_id, own)
            case SessionLost():
                self._forget(own["broker"])
                return self.note(Verb.SESSION_LOST, **own)
            case SessionSuspended():
                return self.note(Verb.SUSPEND, **own)
            case _:
                assert isinstance(event, SessionReconnected), event
                return self.note(Verb.RECONNECT, **own)

    def _taken_in(
        self, origin: RequestOrigin | None, event: RequestReceived, own: dict[str, int]
    ) -> Move | None:
        if origin is None:
            self.obstacle = self.obstacle or "a request has no known sender"
            return None
        sender, own = origin.process, {**own, "wall_ms": event.wall_ms}
        if sender is None:
            method = type(event.request).__name__.removesuffix("Request")
            fields = to_builtins(event.request).items()
            body = {name: [*v] if isinstance(v, tuple) else v for name, v in fields}  # as in a file
            given = {"number": origin.number, "client": origin.client, "method": method}
            token = self._clients.tokens.get(token_path(str(body.get("token_id", ""))), 0)
            return self.note(Verb.REQUEST, body=body, token=token, **given, **own)
        if not sender.is_alive:
            return self._arrived_late(sender, origin.number, own)
        own = {**own, "broker": int(sender.broker_id), "to": own["broker"]}
        return self.note(Verb.SEND, number=origin.number, **own)

    def _arrived_late(
        self, sender: RecordedProcess, number: int, own: dict[str, int]
    ) -> Move | None:
        """Record the request of a dead broker, which left before its death."""
        died = self._deaths[id(sender)]
        if self._births[own["broker"]] > died:
            self.obstacle = self.obstacle or "a dead broker's request comes to a later start"
            return None
        self._copies += 1
        left = Move(
            verb=Verb.POST,
            broker=int(sender.broker_id),
            number=number,
            to=own["broker"],
            copy=self._copies,
        )
        self._late.setdefault(died, []).append(left)
        return self.note(Verb.TAKE, number=self._copies, **own)

    def _learn_token(self, origin: RequestOrigin | None, effect: Reply | ReplyRecords) -> None:
        """Note the client's request that has made a token."""
        response = effect.response if isinstance(effect, Reply) else None
        if origin and origin.client and isinstance(response, CreateDelegationTokenResponse):
            self._clients.tokens |= {token_path(response.token_id): origin.number}
            self._clients.tokens.pop(token_path(""), None)

    def _replied(self, origin: RequestOrigin | None) -> None:
        """Record that the answer has left: from now on it can be delivered at any time."""
        if origin is None:
            return
        if origin.process is None:
            self.note(Verb.HEARD, client=origin.client, number=origin.number)
        elif origin.process.is_alive:
            self.note(Verb.HEARD, broker=origin.process.broker_id, number=origin.number)

    def _begun(self, session_id: SessionId, own: dict[str, int]) -> Move:
        broker_id = own["broker"]
        number = self._established[broker_id] = self._established.get(broker_id, 0) + 1
        self._sessions[session_id] = broker_id, number
        return self.note(Verb.ESTABLISH, number=number, **own)

    def _forget(self, broker_id: int) -> None:
        """Record that only the broker takes the session for lost, if ZooKeeper still has it."""
        if (broker_id, self._established.get(broker_id, 0)) in self._sessions.values():
            self.note(Verb.FORGET_SESSION, broker=broker_id)

    # Clients

    def asks(self, client: str) -> RequestOrigin:
        """A client sends a request; returns its number."""
        self._clients.sent += 1
        return RequestOrigin(number=self._clients.sent, client=client)

    def hears(self, origin: RequestOrigin, response: Response | None) -> None:
        """The client has the answer, or has waited long enough."""
        self._clients.answering = origin.number if response is not None else 0

    def invoked(self, client: str, line: Line) -> None:
        """Record the invocation of an operation."""
        body = {name: value for name, value in line.items() if name not in ("op_id", "action")}
        given = {"number": line["op_id"], "method": line["action"]}
        token = self._clients.tokens.get(str(line.get("path", "")), 0)
        self.note(Verb.INVOKE, client=client, body=body, token=token, **given)

    def completed(self, client: str, line: Line) -> None:
        """Record the completion, by the answer to the last request or without one."""
        body = {}
        if line["outcome"] is not Outcome.OK:
            body = {"outcome": line["outcome"].value, "error_code": str(line.get("error_code"))}
        given = {"number": line["op_id"], "method": line["action"], "to": self._clients.answering}
        self.note(Verb.COMPLETED, client=client, body=body, **given)

    # Writes by hand

    def written(self, op: Create | Delete | SetData) -> None:
        """Record a write of a znode that no broker made."""
        verbs = {Create: Verb.CREATE, Delete: Verb.DELETE, SetData: Verb.SET}
        data = "" if isinstance(op, Delete) else op.data.decode()
        self.note(verbs[type(op)], path=op.path, data=data)
