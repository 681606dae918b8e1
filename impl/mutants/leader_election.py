"""Wrong rules of the controller's decisions and of their writes (FAIL, ZK-006 to 008, CTL-011)."""

from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.types.messages import PartitionState
from fencepost.impl.mutants.commands import obeying_also
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant, Liveness


@mutant(
    6,
    requirement="FAIL-004",
    caught_by={Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES},
)
def leader_epoch_not_raised(rules: Rules) -> Rules:
    """The controller publishes a new leader under the old leader epoch."""

    def is_later_version(replica: Replica, command: PartitionState) -> bool:
        return command.znode_version > replica.znode_version

    return obeying_also(rules, is_later_version)


@mutant(
    12,
    requirement="FAIL-008",
    caught_by={Liveness.EVENTUALLY_LEADER},
    seed=36,
)
def no_election_on_arrival(rules: Rules) -> Rules:
    """Nobody elects when a member of the ISR comes back to a partition without leader."""
    return rules


@mutant(
    13,
    requirement="ZK-006",
    caught_by={Liveness.EVENTUALLY_LEADER},
    seed=19,
)
def forget_unsettled_decision(rules: Rules) -> Rules:
    """A decision that was written, and whose reply was lost, is taken for another's."""
    return rules


@mutant(
    21,
    requirement="FAIL-003",
    caught_by={Invariant.LEADER_IN_ISR},
    shows="LeaderInIsr",
)
def shrink_on_election_empties_isr(rules: Rules) -> Rules:
    """A partition whose last ISR member is gone has an empty ISR."""
    return rules


@mutant(
    33,
    requirement="FAIL-006",
    caught_by={Invariant.LINEARIZABLE_ZNODE},
    shows="CommandReflectsZk",
)
def send_unwritten_decisions(rules: Rules) -> Rules:
    """A decision that ZooKeeper refused is sent all the same."""
    return rules


@mutant(
    35,
    requirement="CTL-011",
    caught_by={Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES},
)
def init_is_unconditional(rules: Rules) -> Rules:
    """A new controller initialises anew what its predecessors had decided."""
    return rules


@mutant(
    37,
    requirement="FAIL-002",
    shows="UncleanOnlyIfIsrDead",
)
def unclean_on_old_live_list(rules: Rules) -> Rules:
    """A leader outside the ISR is chosen on live brokers that were read before the state."""
    return rules


@mutant(
    64,
    requirement="ZK-007",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def unbounded_batch(rules: Rules) -> Rules:
    """All decisions go out in one multi, however many they are."""
    return rules


@mutant(
    65,
    requirement="FAIL-006",
    caught_by={Invariant.LINEARIZABLE_ZNODE},
    shows="LinearizableZnode",
)
def tell_partial_batch(rules: Rules) -> Rules:
    """What has no error of its own in a refused multi is taken as written."""
    return rules


@mutant(
    74,
    requirement="FAIL-005",
    caught_by={Invariant.LEADER_COMPLETE},
    shows="LeaderComplete",
)
def leave_isr_to_leader(rules: Rules) -> Rules:
    """A dead member of the ISR is left to the leader, if that one lives."""
    return rules


@mutant(
    82,
    requirement="ZK-008",
    caught_by={Invariant.ONLY_AUTHORISED_WRITES},
    shows="OnlyAuthorisedWrites",
)
def last_replica_is_preferred(rules: Rules) -> Rules:
    """The last of the assigned replicas leads first."""
    return rules
