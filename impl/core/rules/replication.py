"""What leaders and followers do with records and the high watermark.

Actions of `spec/tla/Replication.tla`, as in `replica.py`: values in, values out.
`high_watermark` is the first offset that is not committed (REPL-002).
"""

from msgspec.structs import replace

from fencepost.impl.core.rules.replica import Acted, FollowerProgress, Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.messages import Record
from fencepost.spec.vocabulary import BrokerId, Offset


@action
def leader_append(replica: Replica, records: tuple[Record, ...]) -> Acted:
    """The log has these records too, of the leader's epoch."""
    assert replica.is_leader, f"{replica.topic_partition}: only a leader appends on its own"
    starts = replica.epoch_starts
    if replica.last_epoch != replica.leader_epoch:
        starts = (*starts, (replica.leader_epoch, replica.log_end_offset))
    base = replica.log_end_offset
    after = replace(replica, log_end_offset=Offset(base + len(records)), epoch_starts=starts)
    return after, taken(leader_append, after, offset=base, records=records)


@action
def serve_fetch(replica: Replica, follower: BrokerId, fetch_offset: Offset, now_ms: int) -> Acted:
    """The leader knows that `follower` has everything below `fetch_offset`.

    A follower counts as caught up at the time of a fetch that asks for the log end, and at the time
    of its previous fetch when it now asks for what was the log end then (ISR-001). A fetch from the
    same offset as before is no line.
    """
    known = replica.followers.get(follower)
    caught_up_ms = known.caught_up_ms if known else replica.leading_since_ms
    if fetch_offset >= replica.log_end_offset:
        caught_up_ms = now_ms
    elif known and fetch_offset >= known.leader_end_at_fetch:
        caught_up_ms = max(caught_up_ms, known.fetched_ms)
    progress = FollowerProgress(
        log_end_offset=fetch_offset,
        caught_up_ms=caught_up_ms,
        fetched_ms=now_ms,
        leader_end_at_fetch=replica.log_end_offset,
        high_watermark_sent=known.high_watermark_sent if known else Offset(-1),
    )
    after = replace(replica, followers={**replica.followers, follower: progress})
    if known and known.log_end_offset == fetch_offset:
        return after, None
    under = replica.follower_broker_epochs.get(follower)
    line = taken(serve_fetch, after, peer=follower, offset=fetch_offset, broker_epoch=under)
    return after, line


def note_high_watermark_sent(replica: Replica, follower: BrokerId) -> Replica:
    """The follower is being told the current high watermark.

    A fetch that was parked in an earlier epoch tells nothing about this one.
    """
    known = replica.followers.get(follower)
    if known is None or known.high_watermark_sent == replica.high_watermark:
        return replica
    progress = replace(known, high_watermark_sent=replica.high_watermark)
    return replace(replica, followers={**replica.followers, follower: progress})


@action
def follower_append(replica: Replica, records: tuple[Record, ...], high_watermark: Offset) -> Acted:
    """The follower has the records; its high watermark is the leader's, capped by its own log end.

    It takes the leader's word also when that is lower: a new leader's high watermark may lag
    (REPL-003).
    """
    assert replica.role is Role.FOLLOWER, f"{replica.topic_partition}: only a follower fetches"
    starts, end = replica.epoch_starts, replica.log_end_offset
    for record in records:
        if not starts or record.leader_epoch > starts[-1][0]:
            starts = (*starts, (record.leader_epoch, end))
        end = Offset(end + 1)
    after = replace(
        replica,
        log_end_offset=end,
        epoch_starts=starts,
        high_watermark=min(high_watermark, end),
    )
    line = taken(follower_append, after, offset=replica.log_end_offset, records=records or None)
    return after, line


@action
def advance_high_watermark(replica: Replica) -> Acted:
    """What every member of the maximal ISR is known to hold is committed (REPL-002, ISR-003)."""
    return commit_with(replica, replica.maximal_isr)


def commit_with(replica: Replica, isr: frozenset[BrokerId]) -> Acted:
    """What the leader and every follower of `isr` are known to hold is committed."""
    if not replica.is_leader or replica.is_fenced:
        return replica, None
    if replica.high_watermark == replica.log_end_offset:
        return replica, None
    ends = []
    for follower in isr - {replica.broker_id}:
        progress = replica.progress_of(follower)
        if progress is None:
            return replica, None
        ends.append(progress.log_end_offset)
    committed = min([replica.log_end_offset, *ends])
    if committed <= replica.high_watermark:
        return replica, None
    after = replace(replica, high_watermark=committed)
    return after, taken(advance_high_watermark, after)
