"""What an administrator asks of any broker about whole topics, as values like `messages.py`."""

from msgspec import Struct

from fencepost.impl.core.types.request_header import ForwardableRequest
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, CoordinatorKind, ErrorCode


class AdminResponse(Struct, frozen=True, kw_only=True):
    """How a request of an administrator ended, and why."""

    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""


class ThrottledResponse(AdminResponse, frozen=True, kw_only=True):
    """As above, of a request that the mutation quota counts (KIP-599)."""

    throttle_time_ms: int = 0
    """How long the client is to be silent; its connection is muted for that (QUOTA-010)."""


class CountedRequest(ForwardableRequest, frozen=True, kw_only=True):
    """What the mutation quota asks of a request; of one inside another, that of the outer counts.

    So does its header.

    Until connections are authenticated the user is what the client says.
    """

    user: str = ""
    client_id: str = ""
    api_version: int = 0
    """As Kafka counts them: an older one has no word for a refusal (QUOTA-003)."""


class ReplicaList(Struct, frozen=True, kw_only=True):
    """The ordered replicas of one partition."""

    replicas: tuple[BrokerId, ...]


class CreateTopicRequest(CountedRequest, frozen=True, kw_only=True):
    """Any broker takes it below level 5; it writes the topic znode (V3 Paths 3)."""

    topic: str
    partition_count: int = 1
    replication_factor: int = 1
    assignment: tuple[ReplicaList, ...] = ()
    validate_only: bool = False
    """Nothing is to change: the answer is what it would be (QUOTA-004)."""


class CreateTopicResponse(ThrottledResponse, frozen=True, kw_only=True):
    """`NONE` when the topic znode is written; leaders follow."""


class DeleteTopicRequest(CountedRequest, frozen=True, kw_only=True):
    """Any broker takes it below level 5; it deletes the topic's znodes (TOP-002)."""

    topic: str


class DeleteTopicResponse(ThrottledResponse, frozen=True, kw_only=True):
    """`NONE` when the topic's znode is deleted, or says so; its replicas go next."""


class CreateTopicsRequest(CountedRequest, frozen=True, kw_only=True):
    """Many topics at once, each judged as if it had been asked for alone."""

    topics: tuple[CreateTopicRequest, ...]
    validate_only: bool = False


class DeleteTopicsRequest(CountedRequest, frozen=True, kw_only=True):
    """As above."""

    topics: tuple[str, ...]


class TopicResult(Struct, frozen=True, kw_only=True):
    """What became of one topic of a request for many."""

    topic: str
    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""


class CreateTopicsResponse(ThrottledResponse, frozen=True, kw_only=True):
    """One result per topic, in the order of the request."""

    topics: tuple[TopicResult, ...] = ()


class DeleteTopicsResponse(ThrottledResponse, frozen=True, kw_only=True):
    """As above."""

    topics: tuple[TopicResult, ...] = ()


class FindCoordinatorRequest(Struct, frozen=True, kw_only=True):
    """Which broker coordinates the group or transaction of this name (FWD-006)."""

    key: str
    kind: CoordinatorKind = CoordinatorKind.GROUP


class FindCoordinatorResponse(AdminResponse, frozen=True, kw_only=True):
    """The leader of one partition of the internal topic, which the first request has created."""

    broker_id: BrokerId = NO_BROKER
    host: str = ""
    port: int = 0
