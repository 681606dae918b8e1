"""Wrong rules of partitions that move, are added or removed (REAS, PART)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant, Liveness


@mutant(
    38,
    requirement="REAS-002",
    caught_by={Invariant.LEADER_IN_ISR},
    shows="LeaderInIsr",
)
def leader_stays_outside(rules: Rules) -> Rules:
    """The switch of a reassignment keeps the leader, though it is not in the new ISR."""
    return rules


@mutant(
    40,
    requirement="PART-002",
    caught_by={Invariant.DELETE_ONLY_IF_UNASSIGNED},
    shows="DeleteOnlyIfUnassigned",
)
def stop_before_unassign(rules: Rules) -> Rules:
    """The brokers of a partition that is removed are stopped before the topic drops it."""
    return rules


@mutant(
    47,
    requirement="REAS-005",
    caught_by={Liveness.REASSIGNMENT_COMPLETES},
    shows="ReassignmentCompletes",
)
def wait_for_whole_isr(rules: Rules) -> Rules:
    """The switch of a reassignment waits until the old replicas are in the ISR too."""
    return rules


@mutant(
    48,
    requirement="REAS-005",
    caught_by={Invariant.DELETE_ONLY_IF_UNASSIGNED},
    shows="DeleteOnlyIfUnassigned",
)
def delete_before_assignment(rules: Rules) -> Rules:
    """The old replicas are stopped before the switch of a reassignment is written."""
    return rules


@mutant(
    49,
    requirement="REAS-001",
    caught_by={Liveness.REASSIGNMENT_COMPLETES},
    shows="ReassignmentCompletes",
)
def ignore_changed_target(rules: Rules) -> Rules:
    """The agent keeps the first request for a partition, whatever is asked for later."""
    return rules


@mutant(
    50,
    requirement="REAS-003",
    caught_by={Liveness.REASSIGNMENT_COMPLETES},
    shows="ReassignmentCompletes",
)
def move_by_request_only(rules: Rules) -> Rules:
    """The agent looks at moves that are asked for, not at those that were begun."""
    return rules


@mutant(
    51,
    requirement="REAS-006",
    caught_by={Liveness.REASSIGNMENT_COMPLETES},
    shows="ReassignmentCompletes",
)
def agent_without_timer(rules: Rules) -> Rules:
    """The agent looks only when it is told to."""
    return rules


@mutant(
    53,
    requirement="PART-001",
    caught_by={Invariant.ONLY_AUTHORISED_WRITES},
    shows="OnlyAuthorisedWrites",
)
def replay_trigger(rules: Rules) -> Rules:
    """A new controller initialises an added partition that its predecessor initialised."""
    return rules


@mutant(
    54,
    requirement="TOP-003",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def write_assignment_creates(rules: Rules) -> Rules:
    """An assignment is written although the topic is gone: it is there again."""
    return rules
