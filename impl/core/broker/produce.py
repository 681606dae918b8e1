"""The leader's answer to a produce: append it, find it already there, or refuse it."""

from dataclasses import dataclass

from fencepost.impl.core.broker.purgatory import DelayedProduce
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.producers import (
    Batch,
    ProducerState,
    find_duplicate,
)
from fencepost.impl.core.rules.produces import ProduceEnd
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.replication import leader_append
from fencepost.impl.core.types.effects import AppendRecords
from fencepost.impl.core.types.messages import ACKS_ALL, ProduceRequest, ProduceResponse
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import (
    NO_EPOCH,
    NO_PRODUCER,
    ErrorCode,
    LeaderEpoch,
    Offset,
)
from fencepost.spec.znodes import TopicPartition

PRODUCER_EPOCH_MAX = 2**15 - 1
SEQUENCE_MAX = 2**31 - 1


@dataclass(slots=True)
class Produces:
    """Puts what clients produce into the logs that this broker leads."""

    _config: Config
    _outbox: Outbox
    _replicas: Replicas

    def on_produce(self, token: int, request: ProduceRequest) -> bool:
        """The records are in the log and the answer given, or waiting; true when the log grew."""
        key = request.key
        replica = self._replicas.get(key)
        if replica is None:
            self._refuse(token, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return False
        error = self._request_error(replica, request)
        if error is not ErrorCode.NONE:
            self._refuse(token, error)
            return False
        duplicate = self._duplicate(replica, request)
        if duplicate is not None:
            base, end = duplicate.base_offset, duplicate.end_offset
            self._promise(token, request, replica, base, end)
            return False
        error = self._append_error(replica, request)
        if error is not ErrorCode.NONE:
            self._refuse(token, error, replica.leader_epoch)
            return False
        after = self._append(replica, request)
        self._promise(token, request, replica, replica.log_end_offset, after.log_end_offset)
        return True

    def answer_committed(self, key: TopicPartition) -> None:
        """Acknowledge the delayed produces below the high watermark (REPL-008)."""
        replica = self._replicas.get(key)
        if replica is None or not replica.is_leader:
            return
        committed = self._config.rules.committed_end(replica)
        for produce in self._replicas.purgatory(key).committed(committed):
            self._reply(key, produce, ProduceEnd.COMMITTED)

    def end_delayed(self, key: TopicPartition) -> None:
        """Tell delayed produces that their records may be in the log, or not (CMD-004)."""
        for produce in self._replicas.purgatory(key).take_produces():
            self._reply(key, produce, ProduceEnd.NO_LEADER)

    def expire(self, key: TopicPartition) -> None:
        """Fail the delayed produces that are past their deadline."""
        for produce in self._replicas.purgatory(key).expired_produces(self._outbox.now_ms):
            self._reply(key, produce, ProduceEnd.EXPIRED)

    def _reply(self, key: TopicPartition, produce: DelayedProduce, end: ProduceEnd) -> None:
        """The client of a produce that is in the log is told how it ended."""
        response = ProduceResponse(
            error_code=self._config.rules.produce_ends[end],
            broker_id=self._config.broker_id,
            leader_epoch=produce.leader_epoch,
            base_offset=self._config.rules.acknowledged_offset(
                produce.base_offset, produce.end_offset
            ),
            high_watermark=self._replicas[key].high_watermark,
            partition_incarnation=self._replicas[key].partition_incarnation,
        )
        self._outbox.reply(produce.token, response)

    def _refuse(
        self, token: int, error_code: ErrorCode, leader_epoch: LeaderEpoch = NO_EPOCH
    ) -> None:
        """A leader that refuses says in which epoch: another one may take the same request."""
        response = ProduceResponse(
            error_code=error_code, broker_id=self._config.broker_id, leader_epoch=leader_epoch
        )
        self._outbox.reply(token, response)

    def _request_error(self, replica: Replica, request: ProduceRequest) -> ErrorCode:
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
        return self._config.rules.produce_error(replica)

    def _append_error(self, replica: Replica, request: ProduceRequest) -> ErrorCode:
        least = self._config.min_insync_replicas
        if self._config.rules.has_too_few_in_sync(replica, request, least):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        if request.producer_id == NO_PRODUCER:
            return ErrorCode.NONE
        return self._config.rules.sequence_error(self._known(replica, request), request)

    def _duplicate(self, replica: Replica, request: ProduceRequest) -> Batch | None:
        if request.producer_id == NO_PRODUCER:
            return None
        return find_duplicate(self._known(replica, request), request)

    def _known(self, replica: Replica, request: ProduceRequest) -> ProducerState:
        producers = self._replicas.producers(replica.topic_partition)
        return self._config.rules.known_of_producer(replica, producers, request.producer_id)

    def _append(self, replica: Replica, request: ProduceRequest) -> Replica:
        records = self._config.rules.batch_records(request, replica.leader_epoch)
        after, taken = leader_append(replica, records)
        self._outbox.emit(
            AppendRecords(
                topic_partition=replica.topic_partition,
                base_offset=replica.log_end_offset,
                records=records,
            )
        )
        base = replica.log_end_offset
        self._replicas.producers(replica.topic_partition).append(base, records)
        self._replicas.take(after, taken)
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
        produce = DelayedProduce(
            token=token,
            base_offset=base_offset,
            end_offset=end_offset,
            leader_epoch=replica.leader_epoch,
            deadline_ms=self._outbox.now_ms + request.timeout_ms,
        )
        if self._config.rules.answers_at_once(request):
            self._reply(replica.topic_partition, produce, ProduceEnd.COMMITTED)
        else:
            self._replicas.purgatory(replica.topic_partition).produces.append(produce)
            self._replicas.expect(replica.topic_partition, produce.deadline_ms)
