"""Requests of clients as calls of an adapter program, which knows brokers by their ids."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from fencepost.conformance.adapters.remote.adapter import (
    Adapter,
    AdapterTimeoutError,
    AnswerType,
)
from fencepost.conformance.adapters.remote.channels import LACKS_VERB, AdapterError
from fencepost.conformance.adapters.remote.messages import (
    Call,
    ClusterDestroyCall,
    CommandedState,
    ControlCall,
    Controlled,
    Done,
    ElectLeaderCall,
    FetchCall,
    ListOffsetsCall,
    MetadataAnswer,
    MetadataCall,
    PartitionsAddCall,
    ProduceCall,
    ReassignCall,
    Refused,
    TopicCreateCall,
    TopicDeleteCall,
    Unsupported,
)
from fencepost.conformance.adapters.remote.traces import TraceReader
from fencepost.conformance.clients.transport import (
    REQUEST_UNKNOWN,
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
    PartitionView,
    RoutingView,
    Transport,
)
from fencepost.fault_injection.workload.commands import (
    NO_ANSWER,
    CommandedPartition,
    ControlAnswer,
    ControlCommand,
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
from fencepost.spec.vocabulary import ElectionKind, Outcome
from fencepost.spec.znodes import TopicPartition

ANSWER_MS = 1_000
"""How much longer than a broker the adapter may take."""


class RemoteTransport(Transport):
    """All clients share the one adapter."""

    def __init__(self, adapter: Adapter, traces: TraceReader | None = None) -> None:
        self._adapter = adapter
        self._traces = traces

    def connect(
        self, address: str, _caller: Caller, broker_id: int | None = None, /
    ) -> "RemoteConnection":
        """The broker of that id; where none is given, the address is the id."""
        return RemoteConnection(self._adapter, int(address) if broker_id is None else broker_id)

    def close(self) -> None:
        """Read what is left of traces, destroy the cluster and end the adapter; `AdapterError`."""
        try:
            if self._traces and not self._adapter.has_failed:
                self._traces.close()
            if not self._adapter.has_failed:
                self._adapter.require(ClusterDestroyCall(), Done)
        finally:
            self._adapter.close()


class RemoteConnection(BrokerConnection):
    """One broker, through the adapter; each method raises `AdapterError` when that fails."""

    def __init__(self, adapter: Adapter, broker_id: int) -> None:
        self._adapter = adapter
        self._broker_id = broker_id

    def routing_view(self) -> RoutingView:
        """The routing view of the broker; raises `ClusterUnreachableError`."""
        found = self._reached(MetadataCall(broker_id=self._broker_id), MetadataAnswer)
        if isinstance(found, Unsupported):
            raise AdapterError(f"the adapter does not support metadata, {LACKS_VERB}")
        if isinstance(found, Refused):
            raise ClusterUnreachableError(
                f"broker {self._broker_id} gave no routing view: {found.error_code}"
            )
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
        call = self._call_of(operation)
        try:
            answer = self._adapter.ask(call, call.answer)
        except AdapterTimeoutError:
            return no_answer(operation.action, "NO_ANSWER", self._broker_id)
        if isinstance(answer, Refused | Unsupported):
            return self._refused(answer, operation)
        told = structs.asdict(answer)
        del told["id"]
        return Answer(outcome=Outcome.OK, broker_id=self._broker_id, **told)

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]]
    ) -> tuple[str | None, str]:
        """Ask for a topic with these replicas."""
        replicas = tuple(map(tuple, assignment))
        return self._granted(
            TopicCreateCall(broker_id=self._broker_id, topic=topic, assignment=replicas)
        )

    def delete_topic(self, topic: str) -> tuple[str | None, str]:
        """Ask for a deletion."""
        return self._granted(TopicDeleteCall(broker_id=self._broker_id, topic=topic))

    def create_partitions(self, topic: str, count: int) -> tuple[str | None, str]:
        """Ask for `count` partitions in all."""
        return self._granted(PartitionsAddCall(broker_id=self._broker_id, topic=topic, count=count))

    def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        """Ask for moves, one call for each."""
        return {
            key: self._granted(
                ReassignCall(
                    broker_id=self._broker_id,
                    topic=key.topic,
                    partition=key.partition,
                    replicas=tuple(listed),
                )
            )[0]
            for key, listed in replicas.items()
        }

    def elect_leaders(
        self, kind: ElectionKind, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, str | None]:
        """Ask for elections, one call for each."""
        return {
            key: self._granted(
                ElectLeaderCall(
                    broker_id=self._broker_id, topic=key.topic, partition=key.partition, kind=kind
                )
            )[0]
            for key in partitions
        }

    def command(self, command: ControlCommand, /) -> ControlAnswer:
        """Send the command through the adapter."""
        call = ControlCall(
            broker_id=self._broker_id,
            method=command.method,
            controller_id=command.controller_id,
            controller_epoch=command.controller_epoch,
            about_broker_id=command.broker_id,
            broker_epoch=command.broker_epoch,
            about=_commanded(command.about) if command.about else None,
        )
        try:
            answer = self._adapter.ask(call, Controlled)
        except AdapterTimeoutError:
            return ControlAnswer(error_code=NO_ANSWER)
        match answer:
            case Refused(error_code=code):
                return ControlAnswer(error_code=code)
            case Unsupported():
                return ControlAnswer(error_code=REQUEST_UNKNOWN)
            case Controlled(partitions=partitions):
                return ControlAnswer(
                    partitions={
                        TopicPartition(one.topic, one.partition): one.error_code
                        for one in partitions
                    }
                )

    def _call_of(self, operation: Operation) -> Call:
        topic, partition = operation.partition
        match operation:
            case Produce(timeout_ms=timeout_ms):
                return ProduceCall(
                    deadline_ms=timeout_ms + ANSWER_MS,
                    broker_id=self._broker_id,
                    topic=topic,
                    partition=partition,
                    values=operation.values,
                    acks=operation.acks,
                    timeout_ms=timeout_ms,
                )
            case Fetch(max_wait_ms=max_wait_ms):
                return FetchCall(
                    deadline_ms=max_wait_ms + ANSWER_MS,
                    broker_id=self._broker_id,
                    topic=topic,
                    partition=partition,
                    offset=operation.offset,
                    max_records=operation.max_records,
                    max_wait_ms=max_wait_ms,
                )
            case ListOffsets():
                return ListOffsetsCall(broker_id=self._broker_id, topic=topic, partition=partition)

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

    def _granted(self, call: Call) -> tuple[str | None, str]:
        match self._reached(call, Done):
            case Refused(error_code=code, message=message):
                return code, message
            case Unsupported():
                return REQUEST_UNKNOWN, f"the adapter does not support {call.verb}"
            case _:
                return None, ""

    def _reached(self, call: Call, answer: type[AnswerType]) -> AnswerType | Refused | Unsupported:
        try:
            return self._adapter.ask(call, answer)
        except AdapterTimeoutError as late:
            raise ClusterUnreachableError(str(late)) from late


def _commanded(about: CommandedPartition) -> CommandedState:
    told = structs.asdict(about)
    return CommandedState(**{**told, **about.partition._asdict()})
