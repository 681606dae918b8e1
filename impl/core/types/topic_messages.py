"""What an administrator asks of any broker about whole topics, as values like `messages.py`."""

from msgspec import Struct

from fencepost.spec.vocabulary import BrokerId, ErrorCode


class AdminResponse(Struct, frozen=True, kw_only=True):
    """How a request of an administrator ended, and why."""

    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""


class ReplicaList(Struct, frozen=True, kw_only=True):
    """The ordered replicas of one partition."""

    replicas: tuple[BrokerId, ...]


class CreateTopicRequest(Struct, frozen=True, kw_only=True):
    """Any broker takes it below level 5; it writes the topic znode (V3 Paths 3)."""

    topic: str
    partition_count: int = 1
    replication_factor: int = 1
    assignment: tuple[ReplicaList, ...] = ()


class CreateTopicResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` when the topic znode is written; leaders follow."""


class DeleteTopicRequest(Struct, frozen=True, kw_only=True):
    """Any broker takes it below level 5; it deletes the topic's znodes (TOP-002)."""

    topic: str


class DeleteTopicResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` when the topic's znode is deleted, or says so; its replicas go next."""


class CreateTopicsRequest(Struct, frozen=True, kw_only=True):
    """Many topics at once, each judged as if it had been asked for alone."""

    topics: tuple[CreateTopicRequest, ...]


class DeleteTopicsRequest(Struct, frozen=True, kw_only=True):
    """As above."""

    topics: tuple[str, ...]


class TopicResult(Struct, frozen=True, kw_only=True):
    """What became of one topic of a request for many."""

    topic: str
    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""


class CreateTopicsResponse(AdminResponse, frozen=True, kw_only=True):
    """One result per topic, in the order of the request."""

    topics: tuple[TopicResult, ...] = ()


class DeleteTopicsResponse(AdminResponse, frozen=True, kw_only=True):
    """As above."""

    topics: tuple[TopicResult, ...] = ()
