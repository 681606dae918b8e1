"""Mutants of ZooKeeper, controller, failures, starts and topics (ZK, CTL, FAIL, START, TOP...)."""

from impl.core.mutants import Mutant, MutantRecord
from spec.vocabulary import Invariant, Liveness

CONTROL_MUTANTS: tuple[MutantRecord, ...] = (
    MutantRecord(
        mutant=Mutant.NO_ZNODE_VERSION_CHECK,
        rule="Writes of LeaderAndISR are unconditional instead of tied to the version read.",
        requirement="ZK-003",
        caught_by=frozenset({Invariant.LINEARIZABLE_ZNODE, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
    MutantRecord(
        mutant=Mutant.ACCEPT_OLDER_CONTROLLER_EPOCH,
        rule="A command with a smaller controller epoch than already seen is obeyed.",
        requirement="CTL-006",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.LEADER_EPOCH_NOT_RAISED,
        rule="The controller publishes a new leader under the old leader epoch.",
        requirement="FAIL-004",
        caught_by=frozenset({Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
    MutantRecord(
        mutant=Mutant.NO_CONTROLLER_EPOCH_CHECK,
        rule="A controller's writes are not fenced by the controller epoch.",
        requirement="ZK-005",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
        shows="StaleControllerHarmless",
    ),
    MutantRecord(
        mutant=Mutant.TWO_STEP_CONTROLLER_ELECTION,
        rule="A controller creates `/controller` first and raises the epoch later.",
        requirement="CTL-005",
        caught_by=frozenset(
            {Invariant.STALE_CONTROLLER_HARMLESS, Invariant.ONE_CONTROLLER_PER_EPOCH}
        ),
    ),
    MutantRecord(
        mutant=Mutant.CONTROLLER_EPOCH_NOT_RAISED,
        rule="An elected controller goes on under its predecessor's epoch.",
        requirement="CTL-005",
        caught_by=frozenset({Invariant.ONE_CONTROLLER_PER_EPOCH}),
    ),
    MutantRecord(
        mutant=Mutant.NO_ELECTION_ON_ARRIVAL,
        rule="Nobody elects when a member of the ISR comes back to a partition without leader.",
        requirement="FAIL-008",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        seed=36,
    ),
    MutantRecord(
        mutant=Mutant.FORGET_UNSETTLED_DECISION,
        rule="A decision that was written, and whose reply was lost, is taken for another's.",
        requirement="ZK-006",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        seed=214,
    ),
    MutantRecord(
        mutant=Mutant.RETRY_KEEPS_LIVE_BROKERS,
        rule="A retry keeps the live brokers that it has; a watch that fires then is used up.",
        requirement="ZK-004",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        seed=1658,
    ),
    MutantRecord(
        mutant=Mutant.FORGET_OWN_CONTROLLER_ZNODE,
        rule="Who won without hearing of it takes its own `/controller` for another's.",
        requirement="ZK-006",
        caught_by=frozenset({Liveness.CONTROLLER_EVENTUALLY_EXISTS}),
        seed=17,
    ),
    MutantRecord(
        mutant=Mutant.RESTART_IGNORES_ZNODE,
        rule="A starting broker does not read what ZooKeeper holds about its partitions.",
        requirement="START-001",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
        shows="QuorumSuperset",
    ),
    MutantRecord(
        mutant=Mutant.SHRINK_ON_ELECTION_EMPTIES_ISR,
        rule="A partition whose last ISR member is gone has an empty ISR.",
        requirement="FAIL-003",
        caught_by=frozenset({Invariant.LEADER_IN_ISR}),
        shows="LeaderInIsr",
    ),
    MutantRecord(
        mutant=Mutant.NO_CONTROLLER_ZNODE_CHECK,
        rule="A controller that lost its office writes until its successor has raised the epoch.",
        requirement="ZK-005",
        caught_by=frozenset(),
        shows="UncleanOnlyIfIsrDead",
    ),
    MutantRecord(
        mutant=Mutant.SEND_UNWRITTEN_DECISIONS,
        rule="A decision that ZooKeeper refused is sent all the same.",
        requirement="FAIL-006",
        caught_by=frozenset({Invariant.LINEARIZABLE_ZNODE}),
        shows="CommandReflectsZk",
    ),
    MutantRecord(
        mutant=Mutant.INIT_IS_UNCONDITIONAL,
        rule="A new controller initialises anew what its predecessors had decided.",
        requirement="CTL-011",
        caught_by=frozenset({Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
    MutantRecord(
        mutant=Mutant.UNCLEAN_ON_OLD_LIVE_LIST,
        rule="A leader outside the ISR is chosen on live brokers that were read before the state.",
        requirement="FAIL-002",
        caught_by=frozenset(),
        shows="UncleanOnlyIfIsrDead",
    ),
    MutantRecord(
        mutant=Mutant.COMPARE_BROKER_IDS_ONLY,
        rule="The controller looks at the ids of live brokers, not at their registrations.",
        requirement="BEP-006",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER, Liveness.BROKER_EVENTUALLY_LEARNS_ROLE}),
        shows="EventuallyLeader",
    ),
    MutantRecord(
        mutant=Mutant.RESIGN_ON_EXPIRY_ONLY,
        rule="A controller stays one as long as its session, whoever deletes `/controller`.",
        requirement="CTL-008",
        caught_by=frozenset({Liveness.CONTROLLER_EVENTUALLY_EXISTS}),
        shows="ControllerEventuallyExists",
    ),
)
