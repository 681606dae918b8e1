"""The port to an implementation under test: what it must offer, and what it declares.

An implementation is described by an `Implementation`. Asked to `open` a site, it gives the three
parts of a cluster: the lifecycle of its brokers, its published state, and the transport of its
clients. What only some implementations can do is a declared `Capability`; which kinds of events
a run shows, and how faithfully, is declared as `observes`. What is not declared is reported,
`UNSUPPORTED` or `NOT_OBSERVABLE`, and never tried.

Brokers that are processes under a ZooKeeper are described by `command_line.CommandLine`; an
implementation in memory implements the protocols here itself (`tests/conformance/toy.py`).
"""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from fencepost.conformance.adapters.znode_dialect import (
    SPEC_DIALECT,
    ZnodeAccess,
    ZnodeDialect,
)
from fencepost.conformance.checks.observations import OF_CLIENTS, Observations
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.clients.transport import Transport
from fencepost.fault_injection.faults.targets import ClusterView, StateVersion, VersionedState
from fencepost.fault_injection.injectors.injection import Registration, TargetProcess
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.wiring import BrokerPlace, Wiring
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.transaction_log import Transaction
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import ErrorCode, Liveness
from fencepost.spec.znodes import TopicPartition
from fencepost.spec.zookeeper import ZooKeeperAddress


class Capability(StrEnum):
    """What an implementation may be made to do beyond start, kill and serve clients."""

    PROCESSES = "processes"
    """Brokers are processes of this host: signals, networks and data folders reach them."""
    LINKS = "links"
    """Brokers listen, and find each other, where the harness says: connections can be cut."""
    ZOOKEEPER = "zookeeper"
    """Its state is in a ZooKeeper that the harness starts, and its controller is a broker."""
    FAULT_CONTROL = "fault control"
    """Brokers serve `spec/wire/fault_control.proto`: sessions, disks, clocks, crash points."""
    REQUESTS = "requests"
    """Single requests between brokers can be lost, held or repeated."""
    FLUSH_RECORD = "flush record"
    """What brokers flushed to disk is written down, so that a loss of power can take the rest."""
    CONTROL = "control"
    """Brokers take LeaderAndIsr and StopReplica from the harness, with any epochs."""
    UPDATE_METADATA = "update metadata"
    """Brokers take UpdateMetadata from it too."""
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    """The controller takes ControlledShutdown from it too."""
    UNCLEAN_ELECTIONS = "unclean_leader_election"
    """Brokers obey that setting of a cluster."""
    MIN_INSYNC_REPLICAS = "min_insync_replicas"
    """Brokers obey that setting of a cluster too."""
    PRODUCER_NUMBERS = "producer numbers"
    """A produce may carry the numbers of an idempotent producer (KIP-98)."""
    FETCH_EPOCHS = "fetch epochs"
    """A fetch may name a leader epoch, and is refused in another one (KIP-320)."""
    INCARNATIONS = "incarnations"
    """A run tells a topic from one of the same name that was deleted before."""
    PROMPT_DELETION = "prompt deletion"
    """A topic goes although a broker that has a replica of it is down (TOP-002)."""
    LIVE_TRACE = "live trace"
    """Brokers write their traces while they run: a story can wait for one of their lines."""
    PREPARED_START = "prepared start"
    """A broker can load before it gets its flags (`--go-fd`, `Supervisor.prepare`)."""
    VERSIONS = "versions"
    """A broker can understand a higher level than it speaks (`--code-level`), so that brokers are
    upgraded in two passes."""
    CONFIGURATION = "configuration"
    """Brokers take AlterConfigs and DescribeConfigs from clients."""
    MUTANTS = "mutants"
    """Its own rules can be broken by name: `whitebox.mutants`."""
    STEPPED_RUNS = "stepped runs"
    """Brokers make one move after the other: `whitebox.stepped`."""
    SIMULATOR = "simulator"
    """Its protocol runs in virtual time, by seed: `whitebox.simulate`."""


NO_PROCESS = "this broker is no process that signals reach"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where one cluster is to run and with what; times in milliseconds."""

    folder: Path
    """Traces go here, everything else below it."""
    run_id: str
    broker_ids: tuple[int, ...]
    level: int
    session_timeout_ms: int
    replica_lag_ms: int
    supervisor: Supervisor
    """Starts processes, and ends them however the harness ends."""
    zookeeper: str
    """An address with a chroot for this cluster alone."""
    zookeeper_tls: Path | None = None
    """The folder of the harness's identity for ZooKeeper; None: it takes plain connections."""
    wiring: Wiring | None = None
    """Where brokers listen and find each other, when their connections can be cut."""
    unclean_leader_election: bool = False
    """A replica outside the ISR may be elected when no member of it lives."""
    min_insync_replicas: int = 1
    """So many must be in the ISR when a leader appends for acks=all."""
    extra: tuple[str, ...] = ()
    """More flags for every broker; empty for an implementation that has no command line."""
    tls: Path | None = None
    """A folder with an identity per broker and one of the administrator; None: no TLS."""
    authorizer: bool = False
    """With TLS: users but the administrator need permissions."""

    def place_of(self, broker_id: int) -> BrokerPlace:
        """Where the broker runs next; of several ZooKeeper servers, each tries another one first.

        Raises `LinkError`.
        """
        place = BrokerPlace(zookeeper=self.zookeeper)
        if self.wiring:
            place = self.wiring.place_of(broker_id)
        if not place.zookeeper:
            return place
        address = ZooKeeperAddress.parse(place.zookeeper).beginning_at(broker_id)
        return replace(place, zookeeper=str(address))

    def znodes(self, dialect: ZnodeDialect) -> ZnodeAccess:
        """A session of the harness at the cluster's ZooKeeper; raises `ZooKeeperError`.

        As short as the brokers': a server that stands still is left as soon as they leave it.
        """
        client = ZooKeeperClient(
            self.zookeeper,
            session_timeout_s=self.session_timeout_ms / 1000,
            tls=self.zookeeper_tls,
        )
        client.connect()
        return ZnodeAccess(client, dialect)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSite:
    """Where a run was."""

    folder: Path
    run_id: str
    broker_ids: tuple[int, ...]
    unclean_leader_election: bool = False
    ended_ms: int | None = None
    """When the last client was done, by the clock of the host; then the brokers are ended."""


class StartedBroker(TargetProcess, Protocol):
    """One run of a broker; inherited, it refuses what only `Capability.PROCESSES` can do."""

    def pause(self) -> None:
        """Stop all its threads."""
        raise InjectionError(NO_PROCESS)

    def stand(self) -> None:
        """Stop again a process that was paused before."""
        raise InjectionError(NO_PROCESS)

    def go_on(self) -> None:
        """Continue; the ledger keeps its entry."""
        raise InjectionError(NO_PROCESS)

    def expect_stop(self) -> None:
        """Note in the ledger that the process may stop itself."""
        raise InjectionError(NO_PROCESS)

    def resume(self) -> None:
        """Continue for good."""
        raise InjectionError(NO_PROCESS)

    def ask_to_end(self) -> None:
        """Tell it to end; it may still serve meanwhile."""
        self.kill()

    def terminate(self, _grace_s: float, /) -> object:
        """End it: asked first, and killed after so many seconds."""
        return self.kill()

    def log_tail(self, _lines: int = 20, /) -> str:
        """The last lines that it wrote."""
        return ""


class BrokerLifecycle(Protocol):
    """Starts the brokers of one cluster and knows where their data is."""

    @property
    def controllers(self) -> tuple[int, ...]:
        """Nodes that are controllers and no brokers; faults reach them like brokers."""
        return ()

    def start(self, broker_id: int, /, *_flags: str) -> None:
        """A broker that does not run is starting on its data; with flags of a stepped run."""

    def prepare(self, _broker_id: int, /) -> None:
        """Load the broker's next run, which does nothing until `start`; by default nothing."""
        return

    def is_ready(self, _broker_id: int, /) -> bool:
        """False while a prepared run is still loading what it needs."""
        return True

    def started(self, broker_id: int) -> StartedBroker | None:
        """The broker's last run, ended or not; None when it was never started."""

    def data_folder(self, broker_id: int, /) -> Path:
        """Where the broker keeps its logs; raises `InjectionError` when it has no folder."""
        raise InjectionError(f"broker {broker_id} keeps its logs in no folder")


class PublishedState(VersionedState, Protocol):
    """The published state of an implementation."""

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration with the address that it registered; None without one."""

    def controller_epoch(self) -> int | None:
        """Of the last controller; by default none is published."""
        return None

    def version_of(self, _partition: TopicPartition, /) -> StateVersion | None:
        """The version of a partition's state; by default none is published."""
        return None

    def pending(self) -> frozenset[Liveness]:
        """The promises that administrators' open requests stand for."""
        return frozenset()

    def assignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The assigned replicas of every partition."""
        return {
            TopicPartition(topic, number): replicas
            for topic in self.topics()
            for number, replicas in self.assignment(topic).items()
        }

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The published leader; None without one."""
        state = self.state_of(partition)
        return None if state is None or state.leader < 0 else int(state.leader)

    def isr_of(self, partition: TopicPartition) -> frozenset[int]:
        """The published ISR."""
        state = self.state_of(partition)
        return frozenset(map(int, state.isr)) if state else frozenset()

    def is_in_sync(self, partition: TopicPartition) -> bool:
        """True when it has a leader, and all its replicas are in the ISR."""
        state = self.state_of(partition)
        assigned = self.assignment(partition.topic).get(partition.partition, ())
        return state is not None and state.leader in state.isr and state.isr == frozenset(assigned)

    def view(self) -> ClusterView:
        """The roles of all brokers now."""
        assigned = self.assignments()
        leaders = {partition: self.leader_of(partition) for partition in assigned}
        return ClusterView(
            controller_id=self.controller(),
            leaders={partition: leader for partition, leader in leaders.items() if leader},
            assigned_replicas=assigned,
        )

    def close(self) -> None:
        """Close the session that the state is read in."""
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterParts:
    """One cluster of an implementation, opened at a site; nothing of it runs yet."""

    lifecycle: BrokerLifecycle
    state: PublishedState
    transport: Transport
    workload_transport: Transport | None = None
    """That of the clients of the workload; None: the same."""
    znodes: ZnodeAccess | None = None
    """Where faults can hurt the state; None when it is in no ZooKeeper."""

    def running(self, broker_ids: Iterable[int]) -> dict[int, StartedBroker]:
        """The brokers of these that run, in this order."""
        started = {broker_id: self.lifecycle.started(broker_id) for broker_id in broker_ids}
        return {b: process for b, process in started.items() if process and process.is_running}

    def close(self) -> None:
        """Close the connections of the clients and the session that the state is read in."""
        with ExitStack() as closing:
            closing.callback(self.state.close)
            closing.callback(self.transport.close)
            if self.workload_transport is not None:
                closing.callback(self.workload_transport.close)


@dataclass(frozen=True, kw_only=True)
class Implementation(ABC):
    """An implementation under test."""

    name: str
    """As reports name it."""
    levels: tuple[int, ...]
    """The protocol levels that it can run at."""
    capabilities: frozenset[Capability] = frozenset()
    observes: Observations = field(default_factory=lambda: OF_CLIENTS)
    wire_protocol: WireProtocol = WireProtocol.GRPC
    """What its brokers speak with each other and with clients."""
    znode_dialect: ZnodeDialect = SPEC_DIALECT
    """The paths and documents of its state, with `Capability.ZOOKEEPER`."""
    trace_dialect: TraceDialect = SPEC
    """How its traces are to be judged, where it differs from our texts."""
    takes_flags: bool = False
    """Its brokers take the `extra` flags of a site."""
    names_incarnations: bool = True
    """Its answers and lines say which incarnation of a partition they are about."""
    ends_together: bool = False
    """After a run its brokers are asked to end at once, not one after the other.

    What the last ones elect while the others end is no part of the run, but in their lines.
    """
    broken_rule: str = ""
    """The rule that it breaks on purpose, so that a violation is expected; empty for none."""
    chosen_as: str = ""
    """The `target` of one that was loaded by its name."""

    @abstractmethod
    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster at this site; raises `ZooKeeperError` or `ClusterError`."""

    @property
    def needs(self) -> frozenset[Capability]:
        """What every run of it needs: to break a rule is a capability."""
        return frozenset({Capability.MUTANTS} if self.broken_rule else ())

    @property
    def differences(self) -> tuple[str, ...]:
        """What it does otherwise than our texts, so far as runs are judged by it; clauses."""
        found = self.trace_dialect.differences
        if not self.names_incarnations:
            found += ("answers do not say which incarnation of a partition they are about",)
        return (*found, f"it breaks {self.broken_rule} on purpose") if self.broken_rule else found

    @property
    def definite_errors(self) -> frozenset[str]:
        """The errors of a produce that say that nothing was appended; all others may mean it."""
        codes = set(ErrorCode) - {ErrorCode.NONE}
        return frozenset(str(code) for code in codes if not code.is_indefinite)

    @property
    def target(self) -> str:
        """What `--target` and `--fencepost-target` take to choose it; empty for the reference."""
        return self.chosen_as

    @property
    def told(self) -> Mapping[str, object]:
        """What the trace's `RunStarted` says of it."""
        return {"implementation": self.name, "command": self.target or None}

    @property
    def again(self) -> str:
        """Options of `fencepost chaos` that choose it, with a space before each."""
        return f" --target {shlex.quote(self.target)}" if self.target else ""

    def in_words(self, transaction: Transaction, /) -> Transaction:
        """A change of its ZooKeeper, with the path and document that `spec/znodes.py` has for it.

        By default it has these itself.
        """
        return transaction

    def history(self, _site: RunSite, /) -> Sequence[Transaction] | None:
        """The changes of its state, in the words of `spec/znodes.py`, where no ZooKeeper has them.

        Read from what its nodes left in the folder of an ended run; by default nothing tells them.
        Raises `ClusterError` when it cannot be read.
        """
        return None

    def observed(self, _site: RunSite, _zookeeper: Sequence[TraceEvent], /) -> Iterable[TraceEvent]:
        """What its brokers did, by what they left in the folder of an ended run.

        By default nothing, for brokers write their traces themselves. `_zookeeper` is what
        ZooKeeper logged, or `history`. The lines of each node come together, in order.
        """
        return ()

    def contradictions(self, _events: Sequence[TraceEvent], /) -> list[str]:
        """Where a run's trace shows other brokers than were asked for; one sentence each."""
        return []
