"""Wrong rules of logs, fetches and high watermarks (REPL, CMD-005)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant, Liveness


@mutant(
    5,
    requirement="REPL-002",
    caught_by={
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LEADER_COMPLETE,
        Invariant.LINEARIZABLE_LOG,
        Invariant.LOG_MATCHING,
    },
)
def high_watermark_from_leader_alone(rules: Rules) -> Rules:
    """The leader's high watermark is its own log end offset, not the minimum of the ISR."""
    return rules


@mutant(
    15,
    requirement="REPL-009",
    caught_by={Liveness.EVENTUALLY_ACKED_OR_FAILED},
    seed=31,
)
def high_watermark_on_fetch_only(rules: Rules) -> Rules:
    """The high watermark moves only while a follower's fetch is answered."""
    return rules


@mutant(
    16,
    requirement="CMD-005",
    caught_by={Liveness.EVENTUALLY_TRUNCATED},
    seed=168,
)
def end_offset_alone(rules: Rules) -> Rules:
    """A follower truncates to the leader's offset, and does not look at the epoch."""
    return rules


@mutant(
    24,
    requirement="ISR-003",
    caught_by={Invariant.LEADER_COMPLETE},
    shows="CommittedDurable",
)
def commit_with_old_isr(rules: Rules) -> Rules:
    """A commit does not wait for a member whose joining is undecided."""
    return rules


@mutant(
    25,
    requirement="REPL-006",
    caught_by={Invariant.LEADER_COMPLETE},
    shows="CommittedDurable",
)
def fetch_without_epoch(rules: Rules) -> Rules:
    """A leader serves followers of any leader epoch."""
    return rules


@mutant(
    26,
    requirement="REPL-003",
    caught_by={Invariant.LOG_MATCHING},
    shows="HighWatermarkInLog",
)
def unbounded_high_watermark(rules: Rules) -> Rules:
    """A follower takes its leader's high watermark although its log is shorter."""
    return rules


@mutant(
    27,
    requirement="REPL-002",
    caught_by={Invariant.HIGH_WATERMARK_MONOTONIC},
    shows="HighWatermarkMonotonic",
)
def recompute_high_watermark(rules: Rules) -> Rules:
    """A leader counts followers that it has not heard of as empty."""
    return rules


@mutant(
    29,
    requirement="CMD-005",
    caught_by={Invariant.LOG_MATCHING},
    shows="CommittedDurable",
)
def truncate_on_new_leader_only(rules: Rules) -> Rules:
    """A follower compares logs when its leader changes, not when the epoch does."""
    return rules


@mutant(
    32,
    requirement="REPL-002",
    caught_by={Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG},
)
def inclusive_high_watermark(rules: Rules) -> Rules:
    """The high watermark is read as the offset of the last committed record."""
    return rules


@mutant(
    36,
    requirement="CMD-005",
    shows="FollowersMatchLeader",
)
def truncate_once(rules: Rules) -> Rules:
    """A follower truncates after one question about the leader's log, and asks no more."""
    return rules


@mutant(
    81,
    requirement="REPL-001",
    caught_by={Liveness.EVENTUALLY_CONVERGED},
    shows="EventuallyConverged",
)
def follower_ignores_high_watermark(rules: Rules) -> Rules:
    """A follower does not take the high watermark of its leader."""
    return rules
