"""What a session does when its connection stalls, breaks, or comes back."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import pytest

from fencepost.fault_injection.faults.zookeeper_faults import ERROR_CODES
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.network.rules import LinkRule
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
from fencepost.impl.core.types.zookeeper import (
    Create,
    Rejected,
    SetData,
    Unknown,
    WriteOp,
    Written,
    ZkError,
    Znode,
)
from fencepost.impl.shell.zookeeper.notifications import Operation
from fencepost.impl.shell.zookeeper.sessions import SessionNotification, Sessions
from fencepost.spec.vocabulary import ANY_VERSION
from fencepost.spec.zookeeper import ZooKeeperAddress
from tests.impl.shell.relay import Relay, relay_to

pytestmark = pytest.mark.zookeeper

DEADLINE_S = 10.0
TIMEOUT_MS = 1200
A = "/brokers/ids/1"
SYSTEM_ERROR = ERROR_CODES["SYSTEM_ERROR"]
Parameters = ParamSpec("Parameters")
Kind = TypeVar("Kind")


def asynchronous(
    test: Callable[Parameters, Coroutine[None, None, None]],
) -> Callable[Parameters, None]:
    @wraps(test)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 3 * DEADLINE_S))

    return run


class Core:
    """Takes events as a node does and remembers them."""

    def __init__(self, address: str) -> None:
        self.history: list[tuple[float, Event]] = []
        self.reaction: Callable[[Event], Operation | None] = lambda _event: None
        self._changed = asyncio.Event()
        self._op_id = 0
        self._queue: asyncio.Queue[SessionNotification] = asyncio.Queue()
        self.sessions = Sessions(
            ZooKeeperAddress.parse(address), TIMEOUT_MS, self._queue.put_nowait
        )
        self.task = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            notification = await self._queue.get()
            for event in self.sessions.events(notification):
                self.history.append((time.monotonic(), event))
                reaction = self.reaction(event)
                if reaction:
                    self.sessions.perform(reaction)
                self._changed.set()

    @property
    def events(self) -> list[Event]:
        return [event for _, event in self.history]

    def op_id(self) -> int:
        self._op_id += 1
        return self._op_id

    def begin_write(self, *ops: WriteOp) -> int:
        op_id = self.op_id()
        self.sessions.perform(WriteZnodes(op_id=op_id, ops=ops))
        return op_id

    async def write(self, *ops: WriteOp) -> object:
        op_id = self.begin_write(*ops)
        return (await self.answer(ZnodesWritten, op_id)).result

    async def read(self, path: str, *, watch: bool = False) -> ZnodesRead:
        op_id = self.op_id()
        self.sessions.perform(ReadZnodes(op_id=op_id, paths=(path,), watch=watch))
        return await self.answer(ZnodesRead, op_id)

    async def children(self, path: str, *, watch: bool = False) -> ChildrenListed:
        op_id = self.op_id()
        self.sessions.perform(ListChildren(op_id=op_id, paths=(path,), watch=watch))
        return await self.answer(ChildrenListed, op_id)

    async def answer(self, kind: type[Kind], op_id: int) -> Kind:
        return await self._wait(kind, lambda event: getattr(event, "op_id", None) == op_id)

    async def event(self, kind: type[Kind], count: int = 1) -> Kind:
        """The event number `count` of its kind."""
        return await self._wait(kind, lambda _event: True, count)

    async def _wait(
        self, kind: type[Kind], matches: Callable[[Event], bool], count: int = 1
    ) -> Kind:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                found = [e for e in self.events if isinstance(e, kind) and matches(e)]
                if len(found) >= count:
                    return found[count - 1]
                assert not self.task.done(), self.task
                self._changed.clear()
                await self._changed.wait()

    def time_of(self, kind: type[Event]) -> float:
        return next(at for at, event in self.history if isinstance(event, kind))


@asynccontextmanager
async def core_at(address: str) -> AsyncIterator[Core]:
    core = Core(address)
    try:
        await core.event(SessionEstablished)
        yield core
    finally:
        core.task.cancel()
        await core.sessions.close()


@asynccontextmanager
async def core_behind_relay(chroot: str) -> AsyncIterator[tuple[Core, Relay, Core]]:
    """A core whose connection can be disturbed, the relay, and a core without one."""
    server, _, folder = chroot.partition("/")
    async with (
        relay_to(server) as relay,
        core_at(f"127.0.0.1:{relay.port}/{folder}") as core,
        core_at(chroot) as other,
    ):
        yield core, relay, other


@asynchronous
async def test_a_broken_connection_suspends_the_session_and_it_comes_back(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, _):
        session_id = core.sessions.session_id
        await core.write(Create(path=A, data=b"", ephemeral=True))
        relay.cut()
        await core.event(SessionSuspended)
        relay.heal()
        reconnected = await core.event(SessionReconnected)

        assert reconnected.session_id == session_id
        read = await core.read(A)
        assert read.znodes is not None
        assert read.znodes[0].stat is not None
        assert read.znodes[0].stat.ephemeral_owner == session_id
        assert SessionLost() not in core.events


@asynchronous
async def test_an_error_of_the_server_is_told_as_a_broken_connection(
    chroot: str, links: ProxyLinks
) -> None:
    """What was asked counts as unknown, and the session comes back."""
    server, _, folder = chroot.partition("/")
    place = links.open_place(
        "confused",
        server="keeper",
        client="broker",
        upstream=server,
        protocol=WireProtocol.ZOOKEEPER,
    )
    rule = LinkRule(
        rule_id="r",
        links=frozenset({("broker", "keeper")}),
        requests_to_fail=1,
        fails_only_writes=True,
        error_code=SYSTEM_ERROR,
    )
    async with core_at(f"{place}/{folder}") as core:
        session_id = core.sessions.session_id
        await core.read(A, watch=True)
        links.add([rule])
        answer = await core.write(Create(path=A, data=b""))
        links.remove(["r"])
        reconnected = await core.event(SessionReconnected)
        kinds = [type(event) for event in core.events]

        assert answer == Unknown()
        assert kinds.index(ZnodesWritten) < kinds.index(SessionSuspended)
        assert reconnected.session_id == session_id
        assert (await core.read(A)).znodes == (Znode(path=A),)
        await core.write(Create(path=A, data=b""))
        assert (await core.event(WatchFired)).path == A
        assert SessionLost() not in core.events


@asynchronous
async def test_watches_stand_through_a_reconnect(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, other):
        await core.write(Create(path=A, data=b""))
        await core.read(A, watch=True)
        await core.children("/brokers/ids", watch=True)
        await core.read("/controller", watch=True)
        relay.cut()
        await core.event(SessionSuspended)
        relay.heal()
        await core.event(SessionReconnected)
        await core.read(A)
        assert WatchFired not in {type(event) for event in core.events}

        await other.write(SetData(path=A, data=b"x", expected_version=ANY_VERSION))
        await other.write(Create(path="/brokers/ids/2", data=b""))
        await other.write(Create(path="/controller", data=b""))
        await core.event(WatchFired, 3)

    fired = {(e.path, e.children) for e in core.events if isinstance(e, WatchFired)}
    assert fired == {(A, False), ("/brokers/ids", True), ("/controller", False)}


@asynchronous
async def test_what_changed_while_the_connection_was_broken_fires_once(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, other):
        await core.write(Create(path=A, data=b""))
        await core.read(A, watch=True)
        await core.children("/brokers/ids", watch=True)
        await core.children("/brokers/topics", watch=True)
        await core.read("/controller", watch=True)
        relay.cut()
        await core.event(SessionSuspended)
        await other.write(SetData(path=A, data=b"x", expected_version=ANY_VERSION))
        await other.write(Create(path="/brokers/ids/2", data=b""))
        await other.write(Create(path="/controller", data=b""))
        relay.heal()
        await core.event(WatchFired, 3)
        await other.write(SetData(path=A, data=b"y", expected_version=ANY_VERSION))
        await other.write(Create(path="/brokers/topics/t", data=b""))
        await core.event(WatchFired, 4)

    fired = [(e.path, e.children) for e in core.events if isinstance(e, WatchFired)]
    expected = {(A, False), ("/brokers/ids", True), ("/controller", False)}
    assert set(fired[:3]) == expected
    assert fired[3:] == [("/brokers/topics", True)]


@asynchronous
async def test_what_was_in_flight_is_unknown_before_the_core_hears_of_it(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, _):
        relay.stall()
        write = core.begin_write(Create(path=A, data=b""))
        read = core.op_id()
        core.sessions.perform(ReadZnodes(op_id=read, paths=(A,)))
        relay.cut()
        await core.event(SessionSuspended)

    suspended = core.events.index(SessionSuspended())
    assert core.events[suspended - 2 : suspended] == [
        ZnodesWritten(op_id=write, result=Unknown()),
        ZnodesRead(op_id=read, znodes=None),
    ]


@asynchronous
async def test_what_is_asked_while_suspended_is_answered_at_once(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, other):
        relay.cut()
        await core.event(SessionSuspended)
        result = await core.write(Create(path=A, data=b""))
        read = await core.read(A)
        listed = await core.children("/brokers")
        relay.heal()
        await core.event(SessionReconnected)
        await core.read(A)
        there = await other.read(A)

        assert (result, read.znodes, listed.children) == (Unknown(), None, None)
        assert there.znodes is not None
        assert there.znodes[0].stat is None


@asynchronous
async def test_a_session_without_contact_is_over_after_its_timeout(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, _):
        session_id = core.sessions.session_id
        began = time.monotonic()
        relay.stall()
        write = core.begin_write(Create(path=A, data=b""))
        await core.event(SessionLost)
        took = core.time_of(SessionLost) - began

        assert took < TIMEOUT_MS / 1000 + 0.5
        assert ZnodesWritten(op_id=write, result=Unknown()) in core.events
        relay.heal()
        established = await core.event(SessionEstablished, 2)
        assert core.sessions.session_id != session_id
        assert established is not None


@asynchronous
async def test_a_lost_session_is_not_used_again_though_the_server_would(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, other):
        session_id = core.sessions.session_id
        await core.write(Create(path=A, data=b"", ephemeral=True))
        relay.cut()
        await core.event(SessionSuspended)
        await core.event(SessionLost)
        relay.heal()
        await core.event(SessionEstablished, 2)

        assert core.sessions.session_id != session_id
        assert SessionReconnected(session_id=session_id) not in core.events
        result = await other.read(A, watch=True)
        assert result.znodes is not None
        if result.znodes[0].stat is not None:
            await other.event(WatchFired)


@asynchronous
async def test_a_forgotten_session_lives_on_at_the_server_beside_the_next_one(chroot: str) -> None:
    async with core_at(chroot) as core, core_at(chroot) as other:
        forgotten = core.sessions.session_id
        await core.write(Create(path=A, data=b"", ephemeral=True))
        core.sessions.forget()
        await core.event(SessionLost)
        await core.event(SessionEstablished, 2)
        result = await other.read(A, watch=True)

        assert core.sessions.session_id != forgotten
        assert SessionSuspended not in map(type, core.events)
        assert result.znodes is not None
        assert result.znodes[0].stat is not None
        assert result.znodes[0].stat.ephemeral_owner == forgotten
        await other.event(WatchFired)  # it ends by its timeout


@asynchronous
async def test_what_is_asked_without_a_session_is_rejected(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, _):
        late = WriteZnodes(op_id=core.op_id(), ops=(Create(path=A, data=b""),))
        core.reaction = lambda event: late if isinstance(event, SessionLost) else None
        relay.cut()
        await core.event(SessionLost)
        answer = await core.answer(ZnodesWritten, late.op_id)

        assert answer.result == Rejected(errors=(ZkError.SESSION_EXPIRED,))
        relay.heal()
        await core.event(SessionEstablished, 2)
        assert isinstance(await core.write(Create(path=A, data=b"")), Written)


@asynchronous
async def test_what_the_core_asks_on_an_answer_is_answered_before_the_suspension(
    chroot: str,
) -> None:
    async with core_behind_relay(chroot) as (core, relay, _):
        relay.stall()
        write = core.begin_write(Create(path=A, data=b""))
        back = ReadZnodes(op_id=core.op_id(), paths=(A,))

        def read_back(event: Event) -> Operation | None:
            return back if isinstance(event, ZnodesWritten) else None

        core.reaction = read_back
        relay.cut()
        await core.event(SessionSuspended)

    suspended = core.events.index(SessionSuspended())
    assert core.events[suspended - 2 : suspended] == [
        ZnodesWritten(op_id=write, result=Unknown()),
        ZnodesRead(op_id=back.op_id, znodes=None),
    ]


@asynchronous
async def test_a_core_that_asks_again_without_a_pause_is_stopped(chroot: str) -> None:
    async with core_behind_relay(chroot) as (core, relay, _):
        relay.stall()
        core.begin_write(Create(path=A, data=b""))

        def again(event: Event) -> Operation | None:
            if not isinstance(event, ZnodesWritten):
                return None
            return WriteZnodes(op_id=core.op_id(), ops=(Create(path=A, data=b""),))

        core.reaction = again
        relay.cut()
        with pytest.raises(AssertionError, match="keeps submitting operations"):
            await asyncio.wait_for(asyncio.shield(core.task), DEADLINE_S)


@asynchronous
async def test_empty_operations_are_answered_empty(chroot: str) -> None:
    async with core_at(chroot) as core:
        read, listed, written = core.op_id(), core.op_id(), core.op_id()
        core.sessions.perform(ReadZnodes(op_id=read, paths=()))
        core.sessions.perform(ListChildren(op_id=listed, paths=()))
        core.sessions.perform(WriteZnodes(op_id=written, ops=()))

        assert (await core.answer(ZnodesRead, read)).znodes == ()
        assert (await core.answer(ChildrenListed, listed)).children == ()
        result = (await core.answer(ZnodesWritten, written)).result
        assert result == Written(zxid=0, versions=())


@asynchronous
async def test_the_shell_reads_for_itself_unseen_by_the_core(chroot: str) -> None:
    async with core_at(chroot) as core:
        await core.write(Create(path=A, data=b"here"))
        seen = len(core.events)
        answer = await core.sessions.read(A)

        assert answer.znodes is not None
        assert answer.znodes[0].data == b"here"
        assert len(core.events) == seen


@asynchronous
async def test_a_closed_session_takes_its_ephemerals_along(chroot: str) -> None:
    async with core_at(chroot) as other:
        async with core_at(chroot) as core:
            await core.write(Create(path=A, data=b"", ephemeral=True))
        read = await other.read(A)

        assert read.znodes is not None
        assert read.znodes[0].stat is None
