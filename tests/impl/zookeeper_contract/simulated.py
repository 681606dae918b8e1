"""The simulated ZooKeeper behind the facade: server, client and virtual time, without a cluster."""

from collections.abc import Callable
from random import Random

from fencepost.impl.core.types.events import WatchFired, ZooKeeperEvent
from fencepost.impl.shell.zookeeper.notifications import Operation
from fencepost.impl.sim.engine.scheduler import Scheduler
from fencepost.impl.sim.world.zookeeper import SimulatedZooKeeper
from fencepost.impl.sim.world.zookeeper_client import SimulatedZooKeeperClient
from fencepost.spec.vocabulary import SessionId
from fencepost.spec.znodes import PERSISTENT_PATHS
from tests.impl.zookeeper_contract.facade import DEADLINE_S, SESSION_TIMEOUT_MS, Session


class SimClient:
    """A simulated connection; waiting lets virtual time pass."""

    def __init__(self, client: SimulatedZooKeeperClient, scheduler: Scheduler) -> None:
        self._client = client
        self._scheduler = scheduler

    def perform(self, operation: Operation) -> None:
        self._client.perform(operation)

    def wait(self, claim: Callable[[], bool]) -> None:
        limit_ms = self._scheduler.now_ms + int(DEADLINE_S * 1000)
        assert self._scheduler.run_until(limit_ms, claim), "the deadline passed"

    def close(self) -> None:
        self._client.close()


class SimulatorFacade:
    """One server and its clients."""

    def __init__(self) -> None:
        self._scheduler = Scheduler()
        self._clients: list[SimulatedZooKeeperClient] = []
        self._server = SimulatedZooKeeper(
            now_ms=lambda: self._scheduler.now_ms,
            on_watch=self._on_watch,
            on_session_end=self._on_session_end,
        )
        self._server.ensure(PERSISTENT_PATHS)

    def open_session(self) -> Session:
        return Session(self._open_client)

    def expire(self, session: Session) -> None:
        self._server.end_session(session.session_id)

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def _open_client(self, deliver: Callable[[ZooKeeperEvent], None]) -> SimClient:
        client = SimulatedZooKeeperClient(
            scheduler=self._scheduler,
            server=self._server,
            random=Random(len(self._clients)),
            timeout_ms=SESSION_TIMEOUT_MS,
            gate=lambda callback: callback(),
            deliver=deliver,
        )
        self._clients.append(client)
        client.start()
        return SimClient(client, self._scheduler)

    def _on_watch(self, session_id: SessionId, event: WatchFired) -> None:
        for client in self._clients:
            if client.session_id == session_id:
                client.on_watch(event)

    def _on_session_end(self, session_id: SessionId) -> None:
        for client in self._clients:
            if client.session_id == session_id:
                client.on_session_end()
