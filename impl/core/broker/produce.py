"""The leader's answer to a produce: append it, find it already there, or refuse it."""

from fencepost.impl.core.broker.purgatory import PendingProduce
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.producers import (
    UNKNOWN_PRODUCER,
    Batch,
    batch_records,
    find_duplicate,
    sequence_error,
)
from fencepost.impl.core.rules.replica import Replica, not_leading
from fencepost.impl.core.rules.replication import leader_append
from fencepost.impl.core.types.effects import AppendRecords, Reply
from fencepost.impl.core.types.messages import ACKS_ALL, ProduceRequest, ProduceResponse
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import NO_PRODUCER, Action, ErrorCode, Offset
from fencepost.spec.znodes import TopicPartition

PRODUCER_EPOCH_MAX = 2**15 - 1
SEQUENCE_MAX = 2**31 - 1


class Appender:
    """Puts what clients produce into the logs that this broker leads."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = replicas

    def on_produce(self, token: int, request: ProduceRequest) -> bool:
        """The records are in the log and the answer given, or waiting; true when the log grew."""
        key = TopicPartition(request.topic, request.partition)
        replica = self._replicas.get(key)
        error = self._request_error(replica, request)
        if error is not ErrorCode.NONE or replica is None:
            self._refuse(token, error)
            return False
        duplicate = self._duplicate(key, request)
        if duplicate is not None:
            base, end = duplicate.base_offset, duplicate.end_offset
            self._promise(token, request, replica, base, end)
            return False
        error = self._append_error(replica, request)
        if error is not ErrorCode.NONE:
            self._refuse(token, error)
            return False
        after = self._append(replica, request)
        self._promise(token, request, replica, replica.log_end_offset, after.log_end_offset)
        return True

    def reply(self, key: TopicPartition, produce: PendingProduce, error_code: ErrorCode) -> None:
        """The client of a produce that is in the log hears how it went."""
        is_over = error_code is ErrorCode.NOT_LEADER_AFTER_APPEND
        if self._config.mutant == "acknowledge_on_step_down" and is_over:
            error_code = ErrorCode.NONE
        response = ProduceResponse(
            error_code=error_code,
            broker_id=self._config.broker_id,
            leader_epoch=produce.leader_epoch,
            base_offset=produce.base_offset,
            high_watermark=self._replicas[key].high_watermark,
            partition_incarnation=self._replicas[key].partition_incarnation,
        )
        self._outbox.emit(Reply(token=produce.token, response=response))

    def _refuse(self, token: int, error_code: ErrorCode) -> None:
        response = ProduceResponse(error_code=error_code, broker_id=self._config.broker_id)
        self._outbox.emit(Reply(token=token, response=response))

    def _request_error(self, replica: Replica | None, request: ProduceRequest) -> ErrorCode:
        if replica is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not request.values or not ACKS_ALL <= request.acks <= -ACKS_ALL:
            return ErrorCode.INVALID_REQUEST
        if request.producer_id != NO_PRODUCER:
            last = request.base_sequence + len(request.values)
            is_in_range = request.base_sequence >= 0 and last <= SEQUENCE_MAX
            if not is_in_range or not 0 <= request.producer_epoch <= PRODUCER_EPOCH_MAX:
                return ErrorCode.INVALID_REQUEST
            if len(request.values) > self._config.fetch_records_max:
                # A follower takes batches whole, and so much at one time.
                return ErrorCode.RECORD_LIST_TOO_LARGE
        if not replica.is_leader or replica.is_fenced:
            return not_leading(replica)
        return ErrorCode.NONE

    def _append_error(self, replica: Replica, request: ProduceRequest) -> ErrorCode:
        if request.acks == ACKS_ALL and len(replica.isr) < self._config.min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        if request.producer_id == NO_PRODUCER:
            return ErrorCode.NONE
        known = self._replicas.producers(replica.topic_partition)[request.producer_id]
        if self._config.mutant == "forget_producers_on_leader_change":
            known_at_all = known is not UNKNOWN_PRODUCER
            return sequence_error(known, request) if known_at_all else ErrorCode.NONE
        return sequence_error(known, request)

    def _duplicate(self, key: TopicPartition, request: ProduceRequest) -> Batch | None:
        if request.producer_id == NO_PRODUCER:
            return None
        return find_duplicate(self._replicas.producers(key)[request.producer_id], request)

    def _append(self, replica: Replica, request: ProduceRequest) -> Replica:
        records = batch_records(request, replica.leader_epoch)
        after = leader_append(replica, len(records))
        self._outbox.emit(
            AppendRecords(
                topic_partition=replica.topic_partition,
                base_offset=replica.log_end_offset,
                records=records,
            )
        )
        self._replicas.put(after)
        self._replicas.took_records(Action.LEADER_APPEND, after, replica.log_end_offset, records)
        return after

    def _promise(
        self,
        token: int,
        request: ProduceRequest,
        replica: Replica,
        base_offset: Offset,
        end_offset: Offset,
    ) -> None:
        """Answer at once, or when the records are committed: a duplicate waits as they do."""
        produce = PendingProduce(
            token=token,
            base_offset=base_offset,
            end_offset=end_offset,
            leader_epoch=replica.leader_epoch,
            deadline_ms=self._outbox.now_ms + request.timeout_ms,
        )
        if self._answers_at_once(request):
            self.reply(replica.topic_partition, produce, ErrorCode.NONE)
        else:
            self._replicas.waiting(replica.topic_partition).produces.append(produce)
            self._replicas.expect(replica.topic_partition, produce.deadline_ms)

    def _answers_at_once(self, request: ProduceRequest) -> bool:
        if self._config.mutant == "acknowledge_before_replication":
            return True
        return request.acks != ACKS_ALL
