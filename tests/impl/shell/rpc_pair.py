"""Two ends over the loopback: a broker that sends and one that receives, for tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import ParamSpec

from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.events import RequestFailed, RequestReceived, ResponseReceived
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionState,
    PeerRequest,
    Response,
)
from fencepost.impl.core.types.zookeeper import Stat, Znode
from fencepost.impl.shell.rpc.rpc_faults import RuleVerb
from fencepost.impl.shell.rpc.service import RpcClient, RpcServer
from fencepost.impl.shell.zookeeper.addresses import AddressBook
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.wire import fault_control_pb2 as control
from fencepost.spec.znodes import BrokerDocument, broker_path, document_bytes

RECEIVER = BrokerId(2)
DEADLINE_S = 30.0
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

    def send(self, request: PeerRequest, request_id: int = 1, timeout_ms: int = 10_000) -> Send:
        effect = Send(request_id=request_id, to=RECEIVER, request=request, timeout_ms=timeout_ms)
        self.client.send(effect)
        return effect

    def rule(self, verb: RuleVerb, **fields: object) -> control.RuleStatus:
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
