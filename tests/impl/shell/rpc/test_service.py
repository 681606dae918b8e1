"""Requests between two ends over the loopback."""

import asyncio
import gc
import socket
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator

import grpc
import pytest
from grpc import aio

from fencepost.impl.core.types.events import RequestReceived
from fencepost.impl.core.types.messages import LeaderAndIsrResponse, MetadataRequest
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.impl.shell.rpc import service as rpc
from fencepost.impl.shell.rpc.codec import encode
from fencepost.impl.shell.rpc.service import CannotListenError, RpcServer
from fencepost.impl.shell.zookeeper.addresses import AddressBook
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.wire.conventions import LAMPORT_KEY, RECEIVER_KEY, SERVICE
from fencepost.spec.znodes import broker_path, topic_path
from tests.impl.shell.rpc_pair import (
    DEADLINE_S,
    RECEIVER,
    STAT,
    Inbox,
    answer_to,
    answered,
    asynchronous,
    failed,
    fetch,
    listen,
    pair,
    registration,
)

MIB = 2**20


@asynchronous
async def test_a_request_arrives_and_its_answer_comes_back() -> None:
    async with pair() as both:
        sends = [both.send(fetch(n), request_id=n) for n in range(3)]
        events = await both.sent.hold(3)
        arrived = await both.received.hold(3)

    assert {event.request for event in arrived} == {send.request for send in sends}
    by_id = sorted(events, key=lambda event: getattr(event, "request_id", -1))
    assert by_id == [answered(send) for send in sends]
    assert both.look_ups >= 1


@asynchronous
async def test_what_follows_a_message_has_the_larger_number() -> None:
    async with pair() as both:
        for _ in range(50):
            both.clocks[0].tick()
        both.send(fetch())
        await both.sent.hold(1)

        assert both.clocks[1].tick() > 51
        assert both.clocks[0].tick() > 52


@asynchronous
async def test_no_answer_in_time_is_a_failure_told_once() -> None:
    async with pair() as both:
        both.received.silent = True
        send = both.send(fetch(), timeout_ms=1000)
        events = await both.sent.hold(1)
        (received,) = await both.received.hold(1)
        assert isinstance(received, RequestReceived)
        both.server.reply(received.token, answer_to(received.request))
        both.received.silent = False
        second = both.send(fetch(1), request_id=2)
        assert await both.sent.hold(2) == [failed(send), answered(second)]

    assert events == [failed(send)]


@asynchronous
async def test_a_broker_without_registration_is_a_failure() -> None:
    async with pair() as both:
        both.port = 0
        send = both.send(fetch(), timeout_ms=300)
        assert await both.sent.hold(1) == [failed(send)]


@asynchronous
async def test_a_broker_that_moved_is_looked_up_again() -> None:
    async with pair() as both:
        both.send(fetch())
        await both.sent.hold(1)
        await both.server.stop()
        gone = both.send(fetch(1))
        assert (await both.sent.hold(2))[1] == failed(gone)

        both.server = RpcServer(RECEIVER, "broker-2", both.clocks[1], both.received.put)
        both.received.server = both.server
        both.port = await listen(both.server)
        again = both.send(fetch(2))
        assert (await both.sent.hold(3))[2] == answered(again)

    # More often when the loss of the stream was noticed first: whoever waits has it tried again.
    assert both.look_ups >= 2


@asynchronous
async def test_a_request_for_another_broker_is_refused_unread() -> None:
    async with pair() as both:
        await both.server.stop()
        both.server = RpcServer(BrokerId(3), "broker-3", both.clocks[1], both.received.put)
        both.port = await listen(both.server)
        send = both.send(fetch())

        assert await both.sent.hold(1) == [failed(send)]
        assert both.received.events == []


@asynchronous
async def test_a_client_needs_no_metadata_and_learns_the_clock() -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        call = channel.unary_unary(f"/{SERVICE}/Fetch")(encode(fetch()))
        await call
        trailing = dict(await call.trailing_metadata() or ())

    assert int(trailing[LAMPORT_KEY]) > 0


@asynchronous
async def test_what_is_no_request_gets_a_status() -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_unary(f"/{SERVICE}/Fetch")(b"\xff\xff")

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert both.received.events == []


@pytest.fixture
def _uncollected() -> Iterator[None]:
    """Garbage stays, and memory is counted."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("receiver", ["2", "3"])
@asynchronous
async def test_what_is_refused_is_not_kept(receiver: str) -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        for _ in range(8):
            call = channel.unary_unary(f"/{SERVICE}/Fetch")(
                b"\xff" * MIB, metadata=((RECEIVER_KEY, receiver),)
            )
            assert await call.code() is not grpc.StatusCode.OK
            del call
        kept, _ = tracemalloc.get_traced_memory()

    assert kept < 4 * MIB


@asynchronous
async def test_a_client_that_gives_up_is_forgotten() -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        both.received.silent = True
        call = channel.unary_unary(f"/{SERVICE}/Metadata")(encode(MetadataRequest()))
        (received,) = await both.received.hold(1)
        assert isinstance(received, RequestReceived)
        call.cancel()
        async with asyncio.timeout(DEADLINE_S):
            while received.token in both.server._waiting:
                await asyncio.sleep(0)
        both.server.reply(received.token, LeaderAndIsrResponse())


@asynchronous
async def test_more_requests_than_may_wait_are_refused_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rpc, "REQUESTS_MAX", 3)
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        both.received.silent = True
        method = channel.unary_unary(f"/{SERVICE}/Fetch")
        waiting = [asyncio.ensure_future(_answer(method, n)) for n in range(3)]
        await both.received.hold(3)
        with pytest.raises(aio.AioRpcError, match="3 requests wait already") as caught:
            await method(encode(fetch()))
        for event in both.received.events:
            assert isinstance(event, RequestReceived)
            both.server.reply(event.token, answer_to(event.request))
        await asyncio.gather(*waiting)

    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert len(both.received.events) == 3


async def _answer(method: Callable[[bytes], Awaitable[bytes]], offset: int) -> bytes:
    return await method(encode(fetch(offset)))


@asynchronous
async def test_a_flood_is_served_to_the_last_request() -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        method = channel.unary_unary(f"/{SERVICE}/Fetch")
        answers = await asyncio.gather(*(_answer(method, n) for n in range(1500)))

    assert len(answers) == len(both.received.events) == 1500


@asynchronous
async def test_a_port_in_use_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = RpcServer(RECEIVER, "broker-2", LamportClock(), Inbox().put)
        with pytest.raises(
            CannotListenError, match=f"cannot listen on 127.0.0.1:{port}: it is in use"
        ):
            server.bind("127.0.0.1", port)
        await server.stop()


@asynchronous
async def test_fault_control_is_not_there_unless_offered() -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_unary("/fencepost.FaultControl/GetSession")(b"")

    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_the_address_book_keeps_what_registrations_say() -> None:
    book = AddressBook()
    book.learn([Znode(path=topic_path("2"), data=registration(1).data, stat=STAT)])
    assert book[RECEIVER] is None
    book.learn([registration(7)])
    assert book[RECEIVER] == "127.0.0.1:7"
    book.learn([registration(8)])
    assert book[RECEIVER] == "127.0.0.1:8"
    book.learn([Znode(path=broker_path(RECEIVER), data=b"{", stat=STAT)])
    assert book[RECEIVER] is None
    book.learn([registration(9), Znode(path=broker_path(RECEIVER))])
    assert book[RECEIVER] is None
