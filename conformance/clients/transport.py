"""What a client asks a broker and what it is answered: the port behind which a wire protocol lives.

An implementation supplies a `Transport`; routing, tracing and retries are the client's. When in
doubt whether a request had an effect, a transport answers indefinite (CLI-005).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fencepost.fault_injection.workload.commands import ControlAnswer, ControlCommand
from fencepost.fault_injection.workload.config_operations import DESCRIBE_CONFIGS, ConfigChange
from fencepost.fault_injection.workload.operations import Answer, Fields, Operation
from fencepost.spec.config_store import ConfigEntity
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import ElectionKind
from fencepost.spec.znodes import TopicPartition


class ClusterUnreachableError(Exception):
    """No broker answers; names the addresses that were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition as a broker's routing view has it."""

    leader: int
    leader_epoch: int
    isr: frozenset[int] | None = None
    """None: the answer does not tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingView:
    """The published state as one broker read it; possibly stale."""

    broker_id: int = -1
    controller_id: int = -1
    controller_epoch: int = 0
    addresses: dict[int, str] = field(default_factory=dict)
    partitions: dict[TopicPartition, PartitionView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The client that sends a request."""

    node: str
    clock: LamportClock
    """Ticks with each request, and observes the clock of an answer that carries one."""


class RequestUnknownError(Exception):
    """The broker does not offer the request."""


REQUEST_UNKNOWN = "REQUEST_UNKNOWN"
"""The error code of a request that an implementation does not offer."""


class BrokerConnection(Protocol):
    """One broker as one client reaches it; each call is one request, never sent twice.

    Inherited, commands and administrative requests other than `create_topic` are refused.
    """

    def routing_view(self) -> RoutingView:
        """The published state as the broker read it; raises `ClusterUnreachableError`."""

    def perform(self, operation: Operation) -> Answer:
        """Append or read; of a produce with acks -1, `ok` means committed at `offset`."""

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]]
    ) -> tuple[str | None, str]:
        """Ask for a topic with these replicas: error code and message, or None and nothing.

        Raises `ClusterUnreachableError`, as the other administrative requests do.
        """

    def delete_topic(self, topic: str) -> tuple[str | None, str]:
        """Ask for a deletion, begun at once and done later."""
        return REQUEST_UNKNOWN, f"topic {topic} cannot be deleted by a request"

    def create_partitions(self, topic: str, count: int) -> tuple[str | None, str]:
        """Ask for `count` partitions in all, on brokers that are chosen in turn."""
        return REQUEST_UNKNOWN, f"{topic} cannot get {count} partitions by a request"

    def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        """Ask for moves, begun at once: the error code of each partition, or None (REAS-001)."""
        return dict.fromkeys(replicas, REQUEST_UNKNOWN)

    def elect_leaders(
        self, kind: ElectionKind, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, str | None]:
        """Ask for elections: the error code of each partition, or None."""
        return dict.fromkeys(partitions, f"{REQUEST_UNKNOWN} {kind}")

    def change_config(self, change: ConfigChange) -> Fields:
        """Ask for the change: what a trace tells of the answer (FWD-004)."""
        raise RequestUnknownError(f"{change.method} {change.entity} {', '.join(change.entries)}")

    def describe_config(self, entity: ConfigEntity) -> Fields:
        """The entries that the broker has read, as a trace tells them."""
        raise RequestUnknownError(f"{DESCRIBE_CONFIGS} {entity}")

    def config_version(self) -> int:
        """The last change of the configuration that the broker has read, counted from 0."""
        raise RequestUnknownError(DESCRIBE_CONFIGS)

    def command(self, _command: ControlCommand, /) -> ControlAnswer:
        """Send the command as it is: what the broker answers, or that it gave no answer."""
        return ControlAnswer(error_code=REQUEST_UNKNOWN)


class Transport(Protocol):
    """Connections to the brokers of one cluster, shared by the clients of one run."""

    def connect(
        self, address: str, caller: Caller, broker_id: int | None = None, /
    ) -> BrokerConnection:
        """The broker at `address`; connects when it is used.

        With a `broker_id`, another broker that listens at the address by now refuses.
        """

    def close(self) -> None:
        """Cancel calls in progress and close connections."""
        return
