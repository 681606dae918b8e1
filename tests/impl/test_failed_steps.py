"""Nothing that a step claims of a log gets out once that log has failed."""

from fencepost.impl.core.types.effects import (
    ActionTaken,
    AppendRecords,
    CheckpointHighWatermark,
    DeleteLog,
    Effect,
    Reply,
    ReplyRecords,
    Send,
)
from fencepost.impl.core.types.messages import FetchRequest, FetchResponse, ProduceResponse, Record
from fencepost.impl.failed_steps import without_claims, without_failed
from fencepost.spec.vocabulary import Action, BrokerId, ErrorCode, LeaderEpoch, Offset
from fencepost.spec.znodes import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ME = BrokerId(1)


def append(key: TopicPartition) -> AppendRecords:
    records = (Record(LeaderEpoch(0), "v"),)
    return AppendRecords(topic_partition=key, base_offset=Offset(0), records=records)


def action(key: TopicPartition) -> ActionTaken:
    return ActionTaken(action=Action.LEADER_APPEND, topic_partition=key)


def fetch(key: TopicPartition) -> Send:
    request = FetchRequest(topic=key.topic, partition=key.partition, fetch_offset=Offset(1))
    return Send(request_id=1, to=BrokerId(2), request=request, timeout_ms=1)


def acknowledged(error: ErrorCode = ErrorCode.NONE) -> Reply:
    return Reply(token=1, response=ProduceResponse(error_code=error, broker_id=ME))


def read(key: TopicPartition) -> ReplyRecords:
    response = FetchResponse(broker_id=ME, fetch_offset=Offset(0))
    return ReplyRecords(
        token=2, response=response, topic_partition=key, start=Offset(0), end=Offset(1)
    )


def test_a_failed_log_is_left_alone_and_its_readers_are_refused() -> None:
    checkpoint = CheckpointHighWatermark(topic_partition=T0, high_watermark=Offset(1))
    deletion = DeleteLog(topic_partition=T0)

    assert without_failed(append(T0), {T0}) is None
    assert without_failed(checkpoint, {T0}) is None
    assert without_failed(deletion, {T0}) is deletion
    refused = without_failed(read(T0), {T0})
    assert isinstance(refused, Reply)
    assert isinstance(refused.response, FetchResponse)
    assert refused.response.error_code is ErrorCode.STORAGE_ERROR


def test_other_logs_go_on() -> None:
    others: list[Effect] = [append(T1), read(T1), action(T1), fetch(T1)]

    assert [without_failed(effect, {T0}) for effect in others] == others
    assert [without_claims(effect, {T0}) for effect in others] == others


def test_what_the_step_claims_of_the_log_is_dropped() -> None:
    assert without_claims(action(T0), {T0}) is None
    assert without_claims(fetch(T0), {T0}) is None


def test_no_produce_is_acknowledged_in_the_step_in_which_a_log_failed() -> None:
    assert without_claims(acknowledged(), {T0}) == acknowledged(ErrorCode.NOT_LEADER_AFTER_APPEND)
    refused = acknowledged(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert without_claims(refused, {T0}) is refused
