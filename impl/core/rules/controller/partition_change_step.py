"""One step of a partition change, and its operations in ZooKeeper."""

from collections.abc import Iterable, Set as AbstractSet

import msgspec
from msgspec import Struct

from fencepost.impl.core.rules.controller.reassignment import Assignment
from fencepost.impl.core.types.actions import taken
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.zookeeper import Delete, SetData, WriteOp
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    Action,
    BrokerId,
    ControllerEpoch,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    LeaderAndIsr,
    TopicDocument,
    TopicPartition,
    leader_and_isr_path,
    partition_path,
)


class Seen(Struct, frozen=True, kw_only=True):
    """A partition's state as it was read for a partition change."""

    state: LeaderAndIsr
    version: ZnodeVersion
    incarnation: PartitionIncarnation


class ChangeFacts(Struct, frozen=True, kw_only=True):
    """What is known of a partition that is to change."""

    key: TopicPartition
    named: Assignment | None
    """What the topic znode says of it; None when it does not name it."""
    leaving: frozenset[BrokerId]
    """The brokers that are to give it up, also when the topic names it no more."""
    seen: Seen | None
    live: AbstractSet[BrokerId]
    """The brokers that can serve the partition now."""
    controller_epoch: ControllerEpoch


class Step(Struct, frozen=True, kw_only=True):
    """What changes for one partition, all in one multi."""

    key: TopicPartition
    action: Action | None
    """None of requests that end without an action."""
    requests: tuple[WriteOp, ...] = ()
    """Checks of the requests that it follows, and deletions of those that it fulfils."""
    assignment: Assignment | None = None
    """What the topic znode is to say of the partition; None leaves it as it is."""
    is_removal: bool = False
    """The topic znode names the partition no more, and its state is deleted."""
    seen: Seen | None = None
    state: LeaderAndIsr | None = None
    """The decision that replaces what was seen."""
    is_unclean: bool = False
    is_loss_possible: bool = False

    def taken(self, controller_epoch: ControllerEpoch) -> ActionTaken | None:
        """What the trace says of the step; None of requests that end without an action."""
        if self.action is None:
            return None
        return taken(
            self.action,
            self.state,
            topic_partition=self.key,
            controller_epoch=controller_epoch,
            assigned_replicas=self.assignment.assigned if self.assignment is not None else None,
            expected_version=self.seen.version if self.seen is not None else None,
            is_unclean=self.is_unclean or None,
            is_loss_possible=self.is_loss_possible or None,
        )

    def ended(self) -> list[Delete]:
        """The requests that go."""
        return [op for op in self.requests if isinstance(op, Delete)]

    def state_ops(self) -> tuple[WriteOp, ...]:
        """The write of the state, if any."""
        path = leader_and_isr_path(self.key)
        if self.seen is None:
            return ()
        if self.is_removal:
            # The next incarnation begins again at version 0: its folder tells the two apart.
            again = SetData(path=partition_path(self.key), data=b"", expected_version=ANY_VERSION)
            return (Delete(path=path, expected_version=self.seen.version), again)
        assert self.state is not None, "else nothing was to be seen"
        data = self.state.document()
        return (SetData(path=path, data=data, expected_version=self.seen.version),)


def assignment_in(document: TopicDocument, partition: int) -> Assignment | None:
    """What the topic znode says of a partition; None when it does not name it."""
    name = str(partition)
    if name not in document.partitions:
        return None
    return Assignment(
        assigned=tuple(map(BrokerId, document.partitions[name])),
        adding=frozenset(map(BrokerId, (document.adding or {}).get(name, ()))),
        removing=frozenset(map(BrokerId, (document.removing or {}).get(name, ()))),
    )


def leaving_in(document: TopicDocument, partition: int) -> frozenset[BrokerId]:
    """The brokers that are to give the partition up, also when the topic names it no more."""
    return frozenset(map(BrokerId, (document.removing or {}).get(str(partition), ())))


def with_steps(document: TopicDocument, steps: Iterable[Step]) -> TopicDocument:
    """The topic znode after the steps."""
    partitions = dict(document.partitions)
    adding, removing = dict(document.adding or {}), dict(document.removing or {})
    for step in steps:
        name = str(step.key.partition)
        if step.is_removal:
            partitions.pop(name, None)
        if step.assignment is not None and step.assignment.assigned:
            partitions[name] = list(step.assignment.assigned)
        if step.assignment is not None:
            _put(adding, name, step.assignment.adding)
            _put(removing, name, step.assignment.removing)
    return msgspec.structs.replace(
        document,
        partitions=partitions,
        adding=adding or msgspec.UNSET,
        removing=removing or msgspec.UNSET,
    )


def _put(brokers: dict[str, list[int]], name: str, now: frozenset[BrokerId]) -> None:
    brokers.pop(name, None)
    if now:
        brokers[name] = sorted(now)
