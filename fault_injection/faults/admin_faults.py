"""What administrators do, in the middle of everything else: done in time, seen, and ended."""

from typing import Annotated, ClassVar

from msgspec import Meta

from fencepost.fault_injection.faults.fault import Fault, ForMs
from fencepost.fault_injection.faults.fault_kind import fault_kind
from fencepost.fault_injection.faults.parameters import number

TopicName = Annotated[str, Meta(description="the name of the topic")]
PartitionNumber = Annotated[int, number("the number of the partition", ge=0)]


@fault_kind(
    injector="znodes:ControllerKickInjector",
    evidence="the znode was deleted, and the controller epoch has grown",
    undo="a broker becomes controller, by itself",
    requirements=("CTL-006", "ZK-005"),
)
class KickController(Fault, frozen=True, kw_only=True, tag="admin.controller_kick"):
    """A foreign session deletes `/controller` while the controller lives and does not know it."""


@fault_kind(
    injector="admin:ReassignmentInjector",
    evidence="the assignment has changed",
    undo="the assigned replicas are those that were asked for, and all in sync",
    requirements=("REAS-001", "REAS-002", "REAS-003"),
)
class ReassignPartition(Fault, frozen=True, kw_only=True, tag="admin.reassign"):
    """A partition is moved to other brokers."""

    is_awaited: ClassVar[bool] = True
    topic: TopicName
    partition: PartitionNumber = 0
    replicas: Annotated[
        tuple[int, ...], Meta(min_length=1, description="where it goes, the preferred leader first")
    ]


@fault_kind(
    injector="admin:PartitionAdditionInjector",
    evidence="more partitions are published",
    undo="all partitions are led, with all their replicas in sync",
    requirements=("PART-001",),
)
class AddPartitions(Fault, frozen=True, kw_only=True, tag="admin.add_partitions"):
    """A topic gets more partitions."""

    is_awaited: ClassVar[bool] = True
    topic: TopicName
    count: Annotated[int, number("how many more", ge=1)] = 1


@fault_kind(
    injector="admin:TopicRecreationInjector",
    evidence="the topic is not published any more",
    undo="another topic of the same name is led, with all its replicas in sync",
    requirements=("TOP-002", "TOP-003"),
)
class RecreateTopic(Fault, frozen=True, kw_only=True, tag="admin.delete_recreate_topic"):
    """A topic is deleted with all its records, and created again under the same name."""

    is_awaited: ClassVar[bool] = True
    topic: TopicName
    for_ms: ForMs


@fault_kind(
    injector="admin:PreferredElectionInjector",
    evidence="the first assigned replica leads, which did not before",
    undo="it leads, and is in its ISR",
    requirements=("REAS-001",),
)
class ElectPreferred(Fault, frozen=True, kw_only=True, tag="admin.preferred_leader"):
    """The first of the assigned replicas is to lead its partition again."""

    is_awaited: ClassVar[bool] = True
    topic: TopicName
    partition: PartitionNumber = 0
