"""A cluster of the implementation under test: its processes, and its state as ZooKeeper shows it.

Nothing here asks a broker what it believes: roles, leaders and ISRs are read where the protocol
publishes them. Every wait is for an observed state and has a deadline.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from time import monotonic

from fencepost.conformance.adapters.capabilities import needed_of, refusal
from fencepost.conformance.adapters.command_line import version_flags
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.implementation import (
    Capability,
    PublishedState,
    Site,
    StartedBroker,
)
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.znode_dialect import ZnodeAccess, ZnodeDialect
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse
from fencepost.conformance.clients.administrator import AdminClient
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.foreign_writes import rewrite_state
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.transport import (
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
    RoutingView,
    Transport,
)
from fencepost.conformance.clients.workload import Workload
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.wiring import Wiring
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.members import ZooKeeperMembers
from fencepost.fault_injection.zookeeper.sessions import expire_session
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import BrokerId, BrokerVersion
from fencepost.spec.wire.tls import ADMIN, TlsIdentity, read_identity
from fencepost.spec.znodes import TopicPartition

POLL_S = 0.03
START_DEADLINE_S = 30.0
STOP_GRACE_S = 3.0
LOG_LINES = 8


class ClusterUnderTest:
    """Brokers of an implementation and their published state; what `FaultTarget` asks for."""

    def __init__(
        self,
        settings: ClusterSettings,
        *,
        folder: Path,
        run_id: str,
        supervisor: Supervisor,
        zookeeper: ZooKeeperInUse,
        wiring: Wiring | None = None,
    ) -> None:
        """Open the cluster's parts; no broker runs yet. Raises `ClusterError`, `ZooKeeperError`.

        With a `wiring`, it says where brokers run and how they find each other.
        """
        given = {one.name: getattr(settings, one.name) for one in fields(settings)}
        if why := refusal(settings.implementation, needed_of(given)):
            raise ClusterError(why)
        self.settings = settings
        self.folder = folder
        self.zookeeper = zookeeper
        self.recorder: TraceWriter | None = None
        """The harness's trace, for znodes that it rewrites."""
        self.workload: Workload | None = None
        """The clients, when some are at work."""
        self._wiring = wiring
        self._parts = settings.implementation.open(
            Site(
                folder=folder,
                run_id=run_id,
                broker_ids=settings.broker_ids,
                level=settings.level,
                session_timeout_ms=settings.session_timeout_ms,
                replica_lag_ms=settings.replica_lag_ms,
                supervisor=supervisor,
                zookeeper=zookeeper.address,
                zookeeper_tls=zookeeper.tls,
                wiring=wiring,
                unclean_leader_election=settings.unclean_leader_election,
                min_insync_replicas=settings.min_insync_replicas,
                extra=settings.extra,
                tls=settings.tls,
                authorizer=settings.authorizer,
            )
        )
        self._wait = threading.Event()
        self._versions: dict[int, BrokerVersion] = {}
        """Of the brokers that were upgraded."""
        self._orphaned: dict[int, int] = {}
        """By broker, the zxid of a registration that its former process has left."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """All nodes, in the order in which they start."""
        return (*self._parts.lifecycle.controllers, *self.settings.broker_ids)

    @cached_property
    def identity(self) -> TlsIdentity | None:
        """The administrator's, for fault commands; None: connections to brokers are plain."""
        tls = self.settings.tls
        return read_identity(tls / ADMIN) if tls else None

    @property
    def session_timeout_ms(self) -> int:
        """Of the brokers' ZooKeeper sessions."""
        return self.settings.session_timeout_ms

    @property
    def servers(self) -> ZooKeeperMembers:
        """The members of its ZooKeeper; raises `InjectionError` without an ensemble of our own."""
        if self.zookeeper.ensemble is None:
            raise InjectionError(
                "this ZooKeeper has no members of our own to hurt; run it with --zookeeper ensemble"
            )
        return self.zookeeper.ensemble

    @property
    def state(self) -> PublishedState:
        """The published state, read in a session of the harness."""
        return self._parts.state

    @property
    def transport(self) -> Transport:
        """How clients reach its brokers."""
        return self._parts.transport

    @property
    def workload_transport(self) -> Transport | None:
        """How the clients of the workload do; None: as all others."""
        return self._parts.workload_transport

    @property
    def znodes(self) -> ZooKeeperClient:
        """Its state in ZooKeeper, in a session of the harness; raises `InjectionError`."""
        return self._znodes.client

    @property
    def paths(self) -> ZnodeDialect:
        """Where that is in ZooKeeper; raises `InjectionError`."""
        return self._znodes.dialect

    @property
    def _znodes(self) -> ZnodeAccess:
        if self._parts.znodes is None:
            name = self.settings.implementation.name
            raise InjectionError(f"the state of {name} is in no ZooKeeper that can be hurt")
        return self._parts.znodes

    @property
    def administrator(self) -> AdminClient:
        """Asks its brokers for changes."""
        return AdminClient(self.addresses, self.transport)

    def administrator_at(self, broker_id: int) -> AdminClient:
        """Asks this broker alone, where it listens now; raises `InjectionError`."""
        registered = self.registration(broker_id)
        if registered is None:
            raise InjectionError(f"broker {broker_id} is not registered, so it cannot be asked")
        return AdminClient(lambda: [registered.address], self.transport)

    @property
    def wiring(self) -> Wiring:
        """Of its connections; raises `InjectionError` when they go through no proxy."""
        if self._wiring is None:
            raise InjectionError(
                "its connections go through no proxy; a test says chaos(links=True), "
                "a scenario needs_links"
            )
        return self._wiring

    @property
    def request_links(self) -> Wiring | None:
        """Its connections, where the harness reads the protocol of its brokers on them."""
        reads = self.settings.implementation.wire_protocol is WireProtocol.KAFKA
        return self.wiring if reads else None

    @property
    def load(self) -> Workload:
        """The clients that are at work."""
        if self.workload is None:
            raise InjectionError("no clients are at work here")
        return self.workload

    @contextmanager
    def running(self) -> Iterator["ClusterUnderTest"]:
        """It has started, and is stopped and closed at the end; raises `ClusterError`.

        Ctrl-C, also while it starts, kills the brokers instead of asking them to end.
        """
        try:
            self.start()
            yield self
        except KeyboardInterrupt:
            for process in self._parts.running(self.nodes).values():
                process.kill()
            raise
        finally:
            self.stop()
            self.close()

    def start(self) -> None:
        """All brokers are registered and answer clients, and one is the controller.

        Raises `ClusterError`.
        """
        first = self.settings.first_controller
        if first and Capability.ZOOKEEPER not in self.settings.implementation.capabilities:
            first = 0  # one broker alone is no quorum, and more of them choose among themselves
        if first:
            self.restart(first)
            self.await_state(
                lambda: self.state.controller() == first, START_DEADLINE_S, "a controller"
            )
        for node_id in self.nodes:
            if node_id != first:
                self.restart(node_id)
        self.await_state(self._is_complete, START_DEADLINE_S, "all brokers and a controller")
        self.await_state(self._is_registered, START_DEADLINE_S, "a registration of each broker")
        self.await_state(self.is_answering, START_DEADLINE_S, "an answer of each broker")

    def stop(self) -> None:
        """Ask the brokers to end, and kill those that did not in time, and controllers."""
        running = self.running_processes().values()
        if self.settings.implementation.ends_together:
            for process in running:
                process.ask_to_end()
        for process in running:
            process.terminate(STOP_GRACE_S)
        for process in self._parts.running(self._parts.lifecycle.controllers).values():
            process.kill()

    def close(self) -> None:
        """Close connections and the session that the state is read in; stop the proxy."""
        if self._wiring is not None:
            self._wiring.links.close()
        self._parts.close()

    def restart(self, broker_id: int) -> None:
        """A broker that does not run is starting on its data."""
        left = self.state.registration(broker_id)
        self._orphaned[broker_id] = left.zxid if left else 0
        flags = version_flags(self._versions[broker_id]) if broker_id in self._versions else ()
        self._parts.lifecycle.start(broker_id, *flags)

    def version_of(self, broker_id: int) -> BrokerVersion:
        """What the broker understands and speaks, or will when it starts again."""
        level = self.settings.level
        return self._versions.get(broker_id, BrokerVersion(level, level))

    def set_version(self, broker_id: int, version: BrokerVersion) -> None:
        """The broker will be of this version at its next start."""
        if version != self.version_of(broker_id):
            self._versions[broker_id] = version

    def prepare(self, broker_id: int) -> None:
        """The broker's next process waits for `restart`, if its implementation can do that."""
        self._parts.lifecycle.prepare(broker_id)

    def is_ready(self, broker_id: int) -> bool:
        """False while a process that was prepared is still loading what it needs."""
        return self._parts.lifecycle.is_ready(broker_id)

    def process(self, broker_id: int) -> StartedBroker:
        """The running process of a broker; raises `InjectionError` when it does not run."""
        running = self._parts.running([broker_id])
        if not running:
            raise InjectionError(f"broker {broker_id} does not run")
        return running[broker_id]

    def running_processes(self) -> dict[int, StartedBroker]:
        """The processes of all brokers that run."""
        return self._parts.running(self.settings.broker_ids)

    def data_folder(self, broker_id: int) -> Path:
        """Where a broker keeps its logs."""
        return self._parts.lifecycle.data_folder(broker_id)

    def ended(self) -> list[int]:
        """The brokers and controllers that were started and do not run."""
        started = {node: self._parts.lifecycle.started(node) for node in self.nodes}
        return [b for b, process in started.items() if process and not process.is_running]

    def log_tail(self, broker_id: int) -> str:
        """The last lines that a broker wrote."""
        process = self._parts.lifecycle.started(broker_id)
        return process.log_tail(LOG_LINES) if process else ""

    def expire_session(self, session_id: int, password: bytes, broker_id: int) -> None:
        """The broker's session has ended at ZooKeeper, and its registration with it."""
        path = self.paths.broker_path(broker_id)
        where, tls = self.zookeeper.address, self.zookeeper.tls
        expire_session(where, session_id, password, watch_path=path, tls=tls)

    def end_session(self, session_id: int) -> None:
        """ZooKeeper has ended the session by itself; raises `InjectionError` where it cannot."""
        if self.zookeeper.end_session is None:
            raise InjectionError(
                "this ZooKeeper takes no command to end a session by itself: only servers that run "
                "as processes of ours do; use mode duplicate"
            )
        self.zookeeper.end_session(session_id)

    def rewrite_state(self, partition: TopicPartition) -> int | None:
        """The state of a partition was written as it is: its new version; None without a state.

        Each write is in the trace. Raises `InjectionError` when others are always faster.
        """
        return rewrite_state(self.znodes, self.recorder, partition, self.paths)

    def registration(self, broker_id: int) -> Registration | None:
        """The registration that the broker's current process made; None when there is none.

        That of a killed process lasts as long as its session and leads nowhere.
        """
        found = self._registered(broker_id)
        if found is None:
            return None
        own_address = self._wiring.address_of(broker_id) if self._wiring else None
        return replace(found, address=own_address) if own_address else found

    def addresses(self) -> list[str]:
        """Where clients find the registered brokers."""
        found = [self._registered(broker_id) for broker_id in self.state.live_brokers()]
        return [registration.address for registration in found if registration]

    def _registered(self, broker_id: int) -> Registration | None:
        """The same with the address that was registered, which may be that of a proxy."""
        found = self.state.registration(broker_id)
        return None if found and found.zxid == self._orphaned.get(broker_id) else found

    def connection_to(self, broker_id: int) -> BrokerConnection | None:
        """The registered broker, as the harness asks it; no line of a trace tells of it."""
        registration = self.registration(broker_id)
        if registration is None:
            return None
        caller = Caller(node="harness", clock=LamportClock())
        return self.transport.connect(registration.address, caller, BrokerId(broker_id))

    def routing_views(self) -> dict[int, RoutingView | None]:
        """What each registered broker answers clients that ask for metadata; None: nothing."""
        connections = {b: self.connection_to(b) for b in self.settings.broker_ids}
        return {b: _routing_view(asked) for b, asked in connections.items() if asked}

    def create_topic(
        self,
        topic: str,
        assignment: Sequence[Sequence[int]],
        *,
        may_end: bool = False,
        administrator: AdminClient | None = None,
    ) -> list[TopicPartition]:
        """The topic exists, each partition has its leader and all assigned replicas in its ISR.

        With `may_end`, brokers may be down that have no replica of it.
        """
        with self._granted():
            (administrator or self.administrator).create_topic(topic, assignment)
        created = [TopicPartition(topic, number) for number in range(len(assignment))]
        self.await_state(
            lambda: all(map(self.state.is_in_sync, created)),
            START_DEADLINE_S,
            f"leaders of {topic}",
            may_end=may_end,
        )
        return created

    def delete_topic(self, topic: str) -> None:
        """The topic is published no more (TOP-002); raises `ClusterError`."""
        with self._granted():
            self.administrator.delete_topic(topic)
        self.await_state(
            lambda: topic not in self.state.topics(),
            START_DEADLINE_S,
            f"end of {topic}",
            may_end=True,
        )

    @contextmanager
    def _granted(self) -> Iterator[None]:
        """A refused request of a scenario is a `ClusterError`."""
        try:
            yield
        except InjectionError as refused:
            raise ClusterError(str(refused)) from refused

    def is_healthy(self, partitions: Sequence[TopicPartition]) -> bool:
        """All brokers live, a controller, and every partition led with all its replicas in sync."""
        return self._is_complete() and all(map(self.state.is_in_sync, partitions))

    def is_in_sync(self) -> bool:
        """The same of all partitions that there are."""
        return self.is_healthy(sorted(self.state.assignments()))

    def _is_complete(self) -> bool:
        there = self.state.live_brokers() == list(self.settings.broker_ids)
        return there and self.state.controller() is not None

    def _is_registered(self) -> bool:
        """True when every broker's address is known: to be live is not enough for clients."""
        return all(map(self._registered, self.settings.broker_ids))

    def is_answering(self) -> bool:
        """True when every broker answers clients; it may register before it has started."""
        return all(map(self._answers, self.addresses()))

    def _answers(self, address: str) -> bool:
        client = RoutedClient(lambda: [address], transport=self.transport, node="harness")
        try:
            client.refresh()
        except ClusterUnreachableError:
            return False
        return True

    def await_state(
        self, predicate: Callable[[], bool], deadline_s: float, what: str, *, may_end: bool = False
    ) -> None:
        """Wait until `predicate` holds; raises `ClusterError`, at once when a broker has ended.

        With `may_end`, brokers may be down meanwhile.
        """
        deadline = monotonic() + deadline_s
        while not predicate():
            if not may_end:
                self._require_running(what)
            if monotonic() > deadline:
                raise ClusterError(
                    f"{what} did not come within {deadline_s:g} s{self._last_words()}"
                )
            self._wait.wait(POLL_S)

    def _require_running(self, what: str) -> None:
        for node_id in self.ended():
            raise ClusterError(
                f"{self._called(node_id)} ended by itself before {what}; it said last:\n"
                f"{self.log_tail(node_id)}"
            )

    def _last_words(self) -> str:
        tails = {node_id: self.log_tail(node_id) for node_id in self.nodes}
        said = [f"{self._called(node_id)}: {tail}" for node_id, tail in tails.items() if tail]
        return "; the brokers said last:\n" + "\n".join(said) if said else ""

    def _called(self, node_id: int) -> str:
        is_controller = node_id in self._parts.lifecycle.controllers
        return f"{'controller' if is_controller else 'broker'} {node_id}"


def _routing_view(connection: BrokerConnection) -> RoutingView | None:
    try:
        return connection.routing_view()
    except ClusterUnreachableError:
        return None
