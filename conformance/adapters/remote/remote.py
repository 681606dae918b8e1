"""An adapter program as an implementation under test, chosen by `cmd:PROGRAM ARGUMENTS`.

The program is run once to say hello when it is chosen, and again for each cluster.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    BrokerLifecycle,
    Capability,
    ClusterParts,
    Implementation,
    PublishedState,
    Site,
    StartedBroker,
    TraceSource,
)
from fencepost.conformance.adapters.remote.adapter_process import (
    AdapterError,
    AdapterProcess,
    AdapterTimeoutError,
)
from fencepost.conformance.adapters.remote.messages import (
    ClusterCreateCall,
    ClusterDestroyCall,
    Done,
    HelloAnswer,
    NodeKillCall,
    NodeStartCall,
    NodeStarted,
    NodeStopCall,
    ObserveCall,
    Observed,
    ObservedPartition,
    ProbeCall,
    Unsupported,
)
from fencepost.conformance.adapters.remote.transport import RemoteTransport
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

CHOICE = "cmd:"
BROKER_NODE = "broker-"
UNKNOWN_FEATURE = "a feature that does not exist"


@dataclass(frozen=True, kw_only=True)
class Remote(Implementation):
    """What an adapter program puts under test, as it said when it was greeted."""

    command: str

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster behind a new run of the program; raises `AdapterError`."""
        adapter = AdapterProcess(self.command, site.supervisor)
        call = ClusterCreateCall(
            run_id=site.run_id,
            folder=str(site.folder.absolute()),
            broker_ids=site.broker_ids,
            level=site.level,
            session_timeout_ms=site.session_timeout_ms,
            replica_lag_ms=site.replica_lag_ms,
        )
        try:
            adapter.require(call, Done)
        except AdapterError:
            adapter.close()
            raise
        has_processes = Capability.PROCESSES in self.capabilities
        cluster = RemoteCluster(adapter, site, has_processes=has_processes)
        return ClusterParts(lifecycle=cluster, state=cluster, transport=RemoteTransport(adapter))

    def contradictions(self, events: Sequence[TraceEvent], /) -> list[str]:
        """A promise of traces that no broker kept."""
        promised = TraceSource.BROKERS in self.observes
        if not promised or any(event.node.startswith(BROKER_NODE) for event in events):
            return []
        return [f"{self.name} observes brokers, and none of them wrote a trace"]


class RemoteBroker(StartedBroker):
    """One run of a broker that only the adapter reaches."""

    pid, is_running, returncode = 0, True, None

    def __init__(self, adapter: AdapterProcess, broker_id: int) -> None:
        self._adapter = adapter
        self._broker_id = broker_id

    def kill(self) -> None:
        """It has ended without cleaning up; so it has when its adapter has failed."""
        self.is_running = False
        if not self._adapter.has_failed:
            self._adapter.require(NodeKillCall(broker_id=self._broker_id), Done)

    def terminate(self, grace_s: float, /) -> None:
        """It has ended, by itself or killed after so many seconds."""
        self.is_running = False
        if self._adapter.has_failed:
            return
        call = NodeStopCall(broker_id=self._broker_id, deadline_ms=round(grace_s * 1000))
        with suppress(AdapterTimeoutError):
            if type(self._adapter.ask(call, Done)) is Done:
                return
        self.kill()


class RemoteCluster(BrokerLifecycle, PublishedState):
    """The brokers behind one adapter, and the state that it observes."""

    def __init__(self, adapter: AdapterProcess, site: Site, *, has_processes: bool) -> None:
        self._adapter = adapter
        self._site = site
        self._has_processes = has_processes
        self._brokers: dict[int, StartedBroker] = {}

    def start(self, broker_id: int, /, *_flags: str) -> None:
        """The adapter has started the broker; raises `AdapterError`."""
        pid = self._adapter.require(NodeStartCall(broker_id=broker_id), NodeStarted).pid
        if not self._has_processes:
            self._brokers[broker_id] = RemoteBroker(self._adapter, broker_id)
        elif pid is None:
            raise AdapterError(f"the adapter declares processes and names no pid of {broker_id}")
        else:
            name = broker_name(broker_id)
            self._brokers[broker_id] = self._site.supervisor.take_over(name, pid)

    def started(self, broker_id: int) -> StartedBroker | None:
        """The broker's last run, ended or not."""
        return self._brokers.get(broker_id)

    def data_folder(self, broker_id: int, /) -> Path:
        """The folder that an adapter with processes promises; raises `InjectionError`."""
        if not self._has_processes:
            return super().data_folder(broker_id)
        return Folders(root=self._site.folder).data(broker_id)

    def registration(self, broker_id: int) -> Registration | None:
        """The run of the broker that is live; clients call it by its id."""
        for live in self._observed().brokers:
            if live.broker_id == broker_id:
                epoch = live.broker_epoch
                return Registration(session_id=epoch, zxid=epoch, address=str(broker_id))
        return None

    def controller(self) -> int | None:
        """The observed controller."""
        return self._observed().controller_id

    def live_brokers(self) -> list[int]:
        """The observed brokers, ascending."""
        return sorted(live.broker_id for live in self._observed().brokers)

    def topics(self) -> list[str]:
        """The observed topics, ascending."""
        return sorted({one.topic for one in self._observed().partitions})

    def assignment(self, topic: str) -> Mapping[int, tuple[int, ...]]:
        """The assigned replicas of each partition."""
        found = self._observed().partitions
        return {one.partition: one.assigned_replicas for one in found if one.topic == topic}

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The observed leader, epoch and ISR."""
        for one in self._observed().partitions:
            if (one.topic, one.partition) == partition:
                return _state(one)
        return None

    def close(self) -> None:
        """The cluster is destroyed and the adapter has ended; raises `AdapterError`."""
        try:
            if not self._adapter.has_failed:
                self._adapter.require(ClusterDestroyCall(), Done)
        finally:
            self._adapter.close()

    def _observed(self) -> Observed:
        return self._adapter.require(ObserveCall(), Observed)


def _state(one: ObservedPartition) -> LeaderAndIsr:
    return LeaderAndIsr(
        leader=BrokerId(one.leader),
        leader_epoch=LeaderEpoch(one.leader_epoch),
        isr=frozenset(map(BrokerId, one.isr)),
    )


@cache
def greet(command: str) -> Remote:
    """The implementation behind the program; raises `ChoiceError`, with what it said instead."""
    try:
        with TemporaryDirectory() as folder, Supervisor(Path(folder), "hello") as supervisor:
            adapter = AdapterProcess(command, supervisor)
            try:
                _require_honest(adapter)
            finally:
                adapter.close()
    except AdapterError as error:
        raise ChoiceError(f"{CHOICE}{command} cannot be put under test: {error}") from error
    return _remote(command, adapter.greeting)


def _require_honest(adapter: AdapterProcess) -> None:
    answer = adapter.ask(ProbeCall(feature=UNKNOWN_FEATURE), Done)
    if not isinstance(answer, Unsupported):
        raise AdapterError(
            f"the adapter was asked for {UNKNOWN_FEATURE!r} and did not answer unsupported"
        )


def _remote(command: str, hello: HelloAnswer) -> Remote:
    return Remote(
        chosen_as=CHOICE + command,
        command=command,
        name=f"{hello.name} {hello.version}".rstrip(),
        levels=hello.levels,
        capabilities=frozenset(map(Capability, hello.capabilities)),
        observes=frozenset({TraceSource.CLIENTS, *map(TraceSource, hello.observes)}),
    )
