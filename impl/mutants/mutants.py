"""Deliberately wrong rules of the core, one each: what the checks must catch.

A mutant is active only when a `Config` names it; nothing reads the environment, and a broker
process takes one only beside `--fault-control`, and tells of it on stderr and in its trace
(`tests/impl/mutants/test_mutants.py` holds this).
"""

from dataclasses import dataclass
from enum import StrEnum

from fencepost.spec.vocabulary import Invariant, Liveness


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
    GO_ON_WITHOUT_LOG = "go_on_without_log"
    DELETE_WHAT_ASSIGNMENT_OMITS = "delete_what_assignment_omits"
    WAIT_FOR_WHOLE_ISR = "wait_for_whole_isr"
    DELETE_BEFORE_ASSIGNMENT = "delete_before_assignment"
    IGNORE_CHANGED_TARGET = "ignore_changed_target"
    MOVE_BY_REQUEST_ONLY = "move_by_request_only"
    AGENT_WITHOUT_TIMER = "agent_without_timer"
    STOP_REPLICA_WITHOUT_EPOCH = "stop_replica_without_epoch"
    REPLAY_TRIGGER = "replay_trigger"
    WRITE_ASSIGNMENT_CREATES = "write_assignment_creates"
    STOP_REPLICA_WITHOUT_INCARNATION = "stop_replica_without_incarnation"
    DIRECTORY_WITHOUT_INCARNATION = "directory_without_incarnation"
    FORGET_STOPPED_INCARNATION = "forget_stopped_incarnation"
    COMPARE_TOPIC_NAMES_ONLY = "compare_topic_names_only"
    TRUST_VERSION_ACROSS_INCARNATIONS = "trust_version_across_incarnations"
    ASSIGN_TO_ANY_BROKER = "assign_to_any_broker"
    FOLLOWERS_SERVE_CONSUMERS = "followers_serve_consumers"
    INIT_DELETES_BY_OMISSION = "init_deletes_by_omission"
    INIT_OMITS_NEWER_TOPICS = "init_omits_newer_topics"
    UNBOUNDED_BATCH = "unbounded_batch"
    TELL_PARTIAL_BATCH = "tell_partial_batch"
    KEEP_LOG_OF_OLD_INCARNATION = "keep_log_of_old_incarnation"
    PERSISTENT_CONTROLLER_ZNODE = "persistent_controller_znode"
    LOSER_TAKES_OFFICE = "loser_takes_office"
    STAND_AFTER_ANOTHER_ONLY = "stand_after_another_only"
    CONTROLLER_NOT_WATCHED = "controller_not_watched"
    ADOPT_EPOCH_FROM_ZOOKEEPER_ONLY = "adopt_epoch_from_zookeeper_only"
    FAIL_OVER_WITHOUT_WATCHES = "fail_over_without_watches"
    SUCCESSOR_TELLS_NOTHING = "successor_tells_nothing"
    LEAVE_ISR_TO_LEADER = "leave_isr_to_leader"
    MALFORMED_TOPIC_ENDS_READING = "malformed_topic_ends_reading"
    REGISTRATION_NOT_WATCHED = "registration_not_watched"
    RECOVER_ABOVE_CHECKPOINT = "recover_above_checkpoint"
    ACKNOWLEDGE_ON_STEP_DOWN = "acknowledge_on_step_down"
    REFUSE_UNKNOWN_PARTITION = "refuse_unknown_partition"
    REFUSE_TOGETHER = "refuse_together"
    FOLLOWER_IGNORES_HIGH_WATERMARK = "follower_ignores_high_watermark"
    LAST_REPLICA_IS_PREFERRED = "last_replica_is_preferred"
    SHRINK_NOBODY = "shrink_nobody"
    SHRINK_ON_FETCH_ONLY = "shrink_on_fetch_only"


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
