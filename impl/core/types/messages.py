"""Requests and responses as values, spelled as in `spec/wire/replication.proto`.

The wire form lives in `impl/shell/rpc/codec.py`, which is generic because the names are equal.
"""

from msgspec import Struct

from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    IsrChangedRequest,
    IsrChangedResponse,
    LogsFailedRequest,
    LogsFailedResponse,
    PartitionId,
)
from fencepost.impl.core.types.config_messages import (
    AlterClientQuotasResponse,
    AlterConfigsResponse,
    ConfigRequest,
    CreateAclsResponse,
    CreateDelegationTokenResponse,
    DeleteAclsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    DescribeMutationQuotasRequest,
    DescribeMutationQuotasResponse,
    ExpireDelegationTokenResponse,
    IncrementalAlterConfigsResponse,
    RenewDelegationTokenResponse,
    TokenRequest,
)
from fencepost.impl.core.types.request_header import ForwardableRequest
from fencepost.impl.core.types.topic_messages import (
    AdminResponse,
    CountedRequest,
    CreateTopicRequest,
    CreateTopicResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ReplicaList,
    ThrottledResponse,
)
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_BROKER_EPOCH,
    NO_CONTROLLER_EPOCH,
    NO_EPOCH,
    NO_INCARNATION,
    NO_OFFSET,
    NO_PRODUCER,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ElectionKind,
    ErrorCode,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ProducerId,
    ZnodeVersion,
)

ACKS_ALL = -1
ACKS_LEADER = 1
ACKS_NONE = 0


class Record(Struct, frozen=True):
    """One log entry; `leader_epoch` is the epoch of the leader that appended it."""

    leader_epoch: LeaderEpoch
    value: str
    producer_id: ProducerId = NO_PRODUCER
    """Of an idempotent producer; without one, the next three mean nothing."""
    producer_epoch: int = 0
    sequence: int = 0
    """Counts the records of one producer epoch in one partition, from 0."""
    batch_left: int = 0
    """How many records of the same batch follow; replicas hold batches whole."""


class PartitionState(PartitionId, frozen=True, kw_only=True):
    """What ZooKeeper holds about one partition, as a command carries it."""

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    znode_version: ZnodeVersion
    assigned_replicas: tuple[BrokerId, ...]
    topic_id: str = ""
    """Of the topic that the state belongs to; empty when the topic has none."""
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    isr_broker_epochs: tuple[BrokerEpoch, ...] = ()
    """Of each of `isr`, the registration under which it joined; none below level 3."""
    offline_replicas: tuple[BrokerId, ...] = ()
    """Of `assigned_replicas`, those that cannot serve, as metadata tell (level 4)."""


class LeaderAndIsrRequest(Struct, frozen=True, kw_only=True):
    """The controller tells a broker the leader, its epoch and the ISR of partitions."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    partitions: tuple[PartitionState, ...]
    is_init: bool = False
    """INIT: `partitions` and `kept` are all that the broker has, as read at `zxid` (CMD-007)."""
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """Of the registration that the request is meant for; below level 3, an INIT alone says so."""
    zxid: int = 0
    kept: tuple[PartitionId, ...] = ()
    max_broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """The largest one that the sender knew, in place of `broker_epoch` (level 4)."""


class PartitionError(PartitionId, frozen=True, kw_only=True):
    """How one partition of a request ended."""

    error_code: ErrorCode


class LeaderAndIsrResponse(Struct, frozen=True, kw_only=True):
    """The answer to the controller: of the whole request, then per partition (CMD-009)."""

    error_code: ErrorCode = ErrorCode.NONE
    partitions: tuple[PartitionError, ...] = ()


class PartitionStop(PartitionId, frozen=True, kw_only=True):
    """One partition that a broker is to give up, with its data when `delete` is set (CMD-008)."""

    partition_incarnation: PartitionIncarnation
    """This one, or an older one."""
    leader_epoch: LeaderEpoch = NO_EPOCH
    """Of the state that the replica is no part of; -1 when the whole incarnation is gone."""
    delete: bool = True


class StopReplicaRequest(Struct, frozen=True, kw_only=True):
    """The controller tells a broker what it holds no replica of any more."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    partitions: tuple[PartitionStop, ...]
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """Of the registration that the request is meant for (level 3)."""
    max_broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """The largest one that the sender knew, in place of `broker_epoch` (level 4)."""


class StopReplicaResponse(Struct, frozen=True, kw_only=True):
    """The answer to the controller: of the whole request, then per partition (CMD-009)."""

    error_code: ErrorCode = ErrorCode.NONE
    partitions: tuple[PartitionError, ...] = ()


class FetchRequest(PartitionId, frozen=True, kw_only=True):
    """Ask for records; a follower's `fetch_offset` doubles as its log end offset (REPL-001).

    A follower names its incarnation, a consumer takes any (0).
    """

    replica_id: BrokerId = NO_BROKER
    leader_epoch: LeaderEpoch = NO_EPOCH
    fetch_offset: Offset
    max_records: int = 100
    max_wait_ms: int = 0
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """Of the follower's registration (level 3)."""


class FetchResponse(Struct, frozen=True, kw_only=True):
    """Records from `fetch_offset` on, and the leader's high watermark."""

    error_code: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId
    leader_epoch: LeaderEpoch = NO_EPOCH
    fetch_offset: Offset
    high_watermark: Offset = NO_OFFSET
    log_end_offset: Offset = NO_OFFSET
    records: tuple[Record, ...] = ()
    partition_incarnation: PartitionIncarnation = NO_INCARNATION


class OffsetForLeaderEpochRequest(PartitionId, frozen=True, kw_only=True):
    """A follower asks where its last epoch ended in the leader's log (KIP-101, KIP-279)."""

    replica_id: BrokerId
    current_leader_epoch: LeaderEpoch
    leader_epoch: LeaderEpoch
    partition_incarnation: PartitionIncarnation = NO_INCARNATION


class OffsetForLeaderEpochResponse(Struct, frozen=True, kw_only=True):
    """The largest epoch not above the asked one that the leader's log has, and its end."""

    error_code: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId
    leader_epoch: LeaderEpoch = NO_EPOCH
    end_offset: Offset = NO_OFFSET
    current_leader_epoch: LeaderEpoch = NO_EPOCH


class ProduceRequest(PartitionId, frozen=True, kw_only=True):
    """A client asks the leader to append values, in this order."""

    acks: int = ACKS_ALL
    values: tuple[str, ...]
    timeout_ms: int = 5000
    producer_id: ProducerId = NO_PRODUCER
    producer_epoch: int = 0
    base_sequence: int = 0
    """Of the first value; the same in every retry (KIP-98)."""


class ProduceResponse(Struct, frozen=True, kw_only=True):
    """Where the values were put, or why not."""

    error_code: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId
    leader_epoch: LeaderEpoch = NO_EPOCH
    base_offset: Offset = NO_OFFSET
    high_watermark: Offset = NO_OFFSET
    partition_incarnation: PartitionIncarnation = NO_INCARNATION


class ListOffsetsRequest(PartitionId, frozen=True, kw_only=True):
    """A client asks how far a partition goes."""


class ListOffsetsResponse(Struct, frozen=True, kw_only=True):
    """The leader's high watermark and log end offset."""

    error_code: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId
    leader_epoch: LeaderEpoch = NO_EPOCH
    high_watermark: Offset = NO_OFFSET
    log_end_offset: Offset = NO_OFFSET
    partition_incarnation: PartitionIncarnation = NO_INCARNATION


class MetadataRequest(Struct, frozen=True, kw_only=True):
    """A client asks for the routing view."""


class BrokerEndpoint(Struct, frozen=True, kw_only=True):
    """Where a broker listens."""

    broker_id: BrokerId
    host: str
    port: int


class MetadataResponse(Struct, frozen=True, kw_only=True):
    """The published state as the answering broker was told it (level 4), or reads it in ZooKeeper.

    V3 Discussion 6.
    """

    error_code: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId
    controller_id: BrokerId = NO_BROKER
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    brokers: tuple[BrokerEndpoint, ...] = ()
    partitions: tuple[PartitionState, ...] = ()


class LiveEndpoint(BrokerEndpoint, frozen=True, kw_only=True):
    """A registered broker."""

    broker_epoch: BrokerEpoch


class UpdateMetadataRequest(Struct, frozen=True, kw_only=True):
    """The controller tells every broker the same of the cluster (UMD-001)."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    max_broker_epoch: BrokerEpoch
    metadata_version: int
    """Counts the changes that this controller has told, from 1."""
    is_full: bool = False
    """`partitions` are all that there are as of `metadata_version`, not what it changes."""
    brokers: tuple[LiveEndpoint, ...] = ()
    """All that are live."""
    partitions: tuple[PartitionState, ...] = ()
    deleted: tuple[PartitionId, ...] = ()


class UpdateMetadataResponse(Struct, frozen=True, kw_only=True):
    """`BROKER_NOT_AVAILABLE` when the broker has to be told all first."""

    error_code: ErrorCode = ErrorCode.NONE


class InitProducerIdRequest(Struct, frozen=True, kw_only=True):
    """A producer asks for a unique id, to be idempotent under it (KIP-98)."""


class InitProducerIdResponse(Struct, frozen=True, kw_only=True):
    """A new id; its first producer epoch is 0, and later ones are the producer's own affair."""

    error_code: ErrorCode = ErrorCode.NONE
    producer_id: ProducerId = NO_PRODUCER
    producer_epoch: int = 0


class PartitionResult(PartitionId, frozen=True, kw_only=True):
    """How the request for one partition ended; the change itself follows."""

    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""


class ElectLeadersRequest(ForwardableRequest, frozen=True, kw_only=True):
    """Other leaders are asked for."""

    kind: ElectionKind
    partitions: tuple[PartitionId, ...]


class ElectLeadersResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` per partition when the request stands in ZooKeeper; the leader follows."""

    partitions: tuple[PartitionResult, ...] = ()


class CreatePartitionsRequest(CountedRequest, frozen=True, kw_only=True):
    """The topic is to have `partition_count` partitions, those that exist included."""

    topic: str
    partition_count: int
    assignment: tuple[ReplicaList, ...] = ()
    """Of the new ones; none: brokers are chosen in turn."""
    validate_only: bool = False


class CreatePartitionsResponse(ThrottledResponse, frozen=True, kw_only=True):
    """`NONE` when the requests stand in ZooKeeper; the partitions follow."""


class RemovePartitionsRequest(ForwardableRequest, frozen=True, kw_only=True):
    """Partitions of a topic are to go, with their records."""

    topic: str
    partitions: tuple[int, ...]


class RemovePartitionsResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` when the requests stand in ZooKeeper; the partitions go."""


class Reassignment(PartitionId, frozen=True, kw_only=True):
    """Where a partition is to be; without replicas, the move under way is cancelled (REAS-004)."""

    replicas: tuple[BrokerId, ...] = ()


class AlterPartitionReassignmentsRequest(ForwardableRequest, frozen=True, kw_only=True):
    """Partitions are to move, or not to."""

    reassignments: tuple[Reassignment, ...]


class AlterPartitionReassignmentsResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` per partition when the request stands in ZooKeeper; the move follows."""

    partitions: tuple[PartitionResult, ...] = ()


class ListPartitionReassignmentsRequest(Struct, frozen=True, kw_only=True):
    """What moves is asked for."""


class OngoingReassignment(PartitionId, frozen=True, kw_only=True):
    """How far a partition has moved, as ZooKeeper holds it."""

    replicas: tuple[BrokerId, ...]
    """Where it is to be; none when it goes back."""
    assigned_replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...]
    removing: tuple[BrokerId, ...]


class ListPartitionReassignmentsResponse(Struct, frozen=True, kw_only=True):
    """All partitions that move."""

    error_code: ErrorCode = ErrorCode.NONE
    reassignments: tuple[OngoingReassignment, ...] = ()


TopicRequest = (
    CreateTopicRequest
    | DeleteTopicRequest
    | CreateTopicsRequest
    | DeleteTopicsRequest
    | ElectLeadersRequest
    | CreatePartitionsRequest
    | RemovePartitionsRequest
    | AlterPartitionReassignmentsRequest
)
"""What becomes of topics and partitions: the controller does it, below level 5 any broker."""
TopicResponse = (
    CreateTopicResponse
    | DeleteTopicResponse
    | CreateTopicsResponse
    | DeleteTopicsResponse
    | ElectLeadersResponse
    | CreatePartitionsResponse
    | RemovePartitionsResponse
    | AlterPartitionReassignmentsResponse
)
AdminRequest = (
    TopicRequest
    | MetadataRequest
    | InitProducerIdRequest
    | ListPartitionReassignmentsRequest
    | FindCoordinatorRequest
)
"""The same, and what any broker reads or finds out for the asker."""
Request = (
    LeaderAndIsrRequest
    | StopReplicaRequest
    | UpdateMetadataRequest
    | LogsFailedRequest
    | IsrChangedRequest
    | ControlledShutdownRequest
    | FetchRequest
    | OffsetForLeaderEpochRequest
    | ProduceRequest
    | ListOffsetsRequest
    | AdminRequest
    | ConfigRequest
    | DescribeConfigsRequest
    | TokenRequest
    | DescribeDelegationTokenRequest
    | DescribeMutationQuotasRequest
)
Response = (
    LeaderAndIsrResponse
    | StopReplicaResponse
    | UpdateMetadataResponse
    | LogsFailedResponse
    | IsrChangedResponse
    | ControlledShutdownResponse
    | FetchResponse
    | OffsetForLeaderEpochResponse
    | ProduceResponse
    | ListOffsetsResponse
    | TopicResponse
    | MetadataResponse
    | InitProducerIdResponse
    | ListPartitionReassignmentsResponse
    | FindCoordinatorResponse
    | AlterConfigsResponse
    | IncrementalAlterConfigsResponse
    | AlterClientQuotasResponse
    | CreateAclsResponse
    | DeleteAclsResponse
    | DescribeConfigsResponse
    | CreateDelegationTokenResponse
    | RenewDelegationTokenResponse
    | ExpireDelegationTokenResponse
    | DescribeDelegationTokenResponse
    | DescribeMutationQuotasResponse
)
CommandRequest = LeaderAndIsrRequest | StopReplicaRequest
"""What the controller has a broker do."""
CommandResponse = LeaderAndIsrResponse | StopReplicaResponse
ControlRequest = CommandRequest | UpdateMetadataRequest
"""What the controller sends to a broker."""
ControlResponse = CommandResponse | UpdateMetadataResponse
BrokerReport = LogsFailedRequest | IsrChangedRequest | ControlledShutdownRequest
"""What a broker tells the controller."""
PeerRequest = (
    ControlRequest
    | BrokerReport
    | FetchRequest
    | OffsetForLeaderEpochRequest
    | ConfigRequest
    | TokenRequest
    | TopicRequest
)
"""What one broker sends to another."""
