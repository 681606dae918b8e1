"""Delegation tokens: what is made, renewed, expired and believed (SEC-003, KIP-48).

The secret of a token is the HMAC of its id under a key that only brokers have; times are
milliseconds of the clock that is passed in. A token lives until it expires, its owner or a renewer
renews it in time, and nothing lets it live longer than its maximum life.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire.tokens import SignedCall, TokenProof

MAX_LIFETIME_MS = 7 * 24 * 3600 * 1000
"""Longest life that a token may have (Kafka: `delegation.token.max.lifetime.ms`)."""
RENEWERS_MAX = 20
PROOF_WINDOW_MS = 30_000
"""So far the clocks of a holder and of a broker may be apart."""
PROOFS_MAX = 100_000
"""Taken in that time by one broker; more are refused."""
NOT_GENUINE = Refusal(
    ErrorCode.SASL_AUTHENTICATION_FAILED, "the token is not known here, or its proof is not genuine"
)
IS_OVER = Refusal(ErrorCode.DELEGATION_TOKEN_EXPIRED, "the token is over")
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


TokensToRemove = Callable[[Iterable[DelegationToken], int], tuple[str, ...]]
"""The ids of those that the controller removes, by the time of the world."""


def may_be_changed_by(token: DelegationToken, principal: str) -> bool:
    """True for the owner and the renewers."""
    return principal == token.owner or principal in token.renewers


def is_over(token: DelegationToken, now_ms: int) -> bool:
    """True from its expiry on, and before it was issued: clocks may have gone back."""
    return not token.issued_ms <= now_ms < min(token.expires_ms, token.max_ms)


def keep_all(_tokens: Iterable[DelegationToken], _now_ms: int) -> tuple[str, ...]:
    """Below level 5 no broker removes a token of its own accord."""
    return ()


def outlived(tokens: Iterable[DelegationToken], now_ms: int) -> tuple[str, ...]:
    """The ids of those that no renewal brings back, ascending (KIP-48).

    One that was issued later than now by this clock is none of them: the clock may be slow.
    """
    found = (one for one in tokens if min(one.expires_ms, one.max_ms) <= now_ms)
    return tuple(sorted(one.token_id for one in found))


def within_maximum(token: DelegationToken, wanted_ms: int) -> int:
    """When the token is over that is to live until then."""
    return min(wanted_ms, token.max_ms)


def is_used(proof: TokenProof, taken: Container[tuple[str, str]]) -> bool:
    """True of one that was taken before: another call of the token has another number."""
    return (proof.token_id, proof.nonce) in taken


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """The rules of tokens by name."""

    may_be_changed_by: Callable[[DelegationToken, str], bool]
    is_over: Callable[[DelegationToken, int], bool]
    within_maximum: Callable[[DelegationToken, int], int]
    is_genuine: Callable[[TokenProof, bytes, SignedCall], bool]
    """Of the proof, the secret of its token, and the call."""
    is_used: Callable[[TokenProof, Container[tuple[str, str]]], bool]


TOKEN_RULES = TokenRules(
    may_be_changed_by=may_be_changed_by,
    is_over=is_over,
    within_maximum=within_maximum,
    is_genuine=TokenProof.is_of,
    is_used=is_used,
)


def create_token(
    *, token_id: str, owner: str, renewers: Collection[str], max_lifetime_ms: int, now_ms: int
) -> DelegationToken | Refusal:
    """A token from now on; a lifetime of -1 is the longest."""
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
    token: DelegationToken,
    *,
    principal: str,
    renew_ms: int,
    now_ms: int,
    rules: TokenRules = TOKEN_RULES,
) -> DelegationToken | Refusal:
    """The token lives `renew_ms` from now, within its maximum; -1 is the usual time."""
    refusal = _refuse_change(token, principal, now_ms, rules)
    if refusal:
        return refusal
    if renew_ms < -1:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{renew_ms} ms are no time to live")
    wanted_ms = now_ms + (EXPIRY_MS if renew_ms == -1 else renew_ms)
    return replace(token, expires_ms=rules.within_maximum(token, wanted_ms))


def expire_token(
    token: DelegationToken,
    *,
    principal: str,
    after_ms: int,
    now_ms: int,
    rules: TokenRules = TOKEN_RULES,
) -> DelegationToken | Refusal:
    """The token is over `after_ms` from now at the latest; at once when that is negative."""
    refusal = _refuse_change(token, principal, now_ms, rules)
    if refusal:
        return refusal
    wanted_ms = now_ms + max(after_ms, 0)
    return replace(token, expires_ms=rules.within_maximum(token, wanted_ms))


def token_hmac(token_id: str, secret_key: bytes) -> bytes:
    """The secret of the token, by which its holder signs each call."""
    return hmac.digest(secret_key, token_id.encode(), hashlib.sha512)


def principal_of_proof(
    token: DelegationToken | None,
    proof: TokenProof,
    call: SignedCall,
    *,
    key: bytes,
    now_ms: int,
    rules: TokenRules = TOKEN_RULES,
) -> str | Refusal:
    """The owner, for which the holder acts; refused when the token is unknown, foreign or over."""
    is_genuine = rules.is_genuine(proof, token_hmac(proof.token_id, key), call)
    if token is None or token.token_id != proof.token_id or not is_genuine:
        return NOT_GENUINE
    if rules.is_over(token, now_ms):
        return IS_OVER
    return token.owner


class TakenProofs:
    """Which proofs one broker has taken since it began: each counts once (SEC-003)."""

    def __init__(self, begun_ms: int, token_rules: TokenRules = TOKEN_RULES) -> None:
        """What was made before is not known to be new."""
        self._begun_ms = begun_ms
        self._rules = token_rules
        self._taken: dict[tuple[str, str], int] = {}

    def take(self, proof: TokenProof, now_ms: int) -> bool:
        """False of a proof that was taken before, that is too old to be told, or of the future."""
        is_near = abs(now_ms - proof.stamp_ms) <= PROOF_WINDOW_MS
        is_old = proof.stamp_ms < self._begun_ms or self._rules.is_used(proof, self._taken)
        if not is_near or is_old:
            return False
        if len(self._taken) >= PROOFS_MAX:
            self._forget(now_ms)
        if len(self._taken) >= PROOFS_MAX:
            return False
        self._taken[proof.token_id, proof.nonce] = proof.stamp_ms
        return True

    def _forget(self, now_ms: int) -> None:
        """Those that are too old anyway."""
        oldest_ms = now_ms - PROOF_WINDOW_MS
        self._taken = {name: ms for name, ms in self._taken.items() if ms >= oldest_ms}


def _refuse_change(
    token: DelegationToken, principal: str, now_ms: int, rules: TokenRules
) -> Refusal | None:
    if not rules.may_be_changed_by(token, principal):
        return Refusal(
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, f"{principal} neither owns nor renews it"
        )
    if rules.is_over(token, now_ms):
        return IS_OVER
    return None
