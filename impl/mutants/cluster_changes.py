"""Wrong rules of what the controller learns: brokers and topics that come and go (ZK, BEP, TOP)."""

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Liveness


@mutant(
    14,
    requirement="ZK-004",
    caught_by={Liveness.EVENTUALLY_LEADER},
    seed=1658,
)
def retry_keeps_live_brokers(rules: Rules) -> Rules:
    """A retry keeps the live brokers that it has; a watch that fires then is used up."""
    return rules


@mutant(
    42,
    requirement="BEP-006",
    caught_by={Liveness.BROKER_EVENTUALLY_LEARNS_ROLE, Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def compare_broker_ids_only(rules: Rules) -> Rules:
    """The controller looks at the ids of live brokers, not at their registrations."""
    return rules


@mutant(
    58,
    requirement="TOP-003",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def compare_topic_names_only(rules: Rules) -> Rules:
    """The controller knows a topic by its name: one that was created again is the old one."""
    return rules


@mutant(
    60,
    requirement="TOP-004",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def assign_to_any_broker(rules: Rules) -> Rules:
    """A topic is created as asked for, whoever is to have its replicas."""
    return rules


@mutant(
    72,
    requirement="CTL-010",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def fail_over_without_watches(rules: Rules) -> Rules:
    """A new controller reads who lives and sets no watch."""
    return rules


@mutant(
    73,
    requirement="CTL-012",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def successor_tells_nothing(rules: Rules) -> Rules:
    """A new controller tells what it decides, not what it finds decided."""
    return rules


@mutant(
    75,
    requirement="ZK-002",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def malformed_topic_ends_reading(rules: Rules) -> Rules:
    """A topic that cannot be read ends the reading of all."""
    return rules
