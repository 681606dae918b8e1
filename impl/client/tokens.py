"""Delegation tokens of users: made, renewed, expired, described (SEC-003, KIP-48)."""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.impl.client.cluster_connection import ClusterConnection, Message
from fencepost.impl.client.tries import Effect
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CONTROLLER_VERSION
from fencepost.spec.wire.tokens import HeldToken

LONGEST = USUAL = AT_ONCE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken:
    """A token that was made; times in milliseconds since 1970."""

    held: HeldToken
    expires_ms: int
    max_ms: int
    config_version: int
    """A broker that has read this version knows the token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenInfo:
    """A token as one broker has read it; times in milliseconds since 1970."""

    token_id: str
    owner: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int


class TokenAdmin:
    """The calls of one client; all raise as those of `Admin`."""

    def __init__(self, cluster: ClusterConnection) -> None:
        self._cluster = cluster

    async def create(
        self, renewers: Sequence[str] = (), *, max_lifetime_ms: int = LONGEST
    ) -> MadeToken:
        """A token of the user that asks; `renewers` are principals, `User:NAME`."""
        request = wire.CreateDelegationTokenRequest(
            header=_HEADER, renewers=renewers, max_lifetime_ms=max_lifetime_ms
        )
        made = await self._change("CreateDelegationToken", request)
        return MadeToken(
            held=HeldToken(token_id=made.token_id, hmac=made.hmac),
            expires_ms=made.expires_ms,
            max_ms=made.max_ms,
            config_version=made.config_version,
        )

    async def renew(self, token_id: str, *, renew_ms: int = USUAL) -> int:
        """The token lives on for so long from now, or until its maximum; returns its expiry."""
        request = wire.RenewDelegationTokenRequest(
            header=_HEADER, token_id=token_id, renew_ms=renew_ms
        )
        return int((await self._change("RenewDelegationToken", request)).expires_ms)

    async def expire(self, token_id: str, *, after_ms: int = AT_ONCE) -> int:
        """The token is over so long from now at the latest; returns its expiry."""
        request = wire.ExpireDelegationTokenRequest(
            header=_HEADER, token_id=token_id, after_ms=after_ms
        )
        return int((await self._change("ExpireDelegationToken", request)).expires_ms)

    async def describe(self, owners: Sequence[str] = ()) -> list[TokenInfo]:
        """The tokens of these owners, or of all, that the asker may know of."""
        request = wire.DescribeDelegationTokenRequest(owners=owners)
        answer = await self._ask("DescribeDelegationToken", request, Effect.NONE)
        return [
            TokenInfo(
                token_id=one.token_id,
                owner=one.owner,
                renewers=tuple(one.renewers),
                issued_ms=one.issued_ms,
                expires_ms=one.expires_ms,
                max_ms=one.max_ms,
            )
            for one in answer.tokens
        ]

    async def _change(self, method: str, request: Message) -> Message:
        return await self._ask(method, request, Effect.ONCE)

    async def _ask(self, method: str, request: Message, effect: Effect) -> Message:
        deadline = self._cluster.deadline(self._cluster.options.api_timeout_ms)
        return await self._cluster.ask_any(method, request, deadline=deadline, effect=effect)


_HEADER = wire.RequestHeader(api_version=CONTROLLER_VERSION)
"""The new version: the controller alone makes the change (FWD-002)."""
