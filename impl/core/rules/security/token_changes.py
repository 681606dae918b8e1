"""What a request makes of a token in ZooKeeper: its entries before, and those after (SEC-003)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from fencepost.impl.core.rules.security.tokens import (
    RENEWERS_MAX,
    DelegationToken,
    create_token,
    expire_token,
    renew_token,
)
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
    TokenRequest,
)
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import ErrorCode

_TIMES = ("issued_ms", "expires_ms", "max_ms")
NOT_PROVEN = Refusal(
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    "tokens are for users that a certificate names: connect with TLS",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfToken:
    """A request about one token, for its principal and at its time."""

    request: TokenRequest
    principal: str
    token_id: str
    now_ms: int
    """Milliseconds since 1970."""


def refuse_asker(asker: Asker) -> Refusal | None:
    """Why a connection is good for no request about tokens."""
    return None if asker.is_proven else NOT_PROVEN


def token_entity(token_id: str) -> ConfigEntity:
    """Where the token stands."""
    return ConfigEntity(EntityKind.TOKEN, (token_id,))


def token_in(token_id: str, entries: Mapping[str, str]) -> DelegationToken | None:
    """The token with these entries; None of entries that are none of a token."""
    try:
        issued_ms, expires_ms, max_ms = (int(entries[name]) for name in _TIMES)
        owner, renewers = entries["owner"], entries["renewers"]
    except (KeyError, ValueError):
        return None
    return DelegationToken(
        token_id=token_id,
        owner=owner,
        renewers=frozenset(one for one in renewers.split(",") if one),
        issued_ms=issued_ms,
        expires_ms=expires_ms,
        max_ms=max_ms,
    )


def entries_of(token: DelegationToken) -> dict[str, str]:
    """The token as the configuration holds it; its secret is not there."""
    times = {name: str(getattr(token, name)) for name in _TIMES}
    return {"owner": token.owner, "renewers": ",".join(sorted(token.renewers)), **times}


def change_token(asked: AskedOfToken, entries: Mapping[str, str]) -> DelegationToken | Refusal:
    """The token as it is to be, given the entries that stand."""
    request, principal, now_ms = asked.request, asked.principal, asked.now_ms
    if isinstance(request, CreateDelegationTokenRequest):
        return _created(asked, request, entries)
    token = token_in(asked.token_id, entries)
    if token is None:
        return Refusal(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "there is no such token")
    match request:
        case RenewDelegationTokenRequest(renew_ms=renew_ms):
            return renew_token(token, principal=principal, renew_ms=renew_ms, now_ms=now_ms)
        case ExpireDelegationTokenRequest(after_ms=after_ms):
            return expire_token(token, principal=principal, after_ms=after_ms, now_ms=now_ms)
        case _:
            assert_never(request)


def _created(
    asked: AskedOfToken, request: CreateDelegationTokenRequest, entries: Mapping[str, str]
) -> DelegationToken | Refusal:
    renewers = request.renewers
    if entries:
        return Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "another token has this id; ask again")
    if len(renewers) > RENEWERS_MAX or any(not one or "," in one for one in renewers):
        reason = f"renewers are up to {RENEWERS_MAX} principals without a comma"
        return Refusal(ErrorCode.INVALID_REQUEST, reason)
    return create_token(
        token_id=asked.token_id,
        owner=asked.principal,
        renewers=renewers,
        max_lifetime_ms=request.max_lifetime_ms,
        now_ms=asked.now_ms,
    )
