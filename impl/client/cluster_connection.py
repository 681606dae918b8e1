"""Sends requests to the right broker: cached metadata, and retries until the deadline."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Any

from fencepost.impl.client.connections import CallFailedError, ChannelPool
from fencepost.impl.client.errors import RETRIABLE_ANYWHERE, ClientError
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.routing import Metadata, metadata_of, parse_servers
from fencepost.impl.client.tries import NO_LEADER, TIME_IS_UP, Effect, Tries, TryFailedError
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.tls import read_identity
from fencepost.spec.wire.tokens import read_token
from fencepost.spec.znodes import TopicPartition

Message = Any
"""A generated message; its fields are in `spec/wire/replication.proto`."""


class ClusterConnection:
    """Channels, metadata and retries of one client; deadlines are monotonic seconds."""

    def __init__(
        self, bootstrap_servers: str | Iterable[str], options: ClientOptions | None = None
    ) -> None:
        """Send nothing yet; raises `ValueError` for a malformed address or unusable identity."""
        self.options = options or ClientOptions()
        self.metadata = Metadata()
        self._bootstrap = parse_servers(bootstrap_servers)
        folder, token = self.options.tls, self.options.token
        if token and not folder:
            raise ValueError("a token is shown over TLS only: name an identity, FENCEPOST_TLS=DIR")
        held = read_token(token) if token else None
        self._connections = ChannelPool(read_identity(folder) if folder else None, held)
        self._refreshing = asyncio.Lock()
        self._generation = 0
        """Number of answers to Metadata."""
        within_ms = self.options.bootstrap_timeout_ms
        self._first_contact = inf if within_ms is None else self.deadline(within_ms)
        """Monotonic time until which some broker has to be reached."""
        self._was_reached = False
        self._silent = ""
        """The address that last failed to answer."""
        self._suspects: set[TopicPartition] = set()
        """Partitions with a cached leader that failed or is not the leader."""

    async def close(self) -> None:
        """Close all channels."""
        await self._connections.close()

    async def refresh(self, deadline: float | None = None) -> Metadata:
        """Read the metadata from any broker; raises `NoBrokerError`.

        Concurrent callers share one answer.
        """
        before = self._generation
        async with self._refreshing:
            if self._generation == before:
                until = deadline or self.deadline(self.options.api_timeout_ms)
                request = wire.MetadataRequest()
                answer = await self.ask_any("Metadata", request, deadline=until, effect=Effect.NONE)
                self.metadata = metadata_of(answer)
                self._generation += 1
        return self.metadata

    def deadline(self, timeout_ms: int) -> float:
        """The monotonic time, in seconds, `timeout_ms` from now."""
        return monotonic() + timeout_ms / 1000

    async def ask_leader(
        self,
        partition: TopicPartition,
        method: str,
        request: Message,
        *,
        deadline: float,
        effect: Effect,
        wait_ms: int = 0,
    ) -> Message:
        """The leader's first answer without an error; the leader may hold a read for `wait_ms`.

        Raises `DefiniteError` or `IndefiniteError`, at the deadline at the latest.
        """
        tries = Tries(f"{method} of {partition}", deadline, effect)
        while True:
            try:
                broker_id, address = await self._leader(partition, deadline)
                timeout_s = (self.options.request_timeout_ms + wait_ms) / 1000
                until = min(deadline, monotonic() + timeout_s)
                return await self._ask(address, method, request, until, broker_id)
            except TryFailedError as error:
                tries.failed(error)
            await tries.pause(self.options.retry_backoff_ms)
            self._suspects.add(partition)

    async def ask_any(
        self, method: str, request: Message, *, deadline: float, effect: Effect
    ) -> Message:
        """The first answer without an error of any broker; otherwise as `ask_leader`.

        What the controller alone does is refused by the others: it is looked for. Raises
        `NoBrokerError` when no broker was reached.
        """
        tries = Tries(method, deadline, effect, RETRIABLE_ANYWHERE)
        while True:
            addresses, is_elsewhere = self._addresses(effect), False
            for address in addresses:
                until = min(deadline, self.deadline(self.options.request_timeout_ms))
                try:
                    return await self._ask(address, method, request, until)
                except TryFailedError as error:
                    tries.failed(error, addresses)
                    is_elsewhere |= error.error_code == ErrorCode.NOT_CONTROLLER
            if not self._was_reached and monotonic() >= self._first_contact:
                tries.give_up()
            await tries.pause(self.options.retry_backoff_ms)
            if is_elsewhere:
                with suppress(ClientError):  # the next tries end the call
                    await self.refresh(deadline)

    def _addresses(self, effect: Effect) -> tuple[str, ...]:
        """All known addresses; for a change the controller's first, at the end what failed last."""
        known = dict.fromkeys((*self.metadata.brokers.values(), *self._bootstrap))
        controller = self.metadata.brokers.get(self.metadata.controller_id)

        def order(address: str) -> tuple[bool, bool]:
            return address == self._silent, effect is Effect.ONCE and address != controller

        return tuple(sorted(known, key=order))

    async def _leader(self, partition: TopicPartition, deadline: float) -> tuple[int, str]:
        """The leader by the metadata, which is refreshed for suspect and unknown partitions."""
        if partition in self._suspects or partition not in self.metadata.partitions:
            try:
                await self.refresh(deadline)
            except ClientError as error:
                raise TryFailedError(error.error_code, str(error), was_sent=False) from error
            self._suspects.discard(partition)
        leader = self.metadata.leader_of(partition)
        if leader is None:
            is_known = partition in self.metadata.partitions
            why = NO_LEADER if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise TryFailedError(why, was_sent=False)
        return leader

    async def _ask(
        self,
        address: str,
        method: str,
        request: Message,
        deadline: float,
        broker_id: int | None = None,
    ) -> Message:
        timeout_s = deadline - monotonic()
        if timeout_s <= 0:
            raise TryFailedError(TIME_IS_UP, was_sent=False)
        try:
            response = await self._connections.call(
                address, method, request, timeout_s=timeout_s, broker_id=broker_id
            )
        except CallFailedError as error:
            self._silent = address
            self._was_reached |= error.was_sent
            raise TryFailedError(error.status, error.hint, was_sent=error.was_sent) from error
        self._was_reached = True
        if response.error_code not in ("", ErrorCode.NONE):
            raise TryFailedError(
                response.error_code,
                getattr(response, "message", ""),
                throttle_time_ms=getattr(response, "throttle_time_ms", 0),
            )
        return response
