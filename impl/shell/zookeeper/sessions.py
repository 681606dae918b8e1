"""The ZooKeeper sessions of a node, and the order of their events for the core.

A notification becomes events only when the node takes it from its inbox. All operations in flight
are answered before the core gets `SessionSuspended` or `SessionLost`, and none is carried over to
the next session (ZK-006).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import (
    ChildrenListed,
    Event,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    SessionSuspended,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
)
from fencepost.impl.core.types.scripts import unknown
from fencepost.impl.core.types.zookeeper import Rejected, Written, ZkError
from fencepost.impl.shell.zookeeper.client import KazooSession, answer, in_contact, prepared
from fencepost.impl.shell.zookeeper.notifications import (
    Answer,
    Answered,
    Connected,
    Disconnected,
    Expired,
    Notification,
    Operation,
    Post,
    Triggered,
)
from fencepost.spec.vocabulary import SessionId
from fencepost.spec.zookeeper import ZooKeeperAddress, ZooKeeperCredentials

ANSWER_ROUNDS_MAX = 100
"""Rounds in which the core may submit new operations while old ones are answered as unknown."""
CONTACTS_PER_TIMEOUT = 6
CLOSE_TIMEOUT_S = 2.0
_PREPARE = -1
_CONTACT = -2
_FIRST_OWN_OP = -3


class State(Enum):
    """The session state as the core knows it."""

    NONE = auto()
    ESTABLISHED = auto()
    SUSPENDED = auto()


@dataclass(frozen=True, slots=True)
class AnswersReady:
    """Answers are queued that need no server."""


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The session timeout has passed since the last contact."""

    session: object


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A fault: treat the session as lost, though ZooKeeper keeps it."""

    session: object


SessionNotification = Notification | AnswersReady | DeadlinePassed | Forgotten


class Sessions:
    """Performs ZooKeeper operations under the session that the core knows."""

    def __init__(
        self,
        address: ZooKeeperAddress,
        timeout_ms: int,
        put: Callable[[SessionNotification], None],
        credentials: ZooKeeperCredentials | None = None,
        tls: Path | None = None,
    ) -> None:
        """Notifications are passed to `put` on the running loop; pass them to `events` in order.

        `tls` is the folder of the identity for ZooKeeper; None: connections are plain.
        """
        self._address = address
        self._tls = tls
        self._credentials = credentials
        self._timeout_ms = timeout_ms
        self._put = put
        self._loop = asyncio.get_running_loop()
        self._state = State.NONE
        self._is_closed = False
        self._session_id = SessionId(0)
        self._in_flight: dict[int, Operation] = {}
        self._answers: deque[Answer] = deque()
        self._own: dict[int, asyncio.Future[ZnodesRead]] = {}
        self._own_op_id = _FIRST_OWN_OP
        self._contact = time.monotonic()
        self._next_look = self._contact
        self._timer: asyncio.TimerHandle | None = None
        self._session = self._open()
        self._watch_contact()

    @property
    def session_id(self) -> SessionId:
        """Id of the session that the core knows; 0 without one."""
        return self._session_id

    @property
    def identity(self) -> tuple[SessionId, bytes]:
        """Session id and password, with which another client can take over the session."""
        return self._session_id, self._session.password

    def perform(self, operation: Operation) -> None:
        """Submit the operation; its answer comes out of `events`."""
        if self._state is not State.ESTABLISHED or _is_empty(operation):
            self._answer_at_once(operation)
            return
        self._in_flight[operation.op_id] = operation
        self._session.submit(operation)

    async def read(self, path: str) -> ZnodesRead:
        """Read one znode for the shell, not for the core."""
        self._own_op_id -= 1
        future: asyncio.Future[ZnodesRead] = self._loop.create_future()
        self._own[self._own_op_id] = future
        self.perform(ReadZnodes(op_id=self._own_op_id, paths=(path,)))
        return await future

    def forget(self) -> None:
        """Treat the session as lost and open another, without closing it in ZooKeeper.

        Its ephemerals stay until its timeout.
        """
        self._put(Forgotten(self._session))

    async def close(self) -> None:
        """Close the session and with it its ephemerals, if ZooKeeper answers in time.

        No event follows, and no other session.
        """
        self._is_closed = True
        if self._timer:
            self._timer.cancel()
        await asyncio.to_thread(self._session.retire().join, CLOSE_TIMEOUT_S)

    def events(self, notification: SessionNotification) -> Iterator[Event]:
        """The events for the core; it must take each before the next is drawn."""
        if isinstance(notification, AnswersReady):
            yield from self._take_answers()
            return
        if self._is_closed or notification.session is not self._session:
            return  # a late notification of an earlier session
        match notification:
            case Connected():
                yield from self._connected(notification)
            case Disconnected():
                yield from self._disconnected()
            case Expired() | DeadlinePassed():
                yield from self._over()
            case Forgotten():
                self._session.hang_up()
                yield from self._over()
            case Triggered(path=path, children=children):
                if self._state is not State.NONE:
                    yield WatchFired(path=path, children=children)
            case Answered():
                yield from self._answered(notification)

    def _open(self) -> KazooSession:
        post = self._from_any_thread(self._put)
        return KazooSession(self._address, self._timeout_ms, post, self._credentials, self._tls)

    def _from_any_thread(self, put: Callable[[SessionNotification], None]) -> Post:
        def post(notification: Notification) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(put, notification)

        return post

    def _connected(self, notification: Connected) -> Iterator[Event]:
        self._session.ask_for_contact(_CONTACT)
        if self._state is State.SUSPENDED:
            yield from self._take_answers()
            self._state = State.ESTABLISHED
            yield SessionReconnected(session_id=notification.session_id)
        elif self._state is State.NONE:
            self._session_id = notification.session_id
            self._session.prepare(_PREPARE)

    def _disconnected(self) -> Iterator[Event]:
        if self._state is not State.ESTABLISHED:
            return
        self._state = State.SUSPENDED
        yield from self._answer_in_flight()
        yield SessionSuspended()

    def _over(self) -> Iterator[Event]:
        known, self._state = self._state, State.NONE
        yield from self._answer_in_flight()
        self._session.retire()
        self._session_id = SessionId(0)
        self._session = self._open()
        if known is not State.NONE:
            yield SessionLost()

    def _answered(self, notification: Answered) -> Iterator[Event]:
        if in_contact(notification):
            self._contact = max(self._contact, notification.sent_at)
        if notification.op_id == _PREPARE:
            if prepared(notification):
                self._state = State.ESTABLISHED
                yield SessionEstablished(session_id=self._session_id)
            return
        operation = self._in_flight.pop(notification.op_id, None)
        if operation:
            yield from self._deliver(answer(operation, notification))

    def _answer_in_flight(self) -> Iterator[Event]:
        """Answer all operations in flight, and those that the core submits in response."""
        self._answers.extend(unknown(operation) for operation in self._in_flight.values())
        self._in_flight.clear()
        for _ in range(ANSWER_ROUNDS_MAX):
            if not self._answers:
                return
            yield from self._take_answers()
        raise AssertionError("the core keeps submitting operations while there is no session")

    def _take_answers(self) -> Iterator[Event]:
        for _ in range(len(self._answers)):
            yield from self._deliver(self._answers.popleft())

    def _deliver(self, event: Answer) -> Iterator[Event]:
        future = self._own.pop(event.op_id, None)
        if future is None:
            yield event
        elif isinstance(event, ZnodesRead) and not future.done():
            future.set_result(event)

    def _answer_at_once(self, operation: Operation) -> None:
        if self._state is State.NONE:
            self._answers.append(_expired(operation))
        elif self._state is State.SUSPENDED:
            self._answers.append(unknown(operation))
        else:
            self._answers.append(_nothing(operation))
        self._put(AnswersReady())

    def _watch_contact(self) -> None:
        """Ping ZooKeeper; without contact for a session timeout, the session counts as expired.

        kazoo does not report LOST while it is disconnected.
        """
        now, timeout_s = time.monotonic(), self._timeout_ms / 1000
        pause = timeout_s / CONTACTS_PER_TIMEOUT
        if self._state is State.ESTABLISHED and now > self._next_look + pause:
            # This process was busy and sent no ping: the server has until the next look to answer.
            self._contact = max(self._contact, now + pause / 2 - timeout_s)
        if self._state is not State.NONE:
            if now >= self._contact + timeout_s:
                self._put(DeadlinePassed(self._session))
            elif self._state is State.ESTABLISHED:
                self._session.ask_for_contact(_CONTACT)
        if self._state is State.SUSPENDED:
            pause = min(pause, max(0.0, self._contact + timeout_s - now))
        self._next_look = now + pause
        self._timer = self._loop.call_later(pause, self._watch_contact)


def _is_empty(operation: Operation) -> bool:
    match operation:
        case ReadZnodes(paths=()) | ListChildren(paths=()) | WriteZnodes(ops=()):
            return True
        case _:
            return False


def _expired(operation: Operation) -> Answer:
    if not isinstance(operation, WriteZnodes):
        return unknown(operation)
    return ZnodesWritten(op_id=operation.op_id, result=Rejected(errors=(ZkError.SESSION_EXPIRED,)))


def _nothing(operation: Operation) -> Answer:
    match operation:
        case ReadZnodes(op_id=op_id):
            return ZnodesRead(op_id=op_id, znodes=())
        case ListChildren(op_id=op_id):
            return ChildrenListed(op_id=op_id, children=())
        case WriteZnodes(op_id=op_id):
            return ZnodesWritten(op_id=op_id, result=Written(zxid=0, versions=()))
