"""gRPC server and client of service Replication.

Handlers only enqueue events and wait for the effect `Reply`; outgoing requests pass the rules of
`rpc_faults`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import get_args

import grpc
from google.protobuf.message import Message
from grpc import aio

from fencepost.impl.core.rules.security.access import ProvenCaller
from fencepost.impl.core.types import messages
from fencepost.impl.core.types.asker import Asker, asker_of
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.events import RequestFailed, RequestReceived, ResponseReceived
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.shell.clock import wall_ms
from fencepost.impl.shell.fault_control import FaultControl, Method
from fencepost.impl.shell.rpc import bundles
from fencepost.impl.shell.rpc.bundles import BundleStream, PeerConnection, StreamLostError
from fencepost.impl.shell.rpc.codec import CodecError, SharedBodies, decode, encode
from fencepost.impl.shell.rpc.grpc_server import new_server, unary_handler, when_written
from fencepost.impl.shell.rpc.request_gate import RequestGate
from fencepost.impl.shell.rpc.rpc_faults import CallError, FaultRules, method_of
from fencepost.impl.shell.zookeeper.addresses import AddressBook
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.wire.conventions import (
    CHANNEL_OPTIONS,
    LAMPORT_KEY,
    MESSAGE_SIZES,
    NODE_KEY,
    RECEIVER_KEY,
    SERVICE,
)
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel
from fencepost.spec.wire.tls import ADMIN, TlsIdentity, broker_common_name
from fencepost.spec.wire.tokens import TOKEN_KEY, SignedCall

logging.getLogger("grpc").addHandler(logging.NullHandler())

FAULT_CONTROL_SERVICE = "fencepost.FaultControl"
REQUESTS_MAX = 2000
"""Unary requests that may await their answer; more are refused unread."""
PENDING_MAX = 100_000
"""Requests that gRPC queues before the event loop takes them."""
STOP_GRACE_S = 0.2
LOOK_S = 0.005  # between two looks whether all answers have left
REQUEST = "fencepost-request"

REQUEST_TYPES: dict[str, type[Request]] = {
    kind.__name__.removesuffix("Request"): kind for kind in get_args(Request)
}
BUNDLED = (messages.FetchRequest, messages.OffsetForLeaderEpochRequest)
"""Frequent requests between brokers; they travel in bundles."""
SHARED_MAX = 4
"""Bodies of metadata that are kept in their wire form; few brokers are further behind."""
EXCHANGE = "Exchange"
RESPONSE_TYPES: dict[str, type[Response]] = {
    method: getattr(messages, f"{method}Response") for method in REQUEST_TYPES
}

_SERVER_OPTIONS = (
    *MESSAGE_SIZES,
    ("grpc.so_reuseport", 0),
    # Above these gRPC cancels calls, which a client cannot tell from a lost answer.
    ("grpc.server.max_pending_requests", PENDING_MAX),
    ("grpc.server.max_pending_requests_hard_limit", PENDING_MAX),
)

Metadata = tuple[tuple[str, str], ...]
Put = Callable[[RequestReceived | ResponseReceived | RequestFailed], None]


class CannotListenError(Exception):
    """The address is in use or not of this machine."""


class RpcServer:
    """The server for peers and clients."""

    def __init__(
        self,
        broker_id: BrokerId,
        node: str,
        clock: LamportClock,
        put: Put,
        gate: RequestGate | None = None,
    ) -> None:
        """Without a `gate` all connections are plain, and all requests are taken."""
        self._broker_id = broker_id
        self.gate = gate
        self._node = node
        self._clock = clock
        self._put = put
        self._tokens = count(1)
        self._waiting: dict[int, asyncio.Future[tuple[Response, int]]] = {}
        self._given = self._left = 0
        """Answers outside of bundles: given by this broker, and written to the connection."""
        self._bundled: dict[int, Callable[[bytes], None]] = {}
        self._server = new_server(_SERVER_OPTIONS)
        handlers = {method: unary_handler(partial(self._serve, method)) for method in REQUEST_TYPES}
        handlers[EXCHANGE] = grpc.stream_stream_rpc_method_handler(
            self._serve_exchange, Bundle.FromString, Bundle.SerializeToString
        )
        self._server.add_registered_method_handlers(SERVICE, handlers)

    def offer_fault_control(self, control: FaultControl) -> None:
        """Also serve FaultControl; call before `start`."""
        handlers = fault_control_handlers(control, self.gate)
        self._server.add_registered_method_handlers(FAULT_CONTROL_SERVICE, handlers)

    def bind(self, host: str, port: int) -> int:
        """Bind the address, with a free port if `port` is 0; returns the port.

        Connections wait until `start`. Raises `CannotListenError`.
        """
        address = f"{host}:{port}"
        try:
            if self.gate is None:
                return int(self._server.add_insecure_port(address))
            return int(self._server.add_secure_port(address, server_credentials(self.gate)))
        except RuntimeError as error:
            reason = "it is in use, or not an address of this machine"
            raise CannotListenError(f"cannot listen on {address}: {reason}") from error

    async def start(self) -> None:
        """Start to take requests."""
        await self._server.start()

    def reply(self, token: int, response: Response) -> None:
        """Answer the request with `token`, if it still waits."""
        bundled = self._bundled.pop(token, None)
        if bundled:
            bundled(encode(response))
            return
        future = self._waiting.pop(token, None)
        if future and not future.done():
            self._given += 1
            future.set_result((response, self._clock.tick()))

    async def answers_leave(self, within_s: float) -> None:
        """Wait until all answers that were given are written to their connections, or so long."""
        ends_s = asyncio.get_running_loop().time() + within_s
        while self._left < self._given and asyncio.get_running_loop().time() < ends_s:
            await asyncio.sleep(LOOK_S)

    async def stop(self) -> None:
        """Stop; waiting requests get no answer."""
        await self._server.stop(STOP_GRACE_S)

    async def _serve(self, method: str, data: bytes, context: aio.ServicerContext) -> bytes:
        metadata = await self._own_metadata(context)
        if len(self._waiting) >= REQUESTS_MAX:
            reason = f"{REQUESTS_MAX} requests wait already"
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, reason)
        kind, caller = REQUEST_TYPES[method], self._caller(context)
        if self.gate and caller:
            call = SignedCall(method, str(metadata.get(RECEIVER_KEY, "")), data)
            admitted = self.gate.admit(kind, caller, call, metadata.get(TOKEN_KEY))
            if isinstance(admitted, bytes):
                return admitted
            caller = admitted
        try:
            request = decode(kind, data)
        except CodecError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise  # `abort` has raised
        if self.gate and caller:
            refused = self.gate.refuse(request, caller)
            if refused is not None:
                return refused
        self._clock.observe(_lamport(metadata))
        asker = caller.asker if caller else asker_of(_node(metadata))
        response, lamport = await self._answer_to(request, asker, context.peer())
        when_written(context, self._note_left)
        context.set_trailing_metadata(((LAMPORT_KEY, str(lamport)), (NODE_KEY, self._node)))
        if self.gate and caller:
            response = self.gate.shown(response, caller)
        return encode(response)

    def _note_left(self) -> None:
        self._left += 1

    def _caller(self, context: aio.ServicerContext) -> ProvenCaller | None:
        """The other end of the connection; None when connections are plain."""
        if self.gate is None:
            return None
        return self.gate.caller(context.auth_context(), context.peer())

    async def _own_metadata(self, context: aio.ServicerContext) -> dict[str, str | bytes]:
        """The metadata of a call; aborts a call that is for another broker."""
        metadata = dict(context.invocation_metadata() or ())
        receiver = metadata.get(RECEIVER_KEY)
        if receiver not in (None, str(self._broker_id)):
            reason = f"this is broker {self._broker_id}, not {receiver}"
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, reason)
        return metadata

    async def _serve_exchange(self, _requests: object, context: aio.ServicerContext) -> None:
        await self._own_metadata(context)
        caller = self._caller(context)
        if caller and caller.broker_id is None:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "bundles are taken from brokers")
        await context.send_initial_metadata(())  # tells the client that the stream is open
        await bundles.serve(context, partial(self._take, caller))

    def _take(
        self, caller: ProvenCaller | None, parcel: Parcel, answer: Callable[[Parcel], None]
    ) -> None:
        parcel_id = parcel.parcel_id
        kind = REQUEST_TYPES.get(parcel.method)
        if kind not in BUNDLED:
            reason = f"{parcel.method!r} does not travel in bundles"
            answer(Parcel(parcel_id=parcel_id, error=reason))
            return
        try:
            request = decode(kind, parcel.body)
        except CodecError as error:
            answer(Parcel(parcel_id=parcel_id, error=str(error)))
            return
        if self.gate and caller:
            refused = self.gate.refuse(request, caller)
            if refused:
                answer(Parcel(parcel_id=parcel_id, body=refused))
                return
        self._clock.observe(parcel.lamport)
        token = next(self._tokens)
        self._bundled[token] = lambda body: answer(
            Parcel(parcel_id=parcel_id, body=body, lamport=self._clock.tick())
        )
        self._put(RequestReceived(token=token, request=request))

    async def _answer_to(
        self, request: Request, asker: Asker, connection: str
    ) -> tuple[Response, int]:
        token = next(self._tokens)
        future = asyncio.get_running_loop().create_future()
        self._waiting[token] = future
        try:
            received = RequestReceived(
                token=token,
                request=request,
                asker=asker,
                wall_ms=wall_ms(),
                connection=connection,
            )
            self._put(received)
            answer: tuple[Response, int] = await future
            return answer
        finally:
            self._waiting.pop(token, None)


class RpcClient:
    """Sends requests to peers; each ends in exactly one event."""

    def __init__(
        self,
        node: str,
        clock: LamportClock,
        addresses: AddressBook,
        look_up: Callable[[BrokerId], Awaitable[None]],
        put: Put,
        identity: TlsIdentity | None = None,
    ) -> None:
        """`look_up` reads the registration of a broker from ZooKeeper into `addresses`.

        With an `identity` connections are encrypted, and each broker proves that it is the one.
        """
        self._identity = identity
        self.rules = FaultRules()
        self._node = node
        self._clock = clock
        self._addresses = addresses
        self._look_up = look_up
        self._put = put
        self._channels: dict[tuple[BrokerId, str], aio.Channel] = {}
        self._connections: dict[BrokerId, PeerConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._shared = SharedBodies(SHARED_MAX)

    def send(self, send: Send) -> None:
        """Send the request; its event follows after `timeout_ms` at the latest."""
        if type(send.request) in BUNDLED and self.rules.leave_alone(send):
            self._connection(send.to).begin(*self._parcel(send), partial(self._end, send))
            return
        metadata = (
            (LAMPORT_KEY, str(self._clock.tick())),
            (NODE_KEY, self._node),
            (REQUEST, f"{self._node}/{send.request_id}"),
            (RECEIVER_KEY, str(send.to)),
        )
        task = asyncio.create_task(self._exchange(send, metadata))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def reach(self, broker_id: BrokerId, address: str) -> None:
        """Use `address` for the broker and wait until it is connected."""
        self._addresses.pin(broker_id, address)
        await self._channel(broker_id, address).channel_ready()

    async def close(self) -> None:
        """Cancel requests in flight and close all channels."""
        await self.rules.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections.values():
            connection.close()
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))

    def _connection(self, broker_id: BrokerId) -> PeerConnection:
        connection = self._connections.get(broker_id)
        if connection is None:
            connection = PeerConnection(partial(self._open_stream, broker_id))
            self._connections[broker_id] = connection
        return connection

    def _parcel(self, send: Send) -> tuple[str, bytes, int, float]:
        """Method, wire form, Lamport time and timeout in seconds, as `Carrier.begin` takes them."""
        timeout_s = send.timeout_ms / 1000
        return method_of(send.request), encode(send.request), self._clock.tick(), timeout_s

    def _end(self, send: Send, parcel: Parcel | None) -> None:
        try:
            response = self._response_in(send, parcel)
        except CallError:
            self._fail(send)
        else:
            self._take(send, response)

    def _response_in(self, send: Send, parcel: Parcel | None) -> Response:
        """Decode the answer in the parcel; raises `CallError`."""
        if parcel is None or parcel.error:
            raise CallError(parcel.error if parcel is not None else "no answer came")
        try:
            response = decode(RESPONSE_TYPES[method_of(send.request)], parcel.body)
        except CodecError as error:
            raise CallError(str(error)) from error
        self._clock.observe(parcel.lamport)
        return response

    def _fail(self, send: Send) -> None:
        self._put(RequestFailed(request_id=send.request_id, to=send.to, request=send.request))

    def _take(self, send: Send, response: Response) -> None:
        self._put(
            ResponseReceived(
                request_id=send.request_id,
                sender=send.to,
                request=send.request,
                response=response,
            )
        )

    async def _exchange(self, send: Send, metadata: Metadata) -> None:
        call = partial(self._call, send, metadata)
        try:
            async with asyncio.timeout(send.timeout_ms / 1000):
                response = await self.rules.exchange(send, call)
        except (TimeoutError, CallError):
            self._fail(send)
        else:
            self._take(send, response)

    async def _call(self, send: Send, metadata: Metadata) -> Response:
        """Send the request once with a fresh deadline; raises `CallError`."""
        if type(send.request) in BUNDLED:
            return await self._call_bundled(send)
        address = await self._address(send.to)
        method = method_of(send.request)
        call = self._channel(send.to, address).unary_unary(f"/{SERVICE}/{method}")(
            self._wire_form(send.request), timeout=send.timeout_ms / 1000, metadata=metadata
        )
        try:
            data = await call
            trailing = dict(await call.trailing_metadata() or ())
            response = decode(RESPONSE_TYPES[method], data)
        except CodecError as error:
            raise CallError(str(error)) from error
        except aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                self._addresses.forget(send.to)  # it may listen elsewhere by now
            raise CallError(error.details()) from error
        self._clock.observe(_lamport(trailing))
        return response

    def _wire_form(self, request: messages.PeerRequest) -> bytes:
        is_shared = isinstance(request, messages.UpdateMetadataRequest)
        return self._shared.encode(request) if is_shared else encode(request)

    async def _call_bundled(self, send: Send) -> Response:
        try:
            parcel = await self._connection(send.to).ask(*self._parcel(send))
        except StreamLostError as error:
            raise CallError(str(error)) from error
        return self._response_in(send, parcel)

    async def _open_stream(self, broker_id: BrokerId) -> BundleStream:
        """Open a stream and wait until the broker accepts it; raises `StreamLostError`."""
        self._addresses.forget(broker_id)  # it may listen elsewhere by now
        try:
            address = await self._address(broker_id)
        except CallError as error:
            raise StreamLostError(str(error)) from error
        stream = self._channel(broker_id, address).stream_stream(
            f"/{SERVICE}/{EXCHANGE}", Bundle.SerializeToString, Bundle.FromString
        )(metadata=((NODE_KEY, self._node), (RECEIVER_KEY, str(broker_id))))
        try:
            await stream.initial_metadata()
            if stream.done():
                raise StreamLostError(await stream.details())
        except aio.AioRpcError as error:
            raise StreamLostError(error.details()) from error
        return BundleStream(stream, stream.cancel)

    async def _address(self, broker_id: BrokerId) -> str:
        if self._addresses[broker_id] is None:
            await self._look_up(broker_id)
        address = self._addresses[broker_id]
        if address is None:
            raise CallError(f"broker {broker_id} is not registered")
        return address

    def _channel(self, broker_id: BrokerId, address: str) -> aio.Channel:
        channel = self._channels.get((broker_id, address))
        if channel is None:
            channel = self._open_channel(broker_id, address)
            self._channels[broker_id, address] = channel
        return channel

    def _open_channel(self, broker_id: BrokerId, address: str) -> aio.Channel:
        own = self._identity
        if own is None:
            return aio.insecure_channel(address, CHANNEL_OPTIONS)
        name = ("grpc.ssl_target_name_override", broker_common_name(broker_id))
        credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
        return aio.secure_channel(address, credentials, (*CHANNEL_OPTIONS, name))


def fault_control_handlers(
    control: FaultControl, gate: RequestGate | None
) -> dict[str, grpc.RpcMethodHandler]:
    """The gRPC handlers of service FaultControl; with a `gate`, they serve the administrator."""
    return {name: _handler(method, gate) for name, method in control.methods().items()}


def _handler(method: Method, gate: RequestGate | None) -> grpc.RpcMethodHandler:
    function, request = method

    async def serve(data: bytes, context: aio.ServicerContext) -> Message:
        await require_administrator(context, gate)
        return await function(request.FromString(data))

    return grpc.unary_unary_rpc_method_handler(
        serve, response_serializer=lambda answer: answer.SerializeToString()
    )


def server_credentials(gate: RequestGate) -> grpc.ServerCredentials:
    """Of a server that asks each client for a certificate, for the gate to judge."""
    own = gate.identity
    pair = (own.key, own.certificate)
    return grpc.ssl_server_credentials([pair], own.ca, require_client_auth=True)


async def require_administrator(context: aio.ServicerContext, gate: RequestGate | None) -> None:
    """Abort the call of another user or of a broker; without a `gate` no name is proven."""
    if gate and not gate.is_administrator(gate.caller(context.auth_context(), context.peer())):
        reason = f"only the user {ADMIN} may hurt or lead a broker"
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, reason)


def _node(metadata: dict[str, str | bytes]) -> str:
    name = metadata.get(NODE_KEY, "")
    return name if isinstance(name, str) else ""


def _lamport(metadata: dict[str, str | bytes]) -> int:
    text = metadata.get(LAMPORT_KEY, "0")
    return int(text) if isinstance(text, str) and text.isdecimal() else 0
