"""How a leader changes the ISR: ask, then believe ZooKeeper.

Actions of `spec/tla/LeaderAndIsr.tla`. At most one change of a partition is in flight; until it is
decided, commits need the old members and the new ones (ISR-003).
"""

from collections.abc import Callable
from enum import Enum

from msgspec.structs import replace

from fencepost.impl.core.rules.replica import Acted, FollowerProgress, Replica
from fencepost.impl.core.types.actions import Named, action, taken
from fencepost.impl.core.types.zookeeper import Check, SetData, WriteOp
from fencepost.spec.vocabulary import ANY_VERSION, NO_INCARNATION, BrokerId, ZnodeVersion
from fencepost.spec.znodes import (
    LeaderAndIsr,
    leader_and_isr_path,
    partition_path,
    topic_id_path,
)


@action
def shrink_isr(replica: Replica, now_ms: int, replica_lag_time_ms: int) -> Acted:
    """Members that were not caught up for too long are to leave the ISR (ISR-001).

    The leader itself never lags (ISR-006, H38); a member that never fetched counts from the moment
    at which this leader took over (ISR-005).
    """
    followers = replica.isr - {replica.broker_id}
    wanting = drop_lagging(replica, followers, now_ms - replica_lag_time_ms)
    return asked(shrink_isr, replica, wanting)


def drop_lagging(replica: Replica, members: frozenset[BrokerId], oldest_ms: int) -> Replica:
    """Those of `members` that were last caught up before `oldest_ms` are to leave the ISR."""
    if not may_change_isr(replica):
        return replica
    lagging = frozenset(one for one in members if caught_up_ms(replica, one) < oldest_ms)
    return replace(replica, wanted_isr=replica.isr - lagging) if lagging else replica


def lags_at_ms(replica: Replica, replica_lag_time_ms: int) -> int | None:
    """When the first member will have lagged too long without a fetch; None while none can."""
    return first_lags_at_ms(replica, replica.isr - {replica.broker_id}, replica_lag_time_ms)


def first_lags_at_ms(
    replica: Replica, members: frozenset[BrokerId], replica_lag_time_ms: int
) -> int | None:
    """When the first of `members` will have lagged too long; None while none can."""
    if not members or not may_change_isr(replica):
        return None
    return min(caught_up_ms(replica, member) for member in members) + replica_lag_time_ms + 1


@action
def expand_isr(replica: Replica, now_ms: int, replica_lag_time_ms: int) -> Acted:
    """Followers at the high watermark and the epoch's start are to join the ISR (ISR-002).

    Not one that would have to leave at once, such as a follower that had all records when it fell
    silent: two writes would follow each other while other followers fetch. The specs know no lag
    time.
    """
    oldest_ms = now_ms - replica_lag_time_ms
    needed = max(replica.high_watermark, replica.epoch_start_offset)
    wanting = admit(
        replica, lambda one: one.log_end_offset >= needed and one.caught_up_ms >= oldest_ms
    )
    return asked(expand_isr, replica, wanting)


def admit(replica: Replica, is_ready: Callable[[FollowerProgress], bool]) -> Replica:
    """The assigned replicas are to join the ISR if `is_ready` says so of their progress."""
    if not may_change_isr(replica):
        return replica
    ready = frozenset(
        follower
        for follower, progress in replica.followers.items()
        if follower in replica.assigned_replicas and is_ready(progress)
    )
    joining = ready - replica.isr
    if not joining:
        return replica
    under = replica.follower_broker_epochs
    joined = {one: under[one] for one in sorted(joining) if one in under}
    epochs = {**replica.isr_broker_epochs, **joined}
    return replace(replica, wanted_isr=replica.isr | joining, isr_broker_epochs=epochs)


def asked(action: Named, before: Replica, wanting: Replica) -> Acted:
    """The line of a leader that wants another ISR, if it does."""
    if wanting is before:
        return before, None
    isr, version = wanting.wanted_isr, wanting.znode_version
    return wanting, taken(action, wanting, isr=isr, expected_version=version)


@action
def adopt_isr(replica: Replica, isr: frozenset[BrokerId], znode_version: ZnodeVersion) -> Acted:
    """ZooKeeper holds this ISR, written by this leader in this epoch."""
    epochs = {one: epoch for one, epoch in replica.isr_broker_epochs.items() if one in isr}
    after = replace(
        replica, isr=isr, isr_broker_epochs=epochs, znode_version=znode_version, wanted_isr=None
    )
    return after, taken(adopt_isr, after)


@action
def fence_leader(replica: Replica) -> Acted:
    """The znode is not this leader's: no commit until the controller's command (ISR-004)."""
    after = replace(replica, is_fenced=True, wanted_isr=None)
    return after, taken(fence_leader, after)


class Settlement(Enum):
    """What becomes of a change of the ISR that was refused or not answered."""

    ADOPT = "ZooKeeper holds it"
    WRITE_AGAIN = "it was not applied, though it may still come; only one of the two can succeed"
    FENCE = "the state is not this leader's"


def settle_isr(
    replica: Replica, found: LeaderAndIsr, znode_version: ZnodeVersion
) -> tuple[Settlement, frozenset[BrokerId]]:
    """What the state that was read back says of the change, and its ISR (ZK-006, H39, H40).

    No other writes a state that names this leader in its epoch: a later one is the leader's own.
    """
    is_same_topic = found.topic_id == replica.topic_id
    is_same_epoch = found.leader_epoch == replica.leader_epoch
    if not (is_same_topic and is_same_epoch and found.leader == replica.broker_id):
        return Settlement.FENCE, found.isr
    if znode_version == replica.znode_version:
        return Settlement.WRITE_AGAIN, found.isr
    return Settlement.ADOPT, found.isr


def may_change_isr(replica: Replica) -> bool:
    """True while no other change is in flight and the leader is not fenced (ISR-003)."""
    return replica.is_leader and not replica.is_fenced and replica.wanted_isr is None


def caught_up_ms(replica: Replica, member: BrokerId) -> int:
    """When the member last had all that the leader had."""
    progress = replica.progress_of(member)
    return progress.caught_up_ms if progress else replica.leading_since_ms


def isr_operations(replica: Replica, folder_version: ZnodeVersion) -> tuple[WriteOp, ...]:
    """The multi by which a leader changes the ISR: tied to what it was told, or read (ZK-003).

    The znode of another incarnation may have the same versions (H12). A partition that was removed
    and added has the id of its topic, and the same versions as well: its folder stays, and counts
    the removals.
    """
    key = replica.topic_partition
    assert replica.wanted_isr is not None
    state = LeaderAndIsr(
        leader=replica.broker_id,
        leader_epoch=replica.leader_epoch,
        isr=replica.wanted_isr,
        controller_epoch=replica.controller_epoch,
        topic_id=replica.topic_id,
        isr_broker_epochs=replica.isr_broker_epochs,
    )
    checks: list[WriteOp] = []
    if replica.topic_id:
        path = topic_id_path(key.topic, replica.topic_id)
        checks.append(Check(path=path, expected_version=ANY_VERSION))
    if replica.partition_incarnation != NO_INCARNATION:
        checks.append(Check(path=partition_path(key), expected_version=folder_version))
    write = SetData(
        path=leader_and_isr_path(key),
        data=state.document(),
        expected_version=replica.znode_version,
    )
    return (*checks, write)
