"""What a broker compares before it obeys a command, by the table `COMMANDS` (V3 C).

A command is judged by its controller epoch, then by the incarnation that it names, then by its
leader epoch; each partition of a request alone (CMD-009).
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import CommandKind, Role
from fencepost.impl.core.types.effects import DeleteLog, DiskEffect
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState, PartitionStop
from fencepost.spec.vocabulary import (
    NO_EPOCH,
    NO_INCARNATION,
    BrokerEpoch,
    ControllerEpoch,
    LeaderEpoch,
    PartitionIncarnation,
)
from fencepost.spec.znodes import TopicPartition


def command_of(replica: Replica, command: PartitionState, *, newer: bool) -> CommandKind:
    """What the command says to this replica; `newer` is the judgement of `is_newer`."""
    leads = command.leader == replica.broker_id
    if newer:
        return CommandKind.LEAD if leads else CommandKind.FOLLOW
    if leads:
        return CommandKind.LEAD_AGAIN
    is_known = command.leader_epoch == replica.leader_epoch
    return CommandKind.FOLLOW_AGAIN if is_known else CommandKind.FOLLOW_OLDER


# Controller epochs (CTL-006, CTL-007)


def trust_any_controller(_known: ControllerEpoch, _command: ControllerEpoch) -> bool:
    """No command is stale, and no controller deposed, by its epoch: there is none below level 1."""
    return False


def is_stale_controller(known: ControllerEpoch, command: ControllerEpoch) -> bool:
    """True when a newer controller was heard of than the one that sends the command (CTL-006)."""
    return command < known


def deposes_controller(own: ControllerEpoch, command: ControllerEpoch) -> bool:
    """True when a command ends the time of this node as controller (CTL-007)."""
    return command > own


def adopt_controller_epoch(known: ControllerEpoch, command: ControllerEpoch) -> ControllerEpoch:
    """The largest controller epoch heard of, after a command was taken (CTL-007)."""
    return max(known, command)


# INITs (CMD-007)

InitId = tuple[ControllerEpoch, BrokerEpoch]
"""Which controller sends an INIT, and which broker epoch it names."""


def named_by_init(
    assigned: Iterable[TopicPartition], told: Iterable[TopicPartition]
) -> tuple[TopicPartition, ...]:
    """All partitions of the broker, those that it is told of now and the others (BEP-007)."""
    return tuple(sorted({*assigned, *told}))


def is_first_init(init: InitId, obeyed: InitId) -> bool:
    """Only the first INIT of a controller deletes: a later one may be a late one (H19)."""
    return init != obeyed


def is_newer_init(init: InitId, obeyed: InitId) -> bool:
    """Of one controller, one with a larger `max_broker_epoch` is later, and names all (BEP-003).

    It need not be of another registration: then it was sent again, and made anew.
    """
    return init > obeyed


def is_omitted(replica: Replica, zxid: int) -> bool:
    """An INIT that rests on a reading at `zxid` cannot speak of what is newer (H19b)."""
    return NO_INCARNATION < replica.partition_incarnation <= zxid


# Incarnations (TOP-003)


class Stopped(Struct, frozen=True, kw_only=True):
    """A replica of this incarnation was given up; -1 stands for every epoch of it."""

    partition_incarnation: PartitionIncarnation
    leader_epoch: LeaderEpoch

    def covers(self, command: PartitionState) -> bool:
        """True when the command is not newer than the stop."""
        is_same = command.partition_incarnation == self.partition_incarnation
        if is_same and self.leader_epoch != NO_EPOCH:
            return command.leader_epoch <= self.leader_epoch
        return command.partition_incarnation <= self.partition_incarnation


def is_over(
    command: PartitionState,
    _request: LeaderAndIsrRequest,
    replicas: Mapping[TopicPartition, Replica],
) -> bool:
    """True when the command is about an incarnation that this broker knows to be gone (TOP-003)."""
    replica = replicas.get(command.key)
    known = replica.partition_incarnation if replica is not None else NO_INCARNATION
    return NO_INCARNATION < command.partition_incarnation < known


def is_overtaken(command: PartitionState, stopped: Stopped | None, oldest: int) -> bool:
    """True when what the command names was stopped after it was decided (TOP-003, H10c).

    `oldest` is the smallest zxid at which a partition of the topic may have been created.
    """
    if stopped is not None and stopped.covers(command):
        return True
    return NO_INCARNATION < command.partition_incarnation < oldest


def are_different(one: PartitionIncarnation, other: PartitionIncarnation) -> bool:
    """True when both are known: a sender that names none is taken to mean what is there."""
    return one != other and NO_INCARNATION not in (one, other)


def is_of_other_incarnation(replica: Replica, command: PartitionState) -> bool:
    """True when the replica's log is of another incarnation than the command's (H10b)."""
    return are_different(replica.partition_incarnation, command.partition_incarnation)


def begin_incarnation(
    old: Replica, incarnation: PartitionIncarnation
) -> tuple[Replica, tuple[DiskEffect, ...]]:
    """The next incarnation begins with nothing, and nothing is left of the old one (H10b)."""
    fresh = Replica(
        broker_id=old.broker_id,
        topic_partition=old.topic_partition,
        partition_incarnation=incarnation,
    )
    return fresh, (DeleteLog(topic_partition=old.topic_partition),)


def is_newer_than_stop(replica: Replica, stop: PartitionStop) -> bool:
    """True when the replica has obeyed a later decision than the stop (CMD-008)."""
    is_same = replica.partition_incarnation == stop.partition_incarnation
    if is_same and stop.leader_epoch != NO_EPOCH:
        return replica.leader_epoch > stop.leader_epoch
    return replica.partition_incarnation > stop.partition_incarnation


# Leader epochs (CMD-002)


def is_newer(replica: Replica, command: PartitionState) -> bool:
    """True when the command must be obeyed (CMD-002).

    A replica that waits for its first command since the start has read ZooKeeper's state as a
    floor: as follower it obeys the very state it has read, to lead it needs a higher epoch, since
    leading twice in one epoch could put two records at one offset (START-002).
    """
    if command.leader_epoch > replica.leader_epoch:
        return True
    if replica.role is not Role.WAITING or command.leader == replica.broker_id:
        return False
    floor = (replica.leader_epoch, replica.znode_version)
    return (command.leader_epoch, command.znode_version) >= floor


def skips_epochs(replica: Replica, command: PartitionState) -> bool:
    """True when another broker may have led between what the replica knows and the command."""
    return command.leader_epoch > replica.leader_epoch + 1
