"""A broker's connection to the simulated ZooKeeper: FIFO both ways, delayed, and breakable.

When the connection breaks, what was asked is answered as unknown; a request on its way may still
reach the server afterwards, as it may with a real socket.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import (
    ChildrenListed,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    SessionSuspended,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
    ZooKeeperEvent,
)
from fencepost.impl.core.types.node_session import NO_SESSION
from fencepost.impl.core.types.scripts import Answer, Ask, unknown
from fencepost.impl.core.types.zookeeper import Children, Create, SetData, Znode
from fencepost.impl.sim.engine.scheduler import US_PER_MS, Scheduler
from fencepost.impl.sim.world.late_watches import LateWatches
from fencepost.impl.sim.world.zookeeper import SimulatedZooKeeper
from fencepost.impl.sim.world.zookeeper_link import ZooKeeperLinkFault
from fencepost.spec.vocabulary import SessionId

DELAY_US = (200, 2_000)
PIPELINED_US = (1, 600)
"""Between two requests of one pipeline."""
LATE_LOSS = 0.5
"""Share of the writes under way that die with their connection."""
RECONNECT_US = (10_000, 120_000)
LONG_ABSENCE = 0.15
"""Share of broken connections that outlive the session; one that is cut has an end of its own."""
HEARTBEATS_PER_TIMEOUT = 3


class _Link(NamedTuple):
    """The connection and session under which something was asked."""

    connection: int
    session_id: SessionId


class SimulatedZooKeeperClient:
    """One client of one process; `gate` runs callbacks only while that process runs."""

    asked = 0
    """How much the core has asked of the server."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        server: SimulatedZooKeeper,
        random: Random,
        timeout_ms: int,
        gate: Callable[[Callable[[], None]], None],
        deliver: Callable[[ZooKeeperEvent], None],
    ) -> None:
        self._scheduler = scheduler
        self._server = server
        self._random = random
        self._timeout_ms = timeout_ms
        self._gate = gate
        self._deliver = deliver
        self.loses_reply: Callable[[WriteZnodes], bool] = lambda _: False
        """Asked for each write that ZooKeeper has done."""
        self.on_done: Callable[[Ask], None] | None = None
        """Told when the server has done what was asked; each is then done in one go."""
        self.fails: Callable[[Ask], bool] | None = None
        """Asked for each request that reaches ZooKeeper: true when it answers with an error."""
        self.is_cut = False
        """True while no connection can be made."""
        self.reaches_server: Callable[[], bool] = lambda: True
        """Asked whenever a connection is to be opened."""
        self.link_faults: list[ZooKeeperLinkFault] = []
        """The faults on the way to the server that are active."""
        self.delay_us = 0
        """What comes from the server takes this much longer."""
        self.session_id = NO_SESSION
        self._connection = 0
        self._is_connected = self._is_closed = False
        self._in_flight: dict[int, Ask] = {}
        self._fired: list[WatchFired] = []
        """Watches of which the core has not heard."""
        self.late = LateWatches(scheduler, self._send_watch)
        """The ones that a fault holds back."""
        self._arrival_us = self._delivery_us = 0

    @property
    def is_connected(self) -> bool:
        """True while what the core asks reaches the server."""
        return self._is_connected

    def start(self) -> None:
        """Open the first session; heartbeats go out while the process runs."""
        self._later(self._open_session, self._draw(DELAY_US))
        self._heartbeat()

    def close(self) -> None:
        """The process is gone: the server sees silence."""
        self._is_closed = True
        self._connection += 1

    def perform(self, ask: Ask) -> None:
        """Send what the core asks; without a connection it is answered at once as unknown."""
        if not self._is_connected:
            self._later(lambda: self._deliver(unknown(ask)), 0)
            return
        self.asked += 1
        self._in_flight[ask.op_id] = ask
        link = _Link(self._connection, self.session_id)
        parts = ask.paths if isinstance(ask, ReadZnodes | ListChildren) else ("",)
        found: list[Znode | Children] = []
        self._arrival_us = self._fifo(self._arrival_us)
        for path in parts:
            arrive = partial(self._arrive, ask, path, found, link)
            self._scheduler.at_us(self._arrival_us, arrive)
            apart_us = self._draw(PIPELINED_US)
            self._arrival_us += 0 if self.on_done else apart_us

    def on_watch(self, event: WatchFired) -> None:
        """The server tells that a watch fired; it comes after the answers before it.

        What a broken connection keeps from arriving is told on the next one: watches stand as long
        as the session.
        """
        self._fired.append(event)
        if not self.late.keeps(event):
            self._send_watch(event)

    def _send_watch(self, event: WatchFired) -> None:
        self._send_back(lambda: self._tell(event))

    def on_session_end(self) -> None:
        """The server has ended the session and closes the connection."""
        self._send_back(self._disconnect)

    def break_connection(self) -> None:
        """The connection is gone now; the session is not."""
        self._gate(self._disconnect)

    def forget_session(self) -> None:
        """The client takes its session for lost and opens another; the server is not told."""
        self._gate(self._forget)

    def _forget(self) -> None:
        if self._drop_connection():
            self._lose()

    def _arrive(self, ask: Ask, path: str, found: list[Znode | Children], link: _Link) -> None:
        """One request of a pipeline reaches the server; other writes may come between two."""
        if self._waits(partial(self._arrive, ask, path, found, link), to_server=True):
            return
        is_late = link.connection != self._connection
        if is_late and (path or self._random.random() < LATE_LOSS):
            return
        if not self._server.is_serving or not self._server.touch(link.session_id):
            return
        if isinstance(ask, WriteZnodes) and _size(ask) > self._server.request_bytes_max:
            self._send_back(self._disconnect)
            return
        if not is_late and self.fails is not None and self.fails(ask):
            # As the shell does: it closes the connection after such an error.
            self._send_back(self._disconnect)
            return
        serve = partial(self._serve, ask, path, found, link)
        if self._server.slow_sync is None:
            serve()
        else:
            self._server.slow_sync.enter(serve, is_write=isinstance(ask, WriteZnodes))

    def _serve(self, ask: Ask, path: str, found: list[Znode | Children], link: _Link) -> None:
        """The server does what was asked, which may have waited there for its turn."""
        if not self._server.has_session(link.session_id):
            return
        is_late = link.connection != self._connection
        answer = self._perform(ask, path, found, link.session_id)
        if answer is not None and self.on_done:
            self.on_done(ask)
        if answer is None or is_late:
            return
        if self.late.waiting and not isinstance(ask, WriteZnodes):
            for one in ask.paths:  # ZooKeeper delivers a watch before the data that fired it
                self.late.hear_of(one)
        if isinstance(ask, WriteZnodes) and self.loses_reply(ask):
            self.break_connection()
        else:
            self._send_back(lambda: self._complete(answer))

    def _perform(
        self, ask: Ask, path: str, found: list[Znode | Children], session_id: SessionId
    ) -> Answer | None:
        match ask:
            case WriteZnodes(op_id=op_id, ops=ops):
                return ZnodesWritten(op_id=op_id, result=self._server.write(session_id, ops))
            case ReadZnodes(op_id=op_id, paths=paths, watch=watch):
                found.append(self._server.read(session_id, path, watch=watch))
                znodes = tuple(one for one in found if isinstance(one, Znode))
                return ZnodesRead(op_id=op_id, znodes=znodes) if len(found) == len(paths) else None
            case ListChildren(op_id=op_id, paths=paths, watch=watch):
                found.append(self._server.list_children(session_id, path, watch=watch))
                children = tuple(one for one in found if isinstance(one, Children))
                is_done = len(found) == len(paths)
                return ChildrenListed(op_id=op_id, children=children) if is_done else None

    def _tell(self, event: WatchFired) -> None:
        if self._is_connected and event in self._fired:
            self._fired.remove(event)
            self._deliver(event)

    def _complete(self, answer: Answer) -> None:
        if self._in_flight.pop(answer.op_id, None) is not None:
            self._deliver(answer)

    def _send_back(self, callback: Callable[[], None]) -> None:
        self._delivery_us = self._fifo(self._delivery_us, self.delay_us)
        come_back = partial(self._come_back, callback, self._connection)
        self._scheduler.at_us(self._delivery_us, come_back)

    def _come_back(self, callback: Callable[[], None], connection: int) -> None:
        """What the server sent has arrived, unless a fault keeps it on its way."""
        if not self._waits(partial(self._come_back, callback, connection), to_server=False):
            self._gate(partial(self._take, callback, connection))

    def _take(self, callback: Callable[[], None], connection: int) -> None:
        if connection == self._connection:
            callback()

    def _waits(self, arrive: Callable[[], None], *, to_server: bool) -> bool:
        faults = self.link_faults
        return bool(faults) and any(one.keeps(arrive, to_server=to_server) for one in faults)

    def _drop_connection(self) -> bool:
        """Answer what was asked as unknown; false when there was no connection."""
        if not self._is_connected:
            return False
        self._is_connected = False
        self._connection += 1
        asked, self._in_flight = list(self._in_flight.values()), {}
        for ask in asked:
            self._deliver(unknown(ask))
        return True

    def _disconnect(self) -> None:
        if not self._drop_connection():
            return
        self._deliver(SessionSuspended())
        delay_us = self._draw(RECONNECT_US)
        if self._random.random() < LONG_ABSENCE and not self.is_cut:
            delay_us += 2 * self._timeout_ms * US_PER_MS
        self._later(self._reconnect, delay_us)

    def _is_refused(self) -> bool:
        """True when a connection fails now; where only answers stall, the session lives."""
        for fault in self.link_faults:
            fault.refuse()
        if self.link_faults and all(f.stalls and not f.stalls_to_server for f in self.link_faults):
            self._server.touch(self.session_id)
        return bool(self.link_faults) or self.is_cut or not self.reaches_server()

    def _reconnect(self) -> None:
        if self._is_refused():
            self._later(self._reconnect, self._draw(RECONNECT_US))
            return
        if self._server.touch(self.session_id):
            self._is_connected = True
            self._deliver(SessionReconnected(session_id=self.session_id))
            self.late.clear()
            for event in list(self._fired):
                self._tell(event)
            return
        self._lose()

    def _lose(self) -> None:
        self._fired.clear()
        self.late.clear()
        self.session_id = NO_SESSION
        self._deliver(SessionLost())
        self._later(self._open_session, self._draw(DELAY_US))

    def _open_session(self) -> None:
        if self._is_refused():
            self._later(self._open_session, self._draw(RECONNECT_US))
            return
        self.session_id = self._server.open_session(self._timeout_ms)
        self._is_connected = True
        self._deliver(SessionEstablished(session_id=self.session_id))

    def _heartbeat(self) -> None:
        if self._is_closed:
            return
        if self._is_connected:
            self._gate(self._touch)
            self._miss_answers()
        self._scheduler.after_ms(self._timeout_ms // HEARTBEATS_PER_TIMEOUT, self._heartbeat)

    def _touch(self) -> None:
        if not self._waits(self._touch, to_server=True):
            self._server.touch(self.session_id)

    def _miss_answers(self) -> None:
        """Close a connection that was silent for two thirds of the session timeout."""
        silent_ms = self._timeout_ms * 2 // HEARTBEATS_PER_TIMEOUT
        oldest_ms = self._scheduler.now_ms - silent_ms
        if any(fault.stalls and fault.since_ms <= oldest_ms for fault in self.link_faults):
            self.break_connection()

    def _later(self, callback: Callable[[], None], delay_us: int) -> None:
        def run() -> None:
            if not self._is_closed:
                self._gate(callback)

        self._scheduler.after_us(delay_us, run)

    def _fifo(self, last_us: int, late_us: int = 0) -> int:
        return max(last_us + 1, self._scheduler.now_us + self._draw(DELAY_US) + late_us)

    def _draw(self, bounds: tuple[int, int]) -> int:
        least, most = bounds
        return self._random.randrange(least, most + 1)


def _size(ask: WriteZnodes) -> int:
    """Bytes of paths and data."""
    return sum(
        len(op.path) + (len(op.data) if isinstance(op, Create | SetData) else 0) for op in ask.ops
    )
