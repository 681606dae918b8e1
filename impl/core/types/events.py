"""What can happen to a node: the input of `Node.step`.

Shells make these; callbacks only enqueue them. Each carries what its handler needs and no clock:
`now_ms` is the second argument of `step`.
"""

from msgspec import Struct

from fencepost.impl.core.types.asker import UNKNOWN_ASKER, Asker
from fencepost.impl.core.types.messages import PeerRequest, Request, Response
from fencepost.impl.core.types.zookeeper import Children, WriteResult, Znode
from fencepost.spec.vocabulary import NO_INCARNATION, BrokerId, PartitionIncarnation, SessionId
from fencepost.spec.znodes import TopicPartition


class RequestReceived(Struct, frozen=True, kw_only=True):
    """A peer or client asks; the answer is a `Reply` with the same token."""

    token: int
    request: Request
    asker: Asker = UNKNOWN_ASKER
    """As the connection says."""
    wall_ms: int = 0
    """When it came, in milliseconds since 1970; lives of tokens alone depend on it (SEC-003)."""
    connection: str = ""
    """Over which a client asks; empty: the request is held back for no quota."""
    request_throttle_ms: int = 0
    """What a quota of requests asks for, beside that of mutations (QUOTA-010)."""


class ResponseReceived(Struct, frozen=True, kw_only=True):
    """A peer answered the request that `Send` with `request_id` delivered."""

    request_id: int
    sender: BrokerId
    request: PeerRequest
    response: Response


class RequestFailed(Struct, frozen=True, kw_only=True):
    """No answer came: the peer may or may not have obeyed, and may still."""

    request_id: int
    to: BrokerId
    request: PeerRequest


class ZnodesRead(Struct, frozen=True, kw_only=True):
    """The answer to `ReadZnodes`; None when the connection was lost or the session expired."""

    op_id: int
    znodes: tuple[Znode, ...] | None


class ChildrenListed(Struct, frozen=True, kw_only=True):
    """The answer to `ListChildren`; None when the connection was lost or the session expired."""

    op_id: int
    children: tuple[Children, ...] | None


class ZnodesWritten(Struct, frozen=True, kw_only=True):
    """The answer to `WriteZnodes`."""

    op_id: int
    result: WriteResult


class WatchFired(Struct, frozen=True, kw_only=True):
    """A one-shot watch: the data or existence of `path` changed, or (`children`) its children."""

    path: str
    children: bool


class SessionEstablished(Struct, frozen=True, kw_only=True):
    """A new session: it has no watches and owns no ephemeral znode."""

    session_id: SessionId


class SessionReconnected(Struct, frozen=True, kw_only=True):
    """The same session on a new connection; watches still stand."""

    session_id: SessionId


class SessionSuspended(Struct, frozen=True, kw_only=True):
    """The connection is lost; the session may be alive or not."""


class SessionLost(Struct, frozen=True, kw_only=True):
    """The session is over, by ZooKeeper's word or by this node's own deadline.

    Ephemerals are gone or will be; every operation in flight was answered before this event.
    """


class Tick(Struct, frozen=True, kw_only=True):
    """Time has passed."""

    wall_ms: int = 0
    """Milliseconds since 1970, as in `RequestReceived`; 0: not told."""


class LogFailed(Struct, frozen=True, kw_only=True):
    """The log of a partition cannot be written or read, until the broker starts again.

    Nothing is done any more to what the disk holds of it. What the node asked in the same step of
    the log, or told of it, was dropped; a produce was answered as one that may be in the log.
    """

    topic_partition: TopicPartition
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    """The incarnation of the records, if that is known."""


class ShutdownAsked(Struct, frozen=True, kw_only=True):
    """An operator wants this broker to end; `ShutDown` says when it may."""


ZooKeeperEvent = (
    ZnodesRead
    | ChildrenListed
    | ZnodesWritten
    | WatchFired
    | SessionEstablished
    | SessionReconnected
    | SessionSuspended
    | SessionLost
)
Event = (
    RequestReceived
    | ResponseReceived
    | RequestFailed
    | Tick
    | LogFailed
    | ShutdownAsked
    | ZooKeeperEvent
)
