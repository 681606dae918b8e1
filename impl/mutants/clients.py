"""Wrong rules of what producers and consumers are answered (CLI, REPL-008, CMD-004)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant


@mutant(
    3,
    requirement="REPL-008",
    caught_by={Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG},
)
def acknowledge_before_replication(rules: Rules) -> Rules:
    """A produce with acks=all is answered when the leader alone has it."""
    return rules


@mutant(
    41,
    requirement="CLI-005",
    caught_by={Invariant.LINEARIZABLE_LOG},
    shows="LinearizableLog",
)
def forget_producers_on_leader_change(rules: Rules) -> Rules:
    """A new leader forgets what its log holds of producers, and appends retries again."""
    return rules


@mutant(
    44,
    requirement="CLI-002",
    caught_by={Invariant.LINEARIZABLE_LOG},
    seed=279,
)
def refuse_above_high_watermark(rules: Rules) -> Rules:
    """A leader whose high watermark lags refuses offsets that a reader has reached."""
    return rules


@mutant(
    61,
    requirement="CLI-003",
    caught_by={Invariant.LINEARIZABLE_LOG},
    shows="LinearizableLog",
)
def followers_serve_consumers(rules: Rules) -> Rules:
    """A broker that does not lead answers consumers from what it knows."""
    return rules


@mutant(
    78,
    requirement="CMD-004",
    caught_by={Invariant.ACKNOWLEDGED_DURABLE},
    shows="AcknowledgedDurable",
)
def acknowledge_on_step_down(rules: Rules) -> Rules:
    """Who leads no more answers waiting produces as if they were committed."""
    return rules
