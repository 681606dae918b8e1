"""The real ZooKeeper behind the facade: the shell of the broker on a thread of its own."""

import asyncio
import threading
from collections.abc import Callable

from kazoo.client import KazooClient

from fencepost.impl.core.types.events import ZooKeeperEvent
from fencepost.impl.shell.zookeeper.notifications import Operation
from fencepost.impl.shell.zookeeper.sessions import SessionNotification, Sessions
from fencepost.spec.zookeeper import ZooKeeperAddress
from tests.impl.zookeeper_contract.facade import DEADLINE_S, SESSION_TIMEOUT_MS, Session


class RealClient:
    """`impl.shell.zookeeper.sessions` on an event loop of its own, fed as a node feeds it."""

    def __init__(self, address: str, deliver: Callable[[ZooKeeperEvent], None]) -> None:
        self._deliver = deliver
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._fail)
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        opening = asyncio.run_coroutine_threadsafe(self._open(address), self._loop)
        opening.result(DEADLINE_S)

    def perform(self, operation: Operation) -> None:
        self._loop.call_soon_threadsafe(self.sessions.perform, operation)

    def wait(self, claim: Callable[[], bool]) -> None:
        with self._changed:
            held = self._changed.wait_for(lambda: self._failure or claim(), DEADLINE_S)
        assert self._failure is None, self._failure
        assert held, "the deadline passed"

    def close(self) -> None:
        closing = asyncio.run_coroutine_threadsafe(self.sessions.close(), self._loop)
        closing.result(DEADLINE_S)
        stopping = asyncio.run_coroutine_threadsafe(
            self._loop.shutdown_default_executor(), self._loop
        )
        stopping.result(DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()

    async def _open(self, address: str) -> None:
        zookeeper = ZooKeeperAddress.parse(address)
        self.sessions = Sessions(zookeeper, SESSION_TIMEOUT_MS, self._put)

    def _put(self, notification: SessionNotification) -> None:
        self._loop.call_soon(self._take, notification)

    def _take(self, notification: SessionNotification) -> None:
        for event in self.sessions.events(notification):
            with self._changed:
                self._deliver(event)  # type: ignore[arg-type]  # only ZooKeeper events come from here
                self._changed.notify_all()

    def _fail(self, _loop: object, context: dict[str, object]) -> None:
        with self._changed:
            self._failure = f"{context.get('message')}: {context.get('exception')!r}"
            self._changed.notify_all()


class RealZooKeeper:
    """A folder of a real server, through the shell of the broker."""

    def __init__(self, address: str) -> None:
        """`address` has a chroot that nobody else uses."""
        self.address = address
        self._clients: dict[int, RealClient] = {}
        self._sessions: list[Session] = []

    def open_session(self) -> Session:
        clients: list[RealClient] = []

        def open_client(deliver: Callable[[ZooKeeperEvent], None]) -> RealClient:
            clients.append(RealClient(self.address, deliver))
            return clients[0]

        session = Session(open_client)
        self._clients[id(session)] = clients[0]
        self._sessions.append(session)
        return session

    def expire(self, session: Session) -> None:
        """Take the session over with its id and password, then close it: a real expiry."""
        identity = self._clients[id(session)].sessions.identity
        double = KazooClient(self.address.partition("/")[0], client_id=identity, timeout=10.0)
        double.start(DEADLINE_S)
        double.stop()
        double.close()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
