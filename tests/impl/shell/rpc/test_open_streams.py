"""A request that leaves on a stream that is open already ends in one event, however it fails.

The first request opens the stream; those that follow take another way through the client, which
chance alone must not decide: each test answers one request first, and knows by the receiver that
the next one has left.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fencepost.impl.core.types.events import RequestReceived
from fencepost.spec.wire.replication_pb2 import Parcel
from tests.impl.shell.rpc_pair import (
    RECEIVER,
    Pair,
    answer_to,
    answered,
    asynchronous,
    failed,
    fetch,
    pair,
)


@asynccontextmanager
async def open_pair() -> AsyncIterator[Pair]:
    """A stream is open, one request was answered over it, and no other is answered by itself."""
    async with pair() as both:
        first = both.send(fetch())
        assert await both.sent.hold(1) == [answered(first)]
        connection = both.client._connections[RECEIVER]
        assert connection.stream is not None
        both.sent.events.clear()
        both.received.events.clear()
        both.received.silent = True
        yield both


@asynchronous
async def test_a_stream_that_is_lost_fails_what_is_under_way() -> None:
    async with open_pair() as both:
        sends = [both.send(fetch(n), request_id=n) for n in (2, 3)]
        await both.received.hold(2)

        await both.server.stop()

        assert await both.sent.hold(2) == [failed(send) for send in sends]


@asynchronous
async def test_a_request_that_is_not_answered_in_time_fails() -> None:
    async with open_pair() as both:
        late = both.send(fetch(2), request_id=2, timeout_ms=500)
        assert await both.sent.hold(1) == [failed(late)]

        (received,) = await both.received.hold(1)
        assert isinstance(received, RequestReceived)
        both.server.reply(received.token, answer_to(received.request))
        both.received.silent = False
        next_one = both.send(fetch(3), request_id=3)
        assert await both.sent.hold(2) == [failed(late), answered(next_one)]


@asynchronous
async def test_an_answer_that_is_an_error_or_cannot_be_read_fails() -> None:
    async with open_pair() as both:
        sends = [both.send(fetch(n), request_id=n) for n in (2, 3)]
        await both.received.hold(2)
        stream = both.client._connections[RECEIVER].stream
        assert stream is not None
        refused, unreadable = 2, 3  # parcels have numbers in order
        stream._open.end(refused, Parcel(parcel_id=refused, error="too many requests wait"))
        stream._open.end(unreadable, Parcel(parcel_id=unreadable, body=b"\xff"))

        assert await both.sent.hold(2) == [failed(send) for send in sends]
