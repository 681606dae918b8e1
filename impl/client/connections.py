"""gRPC channels to brokers; no other module of the client imports gRPC."""

import logging
from typing import Any

import grpc
from grpc import aio

from fencepost.spec.wire import replication_pb2 as wire

logging.getLogger("grpc").addHandler(logging.NullHandler())

SERVICE = "/fencepost.Replication/"
RECEIVER_KEY = "fencepost-to"
"""Metadata key, the id of the receiving broker: the port may belong to another by now."""
NEVER_SENT = ("failed to connect to all addresses", "errors resolving", "DNS resolution failed")
"""Details of gRPC errors that prove that the request was not sent."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024

_OPTIONS = (
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.enable_http_proxy", 0),
    # gRPC would send a request again that a server may have seen.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
)


class CallFailedError(Exception):
    """A request got no answer."""

    def __init__(self, status: str, *, was_sent: bool) -> None:
        super().__init__(status)
        self.status = status
        """The name of a gRPC status."""
        self.was_sent = was_sent
        """False when the request certainly reached no broker."""


class ChannelPool:
    """One channel per address, opened at its first use."""

    def __init__(self) -> None:
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
            SERVICE + method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=getattr(wire, f"{method}Response").FromString,
        )
        receiver = () if broker_id is None else ((RECEIVER_KEY, str(broker_id)),)
        try:
            return await stub(request, timeout=max(timeout_s, 0.001), metadata=receiver)
        except aio.AioRpcError as error:
            code, details = error.code(), error.details() or ""
            is_unavailable = code is grpc.StatusCode.UNAVAILABLE
            never_sent = is_unavailable and any(words in details for words in NEVER_SENT)
            raise CallFailedError(code.name, was_sent=not never_sent) from error

    async def close(self) -> None:
        """Cancel calls in flight and close all channels."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    def _channel(self, address: str) -> aio.Channel:
        if address not in self._channels:
            self._channels[address] = aio.insecure_channel(address, _OPTIONS)
        return self._channels[address]
