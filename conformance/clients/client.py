"""A client of the implementation under test, which knows how certain each answer is.

The only module of this room that knows gRPC. An operation is written to the trace before its
request leaves and again when its answer is decoded. Its outcome is `ok`, `definite_error` (surely
without effect) or `indefinite` (perhaps with effect, CLI-005); when in doubt, indefinite.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import grpc

from fencepost.conformance.clients.recorder import HarnessClock, TraceRecorder
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import ElectionKind, ErrorCode, Outcome
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.znodes import TopicPartition

SERVICE = "/fencepost.Replication/"
LAMPORT_KEY = "fencepost-lamport"
NODE_KEY = "fencepost-node"
RECEIVER_KEY = "fencepost-to"
"""Broker id that a request is for: a port may by now be another broker's."""

NO_LEADER = ErrorCode.BROKER_NOT_AVAILABLE
"""What a client says itself when the routing view names no leader: nothing was sent."""

REFUSED_CONNECTION = "failed to connect to all addresses"
"""How gRPC says that there was no connection to send the request on."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
METADATA_DEADLINE_S = 1.0
ADMIN_DEADLINE_S = 5.0

_CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    # gRPC would send a request again that a server may have seen.
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
)

_RESPONSES: dict[str, Any] = {
    "Produce": wire.ProduceResponse,
    "Fetch": wire.FetchResponse,
    "ListOffsets": wire.ListOffsetsResponse,
    "CreateTopic": wire.CreateTopicResponse,
    "DeleteTopic": wire.DeleteTopicResponse,
    "CreatePartitions": wire.CreatePartitionsResponse,
    "Metadata": wire.MetadataResponse,
    "AlterPartitionReassignments": wire.AlterPartitionReassignmentsResponse,
    "ElectLeaders": wire.ElectLeadersResponse,
}


class ClusterUnreachableError(Exception):
    """No broker answers; says who was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition as a broker's routing view has it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    assigned_replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingView:
    """The published state as one broker read it; possibly stale."""

    broker_id: int = -1
    controller_id: int = -1
    controller_epoch: int = 0
    addresses: dict[int, str] = field(default_factory=dict)
    partitions: dict[TopicPartition, PartitionView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the caller of an operation may know."""

    outcome: Outcome
    error_code: str | None = None
    """A name of `ErrorCode`, or of a gRPC status when there was no answer."""
    broker_id: int | None = None
    leader_epoch: int | None = None
    partition_incarnation: int | None = None
    offset: int | None = None
    """Of a produce: of its first record."""
    high_watermark: int | None = None
    log_end_offset: int | None = None
    values: tuple[str, ...] = ()
    record_epochs: tuple[int, ...] = ()

    @property
    def is_ok(self) -> bool:
        """True when the operation surely took effect."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """One request's fate: a decoded response, or the name of what went wrong."""

    response: Any = None
    failure: str | None = None
    was_sent: bool = True


class Connections:
    """Channels to brokers, shared by the clients of one harness."""

    def __init__(self) -> None:
        self._channels: dict[str, grpc.Channel] = {}
        self._lock = threading.Lock()

    def channel(self, address: str) -> grpc.Channel:
        """The channel to `address`; it connects when it is used."""
        with self._lock:
            if address not in self._channels:
                self._channels[address] = grpc.insecure_channel(address, _CHANNEL_OPTIONS)
            return self._channels[address]

    def close(self) -> None:
        """Calls in progress are cancelled and connections closed."""
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()


class RoutedClient:
    """One client: operations one after the other, routed by the published state.

    `bootstrap` gives addresses of brokers at any time; without a `recorder` nothing is traced.
    """

    def __init__(
        self,
        bootstrap: Callable[[], Sequence[str]],
        *,
        connections: Connections,
        recorder: TraceRecorder | None = None,
        node: str = "client",
    ) -> None:
        self._bootstrap = bootstrap
        self._connections = connections
        self._recorder = recorder
        self._node = recorder.node if recorder else node
        self._clock = recorder.clock if recorder else HarnessClock()
        self._op_ids = count(1)
        self.metadata = RoutingView()

    def refresh(self) -> RoutingView:
        """The routing view of the first broker that answers; raises `ClusterUnreachableError`."""
        addresses = sorted({*self.metadata.addresses.values(), *self._bootstrap()})
        for address in addresses:
            reply = self._call(address, "Metadata", wire.MetadataRequest(), METADATA_DEADLINE_S)
            if reply.failure is None and _error_of(reply.response) is None:
                self.metadata = _metadata(reply.response)
                return self.metadata
        raise ClusterUnreachableError(
            f"no broker answers at {', '.join(addresses) or 'any address'}; is the cluster up?"
        )

    def produce(
        self,
        partition: TopicPartition,
        values: Sequence[str],
        *,
        acks: int = -1,
        timeout_ms: int = 1000,
    ) -> Answer:
        """Append `values`; `ok` with acks -1 means that they are committed at `offset`."""
        request = wire.ProduceRequest(
            topic=partition.topic,
            partition=partition.partition,
            acks=acks,
            values=values,
            timeout_ms=timeout_ms,
        )
        fields = {"acks": acks, "values": list(values)}
        return self._operate("Produce", partition, request, fields, timeout_ms / 1000 + 0.5)

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        *,
        max_records: int = 100,
        max_wait_ms: int = 100,
    ) -> Answer:
        """Read from `offset` on, only committed records (CLI-001)."""
        request = wire.FetchRequest(
            topic=partition.topic,
            partition=partition.partition,
            replica_id=-1,
            leader_epoch=-1,
            fetch_offset=offset,
            max_records=max_records,
            max_wait_ms=max_wait_ms,
        )
        return self._operate(
            "Fetch", partition, request, {"offset": offset}, max_wait_ms / 1000 + 1.0
        )

    def list_offsets(self, partition: TopicPartition) -> Answer:
        """The leader's high watermark and log end offset."""
        request = wire.ListOffsetsRequest(topic=partition.topic, partition=partition.partition)
        return self._operate("ListOffsets", partition, request, {}, 1.0)

    def create_topic(
        self,
        topic: str,
        *,
        partition_count: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] = (),
    ) -> tuple[str | None, str]:
        """Ask any broker to create a topic: the error code and message, or None and nothing.

        Raises `ClusterUnreachableError`.
        """
        request = wire.CreateTopicRequest(
            topic=topic,
            partition_count=partition_count,
            replication_factor=replication_factor,
            assignment=[wire.ReplicaList(replicas=replicas) for replicas in assignment],
        )
        response = self._ask_any("CreateTopic", request)
        return _error_of(response), response.message

    def delete_topic(self, topic: str) -> tuple[str | None, str]:
        """Ask any broker to delete a topic, begun at once and done later; as `create_topic`."""
        response = self._ask_any("DeleteTopic", wire.DeleteTopicRequest(topic=topic))
        return _error_of(response), response.message

    def create_partitions(self, topic: str, count: int) -> tuple[str | None, str]:
        """Ask for `count` partitions in all, on brokers that are chosen in turn; as above."""
        request = wire.CreatePartitionsRequest(topic=topic, partition_count=count)
        response = self._ask_any("CreatePartitions", request)
        return _error_of(response), response.message

    def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        """Ask for moves, begun at once and done later: the error code of each, or None (REAS-001).

        Raises `ClusterUnreachableError`.
        """
        wanted = [
            wire.Reassignment(topic=key.topic, partition=key.partition, replicas=listed)
            for key, listed in replicas.items()
        ]
        request = wire.AlterPartitionReassignmentsRequest(reassignments=wanted)
        return _results(self._ask_any("AlterPartitionReassignments", request))

    def elect_leaders(
        self, kind: ElectionKind, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, str | None]:
        """Ask for elections; otherwise as `alter_partition_reassignments`."""
        wanted = [wire.PartitionId(topic=key.topic, partition=key.partition) for key in partitions]
        request = wire.ElectLeadersRequest(kind=kind, partitions=wanted)
        return _results(self._ask_any("ElectLeaders", request))

    def _ask_any(self, method: str, request: object) -> Any:  # noqa: ANN401 - a generated message
        metadata = self.metadata if self.metadata.addresses else self.refresh()
        address = metadata.addresses.get(metadata.broker_id, "")
        reply = self._call(address, method, request, ADMIN_DEADLINE_S)
        if reply.failure is not None:
            self.metadata = RoutingView()  # perhaps another broker answers next time
            raise ClusterUnreachableError(f"broker {metadata.broker_id} gave no answer")
        return reply.response

    def _operate(
        self,
        method: str,
        partition: TopicPartition,
        request: object,
        fields: dict[str, Any],
        deadline_s: float,
    ) -> Answer:
        leader = self._leader(partition)
        fields = {"topic": partition.topic, "partition": partition.partition, **fields}
        op_id = next(self._op_ids)
        invoked = self._record(Kind.INVOKE, method, op_id=op_id, **fields)
        # Also what cannot be sent is written down: a partition that nobody leads must show that
        # clients wanted it.
        answer = Answer(outcome=Outcome.DEFINITE_ERROR, error_code=NO_LEADER)
        if leader is not None:
            broker_id, address = leader
            reply = self._call(address, method, request, deadline_s, broker_id)
            answer = _answer(method, reply, broker_id)
        if invoked is not None:
            self._record_completion(method, invoked, fields, answer)
        if not answer.is_ok:
            self.forget(partition)
        return answer

    def forget(self, partition: TopicPartition) -> None:
        """The next operation on the partition reads the routing view again."""
        self.metadata.partitions.pop(partition, None)

    def _leader(self, partition: TopicPartition) -> tuple[int, str] | None:
        if partition not in self.metadata.partitions:
            with suppress(ClusterUnreachableError):
                self.refresh()
        view = self.metadata.partitions.get(partition)
        address = self.metadata.addresses.get(view.leader) if view else None
        if view is None or address is None:
            self.forget(partition)
            return None
        return view.leader, address

    def _record(self, kind: Kind, action: str, **fields: Any) -> TraceEvent | None:  # noqa: ANN401
        return self._recorder.write(kind, action, **fields) if self._recorder else None

    def _record_completion(
        self, method: str, invoked: TraceEvent, fields: dict[str, Any], answer: Answer
    ) -> None:
        learnt = _learnt(method, answer)
        merged = {**fields, "op_id": invoked.op_id, "inv_ns": invoked.mono_ns, **learnt}
        self._record(Kind.COMPLETE, method, **merged)

    def _call(
        self,
        address: str,
        method: str,
        request: Any,  # noqa: ANN401 - a generated message
        deadline_s: float,
        broker_id: int | None = None,
    ) -> _Reply:
        metadata = [(LAMPORT_KEY, str(self._clock.tick())), (NODE_KEY, self._node)]
        if broker_id is not None:
            metadata.append((RECEIVER_KEY, str(broker_id)))
        stub = self._connections.channel(address).unary_unary(
            SERVICE + method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=_RESPONSES[method].FromString,
        )
        try:
            response, call = stub.with_call(request, timeout=deadline_s, metadata=metadata)
        except grpc.RpcError as error:
            return _failed(error)
        except ValueError:  # the channel was closed: the harness is ending
            return _Reply(failure=grpc.StatusCode.CANCELLED.name, was_sent=False)
        trailing = dict(call.trailing_metadata() or ())
        self._clock.observe(_number(trailing.get(LAMPORT_KEY)))
        return _Reply(response=response)


def answer_of(method: str, response: Any) -> dict[str, Any]:  # noqa: ANN401 - a generated message
    """What the completion of a produce or fetch says in the trace, by the broker's response."""
    return _learnt(method, _answer(method, _Reply(response=response), response.broker_id))


def _learnt(method: str, answer: Answer) -> dict[str, Any]:
    learnt: dict[str, Any] = {
        "outcome": answer.outcome,
        "error_code": answer.error_code,
        "broker_id": answer.broker_id,
        "leader_epoch": answer.leader_epoch,
        "partition_incarnation": answer.partition_incarnation,
        "high_watermark": answer.high_watermark,
    }
    if method == "Produce":
        learnt["offset"] = answer.offset
    else:
        learnt["log_end_offset"] = answer.log_end_offset
    if method == "Fetch" and answer.is_ok:
        learnt["values"] = list(answer.values)
        learnt["record_epochs"] = list(answer.record_epochs)
    return learnt


def _failed(error: Any) -> _Reply:  # noqa: ANN401 - gRPC's exceptions are calls too
    code, details = error.code(), error.details() or ""
    never_connected = code is grpc.StatusCode.UNAVAILABLE and REFUSED_CONNECTION in details
    return _Reply(failure=code.name, was_sent=not never_connected)


def _answer(method: str, reply: _Reply, broker_id: int) -> Answer:
    if reply.failure is not None:
        outcome = Outcome.INDEFINITE if reply.was_sent else Outcome.DEFINITE_ERROR
        return Answer(outcome=outcome, error_code=reply.failure, broker_id=broker_id)
    response = reply.response
    error = _error_of(response)
    has_records = method == "Fetch" and error is None
    return Answer(
        outcome=_outcome(error),
        error_code=error,
        broker_id=response.broker_id,
        leader_epoch=_known(response.leader_epoch),
        partition_incarnation=response.partition_incarnation or None,
        offset=_known(response.base_offset) if method == "Produce" else None,
        high_watermark=_known(response.high_watermark),
        log_end_offset=None if method == "Produce" else _known(response.log_end_offset),
        values=tuple(record.value for record in response.records) if has_records else (),
        record_epochs=(
            tuple(record.leader_epoch for record in response.records) if has_records else ()
        ),
    )


def _outcome(error: str | None) -> Outcome:
    """An error that this version does not know may mean anything: indefinite."""
    if error is None:
        return Outcome.OK
    if error not in ErrorCode.__members__ or ErrorCode[error].is_indefinite:
        return Outcome.INDEFINITE
    return Outcome.DEFINITE_ERROR


def _error_of(response: Any) -> str | None:  # noqa: ANN401 - a generated message
    code: str = response.error_code
    return None if code in ("", ErrorCode.NONE) else code


def _results(response: Any) -> dict[TopicPartition, str | None]:  # noqa: ANN401 - a message
    """Of each partition that a request named; an error of the whole is one of each."""
    return {
        TopicPartition(one.topic, one.partition): _error_of(response) or _error_of(one)
        for one in response.partitions
    }


def _metadata(response: wire.MetadataResponse) -> RoutingView:
    return RoutingView(
        broker_id=response.broker_id,
        controller_id=response.controller_id,
        controller_epoch=response.controller_epoch,
        addresses={b.broker_id: f"{b.host}:{b.port}" for b in response.brokers},
        partitions={
            TopicPartition(state.topic, state.partition): PartitionView(
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=tuple(state.isr),
                assigned_replicas=tuple(state.assigned_replicas),
            )
            for state in response.partitions
        },
    )


def _known(number: int) -> int | None:
    """-1 stands for "no answer" on the wire; in a trace the field is then absent."""
    return None if number < 0 else number


def _number(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0
