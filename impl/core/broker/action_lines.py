"""How the actions of a broker stand in the trace: every `ActionTaken` of a broker is made here.

Fields as `spec/README.md` has them in its table `kind: action`.
"""

from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionStop, Record
from fencepost.spec.vocabulary import Action, BrokerId, ControllerEpoch, Offset
from fencepost.spec.znodes import TopicPartition


def role_taken(action: Action, after: Replica, request: LeaderAndIsrRequest) -> ActionTaken:
    """`BecomeLeader` or `BecomeFollower`, on a command."""
    return ActionTaken(
        action=action,
        topic_partition=after.topic_partition,
        partition_incarnation=after.partition_incarnation,
        leader=after.leader,
        leader_epoch=after.leader_epoch,
        isr=after.isr,
        znode_version=after.znode_version,
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        high_watermark=after.high_watermark,
        log_end_offset=after.log_end_offset,
    )


def isr_wanted(before: Replica, after: Replica) -> ActionTaken:
    """`ShrinkIsr` or `ExpandIsr`: which of the two, the wanted ISR says."""
    assert after.wanted_isr is not None
    return ActionTaken(
        action=Action.EXPAND_ISR if after.wanted_isr - before.isr else Action.SHRINK_ISR,
        topic_partition=after.topic_partition,
        partition_incarnation=after.partition_incarnation,
        leader_epoch=after.leader_epoch,
        isr=after.wanted_isr,
        maximal_isr=after.maximal_isr,
        expected_version=after.znode_version,
    )


def isr_settled(after: Replica) -> ActionTaken:
    """`AdoptIsr`, or `FenceLeader` when the leader may commit no more."""
    return ActionTaken(
        action=Action.FENCE_LEADER if after.is_fenced else Action.ADOPT_ISR,
        topic_partition=after.topic_partition,
        partition_incarnation=after.partition_incarnation,
        leader_epoch=after.leader_epoch,
        isr=after.isr,
        maximal_isr=after.maximal_isr,
        znode_version=after.znode_version,
    )


def high_watermark_advanced(after: Replica) -> ActionTaken:
    """`AdvanceHighWatermark`."""
    return ActionTaken(
        action=Action.ADVANCE_HIGH_WATERMARK,
        topic_partition=after.topic_partition,
        partition_incarnation=after.partition_incarnation,
        leader_epoch=after.leader_epoch,
        isr=after.isr,
        maximal_isr=after.maximal_isr,
        high_watermark=after.high_watermark,
        log_end_offset=after.log_end_offset,
    )


def records_appended(
    after: Replica, base_offset: Offset, records: tuple[Record, ...]
) -> ActionTaken:
    """`LeaderAppend` or `FollowerAppend`; without records, a follower's high watermark moved."""
    return ActionTaken(
        action=Action.LEADER_APPEND if after.is_leader else Action.FOLLOWER_APPEND,
        topic_partition=after.topic_partition,
        partition_incarnation=after.partition_incarnation,
        leader_epoch=after.leader_epoch,
        offset=base_offset,
        records=records or None,
        high_watermark=after.high_watermark,
        log_end_offset=after.log_end_offset,
    )


def log_truncated(after: Replica, offset: Offset) -> ActionTaken:
    """`TruncateLog`."""
    return ActionTaken(
        action=Action.TRUNCATE_LOG,
        topic_partition=after.topic_partition,
        partition_incarnation=after.partition_incarnation,
        leader_epoch=after.leader_epoch,
        offset=offset,
        high_watermark=after.high_watermark,
        log_end_offset=after.log_end_offset,
    )


def fetch_served(after: Replica, follower: BrokerId, fetch_offset: Offset) -> ActionTaken:
    """`ServeFetch`."""
    return ActionTaken(
        action=Action.SERVE_FETCH,
        topic_partition=after.topic_partition,
        leader_epoch=after.leader_epoch,
        peer=follower,
        offset=fetch_offset,
    )


def replica_stopped(
    before: Replica, stop: PartitionStop, controller_epoch: ControllerEpoch
) -> ActionTaken:
    """`StopReplica`."""
    return ActionTaken(
        action=Action.STOP_REPLICA,
        topic_partition=stop.key,
        leader_epoch=stop.leader_epoch,
        controller_epoch=controller_epoch,
        partition_incarnation=before.partition_incarnation,
    )


def init_obeyed(before: Replica, request: LeaderAndIsrRequest) -> ActionTaken:
    """`ObeyInit`, of a replica that the request omits."""
    return ActionTaken(
        action=Action.OBEY_INIT,
        topic_partition=before.topic_partition,
        controller_epoch=request.controller_epoch,
        partition_incarnation=before.partition_incarnation,
        zxid=request.zxid,
    )


def assignment_read() -> ActionTaken:
    """`ReadAssignment`."""
    return ActionTaken(action=Action.READ_ASSIGNMENT)


def replica_deleted(key: TopicPartition, before: Replica) -> ActionTaken:
    """`RecoverReplicas`, of a log that a starting broker does not keep."""
    return ActionTaken(
        action=Action.RECOVER_REPLICAS,
        topic_partition=key,
        partition_incarnation=before.partition_incarnation,
    )
