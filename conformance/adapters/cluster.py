"""A cluster of the implementation under test: its processes, and its state as ZooKeeper shows it.

Nothing here asks a broker what it believes: roles, leaders and ISRs are read where the protocol
publishes them. Every wait is for an observed state and has a deadline.
"""

import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic

from fencepost.conformance.adapters.adapter import ClusterSettings, Folders, broker_command
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse
from fencepost.conformance.clients.administrator import AdminClient
from fencepost.conformance.clients.client import ClusterUnreachableError, Connections, RoutedClient
from fencepost.conformance.clients.foreign_writes import rewrite_state
from fencepost.conformance.clients.recorder import TraceRecorder
from fencepost.conformance.clients.workload import Workload
from fencepost.fault_injection.engine.rpc_rules import InjectionError
from fencepost.fault_injection.faults.targets import ClusterView
from fencepost.fault_injection.injectors.injection import Registration, Servers
from fencepost.fault_injection.network.links.wiring import BrokerPlace, Wiring
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import NoZnodeError, Znode, ZooKeeperClient
from fencepost.fault_injection.zookeeper.sessions import expire_session
from fencepost.spec import znodes
from fencepost.spec.vocabulary import ElectionKind, ErrorCode
from fencepost.spec.znodes import LeaderAndIsr, MalformedZnodeError, TopicPartition
from fencepost.spec.zookeeper import ZooKeeperAddress

POLL_S = 0.03
START_DEADLINE_S = 20.0
STOP_GRACE_S = 3.0
LOG_LINES = 8


class ClusterError(Exception):
    """The cluster is not as it should be; says what was waited for and what brokers said last."""


class ClusterUnderTest:
    """Brokers as processes of a supervisor, and a ZooKeeper; what `FaultTarget` asks for."""

    def __init__(
        self,
        settings: ClusterSettings,
        *,
        folder: Path,
        run_id: str,
        supervisor: Supervisor,
        zookeeper: str,
        wiring: Wiring | None = None,
    ) -> None:
        """`zookeeper` is an address with the chroot that this cluster has for itself.

        Of several servers, each broker tries another one first.
        With a `wiring`, it says where brokers run and how they find each other.
        """
        self.settings = settings
        self.folder = folder
        self.run_id = run_id
        self.zookeeper = zookeeper
        self.ensemble: Servers | None = None
        """Of our own, to be hurt; None when its ZooKeeper is another."""
        self.ends_sessions: Callable[[int], None] | None = None
        """By which ZooKeeper ends a session by itself; None where it takes no such command."""
        self.recorder: TraceRecorder | None = None
        """Where the harness tells of what it writes over."""
        self._wiring = wiring
        self._supervisor = supervisor
        # As short as the brokers': a server that stands still is left as soon as they leave it.
        self._znodes = ZooKeeperClient(
            zookeeper, session_timeout_s=settings.session_timeout_ms / 1000
        )
        self.workload: Workload | None = None
        """The clients, when some are at work."""
        self._wait = threading.Event()
        self._orphaned: dict[int, int] = {}
        """By broker, the zxid of a registration that a process of before has left."""

    @property
    def session_timeout_ms(self) -> int:
        """Of the brokers' ZooKeeper sessions."""
        return self.settings.session_timeout_ms

    @property
    def servers(self) -> Servers:
        """The members of its ZooKeeper; raises `InjectionError` without an ensemble of our own."""
        if self.ensemble is None:
            raise InjectionError(
                "this ZooKeeper has no members of our own to hurt; run it with --zookeeper ensemble"
            )
        return self.ensemble

    @property
    def znodes(self) -> ZooKeeperClient:
        """Its state in ZooKeeper, in a session of the harness."""
        return self._znodes

    @property
    def administrator(self) -> AdminClient:
        """Asks its brokers for changes, as a fault does."""
        return AdminClient(self.addresses)

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
    def load(self) -> Workload:
        """The clients that are at work."""
        if self.workload is None:
            raise InjectionError("no clients are at work here")
        return self.workload

    def connect(self) -> None:
        """The state in ZooKeeper can be read; raises `ZooKeeperError`."""
        self._znodes.connect()

    def start(self) -> None:
        """All brokers are registered and one of them is the controller; raises `ClusterError`."""
        first = self.settings.first_controller
        if first:
            self.restart(first)
            self.await_state(lambda: self.controller() == first, START_DEADLINE_S, "a controller")
        for broker_id in self.settings.broker_ids:
            if broker_id != first:
                self.restart(broker_id)
        self.await_state(self._is_complete, START_DEADLINE_S, "all brokers and a controller")

    def stop(self) -> None:
        """Brokers were asked to end, and ended if they did not listen."""
        for process in self._running():
            process.terminate(STOP_GRACE_S)

    def kill(self) -> None:
        """Brokers have ended at once, without a farewell to anybody."""
        for process in self._running():
            process.kill()

    def close(self) -> None:
        """The session with ZooKeeper is over, and the network gets no more commands."""
        if self._wiring is not None:
            self._wiring.links.close()
        self._znodes.close()

    def restart(self, broker_id: int) -> None:
        """A broker that does not run is starting on its data."""
        left = self._read(znodes.broker_path(broker_id))
        self._orphaned[broker_id] = left.czxid if left else 0
        place = BrokerPlace(zookeeper=self.zookeeper)
        if self._wiring:
            place = self._wiring.place_of(broker_id)
        zookeeper = ZooKeeperAddress.parse(place.zookeeper).beginning_at(broker_id)
        command = broker_command(
            self.settings,
            broker_id,
            place=replace(place, zookeeper=str(zookeeper)),
            folders=Folders(root=self.folder),
            run_id=self.run_id,
        )
        process = self._supervisor.start(f"broker-{broker_id}", command, namespace=place.namespace)
        if self._wiring:
            self._wiring.started(broker_id, process.pid)

    def prepare(self, broker_id: int) -> None:
        """The broker's next process is there and waits for `restart`, if its implementation can."""
        if self.settings.waits:
            network = self._wiring.network_of(broker_id) if self._wiring else None
            words = shlex.split(self.settings.command)
            self._supervisor.prepare(f"broker-{broker_id}", words, namespace=network)

    def is_ready(self, broker_id: int) -> bool:
        """False while a process that was prepared is still loading what it needs."""
        return self._supervisor.is_ready(f"broker-{broker_id}")

    def process(self, broker_id: int) -> ManagedProcess:
        """The running process of a broker; raises `InjectionError` when it does not run."""
        process = self._supervisor.processes.get(f"broker-{broker_id}")
        if process is None or not process.is_running:
            raise InjectionError(f"broker {broker_id} does not run")
        return process

    def data_folder(self, broker_id: int) -> Path:
        """Where a broker keeps its logs."""
        return Folders(root=self.folder).data(broker_id)

    def ended(self) -> list[int]:
        """The brokers that do not run."""
        started = self._supervisor.processes
        return [
            broker_id
            for broker_id in self.settings.broker_ids
            if (name := f"broker-{broker_id}") in started and not started[name].is_running
        ]

    def log_tail(self, broker_id: int) -> str:
        """The last lines that a broker wrote."""
        return self._supervisor.processes[f"broker-{broker_id}"].log_tail(LOG_LINES)

    def expire_session(self, session_id: int, password: bytes, broker_id: int) -> None:
        """The broker's session has ended at ZooKeeper, and its registration with it."""
        path = znodes.broker_path(broker_id)
        expire_session(self.zookeeper, session_id, password, watch_path=path)

    def end_session(self, session_id: int) -> None:
        """ZooKeeper has ended the session by itself; raises `InjectionError` where it cannot."""
        if self.ends_sessions is None:
            raise InjectionError(
                "this ZooKeeper takes no command to end a session by itself: only servers that run "
                "as processes of ours do; use mode duplicate"
            )
        self.ends_sessions(session_id)

    def rewrite_state(self, partition: TopicPartition) -> int | None:
        """The state of a partition was written as it is: its new version; None without a state.

        Each write is in the trace. Raises `InjectionError` when others are always faster.
        """
        return rewrite_state(self._znodes, self.recorder, partition)

    def live_brokers(self) -> list[int]:
        """The ids below `/brokers/ids`, ascending."""
        return sorted(int(name) for name in self._children(znodes.BROKER_IDS) if name.isdecimal())

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
        found = [self._registered(broker_id) for broker_id in self.live_brokers()]
        return [registration.address for registration in found if registration]

    def _registered(self, broker_id: int) -> Registration | None:
        """The same with the address that was registered, which may be that of a proxy."""
        path = znodes.broker_path(broker_id)
        znode = self._read(path)
        if znode is None or znode.czxid == self._orphaned.get(broker_id):
            return None
        with suppress(MalformedZnodeError):
            document = znodes.parse_broker(path, znode.data)
            return Registration(
                session_id=znode.ephemeral_owner,
                zxid=znode.czxid,
                address=f"{document.host}:{document.port}",
            )
        return None

    def controller(self) -> int | None:
        """The broker that owns `/controller`."""
        znode = self._read(znodes.CONTROLLER)
        if znode is None:
            return None
        with suppress(MalformedZnodeError):
            return znodes.parse_controller(znodes.CONTROLLER, znode.data).brokerid
        return None

    def assignment(self, topic: str) -> dict[int, tuple[int, ...]]:
        """The assigned replicas of each partition of a topic."""
        path = znodes.topic_path(topic)
        znode = self._read(path)
        if znode is None:
            return {}
        with suppress(MalformedZnodeError):
            return {
                p: tuple(brokers) for p, brokers in znodes.parse_topic(path, znode.data).items()
            }
        return {}

    def partitions(self) -> list[TopicPartition]:
        """Every partition of every topic, ascending."""
        topics = self._children(znodes.TOPICS)
        return sorted(TopicPartition(t, number) for t in topics for number in self.assignment(t))

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The published leader, epoch and ISR of a partition."""
        path = znodes.leader_and_isr_path(partition)
        znode = self._read(path)
        if znode is None:
            return None
        with suppress(MalformedZnodeError):
            return znodes.parse_leader_and_isr(path, znode.data)
        return None

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The published leader; None without one."""
        state = self.state_of(partition)
        return None if state is None or state.leader < 0 else int(state.leader)

    def isr_of(self, partition: TopicPartition) -> frozenset[int]:
        """The published ISR."""
        state = self.state_of(partition)
        return frozenset(map(int, state.isr)) if state else frozenset()

    def view(self) -> ClusterView:
        """Who plays which role now."""
        partitions = self.partitions()
        leaders = {partition: self.leader_of(partition) for partition in partitions}
        return ClusterView(
            controller_id=self.controller(),
            leaders={partition: leader for partition, leader in leaders.items() if leader},
            assigned_replicas={p: self.assignment(p.topic)[p.partition] for p in partitions},
        )

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]], *, may_end: bool = False
    ) -> list[TopicPartition]:
        """The topic exists, each partition has its leader and all assigned replicas in its ISR.

        With `may_end`, brokers may be down that have no replica of it.
        """
        with self._client(f"topic {topic} was not created") as client:
            error, message = client.create_topic(topic, assignment=assignment)
        if error is not None:
            raise ClusterError(f"topic {topic} was refused: {error} {message}".rstrip())
        created = [TopicPartition(topic, number) for number in range(len(assignment))]
        self.await_state(
            lambda: all(self._is_in_sync(key) for key in created),
            START_DEADLINE_S,
            f"leaders of {topic}",
            may_end=may_end,
        )
        return created

    def delete_topic(self, topic: str) -> None:
        """The topic is published no more (TOP-002); raises `ClusterError`."""
        with self._client(f"topic {topic} was not deleted") as client:
            error, message = client.delete_topic(topic)
        if error is not None:
            raise ClusterError(f"the deletion of {topic} was refused: {error} {message}".rstrip())
        path = znodes.topic_path(topic)
        self.await_state(
            lambda: self._read(path) is None, START_DEADLINE_S, f"end of {topic}", may_end=True
        )

    def reassign(self, replicas: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Moves are asked for; raises `ClusterError` when one of them is refused."""
        with self._client("the moves were not asked for") as client:
            errors = client.alter_partition_reassignments(replicas)
        self._require_granted("the move of", replicas, errors)

    def elect_preferred(self, partitions: Sequence[TopicPartition]) -> None:
        """The preferred replicas are to lead; raises `ClusterError` when one may not."""
        with self._client("the elections were not asked for") as client:
            errors = client.elect_leaders(ElectionKind.PREFERRED, partitions)
        not_needed = {key for key in errors if errors[key] == ErrorCode.ELECTION_NOT_NEEDED}
        self._require_granted("the election of", set(partitions) - not_needed, errors)

    def _require_granted(
        self,
        what: str,
        partitions: Iterable[TopicPartition],
        errors: Mapping[TopicPartition, str | None],
    ) -> None:
        for key in sorted(partitions):
            error = errors.get(key, "no answer")
            if error is not None:
                raise ClusterError(f"{what} {key} was refused: {error}")

    @contextmanager
    def _client(self, otherwise: str) -> Iterator[RoutedClient]:
        """A client that is not traced; `ClusterError` when no broker answers it."""
        connections = Connections()
        try:
            yield RoutedClient(self.addresses, connections=connections, node="harness")
        except ClusterUnreachableError as unreachable:
            raise ClusterError(f"{otherwise}: {unreachable}") from unreachable
        finally:
            connections.close()

    def is_healthy(self, partitions: Sequence[TopicPartition]) -> bool:
        """All brokers live, a controller, and every partition led with all its replicas in sync."""
        return self._is_complete() and all(self._is_in_sync(p) for p in partitions)

    def is_in_sync(self) -> bool:
        """The same of all partitions that there are."""
        return self.is_healthy(self.partitions())

    def _is_in_sync(self, partition: TopicPartition) -> bool:
        state = self.state_of(partition)
        if state is None or state.leader not in state.isr:
            return False
        return state.isr == frozenset(self.assignment(partition.topic).get(partition.partition, ()))

    def _is_complete(self) -> bool:
        return (
            self.live_brokers() == list(self.settings.broker_ids) and self.controller() is not None
        )

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

    def _running(self) -> Iterator[ManagedProcess]:
        for broker_id in self.settings.broker_ids:
            process = self._supervisor.processes.get(f"broker-{broker_id}")
            if process is not None and process.is_running:
                yield process

    def _require_running(self, what: str) -> None:
        for broker_id in self.ended():
            raise ClusterError(
                f"broker {broker_id} ended by itself before {what}; it said last:\n"
                f"{self.log_tail(broker_id)}"
            )

    def _last_words(self) -> str:
        tails = {broker_id: self.log_tail(broker_id) for broker_id in self.settings.broker_ids}
        said = [f"broker {broker_id}: {tail}" for broker_id, tail in tails.items() if tail]
        return "; the brokers said last:\n" + "\n".join(said) if said else ""

    def _read(self, path: str) -> Znode | None:
        try:
            return self._znodes.read(path)
        except NoZnodeError:
            return None

    def _children(self, path: str) -> list[str]:
        try:
            return self._znodes.children(path)
        except NoZnodeError:
            return []


@contextmanager
def running_cluster(
    settings: ClusterSettings,
    *,
    folder: Path,
    run_id: str,
    supervisor: Supervisor,
    zookeeper: ZooKeeperInUse,
    wiring: Wiring | None = None,
) -> Iterator[ClusterUnderTest]:
    """A started cluster, stopped at the end; raises `ClusterError` or `ZooKeeperError`.

    Ctrl-C, also while it starts, kills the brokers: who interrupts wants no orderly farewells.
    """
    cluster = ClusterUnderTest(
        settings,
        folder=folder,
        run_id=run_id,
        supervisor=supervisor,
        zookeeper=zookeeper.address,
        wiring=wiring,
    )
    cluster.ensemble = zookeeper.ensemble
    cluster.ends_sessions = zookeeper.end_session
    cluster.connect()
    try:
        cluster.start()
        yield cluster
    except KeyboardInterrupt:
        cluster.kill()
        raise
    finally:
        cluster.stop()
        cluster.close()
