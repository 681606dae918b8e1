"""What is left of a step in which a log failed.

The core speaks as if everything it asked for were done. Messages about a partition that come after
the failed effect must not leave: a follower would claim records that it has not stored.
"""

from collections.abc import Collection, Container

from msgspec.structs import replace

from fencepost.impl.core.types.effects import (
    ActionTaken,
    AppendRecords,
    CheckpointHighWatermark,
    Effect,
    Reply,
    ReplyRecords,
    Send,
    StartLog,
    TruncateRecords,
)
from fencepost.impl.core.types.messages import (
    FetchRequest,
    OffsetForLeaderEpochRequest,
    ProduceResponse,
)
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TopicPartition


def without_failed(effect: Effect, failed: Container[TopicPartition]) -> Effect | None:
    """The effect as it may be performed now that the logs of `failed` are not there; None: not."""
    match effect:
        case ReplyRecords() if effect.topic_partition in failed:
            return refusal(effect)
        case AppendRecords() | TruncateRecords() | StartLog() | CheckpointHighWatermark():
            return None if effect.topic_partition in failed else effect
        case _:
            return effect


def refusal(effect: ReplyRecords) -> Reply:
    """The answer to a fetch of records that cannot be read."""
    answer = replace(effect.response, error_code=ErrorCode.STORAGE_ERROR)
    return Reply(token=effect.token, response=answer)


def without_claims(effect: Effect, failed: Collection[TopicPartition]) -> Effect | None:
    """The effect as it may be performed after the logs of `failed` have failed in the same step.

    A produce that was to be acknowledged may be in the log, and in that of followers, or not.
    """
    if not failed:
        return effect
    match effect:
        case ActionTaken(topic_partition=partition) if partition in failed:
            return None
        case Send(request=FetchRequest() | OffsetForLeaderEpochRequest() as request):
            key = request.key
            return None if key in failed else effect
        case Reply(token=token, response=ProduceResponse(error_code=ErrorCode.NONE) as response):
            answer = replace(response, error_code=ErrorCode.NOT_LEADER_AFTER_APPEND)
            return Reply(token=token, response=answer)
        case _:
            return effect
