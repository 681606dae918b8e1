"""In which order partition changes are looked for, and brokers give replicas up (REAS, PART)."""

from collections.abc import Set as AbstractSet

from fencepost.impl.core.rules.controller.partition_requests import PartitionRequest
from fencepost.impl.core.types.zookeeper import WriteOp, WriteResult
from fencepost.spec.vocabulary import Action, BrokerId
from fencepost.spec.znodes import TopicDocument, TopicPartition


def is_look_due(next_ms: int, now_ms: int) -> bool:
    """The timer finds what no watch tells of (REAS-006)."""
    return next_ms <= now_ms


def changing_topics(
    requested: AbstractSet[str], unsure: AbstractSet[str], begun: AbstractSet[str]
) -> list[str]:
    """Topics with requests, of unknown writes, or with a change that was begun (REAS-003)."""
    return sorted(requested | unsure | begun)


def followed_request(_key: TopicPartition, request: PartitionRequest) -> PartitionRequest:
    """The request as it stands now: its target may have changed (REAS-001)."""
    return request


def stopped_before(_step: Action, _leaving: frozenset[BrokerId]) -> frozenset[BrokerId]:
    """No broker gives its replica up before ZooKeeper holds that it leaves (REAS-005, PART-002)."""
    return frozenset()


def stop_stands(broker_id: BrokerId, leaving: frozenset[BrokerId]) -> bool:
    """A broker that was told to give a replica up is told again when it leaves another time."""
    return broker_id in leaving


def written_instead(
    _topic: str, _document: TopicDocument | None, _result: WriteResult | None
) -> tuple[WriteOp, ...]:
    """Nothing is written instead of a step that was refused: it is decided anew (TOP-003)."""
    return ()
