"""A listener that speaks Kafka's wire protocol, answers what it is told to, and keeps requests."""

import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any, NamedTuple, cast

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from fencepost.conformance.adapters.kafka import wire

Told = Mapping[str, Any]
Answers = dict[int, Told | Callable[[], Told]]
"""Kind of request -> the answer; a request of a kind without one is never answered."""

VERSIONS = [
    {"api_key": kind, "min_version": min(known), "max_version": max(known)}
    for kind, known in wire.KNOWN.items()
]
GREETING = {"error_code": ErrorCode.none, "api_keys": VERSIONS}


class Heard(NamedTuple):
    """A request that came."""

    kind: int
    message: Any
    """Of kio."""


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = cast("_Server", self.server)
        while head := self.rfile.read(4):
            body = self.rfile.read(struct.unpack(">i", head)[0])
            kind, version, number = struct.unpack_from(">hhi", body)
            if kind in server.answers:
                server.heard.append(Heard(kind, _read(kind, version, body)))
            told = GREETING if kind == wire.API_VERSIONS else server.answers.get(kind)
            if told is None:
                server.ended.wait()
                return
            answer = told() if callable(told) else told
            self.request.sendall(_framed(kind, version, number, answer))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, answers: Answers, heard: list[Heard]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.answers, self.heard = answers, heard
        self.ended = threading.Event()


@contextmanager
def fake_broker(answers: Answers, heard: list[Heard] | None = None) -> Iterator[str]:
    """It listens at the address that is yielded; `answers` may change meanwhile.

    Requests of a kind that has an answer are put into `heard` as they come.
    """
    with _Server(answers, [] if heard is None else heard) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


def _read(kind: int, version: int, body: bytes) -> Any:  # noqa: ANN401 - a message of kio
    schema: Any = load_request_schema(kind, version)
    _, at = entity_reader(schema.__header_schema__)(body, 0)
    return entity_reader(schema)(body, at)[0]


def _framed(kind: int, version: int, number: int, told: Mapping[str, Any]) -> bytes:
    schema: Any = load_response_schema(kind, version)
    head = schema.__header_schema__(correlation_id=number)
    buffer = BytesIO()
    entity_writer(type(head))(buffer, head)
    entity_writer(schema)(buffer, wire.message(schema, {"throttle_time": 0, **told}))
    return struct.pack(">i", buffer.tell()) + buffer.getvalue()
