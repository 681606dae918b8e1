"""The port through which injectors act on real processes, and a fault with its roles resolved.

The injectors are in one module per area; `catalogue.py` says which kind is done by which.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.targets import ClusterState
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.wiring import Wiring
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZnodeContent
from fencepost.fault_injection.zookeeper.members import ZooKeeperMembers
from fencepost.spec.vocabulary import BrokerVersion
from fencepost.spec.wire.tls import TlsIdentity
from fencepost.spec.znodes import TopicPartition


def ignore_broker(_: int) -> None:
    """Which broker a fault hurts now interests only its engine."""


AnyFault_co = TypeVar("AnyFault_co", bound=Fault, covariant=True)
AnyFault = TypeVar("AnyFault", bound=Fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker's ephemeral znode `/brokers/ids/<id>` as it is now."""

    session_id: int
    zxid: int
    """Of its creation: the broker epoch."""
    address: str


class ControlAddress(NamedTuple):
    """Where a broker takes calls of `spec/wire/fault_control.proto`, and as what we come."""

    address: str
    identity: TlsIdentity | None = None
    """None: over a plain connection, from anyone."""

    def __str__(self) -> str:
        return self.address


class TargetProcess(Protocol):
    """One run of a broker; signals reach this process and no other."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def is_running(self) -> bool:
        """False once it has ended; a zombie has ended."""

    @property
    def returncode(self) -> int | None:
        """Once it has ended: its exit status, negative for a signal."""

    def pause(self) -> None:
        """The process stands still, and the ledger knows."""

    def stand(self) -> None:
        """A process that was paused before stands still again."""

    def go_on(self) -> None:
        """The process goes on, and the ledger keeps its entry."""

    def expect_stop(self) -> None:
        """The process may stop itself from now on, and the ledger knows how that is undone."""

    def resume(self) -> None:
        """The process goes on."""

    def ask_to_end(self) -> None:
        """The process has been told to end."""

    def kill(self) -> object:
        """The process has ended."""

    def log_tail(self) -> str:
        """The last lines that it wrote."""


class Znodes(Protocol):
    """A session of the harness's own; as `ZooKeeperClient`."""

    def read(self, path: str) -> ZnodeContent:
        """The znode there; raises `NoZnodeError`."""

    def delete(self, path: str) -> None:
        """Delete the znode there."""


class ZnodePaths(Protocol):
    """Where the implementation under test keeps its state in ZooKeeper."""

    @property
    def controller(self) -> str:
        """The ephemeral znode of the controller."""

    @property
    def controller_epoch(self) -> str:
        """Counts the controllers; there is none at level 0."""

    @property
    def topic_path(self) -> Callable[[str], str]:
        """Of the assignment of a topic."""

    @property
    def state_path(self) -> Callable[[TopicPartition], str]:
        """Of the leader and ISR of a partition."""


def read(source: Znodes, path: str) -> ZnodeContent | None:
    """The znode there, or None."""
    try:
        return source.read(path)
    except NoZnodeError:
        return None


class TargetAdministrator(Protocol):
    """Asks brokers for changes; a method returns when the change is granted, not when it is done.

    Each raises `InjectionError` when it is refused or not answered.
    """

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """The partition is to move."""

    def set_partition_count(self, topic: str, count: int) -> None:
        """The topic is to have so many partitions."""

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """The topic is to exist, with these replicas of each partition."""

    def delete_topic(self, topic: str) -> None:
        """The topic is to go."""

    def elect_preferred(self, partition: TopicPartition) -> None:
        """Its first assigned replica is to lead."""


class RunningBurst(Protocol):
    """More producers than usual."""

    @property
    def acknowledged(self) -> int:
        """How many of their requests were."""

    def end(self) -> None:
        """They have ended."""


class TargetLoad(Protocol):
    """The clients that are at work."""

    def burst(self, producers: int) -> RunningBurst:
        """So many more producers are at work."""

    def crash_producer(self) -> Callable[[], str | None]:
        """A producer will end in the middle; what is returned tells when it has."""


class FaultTarget(Protocol):
    """What the engine must know of a cluster to hurt it."""

    @property
    def servers(self) -> ZooKeeperMembers:
        """Of its ZooKeeper; raises `InjectionError` when it has no ensemble of our own."""

    @property
    def znodes(self) -> Znodes:
        """Its state in ZooKeeper."""

    @property
    def paths(self) -> ZnodePaths:
        """Where in ZooKeeper."""

    @property
    def state(self) -> ClusterState:
        """The published state."""

    def is_in_sync(self) -> bool:
        """All brokers live, and every partition is led with all its replicas in sync."""

    @property
    def administrator(self) -> TargetAdministrator:
        """Where faults that are requests are sent."""

    @property
    def wiring(self) -> Wiring:
        """Of its connections; raises `InjectionError` when they go through no proxy."""

    @property
    def request_links(self) -> Wiring | None:
        """Of the connections on which single requests are hurt; None: the sender does it itself."""

    @property
    def load(self) -> TargetLoad:
        """The clients that are at work; raises `InjectionError` when there are none."""

    @property
    def identity(self) -> TlsIdentity | None:
        """The administrator's, for fault commands; None: connections to brokers are plain."""

    @property
    def session_timeout_ms(self) -> int:
        """Of the brokers' ZooKeeper sessions."""

    def process(self, broker_id: int) -> TargetProcess:
        """The current process of a broker."""

    def data_folder(self, broker_id: int) -> Path:
        """Where the broker keeps its logs."""

    def prepare(self, broker_id: int) -> None:
        """The broker's next process may be there already, and does nothing until `restart`."""

    def is_ready(self, broker_id: int) -> bool:
        """False while a process that was prepared is still loading what it needs."""

    def restart(self, broker_id: int) -> None:
        """A killed broker is starting again on its data."""

    def version_of(self, broker_id: int) -> BrokerVersion:
        """What the broker understands and speaks, or will when it starts again."""

    def set_version(self, broker_id: int, version: BrokerVersion) -> None:
        """The broker will be of this version at its next start."""

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration now; None when there is none."""

    def rewrite_state(self, partition: TopicPartition) -> int | None:
        """The state of a partition was written as it is: its new version; None without a state.

        Raises `InjectionError` when another client was faster.
        """

    def expire_session(self, session_id: int, password: bytes, broker_id: int) -> None:
        """The session has ended at ZooKeeper, closed with its password."""

    def end_session(self, session_id: int) -> None:
        """ZooKeeper has ended the session by itself.

        Raises `InjectionError` when it is not ours to command, `SessionError` when it does not.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFault(Generic[AnyFault_co]):
    """A fault and the brokers that its roles resolved to."""

    fault_id: str
    fault: AnyFault_co
    target: FaultTarget
    victim_id: int | None
    """None: the fault hurts no single broker."""
    receiver_id: int | None = None
    """Of a fault on messages to one broker."""
    on_broker: Callable[[int], None] = ignore_broker
    """Called by a fault that hurts several brokers in turn, with each when its turn comes."""


class ProcessInjector(ABC, Generic[AnyFault]):
    """An injector on real processes; its evidence is a sentence."""

    process: TargetProcess | None = None
    """The process that was hurt."""
    before: Registration | None = None
    """The registration of the broker that was hurt."""

    def __init__(self, resolved: ResolvedFault[AnyFault]) -> None:
        self.resolved = resolved
        self.fault_id = resolved.fault_id
        self.fault = resolved.fault
        self.target = resolved.target

    @property
    def broker_id(self) -> int:
        """The one broker that the fault hurts."""
        assert self.resolved.victim_id is not None, f"{self.fault.kind} hurts no single broker"
        return self.resolved.victim_id

    @abstractmethod
    def inject(self) -> None:
        """Do the fault; raises `InjectionError`."""

    @abstractmethod
    def evidence(self) -> str | None:
        """What proves that it took effect; None: nothing yet."""

    def heal(self) -> None:
        """Undo the fault; by default it ends by itself."""

    @abstractmethod
    def healed(self) -> str | None:
        """What proves that the target is well again; None: not yet."""

    def find_process(self) -> TargetProcess:
        """The process that is to be hurt, and its registration, are known from now on."""
        self.process, self.before = self.target.process(self.broker_id), self.registration()
        return self.process

    @property
    def has_process(self) -> bool:
        """False when the fault has ended with the process that had it."""
        return self.process is not None and self.process.is_running

    def registration(self) -> Registration | None:
        """The registration of that broker now; None without one, or when it is no single one."""
        victim = self.resolved.victim_id
        return None if victim is None else self.target.registration(victim)

    def address(self) -> ControlAddress:
        """Where that broker takes fault commands; raises `InjectionError`."""
        now = self.registration()
        if now is None:
            raise InjectionError(f"broker {self.broker_id} is not registered")
        return self.control_of(now)

    def control_of(self, registration: Registration) -> ControlAddress:
        """Where the broker with that registration takes them."""
        return ControlAddress(registration.address, self.target.identity)


def registered_anew(now: Registration | None, before: Registration | None) -> str | None:
    """The evidence that a broker is back under another zxid than it had, if it had one."""
    if now is None or (before and now.zxid == before.zxid):
        return None
    return registered(now)


def registered(registration: Registration) -> str:
    """The evidence that a broker is back."""
    return f"registered at zxid {registration.zxid} by session {registration.session_id:#x}"
