"""Kafka's wire as `conformance.clients.transport` asks for it: each call is one request.

A produce that failed after it reached the leader may be in the log, whatever the error says: a
leader answers NOT_LEADER_OR_FOLLOWER, or UNKNOWN_TOPIC_OR_PARTITION, also for what it had appended
before it was deposed or stopped its replica. So only errors that `REFUSED` lists are definite.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from threading import Event, Lock
from time import monotonic
from typing import Any

from kio.schema.errors import ErrorCode as KafkaError
from kio.static.primitive import Records

from fencepost.conformance.adapters.kafka import commands, wire
from fencepost.conformance.adapters.kafka.disk.records import new_batch, old_messages, read_batches
from fencepost.conformance.adapters.kafka.wire import (
    BrokerSocket,
    NoAnswerError,
    NotOfferedError,
    NotSentError,
)
from fencepost.conformance.clients.transport import (
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
    PartitionView,
    RequestUnknownError,
    RoutingView,
)
from fencepost.fault_injection.workload.commands import (
    NO_ANSWER,
    NOT_SENT,
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
)
from fencepost.spec.vocabulary import NO_EPOCH, ElectionKind, Outcome
from fencepost.spec.znodes import TopicPartition

CONSUMER = -1
"""The caller is no replica, and sees what is committed."""
LOG_END_READER = -2
"""Kafka's `DebuggingConsumerId`: ListOffsets then answers with the log end offset."""
LATEST = -1
METADATA_DEADLINE_S = 1.0
ANSWER_S = 0.2
"""A produce is given up so long after the broker should have given it up itself.

A client that waits longer for a paused leader hears too late of the next one.
"""
WITHIN_S = 5.0
"""How long a broker may take to do what an administrator asks for."""
WITHIN_MS = round(WITHIN_S * 1000)
LATER_S = 5.0
"""How much later its answer may come."""
CONTROLLER_S = 5.0
"""How long a request is sent after a controller that moves."""
AGAIN_S = 0.1
FETCH_BYTES = 1 << 20
RELIABLE_EPOCHS = 9
"""From this version of metadata on; before, brokers name former epochs while a partition moves.

Kafka's own client trusts no older ones either (`MetadataResponse.hasReliableLeaderEpochs`).
"""
FENCED_FETCH = 9
"""From this version on a fetch names a leader epoch."""
ELECTION_TYPES = {ElectionKind.PREFERRED: 0, ElectionKind.UNCLEAN: 1}

REFUSED = frozenset(
    {
        KafkaError.not_enough_replicas,
        KafkaError.message_too_large,
        KafkaError.record_list_too_large,
        KafkaError.invalid_topic_exception,
        KafkaError.invalid_required_acks,
        KafkaError.corrupt_message,
        KafkaError.topic_authorization_failed,
    }
)
"""Errors of a produce that say that nothing was appended."""


class KafkaTransport:
    """Connections to brokers, one for each client and address; `Transport`.

    In KRaft mode a broker forwards to the controller what is the controller's, and metadata name
    any broker as controller, also a dead one.
    """

    def __init__(self, *, forwards: bool = False) -> None:
        self.forwards = forwards
        self.views: dict[str, RoutingView] = {}
        """By client, the metadata that it was given last, where their epochs are reliable."""
        self._sockets: dict[tuple[str, str], BrokerSocket] = {}
        self._lock = Lock()

    def connect(
        self, address: str, caller: Caller, broker_id: int | None = None, /
    ) -> "KafkaConnection":
        """The broker at `address`, which no other broker of the cluster ever listens at."""
        return KafkaConnection(self, self._socket(address, caller), caller, broker_id)

    def _socket(self, address: str, caller: Caller) -> BrokerSocket:
        with self._lock:
            key = address, caller.node
            if key not in self._sockets:
                self._sockets[key] = BrokerSocket(address, caller.node)
            return self._sockets[key]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for one in self._sockets.values():
                one.close()
            self._sockets.clear()


class KafkaConnection(BrokerConnection):
    """One broker as one client reaches it."""

    def __init__(
        self, transport: KafkaTransport, broker: BrokerSocket, caller: Caller, broker_id: int | None
    ) -> None:
        self._transport = transport
        self._broker = broker
        self._caller = caller
        self._broker_id = broker_id

    def routing_view(self) -> RoutingView:
        """The metadata that the broker has; raises `ClusterUnreachableError`."""
        found = self._require(wire.METADATA, wire.ALL_METADATA, METADATA_DEADLINE_S)
        if not found.brokers:
            raise ClusterUnreachableError("the broker has no metadata yet")
        addresses = {one.node_id: f"{one.host}:{one.port}" for one in found.brokers}
        asked = (one for one, address in addresses.items() if address == self._broker.address)
        view = RoutingView(
            broker_id=next(asked, -1),
            controller_id=found.controller_id,
            addresses=addresses,
            partitions={
                TopicPartition(topic.name, one.partition_index): PartitionView(
                    leader=one.leader_id, leader_epoch=getattr(one, "leader_epoch", -1)
                )
                for topic in found.topics
                for one in topic.partitions
                if one.leader_id >= 0
            },
        )
        if found.__version__ >= RELIABLE_EPOCHS:
            self._transport.views[self._caller.node] = view
        return view

    def perform(self, operation: Operation) -> Answer:
        """Send the one request of the operation; ListOffsets takes two."""
        try:
            match operation:
                case Produce():
                    return self._produce(operation)
                case Fetch():
                    return self._fetch(operation)
                case ListOffsets(partition=partition):
                    return self._list_offsets(partition)
        except NotSentError:
            return Answer(
                outcome=Outcome.DEFINITE_ERROR, error_code=NOT_SENT, broker_id=self._broker_id
            )
        except NoAnswerError:
            return no_answer(operation.action, NO_ANSWER, self._broker_id)

    def _produce(self, operation: Produce) -> Answer:
        is_new = self._broker.speaks(wire.PRODUCE, METADATA_DEADLINE_S) >= 3
        records = (new_batch if is_new else old_messages)(operation.values)
        topic, number = operation.partition
        one = {"index": number, "records": Records(records)}
        timeout_ms = operation.timeout_ms
        request = {
            "acks": operation.acks,
            "timeout": timeout_ms,
            "topic_data": [{"name": topic, "partition_data": [one]}],
        }
        answer = self._broker.ask(wire.PRODUCE, request, timeout_ms / 1000 + ANSWER_S)
        (told,) = answer.responses[0].partition_responses
        if told.error_code is KafkaError.none:
            return Answer(outcome=Outcome.OK, broker_id=self._broker_id, offset=told.base_offset)
        if told.error_code in REFUSED:
            return self._refused(told.error_code)
        return no_answer(operation.action, _name(told.error_code), self._broker_id)

    def _fetch(self, operation: Fetch) -> Answer:
        (topic, number), offset = operation.partition, operation.offset
        epoch = self._leader_epoch(operation)
        one = {
            "partition": number,
            "current_leader_epoch": epoch,
            "fetch_offset": offset,
            "partition_max_bytes": FETCH_BYTES,
        }
        request = {
            "replica_id": CONSUMER,
            "max_wait": operation.max_wait_ms,
            "min_bytes": 1,
            "max_bytes": FETCH_BYTES,
            "topics": [{"topic": topic, "partitions": [one]}],
            "forgotten_topics_data": [],
        }
        answer = self._broker.ask(wire.FETCH, request, operation.max_wait_ms / 1000 + 1.0)
        (told,) = answer.responses[0].partitions
        if told.error_code is not KafkaError.none:
            return self._refused(told.error_code)
        read = [
            (value, batch.leader_epoch)
            for batch in read_batches(told.records or b"")
            for number, value in enumerate(batch.values)
            if offset <= batch.base_offset + number < told.high_watermark
        ]
        del read[operation.max_records :]
        epochs = [epoch for _, epoch in read if epoch is not None]
        return Answer(
            outcome=Outcome.OK,
            broker_id=self._broker_id,
            # A leader serves a fetch that names an epoch in that epoch and in no other.
            leader_epoch=None if epoch == NO_EPOCH else epoch,
            high_watermark=told.high_watermark,
            values=tuple(value for value, _ in read),
            record_epochs=tuple(epochs) if len(epochs) == len(read) else (),
        )

    def _leader_epoch(self, operation: Fetch) -> int:
        """What the fetch names: as asked, else the epoch in which metadata has this leader."""
        if self._broker.speaks(wire.FETCH, METADATA_DEADLINE_S) < FENCED_FETCH:
            return NO_EPOCH
        view = self._transport.views.get(self._caller.node, RoutingView())
        known = view.partitions.get(operation.partition)
        if operation.leader_epoch != NO_EPOCH or known is None or known.leader != self._broker_id:
            return operation.leader_epoch
        return known.leader_epoch

    def _list_offsets(self, partition: TopicPartition) -> Answer:
        """The leader's high watermark and then its log end offset."""
        found = [self._latest(partition, reader) for reader in (CONSUMER, LOG_END_READER)]
        for told in found:
            if told.error_code is not KafkaError.none:
                return self._refused(told.error_code)
        high_watermark, log_end = (told.offset for told in found)
        return Answer(
            outcome=Outcome.OK,
            broker_id=self._broker_id,
            high_watermark=high_watermark,
            log_end_offset=log_end,
        )

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]]
    ) -> tuple[str | None, str]:
        """Ask the controller for a topic with these replicas."""
        return self.create_topics({topic: assignment})[topic]

    def create_topics(
        self, topics: Mapping[str, Sequence[Sequence[int]]], within_s: float = WITHIN_S
    ) -> dict[str, tuple[str | None, str]]:
        """The same of several, in one request; the answer comes when they are there, or in time."""
        wanted = [_new_topic(name, assignment) for name, assignment in topics.items()]
        request = {"topics": wanted, "timeout": round(within_s * 1000), "validate_only": False}
        deadline_s = within_s + LATER_S
        answer = self._require_of_controller(wire.CREATE_TOPICS, request, deadline_s)
        return {told.name: _refusal(told) for told in answer.topics}

    def delete_topic(self, topic: str) -> tuple[str | None, str]:
        """Ask the controller for a deletion."""
        return self.delete_topics([topic])[topic]

    def delete_topics(
        self, topics: Sequence[str], within_s: float = WITHIN_S
    ) -> dict[str, tuple[str | None, str]]:
        """The same of several, in one request; the answer comes when they are gone, or in time."""
        request = {"topic_names": list(topics), "timeout": round(within_s * 1000)}
        deadline_s = within_s + LATER_S
        answer = self._require_of_controller(wire.DELETE_TOPICS, request, deadline_s)
        return {told.name: _refusal(told) for told in answer.responses}

    def create_partitions(self, topic: str, count: int) -> tuple[str | None, str]:
        """Ask the controller for `count` partitions in all."""
        wanted = {"name": topic, "count": count, "assignments": None}
        request = {"topics": [wanted], "timeout": WITHIN_MS, "validate_only": False}
        (told,) = self._require_of_controller(wire.CREATE_PARTITIONS, request).results
        return _refusal(told)

    def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        """Ask the controller for moves; releases before 2.4 take no such request."""
        wanted = [
            {
                "name": key.topic,
                "partitions": [{"partition_index": key.partition, "replicas": list(found) or None}],
            }
            for key, found in replicas.items()
        ]
        request = {"topics": wanted, "timeout": WITHIN_MS}
        answer = self._require_of_controller(wire.ALTER_PARTITION_REASSIGNMENTS, request)
        return {
            TopicPartition(topic.name, one.partition_index): _refusal(one)[0] or _refusal(answer)[0]
            for topic in answer.responses
            for one in topic.partitions
        }

    def elect_leaders(
        self, kind: ElectionKind, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, str | None]:
        """Ask the controller for elections."""
        wanted = [{"topic": key.topic, "partitions": [key.partition]} for key in partitions]
        request = {
            "election_type": ELECTION_TYPES[kind],
            "topic_partitions": wanted,
            "timeout": WITHIN_MS,
        }
        answer = self._require_of_controller(wire.ELECT_LEADERS, request)
        return {
            TopicPartition(topic.topic, one.partition_id): _refusal(one)[0]
            for topic in answer.replica_election_results
            for one in topic.partition_result
        }

    def command(self, command: ControlCommand, /) -> ControlAnswer:
        """Send the command as it is, in the newest version that the broker speaks."""
        kind, request = commands.KINDS[command.method], commands.request_of(command)
        try:
            return commands.answer_of(self._broker.ask(kind, request, WITHIN_S + LATER_S))
        except NotSentError:
            return ControlAnswer(error_code=NOT_SENT)
        except NoAnswerError:
            return ControlAnswer(error_code=NO_ANSWER)

    def _latest(self, partition: TopicPartition, reader: int) -> Any:  # noqa: ANN401
        one = {"partition_index": partition.partition, "timestamp": LATEST}
        request = {
            "replica_id": reader,
            "topics": [{"name": partition.topic, "partitions": [one]}],
        }
        answer = self._broker.ask(wire.LIST_OFFSETS, request, METADATA_DEADLINE_S)
        (told,) = answer.topics[0].partitions
        return told

    def _require(self, kind: int, request: Mapping[str, Any], deadline_s: float) -> Any:  # noqa: ANN401
        try:
            return self._broker.ask(kind, request, deadline_s)
        except NotOfferedError as error:
            raise RequestUnknownError(str(error)) from error
        except (NotSentError, NoAnswerError) as error:
            raise ClusterUnreachableError(f"no answer: {error}") from error

    def _require_of_controller(
        self, kind: int, request: Mapping[str, Any], deadline_s: float = WITHIN_S + LATER_S
    ) -> Any:  # noqa: ANN401
        """Only the controller changes topics; this broker forwards, or says which one that is.

        It may have heard of a former one: that does nothing, and says so.
        """
        deadline, pause = monotonic() + CONTROLLER_S, Event()
        while True:
            answer = self._controller()._require(kind, request, deadline_s)
            if not _is_misdirected(answer) or monotonic() > deadline:
                return answer
            pause.wait(AGAIN_S)

    def _controller(self) -> "KafkaConnection":
        if self._transport.forwards:
            return self
        view = self.routing_view()
        address = view.addresses.get(view.controller_id)
        if address is None:
            raise ClusterUnreachableError("the broker knows no controller")
        return self._transport.connect(address, self._caller, view.controller_id)

    def _refused(self, code: KafkaError) -> Answer:
        return Answer(
            outcome=Outcome.DEFINITE_ERROR, error_code=_name(code), broker_id=self._broker_id
        )


def _is_misdirected(answer: Any) -> bool:  # noqa: ANN401 - a message of kio
    """True when the broker says in any part of its answer that it is not the controller."""
    if getattr(answer, "error_code", None) is KafkaError.not_controller:
        return True
    values = (getattr(answer, one.name) for one in fields(answer))
    parts = (part for value in values if isinstance(value, tuple) for part in value)
    return any(is_dataclass(part) and _is_misdirected(part) for part in parts)


def _new_topic(name: str, assignment: Sequence[Sequence[int]]) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [
            {"partition_index": number, "broker_ids": list(replicas)}
            for number, replicas in enumerate(assignment)
        ],
        "configs": [],
    }


def _name(code: KafkaError) -> str:
    """The name that Kafka's documents have for it."""
    return KafkaError(code).name.upper()


def _refusal(told: Any) -> tuple[str | None, str]:  # noqa: ANN401 - a message of kio
    """The error code and message of a part of an answer; None and nothing without an error."""
    if told.error_code is KafkaError.none:
        return None, ""
    return _name(told.error_code), getattr(told, "error_message", None) or ""
