"""Wrong rules of commands that a broker obeys: INITs, stops, incarnations (CMD, CTL-006, TOP)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant, Liveness


@mutant(
    4,
    requirement="CTL-006",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
)
def accept_older_controller_epoch(rules: Rules) -> Rules:
    """A command with a smaller controller epoch than already seen is obeyed."""
    return rules


@mutant(
    10,
    requirement="CMD-002",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
)
def accept_older_leader_epoch(rules: Rules) -> Rules:
    """A command is obeyed whatever its leader epoch is."""
    return rules


@mutant(
    11,
    requirement="CMD-003",
    caught_by={Liveness.EVENTUALLY_LEADER},
)
def leader_ignores_command(rules: Rules) -> Rules:
    """A leader ignores a command that says again that it leads."""
    return rules


@mutant(
    19,
    requirement="CMD-002",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
    shows="QuorumSuperset",
)
def refresh_without_version(rules: Rules) -> Rules:
    """A leader takes the ISR of any command that names it, however old."""
    return rules


@mutant(
    28,
    requirement="CMD-003",
    caught_by={Invariant.LEADER_COMPLETE},
    shows="CommittedDurable",
)
def remember_end_offsets(rules: Rules) -> Rules:
    """A new leader believes what followers had under an earlier epoch."""
    return rules


@mutant(
    34,
    requirement="CMD-002",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
)
def commands_without_epochs(rules: Rules) -> Rules:
    """A command is obeyed whatever its controller epoch and its leader epoch are."""
    return rules


@mutant(
    39,
    requirement="REAS-001",
    caught_by={Liveness.EVENTUALLY_ISR_FULL, Liveness.REASSIGNMENT_COMPLETES},
    shows="ReassignmentCompletes",
)
def leader_ignores_new_replicas(rules: Rules) -> Rules:
    """A leader admits only whom it was first told to be assigned."""
    return rules


@mutant(
    52,
    requirement="CMD-008",
    caught_by={Invariant.DELETE_ONLY_IF_UNASSIGNED},
    shows="DeleteOnlyIfUnassigned",
)
def stop_replica_without_epoch(rules: Rules) -> Rules:
    """A stop is obeyed although the replica has obeyed a later decision."""
    return rules


@mutant(
    55,
    requirement="CMD-008",
    caught_by={Invariant.DELETE_ONLY_IF_UNASSIGNED},
    shows="DeleteOnlyIfUnassigned",
)
def stop_replica_without_incarnation(rules: Rules) -> Rules:
    """A stop is obeyed by a replica of a newer incarnation."""
    return rules


@mutant(
    56,
    requirement="TOP-003",
    caught_by={Invariant.LINEARIZABLE_LOG},
    shows="LinearizableLog",
)
def directory_without_incarnation(rules: Rules) -> Rules:
    """A replica starts with the log of another topic of that name."""
    return rules


@mutant(
    57,
    requirement="TOP-002",
    caught_by={Liveness.DELETION_COMPLETES},
    shows="DeletionCompletes",
)
def forget_stopped_incarnation(rules: Rules) -> Rules:
    """A broker forgets what it stopped, and starts it again on an older command."""
    return rules


@mutant(
    62,
    requirement="CMD-007",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def init_deletes_by_omission(rules: Rules) -> Rules:
    """Every INIT deletes what it does not name, however late it is."""
    return rules


@mutant(
    63,
    requirement="CMD-007",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def init_omits_newer_topics(rules: Rules) -> Rules:
    """An INIT deletes also what is newer than the reading that it rests on."""
    return rules


@mutant(
    66,
    requirement="START-004",
    caught_by={Invariant.LINEARIZABLE_LOG},
    shows="LinearizableLog",
)
def keep_log_of_old_incarnation(rules: Rules) -> Rules:
    """A log of a topic that is gone serves the next topic of that name."""
    return rules


@mutant(
    71,
    requirement="CTL-007",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
    shows="StaleControllerHarmless",
)
def adopt_epoch_from_zookeeper_only(rules: Rules) -> Rules:
    """A broker does not remember the controller epoch of a command that it obeys."""
    return rules


@mutant(
    79,
    requirement="CMD-006",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def refuse_unknown_partition(rules: Rules) -> Rules:
    """A broker obeys no command about a partition that it does not have."""
    return rules


@mutant(
    80,
    requirement="CMD-009",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def refuse_together(rules: Rules) -> Rules:
    """One partition of a request that is refused spoils the others."""
    return rules
