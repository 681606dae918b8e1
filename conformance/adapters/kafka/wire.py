"""Kafka's wire protocol: one connection to one broker, one request after the other.

Messages are those of the library `kio`, which has them in every version since release 0.8. Of each
kind this module knows the versions below, newest first, and uses the first that the broker speaks.
Requests are given as plain mappings; what a version does not have of them is left out.
"""

import select
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from io import BytesIO
from itertools import count
from typing import Any, get_args, get_type_hints

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, CONTROLLED_SHUTDOWN = 4, 5, 6, 7
API_VERSIONS = 18
CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 19, 20, 37
ELECT_LEADERS, ALTER_PARTITION_REASSIGNMENTS, DESCRIBE_QUORUM = 43, 45, 55

KNOWN: Mapping[int, tuple[int, ...]] = {
    PRODUCE: (3, 2),
    FETCH: (9, 4, 3),
    LIST_OFFSETS: (1,),
    METADATA: (9, 7, 2),
    LEADER_AND_ISR: (2, 0),
    STOP_REPLICA: (3, 1, 0),
    UPDATE_METADATA: (5, 3),
    CONTROLLED_SHUTDOWN: (2, 1),
    API_VERSIONS: (0,),
    CREATE_TOPICS: (2, 1, 0),
    DELETE_TOPICS: (1, 0),
    CREATE_PARTITIONS: (0,),
    ELECT_LEADERS: (1, 0),
    ALTER_PARTITION_REASSIGNMENTS: (0,),
    DESCRIBE_QUORUM: (0,),
}
"""Kind of request -> versions, newest first. Fetch stays below 11, which followers may answer.

A fetch names a leader epoch from version 9 on (release 2.1).

Commands of controllers name a broker epoch from release 2.2 on, and StopReplica a leader epoch from
2.6 on; what newer versions add decides nothing here.
"""

ALL_METADATA: Mapping[str, Any] = {
    "topics": None,
    "include_cluster_authorized_operations": False,
    "include_topic_authorized_operations": False,
}
"""Asks for the metadata of all topics."""
_LENGTH = struct.Struct(">i")


class NotSentError(Exception):
    """The request did not leave: no connection came up, or the broker does not know it."""


class NotOfferedError(NotSentError):
    """The broker does not know the request, as it says itself."""


class NoAnswerError(Exception):
    """The request left, and no answer came: the connection broke, or the time was over."""


class BrokerSocket:
    """A connection that is made when it is first used, and anew after it broke."""

    def __init__(self, address: str, client_id: str) -> None:
        """`address` is `HOST:PORT`."""
        self.address = address
        self._client_id = client_id
        self._socket: socket.socket | None = None
        self._spoken: dict[int, tuple[int, int]] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def ask(self, kind: int, request: Mapping[str, Any], deadline_s: float) -> Any:  # noqa: ANN401 - a message of kio
        """The answer to one request; raises `NotSentError` or `NoAnswerError`."""
        with self._lock:
            version = self._version_of(kind, deadline_s)
            return self._exchange(kind, version, request, deadline_s)

    def speaks(self, kind: int, deadline_s: float) -> int:
        """The version of the request that is used here; raises `NotSentError`."""
        with self._lock:
            return self._version_of(kind, deadline_s)

    def close(self) -> None:
        """Break the connection; a request that waits for its answer fails."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _version_of(self, kind: int, deadline_s: float) -> int:
        if self._socket is not None and _has_ended(self._socket):
            self.close()
        if self._socket is None:
            self._connect(deadline_s)
        lowest, highest = self._spoken.get(kind, (0, -1))
        for version in KNOWN[kind]:
            if lowest <= version <= highest:
                return version
        raise NotOfferedError(f"the broker takes no request {kind} of versions {KNOWN[kind]}")

    def _connect(self, deadline_s: float) -> None:
        try:
            host, _, port = self.address.rpartition(":")
            self._socket = socket.create_connection((host, int(port)), deadline_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answer = self._exchange(API_VERSIONS, 0, {}, deadline_s)
        except (OSError, NoAnswerError) as error:
            self.close()
            raise NotSentError(f"no connection: {error}") from error
        self._spoken = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}

    def _exchange(
        self, kind: int, version: int, request: Mapping[str, Any], deadline_s: float
    ) -> Any:  # noqa: ANN401
        assert self._socket is not None
        schema: Any = load_request_schema(kind, version)
        number = next(self._numbers)
        head = schema.__header_schema__(
            request_api_key=schema.__api_key__,
            request_api_version=schema.__version__,
            correlation_id=number,
            client_id=self._client_id,
        )
        buffer = BytesIO()
        entity_writer(type(head))(buffer, head)
        entity_writer(schema)(buffer, message(schema, request))
        try:
            self._socket.settimeout(deadline_s)
            self._socket.sendall(_LENGTH.pack(buffer.tell()) + buffer.getvalue())
            body = self._receive()
        except OSError as error:
            self.close()
            raise NoAnswerError(str(error) or type(error).__name__) from error
        return _answer(kind, version, body)

    def _receive(self) -> bytes:
        (length,) = _LENGTH.unpack(self._receive_exactly(_LENGTH.size))
        return self._receive_exactly(length)

    def _receive_exactly(self, size: int) -> bytes:
        assert self._socket is not None
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionError("the broker closed the connection")
            parts += part
        return bytes(parts)


def _has_ended(connection: socket.socket) -> bool:
    """True when the other end has closed it, or lost it; an idle connection has nothing to read."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable)


def _answer(kind: int, version: int, body: bytes) -> Any:  # noqa: ANN401
    schema = load_response_schema(kind, version)
    _, at = entity_reader(schema.__header_schema__)(body, 0)
    return entity_reader(schema)(body, at)[0]


def message(schema: Any, told: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """A message of kio; what its version has no field for is left out, at every depth."""
    return schema(
        **{f.name: _value(schema, f, told[f.name]) for f in fields(schema) if f.name in told}
    )


def _value(schema: Any, field: Any, told: Any) -> Any:  # noqa: ANN401
    if str(field.metadata.get("kafka_type")).startswith("timedelta"):
        return timedelta(milliseconds=told)
    nested = _nested(schema, str(field.name))
    if nested is None or told is None:
        return tuple(told) if isinstance(told, list) else told
    return tuple(message(nested, one) for one in told)


@cache
def _nested(schema: Any, name: str) -> Any:  # noqa: ANN401
    """The class of the elements of a field, when it is an array of messages."""
    return next(_messages_in(get_type_hints(schema)[name]), None)


def _messages_in(hint: Any) -> Iterator[Any]:  # noqa: ANN401
    """The classes of messages in the type of a field, which may be null."""
    for one in get_args(hint):
        yield from [one] if is_dataclass(one) else _messages_in(one)
