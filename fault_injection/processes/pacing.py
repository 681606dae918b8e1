"""Moves on paced brokers (`spec/wire/pacer.proto`), and requests straight to one of them."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import grpc

from fencepost.fault_injection.engine.rpc_rules import BrokerSession
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.spec.pacing import Move, Verb
from fencepost.spec.wire import (
    fault_control_pb2,
    fault_control_pb2_grpc,
    pacer_pb2,
    pacer_pb2_grpc,
    replication_pb2,
)
from fencepost.spec.wire.conventions import SERVICE
from fencepost.spec.wire.tls import TlsIdentity, broker_common_name

CONNECT_S = 30.0
MOVE_S = 15.0
"""How long what a move is about may take to come."""
REQUEST_S = 120.0

_OPTIONS = (("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1))
_MOVE_FIELDS = sorted({*Move.__struct_fields__} & {*pacer_pb2.PacedMove.DESCRIPTOR.fields_by_name})
_STUB = cast(Callable[[grpc.Channel], Any], pacer_pb2_grpc.PacerStub)
"""Generated code has no annotations."""
_FAULTS = cast(Callable[[grpc.Channel], Any], fault_control_pb2_grpc.FaultControlStub)


class PacingError(InjectionError):
    """A move could not be made; says which, at which broker, and why."""


class PacedBroker:
    """The moves of one start of one paced broker."""

    def __init__(self, broker_id: int, pacer: str, identity: TlsIdentity | None = None) -> None:
        """With the administrator's `identity`, to a broker that takes TLS alone."""
        self.broker_id = broker_id
        self.pacer = pacer
        self.address = ""
        """Where it takes requests, as its last move has told."""
        self._channel = self._open(pacer, identity)
        self._stub = _STUB(self._channel)
        self._requests: dict[TlsIdentity | None, grpc.Channel] = {}
        """By what proves the name of their client."""
        self._calls = ThreadPoolExecutor(max_workers=8)

    def take(self, move: Move, *, address: str = "") -> tuple[str, ...]:
        """Let the broker make the move; the actions that it reported. Raises `PacingError`."""
        parts = {name: getattr(move, name) for name in _MOVE_FIELDS}
        deadline_ms = int(MOVE_S * 1000)
        said = pacer_pb2.PacedMove(**parts, address=address, deadline_ms=deadline_ms)
        try:
            taken = self._stub.Take(said, timeout=MOVE_S + CONNECT_S, wait_for_ready=True)
        except grpc.RpcError as error:
            reason = f"{error.code().name} {error.details()}"
            raise PacingError(
                f"broker {self.broker_id} did not make the move {move}: {reason}"
            ) from error
        if taken.error:
            raise PacingError(f"broker {self.broker_id} cannot make the move {move}: {taken.error}")
        self.address = taken.address
        return tuple(taken.actions)

    def session(self) -> BrokerSession:
        """Its ZooKeeper session."""
        request = fault_control_pb2.SessionRequest()
        session = _FAULTS(self._channel).GetSession(request, timeout=MOVE_S)
        return BrokerSession(session_id=session.session_id, password=session.password)

    def where(self) -> str:
        """The address at which it takes requests; raises `PacingError`."""
        if not self.address:
            self.take(Move(verb=Verb.GREET))
        return self.address

    def forget_session(self) -> None:
        """Make it treat its ZooKeeper session as lost; ZooKeeper keeps the session."""
        _FAULTS(self._channel).ForgetSession(fault_control_pb2.SessionRequest(), timeout=MOVE_S)

    def request(
        self,
        method: str,
        body: Mapping[str, object],
        metadata: Mapping[str, str],
        identity: TlsIdentity | None = None,
    ) -> "Future[tuple[Any, dict[str, Any]]]":
        """Send the request now; its answer and trailing metadata, or `PacingError`, come later."""
        if identity not in self._requests:
            self._requests[identity] = self._open(self.where(), identity)
        message = getattr(replication_pb2, f"{method}Request")(**body)
        call = self._requests[identity].unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=type(message).SerializeToString,
            response_deserializer=getattr(replication_pb2, f"{method}Response").FromString,
        )
        return self._calls.submit(_answer, call, message, tuple(metadata.items()))

    def close(self) -> None:
        """Close the channels; requests that wait for answers are cancelled."""
        self._channel.close()
        for channel in self._requests.values():
            channel.close()
        self._calls.shutdown(wait=True, cancel_futures=True)

    def _open(self, address: str, own: TlsIdentity | None) -> grpc.Channel:
        if own is None:
            return grpc.insecure_channel(address, _OPTIONS)
        name = ("grpc.ssl_target_name_override", broker_common_name(self.broker_id))
        credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
        return grpc.secure_channel(address, credentials, (*_OPTIONS, name))


def _answer(
    call: Any,  # noqa: ANN401 - gRPC's
    message: object,
    metadata: tuple[tuple[str, str], ...],
) -> tuple[Any, dict[str, Any]]:
    try:
        response, done = call.with_call(
            message, timeout=REQUEST_S, metadata=metadata, wait_for_ready=True
        )
    except (grpc.RpcError, ValueError) as error:  # ValueError: the channel was closed
        raise PacingError(f"no answer came: {error}") from error
    return response, dict(done.trailing_metadata() or ())
