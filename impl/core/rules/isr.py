"""How a leader changes the ISR: ask, then believe ZooKeeper.

Actions of `spec/tla/LeaderAndIsr.tla`. At most one change of a partition is in flight; until it is
decided, commits need the old members and the new ones (ISR-003).
"""

from msgspec.structs import replace

from fencepost.impl.core.rules.replica import Replica
from fencepost.spec.vocabulary import BrokerId, ZnodeVersion


def shrink_isr(
    replica: Replica, now_ms: int, replica_lag_time_ms: int, *, leader_too: bool = False
) -> Replica:
    """The leader wants those out of the ISR that were not caught up for too long (ISR-001).

    The leader itself never lags (ISR-006, H38); a member that never fetched counts from the moment
    at which this leader took over (ISR-005). `leader_too` is a mutant's wrong rule.
    """
    if not _may_change_isr(replica):
        return replica
    oldest_ms = now_ms - replica_lag_time_ms
    lagging = frozenset(
        member
        for member in (replica.isr if leader_too else replica.isr - {replica.broker_id})
        if _caught_up_ms(replica, member) < oldest_ms
    )
    return replace(replica, wanted_isr=replica.isr - lagging) if lagging else replica


def lags_at_ms(
    replica: Replica, replica_lag_time_ms: int, *, leader_too: bool = False
) -> int | None:
    """When the first member will have lagged too long if nobody fetches; None while none can."""
    members = replica.isr if leader_too else replica.isr - {replica.broker_id}
    if not members or not _may_change_isr(replica):
        return None
    return min(_caught_up_ms(replica, member) for member in members) + replica_lag_time_ms + 1


def expand_isr(
    replica: Replica,
    now_ms: int,
    replica_lag_time_ms: int,
    *,
    laggards: bool = False,
    below_epoch_start: bool = False,
) -> Replica:
    """The leader wants those in that reached the high watermark and its epoch's start (ISR-002).

    Nobody who would be asked out at once, such as a follower that had all when it fell silent: two
    writes would follow each other for as long as others fetch. The specs know no lag time.

    The flags are mutants' wrong rules: V3's test, which admits whoever is behind all members (H35);
    the high watermark alone, which may lag behind what was committed before (H36).
    """
    if not _may_change_isr(replica):
        return replica
    oldest_ms = now_ms - replica_lag_time_ms
    needed = max(replica.high_watermark, replica.epoch_start_offset)
    if below_epoch_start:
        needed = replica.high_watermark
    ready = frozenset(
        follower
        for follower, progress in replica.followers.items()
        if follower in replica.assigned_replicas
        and (
            _is_behind_all(replica, follower)
            if laggards
            else progress.log_end_offset >= needed and progress.caught_up_ms >= oldest_ms
        )
    )
    return replace(replica, wanted_isr=replica.isr | ready) if ready - replica.isr else replica


def adopt_isr(replica: Replica, isr: frozenset[BrokerId], znode_version: ZnodeVersion) -> Replica:
    """ZooKeeper holds this ISR, written by this leader in this epoch."""
    return replace(replica, isr=isr, znode_version=znode_version, wanted_isr=None)


def fence_leader(replica: Replica) -> Replica:
    """Another wrote the znode: no commit any more until the controller's command (ISR-004)."""
    return replace(replica, is_fenced=True, wanted_isr=None)


def _may_change_isr(replica: Replica) -> bool:
    return replica.is_leader and not replica.is_fenced and replica.wanted_isr is None


def _caught_up_ms(replica: Replica, member: BrokerId) -> int:
    progress = replica.followers.get(member)
    return progress.caught_up_ms if progress else replica.leading_since_ms


def _is_behind_all(replica: Replica, follower: BrokerId) -> bool:
    members = replica.isr & replica.followers.keys() - {replica.broker_id}
    ends = [replica.followers[member].log_end_offset for member in members]
    smallest = min([replica.log_end_offset, *ends])
    return replica.followers[follower].log_end_offset <= smallest
