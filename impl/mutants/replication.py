"""Wrong rules of logs, fetches and high watermarks (REPL, CMD-005)."""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.fetches import fetch_error, is_from_leader
from fencepost.impl.core.rules.replica import Acted, Replica
from fencepost.impl.core.rules.replication import commit_with
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.actions import taken
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState, Record
from fencepost.impl.mutants.mutant import mutant, suite_mutant
from fencepost.spec.vocabulary import (
    BrokerId,
    ErrorCode,
    Invariant,
    Liveness,
    Offset,
)
from fencepost.spec.znodes import TopicPartition


def _believing(rules: Rules, believed: Callable[[Replica, Offset], Offset]) -> Rules:
    """A follower takes this for committed: of what it was, and of what its leader says."""

    def follower_append(
        replica: Replica, records: tuple[Record, ...], high_watermark: Offset
    ) -> Acted:
        after, line = rules.follower_append(replica, records, high_watermark)
        assert line is not None
        end = believed(replica, high_watermark)
        return structs.replace(after, high_watermark=end), structs.replace(line, high_watermark=end)

    return replace(rules, follower_append=follower_append)


@mutant(
    5,
    "REPL-002",
    {
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LEADER_COMPLETE,
        Invariant.LINEARIZABLE_LOG,
        Invariant.LOG_MATCHING,
    },
    seed=2,
)
def high_watermark_from_leader_alone(rules: Rules) -> Rules:
    """The leader's high watermark is its own log end offset, not the minimum of the ISR."""
    return replace(rules, advance_high_watermark=lambda leader: commit_with(leader, frozenset()))


@mutant(15, "REPL-009", {Liveness.EVENTUALLY_ACKED_OR_FAILED}, seed=42)
def high_watermark_on_fetch_only(rules: Rules) -> Rules:
    """The high watermark moves only while a follower's fetch is answered."""
    fetched: set[TopicPartition] = set()

    def serve_fetch(
        replica: Replica, follower: BrokerId, fetch_offset: Offset, now_ms: int
    ) -> Acted:
        fetched.add(replica.topic_partition)
        return rules.serve_fetch(replica, follower, fetch_offset, now_ms)

    def advance_high_watermark(replica: Replica) -> Acted:
        if replica.topic_partition not in fetched:
            return replica, None
        fetched.remove(replica.topic_partition)
        return rules.advance_high_watermark(replica)

    return replace(rules, serve_fetch=serve_fetch, advance_high_watermark=advance_high_watermark)


@mutant(16, "CMD-005", {Liveness.EVENTUALLY_TRUNCATED}, seed=71)
def end_offset_alone(rules: Rules) -> Rules:
    """A follower truncates to the leader's offset, and does not look at the epoch."""
    return replace(
        rules,
        compare_logs=lambda replica, epoch, end: (end, rules.compare_logs(replica, epoch, end)[1]),
    )


@mutant(24, "ISR-003", {Invariant.LEADER_COMPLETE}, shows="CommittedDurable")
def commit_with_old_isr(rules: Rules) -> Rules:
    """A commit does not wait for a member with an undecided ISR change."""
    return replace(rules, advance_high_watermark=lambda leader: commit_with(leader, leader.isr))


@mutant(25, "REPL-006", {Invariant.LEADER_COMPLETE}, shows="CommittedDurable")
def fetch_without_epoch(rules: Rules) -> Rules:
    """A leader serves followers of any leader epoch."""
    return replace(rules, fetch_error=fetch_error, is_current_fetch=is_from_leader)


@mutant(88, "CMD-004", {Invariant.LEADER_COMPLETE}, shows="CommittedDurable")
def append_from_old_leader(rules: Rules) -> Rules:
    """A follower appends what its old leader answers after the change of role."""
    return replace(
        rules,
        is_awaited=lambda _asked, _answered: True,
        is_current_fetch=lambda _replica, _response: True,
    )


@mutant(85, "REPL-006", {Liveness.EVENTUALLY_ISR_FULL}, shows="EventuallyIsrFull")
def give_up_when_refused(rules: Rules) -> Rules:
    """A follower that its leader refuses for its leader epoch asks no more."""
    refusals = {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH}
    return replace(rules, asks_again=lambda error: error not in refusals)


@mutant(26, "REPL-003", {Invariant.LOG_MATCHING}, shows="HighWatermarkInLog")
def unbounded_high_watermark(rules: Rules) -> Rules:
    """A follower takes its leader's high watermark although its log is shorter."""
    trusting = replace(rules, is_sound=lambda _replica: True)
    return _believing(trusting, lambda _replica, told: told)


@mutant(27, "REPL-002", {Invariant.HIGH_WATERMARK_MONOTONIC}, shows="HighWatermarkMonotonic")
def recompute_high_watermark(rules: Rules) -> Rules:
    """A leader counts followers that it has not heard of as empty."""

    def advance_high_watermark(replica: Replica) -> Acted:
        if not replica.is_leader or replica.is_fenced:
            return replica, None
        members = replica.maximal_isr - {replica.broker_id}
        known = [one.log_end_offset for id_, one in replica.followers.items() if id_ in members]
        unknown = [Offset(0)] if members - replica.followers.keys() else []
        committed = min([replica.log_end_offset, *known, *unknown])
        if committed == replica.high_watermark:
            return replica, None
        after = structs.replace(replica, high_watermark=committed)
        return after, taken(advance_high_watermark, after)

    return replace(rules, advance_high_watermark=advance_high_watermark)


@mutant(29, "CMD-005", {Invariant.LOG_MATCHING}, shows="CommittedDurable")
def truncate_on_new_leader_only(rules: Rules) -> Rules:
    """A follower compares logs when its leader changes, not when the epoch does."""

    def become_follower(
        replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> Acted:
        after, line = rules.become_follower(replica, command, request)
        if replica.role is Role.FOLLOWER and replica.leader == after.leader:
            after = structs.replace(after, needs_truncation=replica.needs_truncation)
        return after, line

    return replace(rules, become_follower=become_follower)


@mutant(32, "REPL-002", {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG})
def inclusive_high_watermark(rules: Rules) -> Rules:
    """The high watermark is read as the offset of the last committed record."""
    return replace(
        rules,
        committed_end=lambda one: Offset(min(one.high_watermark + 1, one.log_end_offset)),
    )


@mutant(36, "CMD-005", shows="FollowersMatchLeader")
def truncate_once(rules: Rules) -> Rules:
    """A follower truncates after one question about the leader's log, and asks no more."""
    return replace(
        rules,
        compare_logs=lambda replica, epoch, end: (rules.compare_logs(replica, epoch, end)[0], True),
    )


@mutant(81, "REPL-001", {Liveness.EVENTUALLY_CONVERGED}, shows="EventuallyConverged")
def follower_ignores_high_watermark(rules: Rules) -> Rules:
    """A follower does not take the high watermark of its leader."""
    return _believing(rules, lambda replica, _told: replica.high_watermark)


@suite_mutant("CMD-005")
def truncate_below_high_watermark(rules: Rules) -> Rules:
    """A new follower drops what it does not know to be committed, and one record too many."""
    return replace(rules, truncate_follower=lambda committed: Offset(max(committed - 1, 0)))


@suite_mutant("REPL-005")
def never_truncate(rules: Rules) -> Rules:
    """A follower keeps what its leader does not have."""
    return replace(rules, compare_logs=lambda replica, _epoch, _end: (replica.log_end_offset, True))
