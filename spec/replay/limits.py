"""What a run does that the replay of a partition knows nothing of, and where it ends therefore."""

from collections.abc import Container, Iterable

from spec.trace import Kind, TraceEvent
from spec.vocabulary import Action
from spec.znodes import (
    CONTROLLER,
    REQUEST_PATHS,
    TopicPartition,
    leader_and_isr_path,
    request_path,
)

BY_STRANGERS = frozenset({"admin.controller_kick", "zk.version_race"})
"""Faults by which somebody who is no broker writes what only brokers write."""

LIFECYCLE = frozenset(
    {
        Action.DELETE_TOPIC,
        Action.DETECT_TOPIC_CHANGE,
        Action.READ_ASSIGNMENT,
        Action.RECOVER_REPLICAS,
        Action.SEND_INIT,
        Action.OBEY_INIT,
        Action.SEND_STOP_REPLICA,
        Action.STOP_REPLICA,
        Action.REQUEST_PARTITIONS,
        Action.ADD_PARTITIONS,
        Action.REMOVE_PARTITIONS,
        Action.START_REASSIGNMENT,
        Action.CANCEL_REASSIGNMENT,
        Action.ADVANCE_REASSIGNMENT,
        Action.COMPLETE_REASSIGNMENT,
    }
)
"""Of incarnations that end and replicas that change: other modules have them, not the replay."""


def leaves_the_spec(event: TraceEvent, key: TopicPartition) -> bool:
    """True where an administrator asks for something about the partition, or records may be lost.

    From there on the run is no behaviour of `Replication` with one set of replicas.
    """
    if event.kind is Kind.ZOOKEEPER and event.action == "Create":
        return event.path in {request_path(kind, key) for kind in REQUEST_PATHS}
    return event.is_unclean and TopicPartition(event.topic or "", event.partition or 0) == key


def has_strangers(events: Iterable[TraceEvent]) -> bool:
    """True when a fault of the run writes what only brokers write."""
    return any(event.kind is Kind.FAULT and event.action in BY_STRANGERS for event in events)


def is_by_stranger(event: TraceEvent, key: TopicPartition, sessions: Container[int]) -> bool:
    """True where a session that is none of `sessions`, the brokers', writes what is theirs."""
    is_theirs = event.path in (CONTROLLER, leader_and_isr_path(key))
    return event.kind is Kind.ZOOKEEPER and is_theirs and (event.session_id or 0) not in sessions
