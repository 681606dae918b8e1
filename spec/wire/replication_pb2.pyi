from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Parcel(_message.Message):
    __slots__ = ("parcel_id", "method", "body", "lamport", "error")
    PARCEL_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    LAMPORT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    parcel_id: int
    method: str
    body: bytes
    lamport: int
    error: str
    def __init__(self, parcel_id: _Optional[int] = ..., method: _Optional[str] = ..., body: _Optional[bytes] = ..., lamport: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class Bundle(_message.Message):
    __slots__ = ("parcels",)
    PARCELS_FIELD_NUMBER: _ClassVar[int]
    parcels: _containers.RepeatedCompositeFieldContainer[Parcel]
    def __init__(self, parcels: _Optional[_Iterable[_Union[Parcel, _Mapping]]] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("leader_epoch", "value", "producer_id", "producer_epoch", "sequence", "batch_left")
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    BATCH_LEFT_FIELD_NUMBER: _ClassVar[int]
    leader_epoch: int
    value: str
    producer_id: int
    producer_epoch: int
    sequence: int
    batch_left: int
    def __init__(self, leader_epoch: _Optional[int] = ..., value: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., sequence: _Optional[int] = ..., batch_left: _Optional[int] = ...) -> None: ...

class PartitionState(_message.Message):
    __slots__ = ("topic", "partition", "leader", "leader_epoch", "isr", "znode_version", "assigned_replicas", "topic_id", "partition_incarnation", "isr_broker_epochs", "offline_replicas")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ISR_FIELD_NUMBER: _ClassVar[int]
    ZNODE_VERSION_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    ISR_BROKER_EPOCHS_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: _containers.RepeatedScalarFieldContainer[int]
    znode_version: int
    assigned_replicas: _containers.RepeatedScalarFieldContainer[int]
    topic_id: str
    partition_incarnation: int
    isr_broker_epochs: _containers.RepeatedScalarFieldContainer[int]
    offline_replicas: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., leader: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., isr: _Optional[_Iterable[int]] = ..., znode_version: _Optional[int] = ..., assigned_replicas: _Optional[_Iterable[int]] = ..., topic_id: _Optional[str] = ..., partition_incarnation: _Optional[int] = ..., isr_broker_epochs: _Optional[_Iterable[int]] = ..., offline_replicas: _Optional[_Iterable[int]] = ...) -> None: ...

class LeaderAndIsrRequest(_message.Message):
    __slots__ = ("controller_id", "controller_epoch", "partitions", "is_init", "broker_epoch", "zxid", "kept", "max_broker_epoch")
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    IS_INIT_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ZXID_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    MAX_BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    controller_id: int
    controller_epoch: int
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionState]
    is_init: bool
    broker_epoch: int
    zxid: int
    kept: _containers.RepeatedCompositeFieldContainer[PartitionId]
    max_broker_epoch: int
    def __init__(self, controller_id: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[PartitionState, _Mapping]]] = ..., is_init: _Optional[bool] = ..., broker_epoch: _Optional[int] = ..., zxid: _Optional[int] = ..., kept: _Optional[_Iterable[_Union[PartitionId, _Mapping]]] = ..., max_broker_epoch: _Optional[int] = ...) -> None: ...

class PartitionError(_message.Message):
    __slots__ = ("topic", "partition", "error_code")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    error_code: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., error_code: _Optional[str] = ...) -> None: ...

class LeaderAndIsrResponse(_message.Message):
    __slots__ = ("error_code", "partitions")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionError]
    def __init__(self, error_code: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[PartitionError, _Mapping]]] = ...) -> None: ...

class PartitionStop(_message.Message):
    __slots__ = ("topic", "partition", "partition_incarnation", "leader_epoch", "delete")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    partition_incarnation: int
    leader_epoch: int
    delete: bool
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., partition_incarnation: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., delete: _Optional[bool] = ...) -> None: ...

class StopReplicaRequest(_message.Message):
    __slots__ = ("controller_id", "controller_epoch", "partitions", "broker_epoch", "max_broker_epoch")
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    MAX_BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    controller_id: int
    controller_epoch: int
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionStop]
    broker_epoch: int
    max_broker_epoch: int
    def __init__(self, controller_id: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[PartitionStop, _Mapping]]] = ..., broker_epoch: _Optional[int] = ..., max_broker_epoch: _Optional[int] = ...) -> None: ...

class StopReplicaResponse(_message.Message):
    __slots__ = ("error_code", "partitions")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionError]
    def __init__(self, error_code: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[PartitionError, _Mapping]]] = ...) -> None: ...

class LogsFailedRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "partitions")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionId]
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[PartitionId, _Mapping]]] = ...) -> None: ...

class LogsFailedResponse(_message.Message):
    __slots__ = ("error_code", "controller_epoch")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    controller_epoch: int
    def __init__(self, error_code: _Optional[str] = ..., controller_epoch: _Optional[int] = ...) -> None: ...

class ControlledShutdownRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ...) -> None: ...

class ControlledShutdownResponse(_message.Message):
    __slots__ = ("error_code", "remaining_partitions")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    REMAINING_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    remaining_partitions: _containers.RepeatedCompositeFieldContainer[PartitionId]
    def __init__(self, error_code: _Optional[str] = ..., remaining_partitions: _Optional[_Iterable[_Union[PartitionId, _Mapping]]] = ...) -> None: ...

class FetchRequest(_message.Message):
    __slots__ = ("topic", "partition", "replica_id", "leader_epoch", "fetch_offset", "max_records", "max_wait_ms", "partition_incarnation", "broker_epoch")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    FETCH_OFFSET_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    replica_id: int
    leader_epoch: int
    fetch_offset: int
    max_records: int
    max_wait_ms: int
    partition_incarnation: int
    broker_epoch: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., replica_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., fetch_offset: _Optional[int] = ..., max_records: _Optional[int] = ..., max_wait_ms: _Optional[int] = ..., partition_incarnation: _Optional[int] = ..., broker_epoch: _Optional[int] = ...) -> None: ...

class FetchResponse(_message.Message):
    __slots__ = ("error_code", "broker_id", "leader_epoch", "fetch_offset", "high_watermark", "log_end_offset", "records", "partition_incarnation")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    FETCH_OFFSET_FIELD_NUMBER: _ClassVar[int]
    HIGH_WATERMARK_FIELD_NUMBER: _ClassVar[int]
    LOG_END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    broker_id: int
    leader_epoch: int
    fetch_offset: int
    high_watermark: int
    log_end_offset: int
    records: _containers.RepeatedCompositeFieldContainer[Record]
    partition_incarnation: int
    def __init__(self, error_code: _Optional[str] = ..., broker_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., fetch_offset: _Optional[int] = ..., high_watermark: _Optional[int] = ..., log_end_offset: _Optional[int] = ..., records: _Optional[_Iterable[_Union[Record, _Mapping]]] = ..., partition_incarnation: _Optional[int] = ...) -> None: ...

class OffsetForLeaderEpochRequest(_message.Message):
    __slots__ = ("topic", "partition", "replica_id", "current_leader_epoch", "leader_epoch", "partition_incarnation")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    CURRENT_LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    replica_id: int
    current_leader_epoch: int
    leader_epoch: int
    partition_incarnation: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., replica_id: _Optional[int] = ..., current_leader_epoch: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_incarnation: _Optional[int] = ...) -> None: ...

class OffsetForLeaderEpochResponse(_message.Message):
    __slots__ = ("error_code", "broker_id", "leader_epoch", "end_offset", "current_leader_epoch")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CURRENT_LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    broker_id: int
    leader_epoch: int
    end_offset: int
    current_leader_epoch: int
    def __init__(self, error_code: _Optional[str] = ..., broker_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., end_offset: _Optional[int] = ..., current_leader_epoch: _Optional[int] = ...) -> None: ...

class ProduceRequest(_message.Message):
    __slots__ = ("topic", "partition", "acks", "values", "timeout_ms", "producer_id", "producer_epoch", "base_sequence")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    acks: int
    values: _containers.RepeatedScalarFieldContainer[str]
    timeout_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., acks: _Optional[int] = ..., values: _Optional[_Iterable[str]] = ..., timeout_ms: _Optional[int] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., base_sequence: _Optional[int] = ...) -> None: ...

class ProduceResponse(_message.Message):
    __slots__ = ("error_code", "broker_id", "leader_epoch", "base_offset", "high_watermark", "partition_incarnation")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    HIGH_WATERMARK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    broker_id: int
    leader_epoch: int
    base_offset: int
    high_watermark: int
    partition_incarnation: int
    def __init__(self, error_code: _Optional[str] = ..., broker_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., base_offset: _Optional[int] = ..., high_watermark: _Optional[int] = ..., partition_incarnation: _Optional[int] = ...) -> None: ...

class ListOffsetsRequest(_message.Message):
    __slots__ = ("topic", "partition")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ...) -> None: ...

class ListOffsetsResponse(_message.Message):
    __slots__ = ("error_code", "broker_id", "leader_epoch", "high_watermark", "log_end_offset", "partition_incarnation")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    HIGH_WATERMARK_FIELD_NUMBER: _ClassVar[int]
    LOG_END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    broker_id: int
    leader_epoch: int
    high_watermark: int
    log_end_offset: int
    partition_incarnation: int
    def __init__(self, error_code: _Optional[str] = ..., broker_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., high_watermark: _Optional[int] = ..., log_end_offset: _Optional[int] = ..., partition_incarnation: _Optional[int] = ...) -> None: ...

class CreateTopicRequest(_message.Message):
    __slots__ = ("header", "user", "client_id", "api_version", "topic", "partition_count", "replication_factor", "assignment", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    user: str
    client_id: str
    api_version: int
    topic: str
    partition_count: int
    replication_factor: int
    assignment: _containers.RepeatedCompositeFieldContainer[ReplicaList]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., user: _Optional[str] = ..., client_id: _Optional[str] = ..., api_version: _Optional[int] = ..., topic: _Optional[str] = ..., partition_count: _Optional[int] = ..., replication_factor: _Optional[int] = ..., assignment: _Optional[_Iterable[_Union[ReplicaList, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class ReplicaList(_message.Message):
    __slots__ = ("replicas",)
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, replicas: _Optional[_Iterable[int]] = ...) -> None: ...

class CreateTopicResponse(_message.Message):
    __slots__ = ("error_code", "message", "throttle_time_ms")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    throttle_time_ms: int
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., throttle_time_ms: _Optional[int] = ...) -> None: ...

class DeleteTopicRequest(_message.Message):
    __slots__ = ("header", "user", "client_id", "api_version", "topic")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    user: str
    client_id: str
    api_version: int
    topic: str
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., user: _Optional[str] = ..., client_id: _Optional[str] = ..., api_version: _Optional[int] = ..., topic: _Optional[str] = ...) -> None: ...

class DeleteTopicResponse(_message.Message):
    __slots__ = ("error_code", "message", "throttle_time_ms")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    throttle_time_ms: int
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., throttle_time_ms: _Optional[int] = ...) -> None: ...

class CreateTopicsRequest(_message.Message):
    __slots__ = ("header", "user", "client_id", "api_version", "topics", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    user: str
    client_id: str
    api_version: int
    topics: _containers.RepeatedCompositeFieldContainer[CreateTopicRequest]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., user: _Optional[str] = ..., client_id: _Optional[str] = ..., api_version: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[CreateTopicRequest, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class CreateTopicsResponse(_message.Message):
    __slots__ = ("error_code", "message", "throttle_time_ms", "topics")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    throttle_time_ms: int
    topics: _containers.RepeatedCompositeFieldContainer[TopicResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., throttle_time_ms: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TopicResult, _Mapping]]] = ...) -> None: ...

class DeleteTopicsRequest(_message.Message):
    __slots__ = ("header", "user", "client_id", "api_version", "topics")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    user: str
    client_id: str
    api_version: int
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., user: _Optional[str] = ..., client_id: _Optional[str] = ..., api_version: _Optional[int] = ..., topics: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteTopicsResponse(_message.Message):
    __slots__ = ("error_code", "message", "throttle_time_ms", "topics")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    throttle_time_ms: int
    topics: _containers.RepeatedCompositeFieldContainer[TopicResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., throttle_time_ms: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TopicResult, _Mapping]]] = ...) -> None: ...

class TopicResult(_message.Message):
    __slots__ = ("topic", "error_code", "message")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    error_code: str
    message: str
    def __init__(self, topic: _Optional[str] = ..., error_code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class MetadataRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BrokerEndpoint(_message.Message):
    __slots__ = ("broker_id", "host", "port")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    host: str
    port: int
    def __init__(self, broker_id: _Optional[int] = ..., host: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class MetadataResponse(_message.Message):
    __slots__ = ("error_code", "broker_id", "controller_id", "controller_epoch", "brokers", "partitions")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    broker_id: int
    controller_id: int
    controller_epoch: int
    brokers: _containers.RepeatedCompositeFieldContainer[BrokerEndpoint]
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionState]
    def __init__(self, error_code: _Optional[str] = ..., broker_id: _Optional[int] = ..., controller_id: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., brokers: _Optional[_Iterable[_Union[BrokerEndpoint, _Mapping]]] = ..., partitions: _Optional[_Iterable[_Union[PartitionState, _Mapping]]] = ...) -> None: ...

class InitProducerIdRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InitProducerIdResponse(_message.Message):
    __slots__ = ("error_code", "producer_id", "producer_epoch")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    producer_id: int
    producer_epoch: int
    def __init__(self, error_code: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ...) -> None: ...

class FindCoordinatorRequest(_message.Message):
    __slots__ = ("key", "kind")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    key: str
    kind: str
    def __init__(self, key: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class FindCoordinatorResponse(_message.Message):
    __slots__ = ("error_code", "message", "broker_id", "host", "port")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    broker_id: int
    host: str
    port: int
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., broker_id: _Optional[int] = ..., host: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class PartitionId(_message.Message):
    __slots__ = ("topic", "partition")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ...) -> None: ...

class PartitionResult(_message.Message):
    __slots__ = ("topic", "partition", "error_code", "message")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    error_code: str
    message: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., error_code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ElectLeadersRequest(_message.Message):
    __slots__ = ("header", "kind", "partitions")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    kind: str
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionId]
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., kind: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[PartitionId, _Mapping]]] = ...) -> None: ...

class ElectLeadersResponse(_message.Message):
    __slots__ = ("error_code", "message", "partitions")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[PartitionResult, _Mapping]]] = ...) -> None: ...

class CreatePartitionsRequest(_message.Message):
    __slots__ = ("header", "user", "client_id", "api_version", "topic", "partition_count", "assignment", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_COUNT_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    user: str
    client_id: str
    api_version: int
    topic: str
    partition_count: int
    assignment: _containers.RepeatedCompositeFieldContainer[ReplicaList]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., user: _Optional[str] = ..., client_id: _Optional[str] = ..., api_version: _Optional[int] = ..., topic: _Optional[str] = ..., partition_count: _Optional[int] = ..., assignment: _Optional[_Iterable[_Union[ReplicaList, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class CreatePartitionsResponse(_message.Message):
    __slots__ = ("error_code", "message", "throttle_time_ms")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    throttle_time_ms: int
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., throttle_time_ms: _Optional[int] = ...) -> None: ...

class RemovePartitionsRequest(_message.Message):
    __slots__ = ("header", "topic", "partitions")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    topic: str
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., topic: _Optional[str] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...

class RemovePartitionsResponse(_message.Message):
    __slots__ = ("error_code", "message")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Reassignment(_message.Message):
    __slots__ = ("topic", "partition", "replicas")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    replicas: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., replicas: _Optional[_Iterable[int]] = ...) -> None: ...

class AlterPartitionReassignmentsRequest(_message.Message):
    __slots__ = ("header", "reassignments")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    REASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    reassignments: _containers.RepeatedCompositeFieldContainer[Reassignment]
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., reassignments: _Optional[_Iterable[_Union[Reassignment, _Mapping]]] = ...) -> None: ...

class AlterPartitionReassignmentsResponse(_message.Message):
    __slots__ = ("error_code", "message", "partitions")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[PartitionResult, _Mapping]]] = ...) -> None: ...

class ListPartitionReassignmentsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class OngoingReassignment(_message.Message):
    __slots__ = ("topic", "partition", "replicas", "assigned_replicas", "adding", "removing")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ADDING_FIELD_NUMBER: _ClassVar[int]
    REMOVING_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    replicas: _containers.RepeatedScalarFieldContainer[int]
    assigned_replicas: _containers.RepeatedScalarFieldContainer[int]
    adding: _containers.RepeatedScalarFieldContainer[int]
    removing: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., replicas: _Optional[_Iterable[int]] = ..., assigned_replicas: _Optional[_Iterable[int]] = ..., adding: _Optional[_Iterable[int]] = ..., removing: _Optional[_Iterable[int]] = ...) -> None: ...

class ListPartitionReassignmentsResponse(_message.Message):
    __slots__ = ("error_code", "reassignments")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    REASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    reassignments: _containers.RepeatedCompositeFieldContainer[OngoingReassignment]
    def __init__(self, error_code: _Optional[str] = ..., reassignments: _Optional[_Iterable[_Union[OngoingReassignment, _Mapping]]] = ...) -> None: ...

class RequestHeader(_message.Message):
    __slots__ = ("api_version", "principal", "forwards", "forwarder", "broker_epoch", "number", "controller_epoch")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    FORWARDS_FIELD_NUMBER: _ClassVar[int]
    FORWARDER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    api_version: int
    principal: str
    forwards: int
    forwarder: int
    broker_epoch: int
    number: int
    controller_epoch: int
    def __init__(self, api_version: _Optional[int] = ..., principal: _Optional[str] = ..., forwards: _Optional[int] = ..., forwarder: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., number: _Optional[int] = ..., controller_epoch: _Optional[int] = ...) -> None: ...

class EntryChange(_message.Message):
    __slots__ = ("operation", "name", "value")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    operation: str
    name: str
    value: str
    def __init__(self, operation: _Optional[str] = ..., name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class EntityChange(_message.Message):
    __slots__ = ("kind", "names", "changes")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    kind: str
    names: _containers.RepeatedScalarFieldContainer[str]
    changes: _containers.RepeatedCompositeFieldContainer[EntryChange]
    def __init__(self, kind: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., changes: _Optional[_Iterable[_Union[EntryChange, _Mapping]]] = ...) -> None: ...

class EntityResult(_message.Message):
    __slots__ = ("kind", "names", "error_code", "message")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    names: _containers.RepeatedScalarFieldContainer[str]
    error_code: str
    message: str
    def __init__(self, kind: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., error_code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ConfigEntry(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class EntityConfig(_message.Message):
    __slots__ = ("kind", "names", "entries")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    kind: str
    names: _containers.RepeatedScalarFieldContainer[str]
    entries: _containers.RepeatedCompositeFieldContainer[ConfigEntry]
    def __init__(self, kind: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., entries: _Optional[_Iterable[_Union[ConfigEntry, _Mapping]]] = ...) -> None: ...

class DescribeConfigsRequest(_message.Message):
    __slots__ = ("kind", "names")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    kind: str
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeConfigsResponse(_message.Message):
    __slots__ = ("error_code", "message", "broker_id", "config_version", "entities")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    broker_id: int
    config_version: int
    entities: _containers.RepeatedCompositeFieldContainer[EntityConfig]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., broker_id: _Optional[int] = ..., config_version: _Optional[int] = ..., entities: _Optional[_Iterable[_Union[EntityConfig, _Mapping]]] = ...) -> None: ...

class DescribeMutationQuotasRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class QuotaMetrics(_message.Message):
    __slots__ = ("kind", "names", "rate", "tokens", "throttle_time_ms")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    names: _containers.RepeatedScalarFieldContainer[str]
    rate: str
    tokens: str
    throttle_time_ms: int
    def __init__(self, kind: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., rate: _Optional[str] = ..., tokens: _Optional[str] = ..., throttle_time_ms: _Optional[int] = ...) -> None: ...

class DescribeMutationQuotasResponse(_message.Message):
    __slots__ = ("error_code", "message", "buckets")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    buckets: _containers.RepeatedCompositeFieldContainer[QuotaMetrics]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., buckets: _Optional[_Iterable[_Union[QuotaMetrics, _Mapping]]] = ...) -> None: ...

class AlterConfigsRequest(_message.Message):
    __slots__ = ("header", "entities", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    entities: _containers.RepeatedCompositeFieldContainer[EntityChange]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., entities: _Optional[_Iterable[_Union[EntityChange, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class AlterConfigsResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "results")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    results: _containers.RepeatedCompositeFieldContainer[EntityResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., results: _Optional[_Iterable[_Union[EntityResult, _Mapping]]] = ...) -> None: ...

class IncrementalAlterConfigsRequest(_message.Message):
    __slots__ = ("header", "entities", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    entities: _containers.RepeatedCompositeFieldContainer[EntityChange]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., entities: _Optional[_Iterable[_Union[EntityChange, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class IncrementalAlterConfigsResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "results")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    results: _containers.RepeatedCompositeFieldContainer[EntityResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., results: _Optional[_Iterable[_Union[EntityResult, _Mapping]]] = ...) -> None: ...

class AlterClientQuotasRequest(_message.Message):
    __slots__ = ("header", "entities", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    entities: _containers.RepeatedCompositeFieldContainer[EntityChange]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., entities: _Optional[_Iterable[_Union[EntityChange, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class AlterClientQuotasResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "results")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    results: _containers.RepeatedCompositeFieldContainer[EntityResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., results: _Optional[_Iterable[_Union[EntityResult, _Mapping]]] = ...) -> None: ...

class CreateAclsRequest(_message.Message):
    __slots__ = ("header", "entities", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    entities: _containers.RepeatedCompositeFieldContainer[EntityChange]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., entities: _Optional[_Iterable[_Union[EntityChange, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class CreateAclsResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "results")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    results: _containers.RepeatedCompositeFieldContainer[EntityResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., results: _Optional[_Iterable[_Union[EntityResult, _Mapping]]] = ...) -> None: ...

class DeleteAclsRequest(_message.Message):
    __slots__ = ("header", "entities", "validate_only")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    entities: _containers.RepeatedCompositeFieldContainer[EntityChange]
    validate_only: bool
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., entities: _Optional[_Iterable[_Union[EntityChange, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class DeleteAclsResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "results")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    results: _containers.RepeatedCompositeFieldContainer[EntityResult]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., results: _Optional[_Iterable[_Union[EntityResult, _Mapping]]] = ...) -> None: ...

class LiveEndpoint(_message.Message):
    __slots__ = ("broker_id", "host", "port", "broker_epoch")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    host: str
    port: int
    broker_epoch: int
    def __init__(self, broker_id: _Optional[int] = ..., host: _Optional[str] = ..., port: _Optional[int] = ..., broker_epoch: _Optional[int] = ...) -> None: ...

class UpdateMetadataRequest(_message.Message):
    __slots__ = ("controller_id", "controller_epoch", "max_broker_epoch", "metadata_version", "is_full", "brokers", "partitions", "deleted")
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    MAX_BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    METADATA_VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_FULL_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    controller_id: int
    controller_epoch: int
    max_broker_epoch: int
    metadata_version: int
    is_full: bool
    brokers: _containers.RepeatedCompositeFieldContainer[LiveEndpoint]
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionState]
    deleted: _containers.RepeatedCompositeFieldContainer[PartitionId]
    def __init__(self, controller_id: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., max_broker_epoch: _Optional[int] = ..., metadata_version: _Optional[int] = ..., is_full: _Optional[bool] = ..., brokers: _Optional[_Iterable[_Union[LiveEndpoint, _Mapping]]] = ..., partitions: _Optional[_Iterable[_Union[PartitionState, _Mapping]]] = ..., deleted: _Optional[_Iterable[_Union[PartitionId, _Mapping]]] = ...) -> None: ...

class UpdateMetadataResponse(_message.Message):
    __slots__ = ("error_code",)
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    def __init__(self, error_code: _Optional[str] = ...) -> None: ...

class IsrChangedRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "partitions")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionId]
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[PartitionId, _Mapping]]] = ...) -> None: ...

class IsrChangedResponse(_message.Message):
    __slots__ = ("error_code", "controller_epoch")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    controller_epoch: int
    def __init__(self, error_code: _Optional[str] = ..., controller_epoch: _Optional[int] = ...) -> None: ...

class CreateDelegationTokenRequest(_message.Message):
    __slots__ = ("header", "renewers", "max_lifetime_ms")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    RENEWERS_FIELD_NUMBER: _ClassVar[int]
    MAX_LIFETIME_MS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    renewers: _containers.RepeatedScalarFieldContainer[str]
    max_lifetime_ms: int
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., renewers: _Optional[_Iterable[str]] = ..., max_lifetime_ms: _Optional[int] = ...) -> None: ...

class CreateDelegationTokenResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "token_id", "expires_ms", "max_ms", "hmac")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_MS_FIELD_NUMBER: _ClassVar[int]
    HMAC_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    token_id: str
    expires_ms: int
    max_ms: int
    hmac: bytes
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., token_id: _Optional[str] = ..., expires_ms: _Optional[int] = ..., max_ms: _Optional[int] = ..., hmac: _Optional[bytes] = ...) -> None: ...

class RenewDelegationTokenRequest(_message.Message):
    __slots__ = ("header", "token_id", "renew_ms")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    RENEW_MS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    token_id: str
    renew_ms: int
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., token_id: _Optional[str] = ..., renew_ms: _Optional[int] = ...) -> None: ...

class RenewDelegationTokenResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "expires_ms")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    expires_ms: int
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., expires_ms: _Optional[int] = ...) -> None: ...

class ExpireDelegationTokenRequest(_message.Message):
    __slots__ = ("header", "token_id", "after_ms")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    header: RequestHeader
    token_id: str
    after_ms: int
    def __init__(self, header: _Optional[_Union[RequestHeader, _Mapping]] = ..., token_id: _Optional[str] = ..., after_ms: _Optional[int] = ...) -> None: ...

class ExpireDelegationTokenResponse(_message.Message):
    __slots__ = ("error_code", "message", "config_version", "expires_ms")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    config_version: int
    expires_ms: int
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., config_version: _Optional[int] = ..., expires_ms: _Optional[int] = ...) -> None: ...

class DescribeDelegationTokenRequest(_message.Message):
    __slots__ = ("owners",)
    OWNERS_FIELD_NUMBER: _ClassVar[int]
    owners: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, owners: _Optional[_Iterable[str]] = ...) -> None: ...

class TokenDescription(_message.Message):
    __slots__ = ("token_id", "owner", "renewers", "issued_ms", "expires_ms", "max_ms")
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    RENEWERS_FIELD_NUMBER: _ClassVar[int]
    ISSUED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_MS_FIELD_NUMBER: _ClassVar[int]
    token_id: str
    owner: str
    renewers: _containers.RepeatedScalarFieldContainer[str]
    issued_ms: int
    expires_ms: int
    max_ms: int
    def __init__(self, token_id: _Optional[str] = ..., owner: _Optional[str] = ..., renewers: _Optional[_Iterable[str]] = ..., issued_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ..., max_ms: _Optional[int] = ...) -> None: ...

class DescribeDelegationTokenResponse(_message.Message):
    __slots__ = ("error_code", "message", "tokens")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    error_code: str
    message: str
    tokens: _containers.RepeatedCompositeFieldContainer[TokenDescription]
    def __init__(self, error_code: _Optional[str] = ..., message: _Optional[str] = ..., tokens: _Optional[_Iterable[_Union[TokenDescription, _Mapping]]] = ...) -> None: ...
