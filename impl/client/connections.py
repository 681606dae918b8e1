"""gRPC channels to brokers; no other module of the client imports gRPC."""

import logging
from typing import Any

from grpc import aio

from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CHANNEL_OPTIONS, RECEIVER_KEY, SERVICE, was_sent

logging.getLogger("grpc").addHandler(logging.NullHandler())


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
            f"/{SERVICE}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=getattr(wire, f"{method}Response").FromString,
        )
        receiver = () if broker_id is None else ((RECEIVER_KEY, str(broker_id)),)
        try:
            return await stub(request, timeout=max(timeout_s, 0.001), metadata=receiver)
        except aio.AioRpcError as error:
            status = error.code().name
            raise CallFailedError(status, was_sent=was_sent(status, error.details())) from error

    async def close(self) -> None:
        """Cancel calls in flight and close all channels."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    def _channel(self, address: str) -> aio.Channel:
        if address not in self._channels:
            self._channels[address] = aio.insecure_channel(address, CHANNEL_OPTIONS)
        return self._channels[address]
