"""Requests between two ends over the loopback, and what rules make of them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import ParamSpec

import grpc
import pytest
from grpc import aio

from impl.core.effects import Send
from impl.core.events import RequestFailed, RequestReceived, ResponseReceived
from impl.core.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    MetadataRequest,
    PartitionState,
    PeerRequest,
    Response,
)
from impl.core.zookeeper import Stat, Znode
from impl.shell import rpc
from impl.shell.addresses import AddressBook
from impl.shell.codec import encode
from impl.shell.rpc import LAMPORT, SERVICE, CannotListenError, RpcClient, RpcServer
from impl.shell.rpc_faults import Verb
from impl.shell.tracer import LamportClock
from spec.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    SessionId,
    ZnodeVersion,
)
from spec.wire import fault_control_pb2 as control
from spec.znodes import BrokerDocument, broker_path, document_bytes, topic_path

RECEIVER = BrokerId(2)
DEADLINE_S = 5.0
STAT = Stat(version=ZnodeVersion(0), czxid=1, mzxid=1, ephemeral_owner=SessionId(1))
Event = RequestReceived | ResponseReceived | RequestFailed
Parameters = ParamSpec("Parameters")


def asynchronous(
    test: Callable[Parameters, Coroutine[None, None, None]],
) -> Callable[Parameters, None]:
    """The test runs on an event loop of its own, within a deadline."""

    @wraps(test)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), DEADLINE_S * 2))

    return run


class Inbox:
    """Events in the order they came."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Event()

    def put(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    async def hold(self, count: int) -> list[Event]:
        """The first `count` events."""
        async with asyncio.timeout(DEADLINE_S):
            while len(self.events) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.events[:count]


class Answering(Inbox):
    """Answers what it receives at once, unless told to be silent."""

    server: RpcServer
    silent = False

    def put(self, event: Event) -> None:
        super().put(event)
        assert isinstance(event, RequestReceived)
        if not self.silent:
            self.server.reply(event.token, answer_to(event.request))


def answer_to(request: object) -> Response:
    if isinstance(request, LeaderAndIsrRequest):
        return LeaderAndIsrResponse()
    assert isinstance(request, FetchRequest)
    return FetchResponse(broker_id=RECEIVER, fetch_offset=request.fetch_offset)


def registration(port: int) -> Znode:
    document = BrokerDocument(host="127.0.0.1", port=port)
    return Znode(path=broker_path(RECEIVER), data=document_bytes(document), stat=STAT)


class Pair:
    """A broker that sends and one that receives."""

    def __init__(self) -> None:
        self.sent = Inbox()
        self.received = Answering()
        self.clocks = LamportClock(), LamportClock()
        self.server = RpcServer(RECEIVER, "broker-2", self.clocks[1], self.received.put)
        self.received.server = self.server
        self.port = 0
        self.look_ups = 0
        self.addresses = AddressBook()
        self.client = RpcClient(
            "broker-1", self.clocks[0], self.addresses, self.look_up, self.sent.put
        )

    async def look_up(self, broker_id: BrokerId) -> None:
        self.look_ups += 1
        if broker_id == RECEIVER and self.port:
            self.addresses.learn([registration(self.port)])

    def send(self, request: PeerRequest, request_id: int = 1, timeout_ms: int = 3000) -> Send:
        effect = Send(request_id=request_id, to=RECEIVER, request=request, timeout_ms=timeout_ms)
        self.client.send(effect)
        return effect

    def rule(self, verb: Verb, **fields: object) -> control.RuleStatus:
        rule = {"rule_id": "r", "to": -1, "verb": verb.value} | fields
        return self.client.rules.add(control.RpcRule(**rule))  # type: ignore[arg-type]


async def listen(server: RpcServer) -> int:
    port = server.bind("127.0.0.1", 0)
    await server.start()
    return port


@asynccontextmanager
async def pair() -> AsyncIterator[Pair]:
    both = Pair()
    both.port = await listen(both.server)
    try:
        yield both
    finally:
        await both.client.close()
        await both.server.stop()


def fetch(offset: int = 0, topic: str = "t") -> FetchRequest:
    return FetchRequest(topic=topic, partition=0, fetch_offset=Offset(offset))


def command(*topics: str) -> LeaderAndIsrRequest:
    states = tuple(
        PartitionState(
            topic=topic,
            partition=0,
            leader=BrokerId(1),
            leader_epoch=LeaderEpoch(0),
            isr=(BrokerId(1),),
            znode_version=ZnodeVersion(0),
            assigned_replicas=(BrokerId(1),),
        )
        for topic in topics
    )
    return LeaderAndIsrRequest(
        controller_id=BrokerId(1), controller_epoch=ControllerEpoch(1), partitions=states
    )


def failed(send: Send) -> RequestFailed:
    return RequestFailed(request_id=send.request_id, to=send.to, request=send.request)


def answered(send: Send) -> ResponseReceived:
    return ResponseReceived(
        request_id=send.request_id,
        sender=send.to,
        request=send.request,
        response=answer_to(send.request),
    )


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
        send = both.send(fetch(), timeout_ms=100)
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
        send = both.send(fetch())
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

    assert int(trailing[LAMPORT]) > 0


@asynchronous
async def test_what_is_no_request_gets_a_status() -> None:
    async with pair() as both, aio.insecure_channel(f"127.0.0.1:{both.port}") as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_unary(f"/{SERVICE}/Fetch")(b"\xff\xff")

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert both.received.events == []


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
            CannotListenError, match=f"cannot listen on 127.0.0.1:{port}: it is taken"
        ):
            server.bind("127.0.0.1", port)
        await server.stop()


@asynchronous
async def test_a_dropped_request_never_arrives() -> None:
    async with pair() as both:
        both.rule(Verb.DROP_REQUEST, count=1)
        lost = both.send(fetch(0), timeout_ms=80)
        assert await both.sent.hold(1) == [failed(lost)]
        kept = both.send(fetch(1))
        assert (await both.sent.hold(2))[1] == answered(kept)

        assert [event.request for event in both.received.events] == [kept.request]
        assert both.client.rules.get("r").matched == 1


@asynchronous
async def test_a_dropped_response_is_of_a_request_that_arrived() -> None:
    async with pair() as both:
        both.rule(Verb.DROP_RESPONSE, count=1)
        send = both.send(fetch(), timeout_ms=200)

        assert await both.sent.hold(1) == [failed(send)]
        assert [event.request for event in both.received.events] == [send.request]


@asynchronous
async def test_a_held_request_arrives_after_its_sender_gave_up() -> None:
    async with pair() as both:
        both.rule(Verb.HOLD, count=1)
        held = both.send(fetch(0), timeout_ms=50)
        assert await both.sent.hold(1) == [failed(held)]
        newer = both.send(fetch(1))
        await both.sent.hold(2)
        status = both.client.rules.get("r")
        assert (status.matched, status.held, status.released) == (1, 1, 0)

        status = await both.client.rules.remove("r")

        assert (status.matched, status.held, status.released) == (1, 0, 1)
        arrived = [event.request for event in both.received.events]
        assert arrived == [newer.request, held.request]
        assert len(both.sent.events) == 2


@asynchronous
async def test_a_duplicated_request_arrives_twice_and_is_answered_once() -> None:
    async with pair() as both:
        both.rule(Verb.DUPLICATE, count=1)
        send = both.send(fetch())
        await both.received.hold(2)
        status = await both.client.rules.remove("r")

        assert both.sent.events == [answered(send)]
        assert [event.request for event in both.received.events] == [send.request] * 2
        assert status.matched == 1


@pytest.mark.parametrize(
    ("fields", "request_", "applies"),
    [
        ({}, fetch(), True),
        ({"method": "Fetch"}, fetch(), True),
        ({"method": "LeaderAndIsr"}, fetch(), False),
        ({"to": 2}, fetch(), True),
        ({"to": 3}, fetch(), False),
        ({"topic": "t"}, fetch(), True),
        ({"topic": "u"}, fetch(), False),
        ({"topic": "u"}, command("t", "u"), True),
        ({"topic": "v", "method": "LeaderAndIsr"}, command("t", "u"), False),
    ],
)
@asynchronous
async def test_a_rule_applies_to_what_it_names(
    fields: dict[str, object], request_: PeerRequest, applies: bool
) -> None:
    async with pair() as both:
        both.rule(Verb.DUPLICATE, **fields)
        both.send(request_)
        await both.sent.hold(1)

        assert both.client.rules.get("r").matched == int(applies)


@asynchronous
async def test_rules_that_cannot_be_are_refused_with_a_sentence() -> None:
    async with pair() as both:
        assert both.rule(Verb.HOLD).error == ""
        again = both.rule(Verb.HOLD)
        unknown = both.client.rules.add(control.RpcRule(rule_id="x", verb="explode"))
        missing = await both.client.rules.remove("nobody")

    assert again.error == "a rule 'r' is or was there already"
    assert unknown.error.startswith("'explode' is no verb; choose one of drop_request, ")
    assert missing.error == "there is no rule 'nobody'"


@asynchronous
async def test_the_harness_reaches_rules_and_session_through_fault_control() -> None:
    both = Pair()
    both.server.offer_fault_control(both.client.rules, lambda: (SessionId(2**62), b"pass"))
    port = await listen(both.server)
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:

        async def ask(method: str, message: object, answer: type) -> object:
            call = channel.unary_unary(
                f"/fencepost.FaultControl/{method}",
                request_serializer=lambda request: request.SerializeToString(),
                response_deserializer=getattr(answer, "FromString"),  # noqa: B009  # generated
            )
            return await call(message)

        rule = control.RpcRule(rule_id="r", to=-1, verb="hold")
        added = await ask("AddRule", rule, control.RuleStatus)
        seen = await ask("GetRule", control.RuleName(rule_id="r"), control.RuleStatus)
        removed = await ask("RemoveRule", control.RuleName(rule_id="r"), control.RuleStatus)
        session = await ask("GetSession", control.SessionRequest(), control.Session)
    await both.client.close()
    await both.server.stop()

    assert added == seen == removed == control.RuleStatus(rule_id="r")
    assert session == control.Session(session_id=2**62, password=b"pass")


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
