"""What a node asks of the world: the output of `Node.step`.

A shell performs effects completely and in list order. A crash between two of them is a fault that
the simulator injects.
"""

from collections.abc import Mapping

from msgspec import Struct

from fencepost.impl.core.types.messages import FetchResponse, PeerRequest, Record, Response
from fencepost.impl.core.types.zookeeper import WriteOp
from fencepost.spec.vocabulary import (
    Action,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    RefusalKind,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.znodes import TopicPartition


class Send(Struct, frozen=True, kw_only=True):
    """Deliver `request` to another broker, or lose it.

    Ends in `ResponseReceived` or, at the latest after `timeout_ms`, in `RequestFailed`.
    """

    request_id: int
    to: BrokerId
    request: PeerRequest
    timeout_ms: int


class Reply(Struct, frozen=True, kw_only=True):
    """Answer the request that came with `token`."""

    token: int
    response: Response


class ReplyRecords(Struct, frozen=True, kw_only=True):
    """Answer a fetch with the records `[start, end)` of the local log put into `response`."""

    token: int
    response: FetchResponse
    topic_partition: TopicPartition
    start: Offset
    end: Offset


class AppendRecords(Struct, frozen=True, kw_only=True):
    """Write records at `base_offset`, which is the log end offset; the files are created if new."""

    topic_partition: TopicPartition
    base_offset: Offset
    records: tuple[Record, ...]


class TruncateRecords(Struct, frozen=True, kw_only=True):
    """Drop the records from `offset` on, of which there are some."""

    topic_partition: TopicPartition
    offset: Offset


class StartLog(Struct, frozen=True, kw_only=True):
    """Create the partition's directory, with its incarnation in it, if there is none (CMD-006)."""

    topic_partition: TopicPartition
    partition_incarnation: PartitionIncarnation


class DeleteLog(Struct, frozen=True, kw_only=True):
    """Remove the partition's directory as a whole: a crash leaves all of it, or nothing."""

    topic_partition: TopicPartition


class CheckpointHighWatermark(Struct, frozen=True, kw_only=True):
    """Store the high watermark for the next start of this broker."""

    topic_partition: TopicPartition
    high_watermark: Offset


DiskEffect = AppendRecords | TruncateRecords | StartLog | DeleteLog | CheckpointHighWatermark
"""What changes the logs of this broker."""


class ReadZnodes(Struct, frozen=True, kw_only=True):
    """Read data of several znodes, pipelined in order.

    `watch` sets a one-shot watch on each, also on one that does not exist: it then fires when the
    znode is created.
    """

    op_id: int
    paths: tuple[str, ...]
    watch: bool = False
    leader_epoch: LeaderEpoch | None = None
    """Of a leader that reads back what became of its write."""


class ListChildren(Struct, frozen=True, kw_only=True):
    """Read the children of several znodes, pipelined in order; `watch` as in `ReadZnodes`."""

    op_id: int
    paths: tuple[str, ...]
    watch: bool = False


class WriteZnodes(Struct, frozen=True, kw_only=True):
    """One multi: all of `ops` or none. The shell does not repeat it."""

    op_id: int
    ops: tuple[WriteOp, ...]


class ReportMalformed(Struct, frozen=True, kw_only=True):
    """Tell the operator of a znode that is not what its path promises; it is skipped (ZK-002)."""

    path: str
    reason: str


class ReportWaiting(Struct, frozen=True, kw_only=True):
    """Tell the operator that this broker's znode belongs to another session (START-005)."""

    path: str
    session_id: SessionId


class ShutDown(Struct, frozen=True, kw_only=True):
    """Close the session and end: the operator wanted it, and all that can be prepared for it is."""

    remaining_partitions: tuple[TopicPartition, ...] = ()
    """What this broker still leads although others could: the controller did not answer in time."""


class ActionTaken(Struct, frozen=True, kw_only=True):
    """An action changed the state: one line of the trace.

    Fields have the names and meaning of `fencepost.spec.trace.TraceEvent`; None is left out.
    """

    action: Action
    topic: str | None = None
    """Of an action on a whole topic."""
    topic_partition: TopicPartition | None = None
    partitions: tuple[TopicPartition, ...] | None = None
    """Of a request about many."""
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch | None = None
    controller_id: BrokerId | None = None
    controller_epoch: ControllerEpoch | None = None
    isr: frozenset[BrokerId] | None = None
    maximal_isr: frozenset[BrokerId] | None = None
    assigned_replicas: tuple[BrokerId, ...] | None = None
    live_brokers: Mapping[BrokerId, BrokerEpoch] | None = None
    """Each with the czxid of its registration."""
    broker_epoch: BrokerEpoch | None = None
    """Of a command or a fetch; 0 where it names none."""
    max_broker_epoch: BrokerEpoch | None = None
    """Of a command; 0 where it names none."""
    metadata_version: int | None = None
    is_unclean: bool | None = None
    is_loss_possible: bool | None = None
    znode_version: ZnodeVersion | None = None
    expected_version: ZnodeVersion | None = None
    high_watermark: Offset | None = None
    log_end_offset: Offset | None = None
    offset: Offset | None = None
    records: tuple[Record, ...] | None = None
    peer: BrokerId | None = None
    session_id: SessionId | None = None
    zxid: int | None = None
    partition_incarnation: PartitionIncarnation | None = None
    path: str | None = None
    values: tuple[str, ...] | None = None
    principal: str | None = None
    forwarded_request: str | None = None
    user: str | None = None
    """Of a mutation, or of a quota; there empty for the default, and None for none."""
    client_id: str | None = None
    method: str | None = None
    api_version: int | None = None
    partition_count: int | None = None
    mutation_rate: str | None = None
    """Partitions per second of a quota, in decimals; None when it is gone."""
    mutation_burst: str | None = None
    throttle_time_ms: int | None = None
    clock_ms: int | None = None
    """The node's clock when a bucket was counted."""
    received_ms: int | None = None
    connection: str | None = None
    request_number: int | None = None


class RefusalTold(Struct, frozen=True, kw_only=True):
    """What was told, asked or read changed nothing: one line of the trace.

    Fields have the names and meaning of `fencepost.spec.trace.TraceEvent`; None is left out.
    """

    refusal: RefusalKind
    topic_partition: TopicPartition | None = None
    partition_incarnation: PartitionIncarnation | None = None
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch | None = None
    isr: frozenset[BrokerId] | None = None
    znode_version: ZnodeVersion | None = None
    controller_id: BrokerId | None = None
    controller_epoch: ControllerEpoch | None = None
    broker_epoch: BrokerEpoch | None = None
    max_broker_epoch: BrokerEpoch | None = None
    peer: BrokerId | None = None
    offset: Offset | None = None
    error_code: ErrorCode | None = None
    user: str | None = None
    client_id: str | None = None
    throttle_time_ms: int | None = None
    clock_ms: int | None = None
    connection: str | None = None
    request_number: int | None = None


Effect = (
    Send
    | Reply
    | ReplyRecords
    | DiskEffect
    | ReadZnodes
    | ListChildren
    | WriteZnodes
    | ReportMalformed
    | ReportWaiting
    | ShutDown
    | ActionTaken
    | RefusalTold
)
