"""Deliberately wrong rules of the core, one each: what the checks must catch.

A mutant is active only when a `Config` names it; nothing reads the environment, and the broker
process has no flag for it (`tests/impl/core/test_mutants.py` holds this).
"""

from dataclasses import dataclass
from enum import StrEnum

from spec.vocabulary import Invariant, Liveness


class Mutant(StrEnum):
    """The names that `fencepost simulate --mutant` takes."""

    NO_ZNODE_VERSION_CHECK = "no_znode_version_check"
    NO_STEP_DOWN = "no_step_down"
    ACKNOWLEDGE_BEFORE_REPLICATION = "acknowledge_before_replication"
    ACCEPT_OLDER_CONTROLLER_EPOCH = "accept_older_controller_epoch"
    HIGH_WATERMARK_FROM_LEADER_ALONE = "high_watermark_from_leader_alone"
    LEADER_EPOCH_NOT_RAISED = "leader_epoch_not_raised"
    NO_CONTROLLER_EPOCH_CHECK = "no_controller_epoch_check"
    TWO_STEP_CONTROLLER_ELECTION = "two_step_controller_election"
    CONTROLLER_EPOCH_NOT_RAISED = "controller_epoch_not_raised"
    ACCEPT_OLDER_LEADER_EPOCH = "accept_older_leader_epoch"
    LEADER_IGNORES_COMMAND = "leader_ignores_command"
    NO_ELECTION_ON_ARRIVAL = "no_election_on_arrival"
    FORGET_UNSETTLED_DECISION = "forget_unsettled_decision"
    RETRY_KEEPS_LIVE_BROKERS = "retry_keeps_live_brokers"
    HIGH_WATERMARK_ON_FETCH_ONLY = "high_watermark_on_fetch_only"
    END_OFFSET_ALONE = "end_offset_alone"
    FORGET_OWN_CONTROLLER_ZNODE = "forget_own_controller_znode"
    RESTART_IGNORES_ZNODE = "restart_ignores_znode"
    REFRESH_WITHOUT_VERSION = "refresh_without_version"
    LEADER_MAY_LEAVE_ISR = "leader_may_leave_isr"
    SHRINK_ON_ELECTION_EMPTIES_ISR = "shrink_on_election_empties_isr"
    EXPAND_LAGGARDS = "expand_laggards"
    EXPAND_BELOW_EPOCH_START = "expand_below_epoch_start"
    COMMIT_WITH_OLD_ISR = "commit_with_old_isr"
    FETCH_WITHOUT_EPOCH = "fetch_without_epoch"
    UNBOUNDED_HIGH_WATERMARK = "unbounded_high_watermark"
    RECOMPUTE_HIGH_WATERMARK = "recompute_high_watermark"
    REMEMBER_END_OFFSETS = "remember_end_offsets"
    TRUNCATE_ON_NEW_LEADER_ONLY = "truncate_on_new_leader_only"
    NO_CONTROLLER_ZNODE_CHECK = "no_controller_znode_check"
    EXPAND_OVERWRITES_SHRINK = "expand_overwrites_shrink"
    INCLUSIVE_HIGH_WATERMARK = "inclusive_high_watermark"
    SEND_UNWRITTEN_DECISIONS = "send_unwritten_decisions"
    COMMANDS_WITHOUT_EPOCHS = "commands_without_epochs"
    INIT_IS_UNCONDITIONAL = "init_is_unconditional"
    TRUNCATE_ONCE = "truncate_once"
    UNCLEAN_ON_OLD_LIVE_LIST = "unclean_on_old_live_list"
    LEADER_STAYS_OUTSIDE = "leader_stays_outside"
    LEADER_IGNORES_NEW_REPLICAS = "leader_ignores_new_replicas"
    STOP_BEFORE_UNASSIGN = "stop_before_unassign"
    FORGET_PRODUCERS_ON_LEADER_CHANGE = "forget_producers_on_leader_change"
    COMPARE_BROKER_IDS_ONLY = "compare_broker_ids_only"
    RESIGN_ON_EXPIRY_ONLY = "resign_on_expiry_only"
    REFUSE_ABOVE_HIGH_WATERMARK = "refuse_above_high_watermark"


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantRecord:
    """What a mutant breaks and what must see it."""

    mutant: Mutant
    rule: str
    """The rule that it breaks, in one sentence."""
    requirement: str
    """Id in the catalogue."""
    caught_by: frozenset[Invariant | Liveness]
    """At least one of these must fail, in a random schedule that shows the mutant.

    A check of the trace, or what should have come to hold after the last fault of the run.
    """
    seed: int = 0
    """Of a random schedule that shows it, tried before the others: most show it seldom."""
    shows: str = ""
    """The property that the counterexample of the specs' switch of the same name violates.

    Set where random schedules seldom or never show the mutant: it is then hunted along that
    counterexample, `impl/sim/schedules/<mutant>.json`, or along a scenario of its own,
    `impl/sim/schedules/<mutant>.txt`.
    """


MUTANTS: tuple[MutantRecord, ...] = (
    MutantRecord(
        mutant=Mutant.NO_ZNODE_VERSION_CHECK,
        rule="Writes of LeaderAndISR are unconditional instead of tied to the version read.",
        requirement="ZK-003",
        caught_by=frozenset({Invariant.LINEARIZABLE_ZNODE, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
    MutantRecord(
        mutant=Mutant.NO_STEP_DOWN,
        rule="A leader whose ISR write met another version leads on, with the ISR it wanted.",
        requirement="ISR-004",
        caught_by=frozenset(
            {
                Invariant.ONE_COMMITTER_PER_EPOCH,
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.LOG_MATCHING,
                Invariant.LEADER_COMPLETE,
            }
        ),
    ),
    MutantRecord(
        mutant=Mutant.ACKNOWLEDGE_BEFORE_REPLICATION,
        rule="A produce with acks=all is answered when the leader alone has it.",
        requirement="REPL-008",
        caught_by=frozenset({Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}),
    ),
    MutantRecord(
        mutant=Mutant.ACCEPT_OLDER_CONTROLLER_EPOCH,
        rule="A command with a smaller controller epoch than already seen is obeyed.",
        requirement="CTL-006",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.HIGH_WATERMARK_FROM_LEADER_ALONE,
        rule="The leader's high watermark is its own log end offset, not the minimum of the ISR.",
        requirement="REPL-002",
        caught_by=frozenset(
            {
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LEADER_COMPLETE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.LOG_MATCHING,
            }
        ),
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
        mutant=Mutant.ACCEPT_OLDER_LEADER_EPOCH,
        rule="A command is obeyed whatever its leader epoch is.",
        requirement="CMD-002",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.LEADER_IGNORES_COMMAND,
        rule="A leader ignores a command that says again that it leads.",
        requirement="CMD-003",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
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
        mutant=Mutant.HIGH_WATERMARK_ON_FETCH_ONLY,
        rule="The high watermark moves only while a follower's fetch is answered.",
        requirement="REPL-009",
        caught_by=frozenset({Liveness.EVENTUALLY_ACKED_OR_FAILED}),
        seed=31,
    ),
    MutantRecord(
        mutant=Mutant.END_OFFSET_ALONE,
        rule="A follower truncates to the leader's offset, and does not look at the epoch.",
        requirement="CMD-005",
        caught_by=frozenset({Liveness.EVENTUALLY_TRUNCATED}),
        seed=168,
    ),
    MutantRecord(
        mutant=Mutant.FORGET_OWN_CONTROLLER_ZNODE,
        rule="Who won without hearing of it takes its own `/controller` for another's.",
        requirement="ZK-006",
        caught_by=frozenset({Liveness.CONTROLLER_EVENTUALLY_EXISTS}),
        seed=18,
    ),
    MutantRecord(
        mutant=Mutant.RESTART_IGNORES_ZNODE,
        rule="A starting broker does not read what ZooKeeper holds about its partitions.",
        requirement="START-001",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
        shows="QuorumSuperset",
    ),
    MutantRecord(
        mutant=Mutant.REFRESH_WITHOUT_VERSION,
        rule="A leader takes the ISR of any command that names it, however old.",
        requirement="CMD-002",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
        shows="QuorumSuperset",
    ),
    MutantRecord(
        mutant=Mutant.LEADER_MAY_LEAVE_ISR,
        rule="A leader that finds itself lagging leaves the ISR.",
        requirement="ISR-006",
        caught_by=frozenset({Invariant.LEADER_IN_ISR}),
    ),
    MutantRecord(
        mutant=Mutant.SHRINK_ON_ELECTION_EMPTIES_ISR,
        rule="A partition whose last ISR member is gone has an empty ISR.",
        requirement="FAIL-003",
        caught_by=frozenset({Invariant.LEADER_IN_ISR}),
        shows="LeaderInIsr",
    ),
    MutantRecord(
        mutant=Mutant.EXPAND_LAGGARDS,
        rule="A replica joins the ISR when it is behind all members, as V3's test says.",
        requirement="ISR-002",
        caught_by=frozenset(
            {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE, Invariant.LINEARIZABLE_LOG}
        ),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.EXPAND_BELOW_EPOCH_START,
        rule="A replica joins the ISR at the high watermark, though the epoch began above.",
        requirement="ISR-002",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.COMMIT_WITH_OLD_ISR,
        rule="A commit does not wait for a member whose joining is undecided.",
        requirement="ISR-003",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.FETCH_WITHOUT_EPOCH,
        rule="A leader serves followers of any leader epoch.",
        requirement="REPL-006",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.UNBOUNDED_HIGH_WATERMARK,
        rule="A follower takes its leader's high watermark although its log is shorter.",
        requirement="REPL-003",
        caught_by=frozenset({Invariant.LOG_MATCHING}),
        shows="HighWatermarkInLog",
    ),
    MutantRecord(
        mutant=Mutant.RECOMPUTE_HIGH_WATERMARK,
        rule="A leader counts followers that it has not heard of as empty.",
        requirement="REPL-002",
        caught_by=frozenset({Invariant.HIGH_WATERMARK_MONOTONIC}),
        shows="HighWatermarkMonotonic",
    ),
    MutantRecord(
        mutant=Mutant.REMEMBER_END_OFFSETS,
        rule="A new leader believes what followers had under an earlier epoch.",
        requirement="CMD-003",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.TRUNCATE_ON_NEW_LEADER_ONLY,
        rule="A follower compares logs when its leader changes, not when the epoch does.",
        requirement="CMD-005",
        caught_by=frozenset({Invariant.LOG_MATCHING}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.NO_CONTROLLER_ZNODE_CHECK,
        rule="A controller that lost its office writes until its successor has raised the epoch.",
        requirement="ZK-005",
        caught_by=frozenset(),
        shows="UncleanOnlyIfIsrDead",
    ),
    MutantRecord(
        mutant=Mutant.EXPAND_OVERWRITES_SHRINK,
        rule="A change of the ISR does not wait for the one in flight; the last one is remembered.",
        requirement="ISR-003",
        caught_by=frozenset(),
        shows="QuorumSuperset",
    ),
    MutantRecord(
        mutant=Mutant.INCLUSIVE_HIGH_WATERMARK,
        rule="The high watermark is read as the offset of the last committed record.",
        requirement="REPL-002",
        caught_by=frozenset({Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}),
    ),
    MutantRecord(
        mutant=Mutant.SEND_UNWRITTEN_DECISIONS,
        rule="A decision that ZooKeeper refused is sent all the same.",
        requirement="FAIL-006",
        caught_by=frozenset({Invariant.LINEARIZABLE_ZNODE}),
        shows="CommandReflectsZk",
    ),
    MutantRecord(
        mutant=Mutant.COMMANDS_WITHOUT_EPOCHS,
        rule="A command is obeyed whatever its controller epoch and its leader epoch are.",
        requirement="CMD-002",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.INIT_IS_UNCONDITIONAL,
        rule="A new controller initialises anew what its predecessors had decided.",
        requirement="CTL-011",
        caught_by=frozenset({Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
    MutantRecord(
        mutant=Mutant.TRUNCATE_ONCE,
        rule="A follower truncates after one question about the leader's log, and asks no more.",
        requirement="CMD-005",
        caught_by=frozenset(),
        shows="FollowersMatchLeader",
    ),
    MutantRecord(
        mutant=Mutant.UNCLEAN_ON_OLD_LIVE_LIST,
        rule="A leader outside the ISR is chosen on live brokers that were read before the state.",
        requirement="FAIL-002",
        caught_by=frozenset(),
        shows="UncleanOnlyIfIsrDead",
    ),
    MutantRecord(
        mutant=Mutant.LEADER_STAYS_OUTSIDE,
        rule="The switch of a reassignment keeps the leader, though it is not in the new ISR.",
        requirement="REAS-002",
        caught_by=frozenset({Invariant.LEADER_IN_ISR}),
    ),
    MutantRecord(
        mutant=Mutant.LEADER_IGNORES_NEW_REPLICAS,
        rule="A leader admits only whom it was first told to be assigned.",
        requirement="REAS-001",
        caught_by=frozenset({Liveness.REASSIGNMENT_COMPLETES, Liveness.EVENTUALLY_ISR_FULL}),
    ),
    MutantRecord(
        mutant=Mutant.STOP_BEFORE_UNASSIGN,
        rule="The brokers of a partition that is removed are stopped before the topic drops it.",
        requirement="PART-002",
        caught_by=frozenset({Invariant.DELETE_ONLY_IF_UNASSIGNED}),
    ),
    MutantRecord(
        mutant=Mutant.FORGET_PRODUCERS_ON_LEADER_CHANGE,
        rule="A new leader forgets what its log holds of producers, and appends retries again.",
        requirement="CLI-005",
        caught_by=frozenset({Invariant.LINEARIZABLE_LOG}),
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
    MutantRecord(
        mutant=Mutant.REFUSE_ABOVE_HIGH_WATERMARK,
        rule="A leader whose high watermark lags refuses offsets that a reader has reached.",
        requirement="CLI-002",
        caught_by=frozenset({Invariant.LINEARIZABLE_LOG}),
        seed=513,
    ),
)
