"""Executes moves on one broker process: every event and request is held until a move releases it.

The stepped run in the simulator does the same to a simulated broker. Here ZooKeeper, requests and
logs are real, and the clock stands still between moves (`spec/pacing.py`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import structs

from fencepost.impl.core.node import Node
from fencepost.impl.core.types.effects import ActionTaken, Send
from fencepost.impl.core.types.events import (
    ChildrenListed,
    Event,
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
from fencepost.impl.core.types.scripts import Answer, Ask, unknown
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.paced import PacedPermissions, expand_now, told, truncate_now
from fencepost.spec.pacing import Move, Verb
from fencepost.spec.vocabulary import SessionId
from fencepost.spec.znodes import TopicPartition


class CannotMoveError(Exception):
    """The move needs an event or request that does not exist or did not come in time."""


class SteppedProcess(Protocol):
    """The process that the moves drive."""

    @property
    def core(self) -> Node:
        """The node."""

    async def step(self, event: Event) -> None:
        """Step the core with the event and perform or hold its effects."""

    def ask(self, ask: Ask) -> None:
        """Send the operation to ZooKeeper; the answer arrives as an event."""

    async def send(self, send: Send, address: str) -> None:
        """Send the request to `address`; the response arrives as an event."""

    def awaken(self, mutant: MutantName) -> None:
        """Activate a mutant in the core and record it in the trace."""


@dataclass(slots=True, eq=False)
class _HeldAsk:
    ask: Ask
    answer: Answer | None = None
    is_told: bool = False
    """The core has an answer; ZooKeeper may still execute the operation."""


@dataclass(slots=True, eq=False)
class _HeldSend:
    send: Send
    answer: ResponseReceived | RequestFailed | None = None


@dataclass(slots=True)
class _Held:
    """Held operations, requests and events."""

    asks: dict[int, _HeldAsk] = field(default_factory=dict)
    sends: dict[int, _HeldSend] = field(default_factory=dict)
    requests: list[RequestReceived] = field(default_factory=list)
    kept: dict[int, RequestReceived] = field(default_factory=dict)
    watches: list[WatchFired] = field(default_factory=list)
    sessions: list[SessionEstablished | SessionLost] = field(default_factory=list)


class MoveExecutor:
    """Holds the events of one broker and releases them by moves."""

    def __init__(self, broker: SteppedProcess) -> None:
        self.now_ms = 0
        """The core's clock."""
        self.pace = PacedPermissions()
        self._broker = broker
        self._held = _Held()
        self._changed = asyncio.Event()
        self._told: list[str] = []
        self._session_id = SessionId(0)

    # What the process hands over

    def note(self, taken: ActionTaken) -> None:
        """Record an action for the answer to the current move."""
        self._told.append(told(taken))

    def hold_ask(self, ask: Ask) -> None:
        """Hold a ZooKeeper operation of the core."""
        self._held.asks[ask.op_id] = _HeldAsk(ask)

    def hold_send(self, send: Send) -> None:
        """Hold a request of the core."""
        self._held.sends[send.request_id] = _HeldSend(send)

    def hold(self, event: Event) -> None:
        """Hold an event for the core."""
        held = self._held
        match event:
            case ZnodesRead() | ChildrenListed() | ZnodesWritten():
                if event.op_id in held.asks:
                    held.asks[event.op_id].answer = event
            case ResponseReceived() | RequestFailed():
                held.sends[event.request_id].answer = event
            case RequestReceived():
                held.requests.append(event)
            case WatchFired():
                held.watches.append(event)
            case SessionEstablished() | SessionLost():
                held.sessions.append(event)
            case _:
                return
        self._changed.set()

    # Moves

    async def take(self, move: Move, deadline_s: float, address: str) -> list[str]:
        """Execute the move and return the actions of the core; raises `CannotMoveError`.

        `address` is that of the receiver of a request.
        """
        self._told = []
        try:
            async with asyncio.timeout(deadline_s):
                await self._take(move, address)
        except TimeoutError:
            raise CannotMoveError(
                f"the awaited event did not come within {deadline_s:g} s"
            ) from None
        return self._told

    async def _take(self, move: Move, address: str) -> None:
        match move.verb:
            case Verb.ASK:
                await self._ask(self._held_ask(move))
            case Verb.LOSE:
                held = self._held_ask(move)
                held.answer = unknown(held.ask)
            case Verb.SEND:
                held_send = self._held_send(move)
                held_send.answer = None
                await self._broker.send(held_send.send, address)
            case Verb.HEARD:
                await self._heard(move)
            case Verb.GREET:
                return
            case Verb.KEEP:
                self._held.kept[move.number] = await self._request(move)
            case Verb.AWAKEN:
                self._broker.awaken(_mutant(move.mutant))
            case _:
                for idle_ms in move.idle_ms:
                    self.now_ms = idle_ms
                    await self._broker.step(Tick())
                self.now_ms = max(self.now_ms, move.at_ms)
                await self._step(move)

    async def _step(self, move: Move) -> None:
        """Execute a move that steps the core."""
        match move.verb:
            case Verb.ANSWER:
                await self._broker.step(self._answer(move))
            case Verb.WATCH:
                await self._broker.step(await self._watch(move))
            case Verb.REQUEST | Verb.TAKE:
                request = await self._request(move)
                await self._broker.step(structs.replace(request, wall_ms=move.wall_ms))
            case Verb.RESPOND:
                await self._broker.step(await self._heard(move))
            case Verb.FAIL:
                send = self._held_send(move).send
                await self._broker.step(
                    RequestFailed(request_id=send.request_id, to=send.to, request=send.request)
                )
            case Verb.ESTABLISH | Verb.SESSION_LOST:
                await self._session(move)
            case Verb.SUSPEND | Verb.RECONNECT:
                await self._broker.step(self._connection(move))
            case Verb.TICK:
                self.pace.allow(advance="advance" in move.may, shrink="shrink" in move.may)
                await self._broker.step(Tick(wall_ms=move.wall_ms))
                self.pace.allow()
            case Verb.EXPAND | Verb.TRUNCATE:
                await self._urge(move)
            case _:
                raise CannotMoveError(f"a broker makes no move {move.verb}")

    async def _ask(self, held: _HeldAsk) -> None:
        held.answer = None
        self._broker.ask(held.ask)
        await self._await(lambda: held.answer is not None)

    def _held_ask(self, move: Move) -> _HeldAsk:
        held = self._held.asks.get(move.number)
        if held is None:
            raise CannotMoveError(f"the broker has not asked ZooKeeper question {move.number}")
        return held

    def _held_send(self, move: Move) -> _HeldSend:
        held = self._held.sends.get(move.number)
        if held is None:
            raise CannotMoveError(f"the broker has no request {move.number} to send")
        return held

    def _answer(self, move: Move) -> Answer:
        held = self._held_ask(move)
        if held.answer is None or held.is_told:
            raise CannotMoveError(f"ZooKeeper was not asked question {move.number}")
        held.is_told = True
        return held.answer

    async def _watch(self, move: Move) -> WatchFired:
        fired = WatchFired(path=move.path, children=move.children)
        await self._await(lambda: fired in self._held.watches)
        self._held.watches.remove(fired)
        return fired

    async def _request(self, move: Move) -> RequestReceived:
        """The request kept under that number, or the oldest held one."""
        if move.verb is not Verb.TAKE:
            await self._await(lambda: bool(self._held.requests))
            return self._held.requests.pop(0)
        if move.number not in self._held.kept:
            raise CannotMoveError(f"the broker keeps no request {move.number}")
        return self._held.kept.pop(move.number)

    def _connection(self, move: Move) -> SessionSuspended | SessionReconnected:
        """The event for the core; the real connection stays open."""
        if move.verb is Verb.SUSPEND:
            return SessionSuspended()
        return SessionReconnected(session_id=self._session_id)

    async def _heard(self, move: Move) -> ResponseReceived:
        held = self._held_send(move)
        await self._await(lambda: held.answer is not None)
        if not isinstance(held.answer, ResponseReceived):
            raise CannotMoveError(f"request {move.number} to broker {held.send.to} failed")
        return held.answer

    async def _session(self, move: Move) -> None:
        await self._await(lambda: bool(self._held.sessions))
        event = self._held.sessions.pop(0)
        if isinstance(event, SessionEstablished) != (move.verb is Verb.ESTABLISH):
            raise CannotMoveError(f"the session took another turn: {type(event).__name__}")
        if isinstance(event, SessionEstablished):
            self._session_id = event.session_id
        await self._broker.step(event)

    async def _urge(self, move: Move) -> None:
        partition = TopicPartition(move.topic, move.partition)
        if move.verb is Verb.EXPAND:
            expand_now(self._broker.core, self.pace, partition)
        else:
            truncate_now(self._broker.core, partition)
        await self._broker.step(SessionReconnected(session_id=SessionId(0)))

    async def _await(self, is_there: Callable[[], bool]) -> None:
        while not is_there():
            self._changed.clear()
            await self._changed.wait()


def _mutant(name: str) -> MutantName:
    try:
        return mutant_name(name)
    except ValueError:
        raise CannotMoveError(f"there is no mutant {name!r}") from None
