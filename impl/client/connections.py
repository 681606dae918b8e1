"""gRPC channels to brokers; no other module of the client imports gRPC."""

import logging
import secrets
import time
from typing import Any

import grpc
from grpc import aio

from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import (
    CHANNEL_OPTIONS,
    RECEIVER_KEY,
    SERVICE,
    UNTRUSTED,
    was_sent,
)
from fencepost.spec.wire.tls import CLOSED_AT_ONCE, TlsIdentity, why_untrusted
from fencepost.spec.wire.tokens import TOKEN_KEY, HeldToken, SignedCall, prove

logging.getLogger("grpc").addHandler(logging.NullHandler())

_CLOSED = {
    True: "it hangs up at once: did a CA that it trusts sign our certificate?",
    False: "it hangs up at once: does it take TLS only?",
}
"""By whether the client has an identity."""
_NEVER_SENT = (
    ("Connection refused", "nothing listens there: is the cluster up?"),
    ("DNS resolution failed", "that name has no address: is it spelled right?"),
    ("errors resolving", "that name has no address: is it spelled right?"),
)
"""Details of gRPC, and what a person may look at."""


class CallFailedError(Exception):
    """A request got no answer."""

    def __init__(self, status: str, hint: str = "", *, was_sent: bool) -> None:
        super().__init__(status)
        self.status = status
        """The name of a gRPC status, or `UNTRUSTED`."""
        self.hint = hint
        """What a person may look at; empty when nothing is known."""
        self.was_sent = was_sent
        """False when the request certainly reached no broker."""


class ChannelPool:
    """One channel per address, opened at its first use."""

    def __init__(self, identity: TlsIdentity | None = None, held: HeldToken | None = None) -> None:
        """With an `identity`, connections are encrypted and both ends prove theirs.

        With a token, calls are made for its owner.
        """
        self._identity = identity
        self._held = held
        self._channels: dict[str, aio.Channel] = {}

    async def call(
        self,
        address: str,
        method: str,
        request: Any,  # noqa: ANN401 - a generated message
        *,
        timeout_s: float,
        broker_id: int | None = None,
    ) -> Any:  # noqa: ANN401
        """The response of the broker at `address`; raises `CallFailedError`."""
        stub = self._channel(address).unary_unary(
            f"/{SERVICE}/{method}",
            response_deserializer=getattr(wire, f"{method}Response").FromString,
        )
        body: bytes = request.SerializeToString()
        metadata = self._metadata(method, body, broker_id)
        try:
            return await stub(body, timeout=max(timeout_s, 0.001), metadata=metadata)
        except aio.AioRpcError as error:
            raise self._failure(address, error) from error

    async def close(self) -> None:
        """Cancel calls in flight and close all channels."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    def _metadata(
        self, method: str, body: bytes, broker_id: int | None
    ) -> tuple[tuple[str, str], ...]:
        """For which broker the call is, and the proof of the token for it."""
        receiver = "" if broker_id is None else str(broker_id)
        metadata = ((RECEIVER_KEY, receiver),) if receiver else ()
        if self._held is None:
            return metadata
        stamp_ms, call = time.time_ns() // 1_000_000, SignedCall(method, receiver, body)
        proof = prove(self._held, call, stamp_ms=stamp_ms, nonce=secrets.token_hex(16))
        return (*metadata, (TOKEN_KEY, proof.text))

    def _channel(self, address: str) -> aio.Channel:
        if address not in self._channels:
            self._channels[address] = self._open(address)
        return self._channels[address]

    def _open(self, address: str) -> aio.Channel:
        own = self._identity
        if own is None:
            return aio.insecure_channel(address, CHANNEL_OPTIONS)
        credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
        return aio.secure_channel(address, credentials, CHANNEL_OPTIONS)

    def _failure(self, address: str, error: aio.AioRpcError) -> CallFailedError:
        status, details = error.code().name, error.details() or ""
        is_sent = was_sent(status, details)
        if is_sent:
            return CallFailedError(status, was_sent=True)
        why = why_untrusted(details)
        if self._identity and why:
            return CallFailedError(UNTRUSTED, f"of {address}: {why}", was_sent=False)
        closed = _CLOSED[self._identity is not None] if CLOSED_AT_ONCE in details else ""
        hint = closed or next((told for words, told in _NEVER_SENT if words in details), "")
        return CallFailedError(status, hint, was_sent=False)
