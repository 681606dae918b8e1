"""What clients are told of topics and partitions, and what administrators may ask for there."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.impl.core.rules.controller.partition_change_step import assignment_in
from fencepost.impl.core.types.messages import CreatePartitionsRequest, RemovePartitionsRequest
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.topic_messages import CreateTopicRequest
from fencepost.spec.vocabulary import BrokerId, ElectionKind, ErrorCode
from fencepost.spec.znodes import (
    PARTITIONS_REASSIGNED,
    TOPIC_NAME,
    LeaderAndIsr,
    TopicDocument,
    TopicPartition,
    request_path,
)

PARTITIONS_MAX = 10_000
"""Per topic: one znode holds the whole assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What was read in ZooKeeper to judge a request."""

    live: frozenset[BrokerId]
    documents: dict[str, TopicDocument] = field(default_factory=dict)
    """Of the topics that exist."""
    states: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    requests: frozenset[str] = frozenset()
    """Paths of requests that stand."""


def refuse_election(view: View, kind: ElectionKind, key: TopicPartition) -> Refusal | None:
    """The reason not to elect as asked; None when it may be."""
    document = view.documents.get(key.topic)
    assignment = assignment_in(document, key.partition) if document else None
    state = view.states.get(key)
    if assignment is None or state is None:
        return _unknown(key)
    if kind is ElectionKind.UNCLEAN:
        if state.leader in view.live:
            return Refusal(ErrorCode.ELECTION_NOT_NEEDED, f"{key} is led by {state.leader}")
        if not view.live & set(assignment.assigned):
            message = f"no replica of {list(assignment.assigned)} is alive"
            return Refusal(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, message)
        return None
    preferred = assignment.assigned[0]
    if state.leader == preferred and preferred in view.live:
        return Refusal(ErrorCode.ELECTION_NOT_NEEDED, f"{key} is led by {preferred} already")
    if preferred not in state.isr & view.live:
        message = f"broker {preferred} is no live member of the ISR {sorted(state.isr)}"
        return Refusal(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, message)
    return None


def refuse_reassignment(
    view: View, key: TopicPartition, replicas: tuple[BrokerId, ...]
) -> Refusal | None:
    """The reason not to move the partition there; without replicas, not to cancel its move."""
    document = view.documents.get(key.topic)
    assignment = assignment_in(document, key.partition) if document else None
    if assignment is None:
        return _unknown(key)
    if not replicas:
        if request_path(PARTITIONS_REASSIGNED, key) in view.requests:
            return None
        return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{key} does not move")
    allowed = view.live | set(assignment.assigned)
    if len(set(replicas)) != len(replicas) or not set(replicas) <= allowed:
        message = f"{key} to {list(replicas)}: give distinct live brokers of {sorted(view.live)}"
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return None


def refuse_creation(view: View, request: CreatePartitionsRequest) -> Refusal | None:
    """The reason not to add the partitions."""
    document = view.documents.get(request.topic)
    if document is None:
        return _unknown_topic(request.topic)
    count = len(document.partitions)
    if not count < request.partition_count <= PARTITIONS_MAX:
        message = f"{request.topic} has {count} partitions: give {count + 1} to {PARTITIONS_MAX}"
        return Refusal(ErrorCode.INVALID_PARTITIONS, message)
    if request.assignment and len(request.assignment) != request.partition_count - count:
        message = f"{len(request.assignment)} lists of replicas: one per new partition is needed"
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    for entry in request.assignment:
        listed = list(entry.replicas)
        if not listed or len(set(listed)) != len(listed) or not set(listed) <= view.live:
            message = f"a partition on {listed}: give distinct live brokers of {sorted(view.live)}"
            return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    if not view.live:
        return Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "no broker is registered")
    return None


def refuse_removal(view: View, request: RemovePartitionsRequest) -> Refusal | None:
    """The reason not to remove the partitions."""
    document = view.documents.get(request.topic)
    if document is None:
        return _unknown_topic(request.topic)
    wanted = {str(partition) for partition in request.partitions}
    if not wanted or not wanted < document.partitions.keys():
        message = f"{request.topic} has partitions {sorted(map(int, document.partitions))}"
        return Refusal(ErrorCode.INVALID_PARTITIONS, f"{message}: give some of them, not all")
    return None


def new_partitions(
    view: View, request: CreatePartitionsRequest
) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """The partitions to add and their replicas: brokers in turn, as many as partition 0 has."""
    document = view.documents[request.topic]
    count = request.partition_count - len(document.partitions)
    first = max(map(int, document.partitions), default=-1) + 1
    keys = [TopicPartition(request.topic, first + number) for number in range(count)]
    if request.assignment:
        entries = zip(keys, request.assignment, strict=True)
        return {key: entry.replicas for key, entry in entries}
    live = sorted(view.live)
    factor = min(len(live), max(map(len, document.partitions.values()), default=1))
    return {
        key: tuple(live[(key.partition + index) % len(live)] for index in range(factor))
        for key in keys
    }


def refuse_topic(request: CreateTopicRequest, live: Sequence[BrokerId]) -> Refusal | None:
    """The reason not to create the topic (TOP-004)."""
    if not TOPIC_NAME.fullmatch(request.topic) or request.topic in {".", ".."}:
        reason = f"{request.topic!r} is no topic name: 1 to 249 of letters, digits, '.', '_', '-'"
        return Refusal(ErrorCode.INVALID_TOPIC, reason)
    count = len(request.assignment) or request.partition_count
    if not 1 <= count <= PARTITIONS_MAX:
        reason = f"{count} partitions: give 1 to {PARTITIONS_MAX}"
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    if request.assignment:
        return _refuse_assignment(request, live)
    if not 1 <= request.replication_factor <= len(live):
        reason = f"replication factor {request.replication_factor} with {len(live)} live brokers"
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    return None


def _refuse_assignment(request: CreateTopicRequest, live: Sequence[BrokerId]) -> Refusal | None:
    for partition, entry in enumerate(request.assignment):
        listed = list(entry.replicas)
        if not listed or len(set(listed)) != len(listed) or not set(listed) <= set(live):
            reason = f"partition {partition} on {listed}: give distinct live brokers of {live}"
            return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    return None


def existing_topic(topic: str) -> Refusal:
    """What the creation of a topic that exists ends with (TOP-003)."""
    return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic} exists")


def missing_topic(topic: str) -> Refusal:
    """What the deletion of a topic that does not exist ends with (TOP-002)."""
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} does not exist")


def routed_leader(state: LeaderAndIsr, _assigned_replicas: Sequence[BrokerId]) -> BrokerId:
    """The leader that clients are sent to: the published one (CLI-003, UMD-002)."""
    return state.leader


def _unknown(key: TopicPartition) -> Refusal:
    message = f"there is no partition {key}"
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)


def _unknown_topic(topic: str) -> Refusal:
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
