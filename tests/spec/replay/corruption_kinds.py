"""All kinds of corruption, by name."""

from collections.abc import Mapping

from fencepost.spec.vocabulary import Action, RefusalKind
from tests.spec.replay.corruptions import (
    Corruption,
    acknowledged_nowhere,
    appended_again,
    appended_by_follower,
    arrival_denied,
    changed,
    command_never_sent,
    decides_next,
    departure_denied,
    dropped,
    elected_too,
    fenced,
    for_earlier_start,
    has_records,
    inserted,
    is_followed_by,
    is_late_topic,
    is_of_state,
    is_registration,
    led_by_another,
    led_too,
    log_forgotten,
    moved,
    obeyed_again_late,
    of_earlier_epoch,
    of_next_epoch,
    swapped,
    transactions_swapped,
    with_stranger,
    without_last,
    write_made_up,
)
from tests.spec.replay.move_corruptions import (
    ADDED,
    MOVED,
    REMOVED,
    assigned_to_fewer,
    is_of_topic,
    is_request,
    is_step_of_move,
    stopped_before_unassigned,
    with_all_assigned,
)
from tests.spec.replay.office_corruptions import (
    by_stranger,
    is_by_hand,
    is_of_controller,
    is_outside,
    is_without_loss,
    telling,
)
from tests.spec.replay.refusals import (
    fetch_refused,
    refusals_never_told,
    refused,
    refused_as_stale_controllers,
    stop_never_sent,
)

KINDS: Mapping[str, Corruption] = {
    # left out
    **{
        f"drop {action}": dropped(action)
        for action in (
            Action.REGISTER_BROKER,
            Action.ELECT_CONTROLLER,
            Action.RESIGN_CONTROLLER,
            Action.LEARN_CONTROLLER,
            Action.INIT_LEADER,
            Action.ELECT_LEADER,
            Action.BECOME_LEADER,
            Action.BECOME_FOLLOWER,
            Action.TRUNCATE_LOG,
            Action.SHRINK_ISR,
            Action.EXPAND_ISR,
            Action.ADOPT_ISR,
            Action.FENCE_LEADER,
            Action.ADVANCE_REASSIGNMENT,
            Action.COMPLETE_REASSIGNMENT,
            Action.ADD_PARTITIONS,
            Action.REMOVE_PARTITIONS,
            "NodeStarted",
        )
    },
    "drop PublishDecision": dropped(Action.PUBLISH_DECISION),
    "drop DetectBrokerChange": dropped(Action.DETECT_BROKER_CHANGE, decides_next),
    "drop ReadAssignment": dropped(Action.READ_ASSIGNMENT),
    "drop DetectTopicChange": dropped(Action.DETECT_TOPIC_CHANGE, is_late_topic),
    "drop SendLeaderAndIsr": command_never_sent,
    "drop SendStopReplica": stop_never_sent,
    "drop a stop of a move": dropped(Action.STOP_REPLICA, is_step_of_move),
    "drop the request of a move": dropped("Create", is_request(MOVED)),
    "drop the request of an addition": dropped("Create", is_request(ADDED)),
    "drop the request of a removal": dropped("Create", is_request(REMOVED)),
    "drop LeaderAppend": dropped(Action.LEADER_APPEND),
    "drop FollowerAppend": dropped(Action.FOLLOWER_APPEND, has_records),
    "drop ServeFetch": dropped(
        Action.SERVE_FETCH, is_followed_by(Action.ADVANCE_HIGH_WATERMARK, Action.EXPAND_ISR)
    ),
    "drop AdvanceHighWatermark": dropped(Action.ADVANCE_HIGH_WATERMARK),
    "drop LogRecovered": dropped("LogRecovered"),
    "drop the refusal of a command": refusals_never_told,
    "drop a write of the state": dropped("SetData", is_of_state),
    "drop a write of /controller by hand": dropped("SetData", is_by_hand),
    "drop a registration": dropped("Create", is_registration),
    "drop the end of a registration": dropped("Delete", is_registration),
    # changed
    "command of another leader epoch": changed(Action.BECOME_FOLLOWER, of_next_epoch),
    "command of another controller epoch": changed(
        Action.BECOME_LEADER, moved("controller_epoch", -1)
    ),
    "command by another controller": changed(Action.BECOME_FOLLOWER, moved("controller_id", 1)),
    "sent state with another ISR": changed(Action.SEND_LEADER_AND_ISR, without_last("isr")),
    "decision for another leader": changed(Action.ELECT_LEADER, led_by_another),
    "decision with a smaller ISR": changed(Action.ELECT_LEADER, without_last("isr")),
    "first ISR with a member less": changed(Action.INIT_LEADER, without_last("isr")),
    "assignment with a replica less": changed(
        Action.INIT_LEADER, without_last("assigned_replicas")
    ),
    "decision on another version": changed(Action.ELECT_LEADER, moved("expected_version", 1)),
    "election outside the ISR that tells no loss": changed(
        Action.ELECT_LEADER, telling(is_unclean=False), is_outside
    ),
    "loss told of an election without": changed(
        Action.ELECT_LEADER, telling(is_unclean=True), is_without_loss
    ),
    "step of a move before the new replicas have joined": changed(
        Action.ADVANCE_REASSIGNMENT, with_all_assigned
    ),
    "move to a replica less": changed(
        Action.ADVANCE_REASSIGNMENT, without_last("assigned_replicas")
    ),
    "move completed elsewhere": changed(
        Action.COMPLETE_REASSIGNMENT, without_last("assigned_replicas")
    ),
    "addition of a replica less": changed(Action.ADD_PARTITIONS, without_last("assigned_replicas")),
    "topic with a replica less": changed("SetData", assigned_to_fewer, is_of_topic),
    "departure denied": departure_denied,
    "arrival denied": arrival_denied,
    "another broker epoch": changed(Action.REGISTER_BROKER, moved("zxid", 1)),
    "another zxid of a topic": changed(Action.DETECT_TOPIC_CHANGE, moved("zxid", 1)),
    "command for an earlier start": changed(Action.BECOME_FOLLOWER, for_earlier_start),
    "office ended under a strange session": changed("Delete", by_stranger, is_of_controller),
    "another zxid of a write": changed(Action.PUBLISH_DECISION, moved("zxid", 1)),
    "another version in ZooKeeper": changed("SetData", moved("znode_version", 1), is_of_state),
    "another offset": changed(Action.LEADER_APPEND, moved("offset", 1)),
    "another log end": changed(Action.FOLLOWER_APPEND, moved("log_end_offset", 1)),
    "another record": changed(Action.FOLLOWER_APPEND, with_stranger),
    "another epoch of a record": changed(Action.FOLLOWER_APPEND, of_earlier_epoch),
    "larger high watermark of a follower": changed(
        Action.FOLLOWER_APPEND, moved("high_watermark", 1)
    ),
    "larger high watermark of a leader": changed(
        Action.ADVANCE_HIGH_WATERMARK, moved("high_watermark", 1)
    ),
    "smaller high watermark of a leader": changed(
        Action.ADVANCE_HIGH_WATERMARK, moved("high_watermark", -1)
    ),
    "commit with a smaller ISR": changed(Action.ADVANCE_HIGH_WATERMARK, without_last("isr")),
    "another ISR adopted": changed(Action.ADOPT_ISR, without_last("isr")),
    "cut at another offset": changed(Action.TRUNCATE_LOG, moved("offset", 1)),
    "fetch at a later offset": changed(Action.SERVE_FETCH, moved("offset", 1)),
    "disk that forgot a record": changed("LogRecovered", log_forgotten),
    "disk with a larger high watermark": changed("LogRecovered", moved("high_watermark", 1)),
    "refusal of a command that was not sent": changed(
        RefusalKind.REFUSE_COMMAND, moved("znode_version", 1)
    ),
    "refusal for another reason": changed(RefusalKind.REFUSE_COMMAND, refused_as_stale_controllers),
    "refusal of a fetch that was not sent": changed(RefusalKind.REFUSE_FETCH, moved("offset", 1)),
    "stop that was not sent": changed(Action.STOP_REPLICA, moved("leader_epoch", 1)),
    "refusal of a stop that was not sent": changed(
        RefusalKind.REFUSE_STOP, moved("leader_epoch", 1)
    ),
    "stop refused for another reason": changed(
        RefusalKind.REFUSE_STOP, refused_as_stale_controllers
    ),
    "acknowledged at another offset": changed("Produce", moved("offset", 1)),
    # swapped
    "published before it is decided": swapped(Action.ELECT_LEADER, Action.PUBLISH_DECISION),
    "sent before it is published": swapped(Action.PUBLISH_DECISION, Action.SEND_LEADER_AND_ISR),
    "committed before it is fetched": swapped(Action.SERVE_FETCH, Action.ADVANCE_HIGH_WATERMARK),
    "appended before it leads": swapped(Action.BECOME_LEADER, Action.LEADER_APPEND),
    "cut before it follows": swapped(Action.BECOME_FOLLOWER, Action.TRUNCATE_LOG),
    "fetched before it follows": swapped(Action.BECOME_FOLLOWER, Action.FOLLOWER_APPEND),
    "transactions the other way": transactions_swapped,
    "stopped before it is unassigned": stopped_before_unassigned,
    # made up
    "append by a follower": inserted(Action.BECOME_FOLLOWER, appended_by_follower),
    "records appended twice": inserted(Action.FOLLOWER_APPEND, appended_again),
    "command that no controller sent": inserted(Action.BECOME_FOLLOWER, of_next_epoch),
    "second leader of an epoch": inserted(Action.BECOME_FOLLOWER, led_too),
    "old command obeyed": obeyed_again_late,
    "high watermark moved again": inserted(
        Action.ADVANCE_HIGH_WATERMARK, moved("high_watermark", 1)
    ),
    "another epoch learnt": inserted(Action.LEARN_CONTROLLER, moved("controller_epoch", 1)),
    "second controller of an epoch": elected_too,
    "acknowledged, and in no log": inserted("Produce", acknowledged_nowhere),
    "state that no broker wrote": write_made_up,
    "command refused for no reason": inserted(Action.BECOME_FOLLOWER, refused),
    "fetch refused for no reason": inserted(Action.SERVE_FETCH, fetch_refused),
    "fenced for no reason": inserted(Action.BECOME_LEADER, fenced),
}
"""What each kind is called, and how it is made."""
