"""Wrong rules of brokers that start, and of logs that fail (START)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant


@mutant(
    18,
    requirement="START-001",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
    shows="QuorumSuperset",
)
def restart_ignores_znode(rules: Rules) -> Rules:
    """A starting broker does not read what ZooKeeper holds about its partitions."""
    return rules


@mutant(
    45,
    requirement="START-006",
    caught_by={
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LEADER_COMPLETE,
        Invariant.LINEARIZABLE_LOG,
        Invariant.ONE_COMMITTER_PER_EPOCH,
    },
)
def go_on_without_log(rules: Rules) -> Rules:
    """A replica goes on when its log fails, and claims what it could not write."""
    return rules


@mutant(
    46,
    requirement="REAS-002",
    caught_by={Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE},
    shows="LeaderComplete",
)
def delete_what_assignment_omits(rules: Rules) -> Rules:
    """A starting broker keeps only what the settled assignment gives it."""
    return rules


@mutant(
    77,
    requirement="START-003",
    caught_by={Invariant.LOG_MATCHING},
    shows="LogMatching",
)
def recover_above_checkpoint(rules: Rules) -> Rules:
    """A replica that starts takes all that it has for committed."""
    return rules
