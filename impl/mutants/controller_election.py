"""Wrong rules of registration and of the controller's election (CTL, ZK-005, START-005)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant, Liveness


@mutant(
    7,
    requirement="ZK-005",
    caught_by={Invariant.STALE_CONTROLLER_HARMLESS},
    shows="StaleControllerHarmless",
)
def no_controller_epoch_check(rules: Rules) -> Rules:
    """A controller's writes are not fenced by the controller epoch."""
    return rules


@mutant(
    8,
    requirement="CTL-005",
    caught_by={Invariant.ONE_CONTROLLER_PER_EPOCH, Invariant.STALE_CONTROLLER_HARMLESS},
)
def two_step_controller_election(rules: Rules) -> Rules:
    """A controller creates `/controller` first and raises the epoch later."""
    return rules


@mutant(
    9,
    requirement="CTL-005",
    caught_by={Invariant.ONE_CONTROLLER_PER_EPOCH},
)
def controller_epoch_not_raised(rules: Rules) -> Rules:
    """An elected controller goes on under its predecessor's epoch."""
    return rules


@mutant(
    17,
    requirement="ZK-006",
    caught_by={Liveness.CONTROLLER_EVENTUALLY_EXISTS},
    seed=17,
)
def forget_own_controller_znode(rules: Rules) -> Rules:
    """Who won without hearing of it takes its own `/controller` for another's."""
    return rules


@mutant(
    30,
    requirement="ZK-005",
    shows="UncleanOnlyIfIsrDead",
)
def no_controller_znode_check(rules: Rules) -> Rules:
    """A controller that lost its office writes until its successor has raised the epoch."""
    return rules


@mutant(
    43,
    requirement="CTL-008",
    caught_by={Liveness.CONTROLLER_EVENTUALLY_EXISTS},
    shows="ControllerEventuallyExists",
)
def resign_on_expiry_only(rules: Rules) -> Rules:
    """A controller stays one as long as its session, whoever deletes `/controller`."""
    return rules


@mutant(
    67,
    requirement="CTL-001",
    caught_by={Liveness.CONTROLLER_EVENTUALLY_EXISTS},
    shows="ControllerEventuallyExists",
)
def persistent_controller_znode(rules: Rules) -> Rules:
    """`/controller` is created as a persistent znode."""
    return rules


@mutant(
    68,
    requirement="CTL-002",
    caught_by={Invariant.ONE_CONTROLLER_PER_EPOCH},
    shows="OneControllerPerEpoch",
)
def loser_takes_office(rules: Rules) -> Rules:
    """Who fails to create `/controller` acts as controller all the same."""
    return rules


@mutant(
    69,
    requirement="CTL-003",
    caught_by={Liveness.CONTROLLER_EVENTUALLY_EXISTS},
    shows="ControllerEventuallyExists",
)
def stand_after_another_only(rules: Rules) -> Rules:
    """A starting broker that finds no `/controller` does not stand."""
    return rules


@mutant(
    70,
    requirement="CTL-004",
    caught_by={Liveness.CONTROLLER_EVENTUALLY_EXISTS},
    shows="ControllerEventuallyExists",
)
def controller_not_watched(rules: Rules) -> Rules:
    """A broker reads `/controller` once and sets no watch."""
    return rules


@mutant(
    76,
    requirement="START-005",
    caught_by={Liveness.BROKER_EVENTUALLY_LEARNS_ROLE},
    shows="BrokerEventuallyLearnsRole",
)
def registration_not_watched(rules: Rules) -> Rules:
    """Who finds the registration of its former life gives up."""
    return rules
