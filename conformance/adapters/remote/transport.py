"""Requests of clients as calls of an adapter program, which knows brokers by their ids."""

from collections.abc import Sequence

from fencepost.conformance.adapters.remote.adapter_process import (
    AdapterProcess,
    AdapterTimeoutError,
    AnswerType,
)
from fencepost.conformance.adapters.remote.messages import (
    Call,
    Done,
    FetchCall,
    Fetched,
    ListOffsetsCall,
    MetadataAnswer,
    MetadataCall,
    OffsetsListed,
    ProduceCall,
    Produced,
    Refused,
    TopicCreateCall,
    Unsupported,
)
from fencepost.conformance.clients.transport import (
    REQUEST_UNKNOWN,
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
    PartitionView,
    RoutingView,
    Transport,
)
from fencepost.fault_injection.workload.operations import (
    Answer,
    Fetch,
    ListOffsets,
    Operation,
    Produce,
    no_answer,
    outcome_of,
)
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import TopicPartition

ANSWER_MS = 1_000
"""How much longer than a broker the adapter may take."""


class RemoteTransport(Transport):
    """All clients share the one adapter."""

    def __init__(self, adapter: AdapterProcess) -> None:
        self._adapter = adapter

    def connect(
        self, address: str, _caller: Caller, _broker_id: int | None = None, /
    ) -> "RemoteConnection":
        """The broker that has the address as its id."""
        return RemoteConnection(self._adapter, int(address))


class RemoteConnection(BrokerConnection):
    """One broker, through the adapter; each method raises `AdapterError` when that fails."""

    def __init__(self, adapter: AdapterProcess, broker_id: int) -> None:
        self._adapter = adapter
        self._broker_id = broker_id

    def routing_view(self) -> RoutingView:
        """The routing view of the broker; raises `ClusterUnreachableError`."""
        found = self._reached(MetadataCall(broker_id=self._broker_id), MetadataAnswer)
        if not isinstance(found, MetadataAnswer):
            raise ClusterUnreachableError(f"broker {self._broker_id} gave no routing view")
        return RoutingView(
            broker_id=self._broker_id,
            controller_id=-1 if found.controller_id is None else found.controller_id,
            addresses={broker_id: str(broker_id) for broker_id in found.broker_ids},
            partitions={
                TopicPartition(one.topic, one.partition): PartitionView(
                    leader=one.leader, leader_epoch=one.leader_epoch
                )
                for one in found.partitions
            },
        )

    def perform(self, operation: Operation) -> Answer:
        """What the broker answers, or that it gave no answer."""
        try:
            match operation:
                case Produce():
                    return self._produce(operation)
                case Fetch():
                    return self._fetch(operation)
                case ListOffsets():
                    return self._list_offsets(operation)
        except AdapterTimeoutError:
            return no_answer(operation.action, "NO_ANSWER", self._broker_id)

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]]
    ) -> tuple[str | None, str]:
        """Ask for a topic with these replicas."""
        call = TopicCreateCall(
            broker_id=self._broker_id, topic=topic, assignment=tuple(map(tuple, assignment))
        )
        match self._reached(call, Done):
            case Refused(error_code=code, message=message):
                return code, message
            case Unsupported():
                return REQUEST_UNKNOWN, "the adapter does not support topic_create"
            case _:
                return None, ""

    def _produce(self, operation: Produce) -> Answer:
        call = ProduceCall(
            deadline_ms=operation.timeout_ms + ANSWER_MS,
            broker_id=self._broker_id,
            topic=operation.partition.topic,
            partition=operation.partition.partition,
            values=operation.values,
            acks=operation.acks,
            timeout_ms=operation.timeout_ms,
        )
        answer = self._adapter.ask(call, Produced)
        if not isinstance(answer, Produced):
            return self._refused(answer, operation)
        return Answer(
            outcome=Outcome.OK,
            broker_id=self._broker_id,
            offset=answer.offset,
            leader_epoch=answer.leader_epoch,
            high_watermark=answer.high_watermark,
        )

    def _fetch(self, operation: Fetch) -> Answer:
        call = FetchCall(
            deadline_ms=operation.max_wait_ms + ANSWER_MS,
            broker_id=self._broker_id,
            topic=operation.partition.topic,
            partition=operation.partition.partition,
            offset=operation.offset,
            max_records=operation.max_records,
            max_wait_ms=operation.max_wait_ms,
        )
        answer = self._adapter.ask(call, Fetched)
        if not isinstance(answer, Fetched):
            return self._refused(answer, operation)
        return Answer(
            outcome=Outcome.OK,
            broker_id=self._broker_id,
            leader_epoch=answer.leader_epoch,
            high_watermark=answer.high_watermark,
            log_end_offset=answer.log_end_offset,
            values=answer.values,
            record_epochs=answer.record_epochs,
        )

    def _list_offsets(self, operation: ListOffsets) -> Answer:
        topic, partition = operation.partition
        call = ListOffsetsCall(broker_id=self._broker_id, topic=topic, partition=partition)
        answer = self._adapter.ask(call, OffsetsListed)
        if not isinstance(answer, OffsetsListed):
            return self._refused(answer, operation)
        return Answer(
            outcome=Outcome.OK,
            broker_id=self._broker_id,
            leader_epoch=answer.leader_epoch,
            high_watermark=answer.high_watermark,
            log_end_offset=answer.log_end_offset,
        )

    def _refused(self, answer: Done, operation: Operation) -> Answer:
        """An error of a read had no effect; that of a produce had none if it says so."""
        if not isinstance(answer, Refused):
            code, outcome = REQUEST_UNKNOWN, Outcome.DEFINITE_ERROR
        else:
            code, outcome = answer.error_code, outcome_of(answer.error_code)
            if answer.definite is not None:
                outcome = Outcome.DEFINITE_ERROR if answer.definite else Outcome.INDEFINITE
        if not isinstance(operation, Produce):
            outcome = Outcome.DEFINITE_ERROR
        return Answer(outcome=outcome, error_code=code, broker_id=self._broker_id)

    def _reached(self, call: Call, answer: type[AnswerType]) -> AnswerType | Refused | Unsupported:
        try:
            return self._adapter.ask(call, answer)
        except AdapterTimeoutError as late:
            raise ClusterUnreachableError(str(late)) from late
