"""What administrators do, in the middle of everything else: done in time, seen, and ended."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import Fault, ForMs
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Parameter

TopicName = Annotated[str, Parameter("the name of the topic")]
PartitionNumber = Annotated[int, Parameter("the number of the partition", at_least=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KickController(Fault):
    """Somebody deletes `/controller` while the controller lives and does not know it."""

    kind: ClassVar[str] = "admin.controller_kick"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignPartition(Fault):
    """A partition is moved to other brokers."""

    kind: ClassVar[str] = "admin.reassign"
    topic: TopicName
    partition: PartitionNumber = 0
    replicas: Annotated[
        tuple[int, ...], Parameter("where it goes, the preferred leader first", at_least=1)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions(Fault):
    """A topic gets more partitions."""

    kind: ClassVar[str] = "admin.add_partitions"
    topic: TopicName
    count: Annotated[int, Parameter("how many more", at_least=1)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecreateTopic(Fault):
    """A topic is deleted with all its records, and created again under the same name."""

    kind: ClassVar[str] = "admin.delete_recreate_topic"
    topic: TopicName
    for_ms: ForMs


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectPreferred(Fault):
    """The first of the assigned replicas is to lead its partition again."""

    kind: ClassVar[str] = "admin.preferred_leader"
    topic: TopicName
    partition: PartitionNumber = 0


KINDS = (
    FaultKind(
        fault_class=KickController,
        injector="znodes:Kick",
        missing={},
        evidence="the znode was deleted, and the controller epoch has grown",
        undo="a broker becomes controller, by itself",
        requirements=("CTL-006", "ZK-005"),
    ),
    FaultKind(
        fault_class=ReassignPartition,
        injector="admin:Reassignment",
        missing={},
        evidence="the assignment has changed",
        undo="the assigned replicas are those that were asked for, and all in sync",
        requirements=("REAS-001", "REAS-002", "REAS-003"),
    ),
    FaultKind(
        fault_class=AddPartitions,
        injector="admin:Addition",
        missing={},
        evidence="more partitions are published",
        undo="all partitions are led, with all their replicas in sync",
        requirements=("PART-001",),
    ),
    FaultKind(
        fault_class=RecreateTopic,
        injector="admin:Recreation",
        missing={},
        evidence="the topic is not published any more",
        undo="another topic of the same name is led, with all its replicas in sync",
        requirements=("TOP-002", "TOP-003"),
    ),
    FaultKind(
        fault_class=ElectPreferred,
        injector="admin:PreferredElection",
        missing={},
        evidence="the first assigned replica leads, which did not before",
        undo="it leads, and is in its ISR",
        requirements=("REAS-001",),
    ),
)
