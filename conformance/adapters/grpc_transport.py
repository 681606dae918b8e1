"""The wire of `spec/wire` over gRPC, as `conformance.clients.transport` asks for it.

The only module of this room that knows gRPC. A failed call is a definite error only where no
connection came up to send the request on.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

from fencepost.conformance.clients.transport import (
    REQUEST_UNKNOWN,
    Caller,
    ClusterUnreachableError,
    PartitionView,
    RoutingView,
)
from fencepost.fault_injection.workload.commands import (
    NO_ANSWER,
    NOT_SENT,
    ControlAnswer,
    ControlCommand,
    ControlMethod,
    error_of,
)
from fencepost.fault_injection.workload.config_operations import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    ConfigChange,
    answered_config,
)
from fencepost.fault_injection.workload.operations import (
    Answer,
    Fetch,
    Fields,
    ListOffsets,
    Operation,
    Produce,
    answer_of,
    no_answer,
)
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import NO_PRODUCER, ElectionKind, Outcome
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import (
    CHANNEL_OPTIONS,
    CONTROLLER_VERSION,
    LAMPORT_KEY,
    NODE_KEY,
    RECEIVER_KEY,
    SERVICE,
    was_sent,
)
from fencepost.spec.wire.tls import TlsIdentity
from fencepost.spec.znodes import TopicPartition

METADATA_DEADLINE_S = 1.0
ADMIN_DEADLINE_S = 5.0
CONFIG_DEADLINE_S = 2.0

_OPTIONS = (*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """A decoded response, or the name of what went wrong with one request."""

    response: Any = None
    failure: str | None = None
    was_sent: bool = True


class GrpcTransport:
    """Channels to brokers; `Transport`."""

    def __init__(self, identity: TlsIdentity | None = None) -> None:
        """With an `identity`, connections are encrypted and both ends prove theirs."""
        self._identity = identity
        self._channels: dict[str, grpc.Channel] = {}
        self._lock = threading.Lock()

    def connect(
        self, address: str, caller: Caller, broker_id: int | None = None
    ) -> "GrpcConnection":
        """The broker at `address`; the channel connects when it is used."""
        with self._lock:
            if address not in self._channels:
                self._channels[address] = self._open(address)
            return GrpcConnection(self._channels[address], caller, broker_id)

    def _open(self, address: str) -> grpc.Channel:
        own = self._identity
        if own is None:
            return grpc.insecure_channel(address, _OPTIONS)
        credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
        return grpc.secure_channel(address, credentials, _OPTIONS)

    def close(self) -> None:
        """Cancel calls in progress and close connections."""
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()


class GrpcConnection:
    """One broker as one client reaches it; `BrokerConnection`."""

    def __init__(self, channel: grpc.Channel, caller: Caller, broker_id: int | None) -> None:
        self._channel = channel
        self._caller = caller
        self._broker_id = broker_id

    def routing_view(self) -> RoutingView:
        """The published state as the broker read it; raises `ClusterUnreachableError`."""
        response = self._ask(wire.MetadataRequest(), METADATA_DEADLINE_S)
        if error := _error_of(response):
            raise ClusterUnreachableError(f"the broker answers {error}")
        return routing_view(response)

    def perform(self, operation: Operation) -> Answer:
        """Send the one request of the operation."""
        topic, partition = operation.partition
        match operation:
            case Produce(timeout_ms=timeout_ms):
                produce = wire.ProduceRequest(
                    topic=topic,
                    partition=partition,
                    acks=operation.acks,
                    values=operation.values,
                    timeout_ms=timeout_ms,
                )
                if operation.producer_id != NO_PRODUCER:
                    produce.producer_id = operation.producer_id
                    produce.producer_epoch = operation.producer_epoch
                    produce.base_sequence = operation.base_sequence
                return self._operate(produce, timeout_ms / 1000 + 0.5)
            case Fetch(max_wait_ms=max_wait_ms):
                fetch = wire.FetchRequest(
                    topic=topic,
                    partition=partition,
                    replica_id=-1,
                    leader_epoch=operation.leader_epoch,
                    fetch_offset=operation.offset,
                    max_records=operation.max_records,
                    max_wait_ms=max_wait_ms,
                )
                return self._operate(fetch, max_wait_ms / 1000 + 1.0)
            case ListOffsets():
                return self._operate(wire.ListOffsetsRequest(topic=topic, partition=partition), 1.0)

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]]
    ) -> tuple[str | None, str]:
        """Ask for a topic with these replicas."""
        request = wire.CreateTopicRequest(
            topic=topic,
            partition_count=1,  # the assignment says how many there are, and where
            replication_factor=1,
            assignment=[wire.ReplicaList(replicas=replicas) for replicas in assignment],
        )
        response = self._ask(request)
        return _error_of(response), response.message

    def delete_topic(self, topic: str) -> tuple[str | None, str]:
        """Ask for a deletion."""
        response = self._ask(wire.DeleteTopicRequest(topic=topic))
        return _error_of(response), response.message

    def create_partitions(self, topic: str, count: int) -> tuple[str | None, str]:
        """Ask for `count` partitions in all."""
        request = wire.CreatePartitionsRequest(topic=topic, partition_count=count)
        response = self._ask(request)
        return _error_of(response), response.message

    def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        """Ask for moves."""
        wanted = [
            wire.Reassignment(topic=key.topic, partition=key.partition, replicas=listed)
            for key, listed in replicas.items()
        ]
        request = wire.AlterPartitionReassignmentsRequest(reassignments=wanted)
        return _results(replicas, self._ask(request))

    def elect_leaders(
        self, kind: ElectionKind, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, str | None]:
        """Ask for elections."""
        keys = tuple(partitions)
        wanted = [wire.PartitionId(topic=key.topic, partition=key.partition) for key in keys]
        request = wire.ElectLeadersRequest(kind=kind, partitions=wanted)
        return _results(keys, self._ask(request))

    def change_config(self, change: ConfigChange) -> Fields:
        """Ask in one version or the other (FWD-002)."""
        changes = [
            wire.EntryChange(operation=change.operation, name=name, value=value)
            for name, value in change.entries.items()
        ]
        kind, names = change.entity
        wanted = wire.EntityChange(kind=kind, names=names, changes=changes)
        header = wire.RequestHeader(
            api_version=CONTROLLER_VERSION if change.is_for_controller else 0
        )
        request: Message = getattr(wire, f"{change.method}Request")(
            header=header, entities=[wanted]
        )
        return answered_config(ALTER_CONFIGS, self._call(request, CONFIG_DEADLINE_S).response)

    def describe_config(self, entity: ConfigEntity) -> Fields:
        """Ask what the broker has read."""
        request = wire.DescribeConfigsRequest(kind=entity.kind, names=entity.names)
        return answered_config(DESCRIBE_CONFIGS, self._call(request, CONFIG_DEADLINE_S).response)

    def config_version(self) -> int:
        """Ask of all topics, of which few have a configuration."""
        return int(self._ask(wire.DescribeConfigsRequest(kind=EntityKind.TOPIC)).config_version)

    def command(self, command: ControlCommand, /) -> ControlAnswer:
        """Send the command, unless the wire has none of its kind."""
        request = _command_request(command)
        if request is None:
            return ControlAnswer(error_code=REQUEST_UNKNOWN)
        reply = self._call(request, ADMIN_DEADLINE_S)
        if reply.failure is not None:
            return ControlAnswer(error_code=NO_ANSWER if reply.was_sent else NOT_SENT)
        answered = [] if command.about is None else reply.response.partitions
        return ControlAnswer(
            error_code=_error_of(reply.response),
            partitions={TopicPartition(e.topic, e.partition): _error_of(e) for e in answered},
        )

    def _ask(self, request: Message, deadline_s: float = ADMIN_DEADLINE_S) -> Any:  # noqa: ANN401 - a generated message
        reply = self._call(request, deadline_s)
        if reply.failure is not None:
            raise ClusterUnreachableError(f"no answer: {reply.failure}")
        return reply.response

    def _operate(self, request: Message, deadline_s: float) -> Answer:
        reply = self._call(request, deadline_s)
        if reply.failure is None:
            return answer_of(_method(request), reply.response)
        if reply.was_sent:
            return no_answer(_method(request), reply.failure, self._broker_id)
        return Answer(
            outcome=Outcome.DEFINITE_ERROR, error_code=reply.failure, broker_id=self._broker_id
        )

    def _call(self, request: Message, deadline_s: float) -> _Reply:
        clock = self._caller.clock
        metadata = [(LAMPORT_KEY, str(clock.tick())), (NODE_KEY, self._caller.node)]
        if self._broker_id is not None:
            metadata.append((RECEIVER_KEY, str(self._broker_id)))
        method = _method(request)
        stub = self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=getattr(wire, f"{method}Response").FromString,
        )
        try:
            response, call = stub.with_call(request, timeout=deadline_s, metadata=metadata)
        except grpc.RpcError as error:
            status = error.code().name
            return _Reply(failure=status, was_sent=was_sent(status, error.details()))
        except ValueError:  # the channel was closed: the harness is ending
            return _Reply(failure=grpc.StatusCode.CANCELLED.name, was_sent=False)
        trailing = dict(call.trailing_metadata() or ())
        clock.observe(_number(trailing.get(LAMPORT_KEY)))
        return _Reply(response=response)


def _command_request(command: ControlCommand) -> Message | None:
    about, sender = command.about, command.controller_id
    if command.method is ControlMethod.LEADER_AND_ISR and about:
        state = wire.PartitionState(
            topic=about.partition.topic,
            partition=about.partition.partition,
            leader=about.leader,
            leader_epoch=about.leader_epoch,
            isr=about.isr,
            znode_version=about.znode_version,
            assigned_replicas=about.assigned_replicas,
            topic_id=about.topic_id,
            partition_incarnation=about.partition_incarnation,
        )
        return wire.LeaderAndIsrRequest(
            controller_id=sender,
            controller_epoch=command.controller_epoch,
            partitions=[state],
            broker_epoch=command.broker_epoch,
            is_init=command.is_init,
            zxid=about.partition_incarnation if command.is_init else 0,
        )
    if command.method is ControlMethod.STOP_REPLICA and about:
        stop = wire.PartitionStop(
            topic=about.partition.topic,
            partition=about.partition.partition,
            partition_incarnation=about.partition_incarnation,
            leader_epoch=about.leader_epoch,
            delete=about.is_deleted,
        )
        return wire.StopReplicaRequest(
            controller_id=sender,
            controller_epoch=command.controller_epoch,
            partitions=[stop],
            broker_epoch=command.broker_epoch,
        )
    if command.method is ControlMethod.CONTROLLED_SHUTDOWN:
        return wire.ControlledShutdownRequest(
            broker_id=command.broker_id, broker_epoch=command.broker_epoch
        )
    return None


def _method(request: Message) -> str:
    """The method of the service that takes it."""
    return request.DESCRIPTOR.name.removesuffix("Request")


def _error_of(response: Any) -> str | None:  # noqa: ANN401 - a generated message
    return error_of(response.error_code)


def _results(
    named: Iterable[TopicPartition],
    response: Any,  # noqa: ANN401 - a message
) -> dict[TopicPartition, str | None]:
    """The error of each partition that a request named; an error of the whole is one of each."""
    if error := _error_of(response):
        return dict.fromkeys(named, error)
    return {TopicPartition(one.topic, one.partition): _error_of(one) for one in response.partitions}


def routing_view(response: wire.MetadataResponse) -> RoutingView:
    """What the answer tells."""
    return RoutingView(
        broker_id=response.broker_id,
        controller_id=response.controller_id,
        controller_epoch=response.controller_epoch,
        addresses={b.broker_id: f"{b.host}:{b.port}" for b in response.brokers},
        partitions={
            TopicPartition(state.topic, state.partition): PartitionView(
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=frozenset(state.isr),
            )
            for state in response.partitions
        },
    )


def _number(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0
