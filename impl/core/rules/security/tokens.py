"""Delegation tokens: what is made, renewed, expired and believed (SEC-003, KIP-48).

A token is proven by the HMAC of its id under a key that only brokers have; times are milliseconds
of the clock that is passed in. A token lives until it expires, its owner or a renewer renews it in
time, and nothing lets it live longer than its maximum life.
"""

import hashlib
import hmac
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.vocabulary import ErrorCode

MAX_LIFETIME_MS = 7 * 24 * 3600 * 1000
"""Longest life that a token may have (Kafka: `delegation.token.max.lifetime.ms`)."""
EXPIRY_MS = 24 * 3600 * 1000
"""How long it lives without being renewed (Kafka: `delegation.token.expiry.time.ms`)."""


class DelegationToken(Struct, frozen=True, kw_only=True):
    """A token without its secret, as ZooKeeper holds it."""

    token_id: str
    owner: str
    renewers: frozenset[str]
    issued_ms: int
    expires_ms: int
    max_ms: int
    """It is over then, however often it is renewed."""

    def may_be_renewed_by(self, principal: str) -> bool:
        """True for the owner and the renewers."""
        return principal == self.owner or principal in self.renewers


def create_token(
    *, token_id: str, owner: str, renewers: Collection[str], max_lifetime_ms: int, now_ms: int
) -> DelegationToken | Refusal:
    """A token from now on; a lifetime of -1 is the longest."""
    if not token_id or not owner:
        return Refusal(ErrorCode.INVALID_REQUEST, "a token needs an id and an owner")
    if max_lifetime_ms < -1 or max_lifetime_ms == 0:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{max_lifetime_ms} ms are no lifetime")
    lifetime_ms = MAX_LIFETIME_MS if max_lifetime_ms == -1 else max_lifetime_ms
    max_ms = now_ms + min(lifetime_ms, MAX_LIFETIME_MS)
    return DelegationToken(
        token_id=token_id,
        owner=owner,
        renewers=frozenset(renewers),
        issued_ms=now_ms,
        expires_ms=min(now_ms + EXPIRY_MS, max_ms),
        max_ms=max_ms,
    )


def renew_token(
    token: DelegationToken, *, principal: str, renew_ms: int, now_ms: int
) -> DelegationToken | Refusal:
    """The token lives `renew_ms` from now, within its maximum; -1 is the usual time."""
    refusal = _refuse_change(token, principal, now_ms)
    if refusal:
        return refusal
    if renew_ms < -1:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{renew_ms} ms are no time to live")
    wanted_ms = now_ms + (EXPIRY_MS if renew_ms == -1 else renew_ms)
    return replace(token, expires_ms=min(wanted_ms, token.max_ms))


def expire_token(
    token: DelegationToken, *, principal: str, after_ms: int, now_ms: int
) -> DelegationToken | Refusal:
    """The token is over `after_ms` from now at the latest; at once when that is negative."""
    refusal = _refuse_change(token, principal, now_ms)
    if refusal:
        return refusal
    wanted_ms = now_ms + max(after_ms, 0)
    return replace(token, expires_ms=min(wanted_ms, token.max_ms))


def token_hmac(token_id: str, secret_key: bytes) -> bytes:
    """What the holder of the token shows beside its id."""
    return hmac.digest(secret_key, token_id.encode(), hashlib.sha512)


def principal_of_token(
    token: DelegationToken | None, shown_hmac: bytes, *, secret_key: bytes, now_ms: int
) -> str | None:
    """The owner, for which the holder acts; None when the token is unknown, foreign or over."""
    token_id = token.token_id if token else ""
    is_genuine = hmac.compare_digest(token_hmac(token_id, secret_key), shown_hmac)
    if token is None or not is_genuine or is_over(token, now_ms):
        return None
    return token.owner


def is_over(token: DelegationToken, now_ms: int) -> bool:
    """True from its expiry on, and before it was issued: clocks may have gone back."""
    return not token.issued_ms <= now_ms < min(token.expires_ms, token.max_ms)


def _refuse_change(token: DelegationToken, principal: str, now_ms: int) -> Refusal | None:
    if not token.may_be_renewed_by(principal):
        return Refusal(
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, f"{principal} neither owns nor renews it"
        )
    if is_over(token, now_ms):
        return Refusal(ErrorCode.DELEGATION_TOKEN_EXPIRED, "the token is over")
    return None
