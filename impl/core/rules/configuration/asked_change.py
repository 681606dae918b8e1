"""One change that is asked for: what it depends on, and what it makes of that."""

from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from fencepost.impl.core.rules.configuration.mutation import (
    ConfigOperation,
    Mutation,
    Znodes,
    entries_at,
    mutation_of,
    paths_of,
    paths_with_folders,
)
from fencepost.impl.core.rules.security.token_changes import (
    AskedOfToken,
    change_token,
    entries_of,
    token_entity,
    token_in,
)
from fencepost.impl.core.rules.security.tokens import DelegationToken, TokensToRemove, is_over
from fencepost.impl.core.types.config_messages import (
    RESPONSES,
    TOKEN_RESPONSES,
    ConfigRequest,
    ConfigResponse,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    EntityChange,
    EntryChange,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenRequest,
    TokenResponse,
)
from fencepost.impl.core.types.refusals import Refusal

ChangeRequest = ConfigRequest | TokenRequest
ChangeResponse = ConfigResponse | TokenResponse


class DecidedChange(NamedTuple):
    """What is to be written, and what is answered when ZooKeeper holds it."""

    mutation: Mutation
    response: ChangeResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChange:
    """A request for a change of the configuration, with what was known when it came."""

    request: ChangeRequest
    principal: str
    now_ms: int
    """Milliseconds since 1970; only lives of tokens depend on it."""
    new_token_id: str
    """Of the token that it makes, if it makes one."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The znodes that it depends on."""
        if isinstance(self.request, TokenRequest):
            return paths_with_folders([token_entity(self._token_id).path])
        return paths_of(self.request)

    def decide(self, znodes: Znodes, operation: ConfigOperation) -> DecidedChange:
        """What becomes of it, given its `paths` as they stand."""
        request = self.request
        if isinstance(request, TokenRequest):
            return self._decide_token(request, znodes, operation)
        mutation = mutation_of(request, znodes, operation)
        response = RESPONSES[type(request)](results=tuple(mutation.results))
        return DecidedChange(Mutation() if request.validate_only else mutation, response)

    @property
    def _token_id(self) -> str:
        if isinstance(self.request, CreateDelegationTokenRequest):
            return self.new_token_id
        return str(getattr(self.request, "token_id", ""))

    def _decide_token(
        self, request: TokenRequest, znodes: Znodes, operation: ConfigOperation
    ) -> DecidedChange:
        token_id, mutation = self._token_id, Mutation()
        asked = AskedOfToken(
            request=request, principal=self.principal, token_id=token_id, now_ms=self.now_ms
        )
        znode = znodes[token_entity(token_id).path]
        entries = entries_at(znode)
        found = entries if isinstance(entries, Refusal) else change_token(asked, entries)
        if isinstance(found, Refusal):
            return DecidedChange(mutation, refused(request, found))
        entity = token_entity(token_id)
        if is_over(found, self.now_ms):
            mutation.remove(entity, znode)
        else:
            entries = entries_of(found)
            changes = tuple(EntryChange(name=name, value=value) for name, value in entries.items())
            change = EntityChange(kind=entity.kind, names=entity.names, changes=changes)
            refusal = mutation.alter(change, znode, operation, is_whole=True)
            assert refusal is None, "it was read, and has few entries"
        mutation.complete(znodes, operation)
        return DecidedChange(mutation, _told(request, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRemoval:
    """A token of which the controller knows that it is over."""

    token_id: str
    now_ms: int
    """Milliseconds since 1970."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The znodes that it depends on."""
        return paths_with_folders([token_entity(self.token_id).path])

    def decide(
        self, znodes: Znodes, to_remove: TokensToRemove, operation: ConfigOperation
    ) -> Mutation:
        """What is written: nothing if the token that stands is not over, or is gone."""
        mutation, entity = Mutation(), token_entity(self.token_id)
        znode = znodes[entity.path]
        entries = entries_at(znode)
        token = None if isinstance(entries, Refusal) else token_in(self.token_id, entries)
        if token is not None and to_remove([token], self.now_ms):
            mutation.remove(entity, znode)
            mutation.complete(znodes, operation)
        return mutation


def refused(request: ChangeRequest, refusal: Refusal) -> ChangeResponse:
    """The answer that nothing was done."""
    error_code, message = refusal
    if isinstance(request, TokenRequest):
        return TOKEN_RESPONSES[type(request)](error_code=error_code, message=message)
    return RESPONSES[type(request)](error_code=error_code, message=message)


def made(decision: DecidedChange, config_version: int) -> ChangeResponse:
    """The answer that ZooKeeper holds what was decided, at that version."""
    return structs.replace(decision.response, config_version=config_version)


def _told(request: TokenRequest, token: DelegationToken) -> TokenResponse:
    if isinstance(request, CreateDelegationTokenRequest):
        return CreateDelegationTokenResponse(
            token_id=token.token_id, expires_ms=token.expires_ms, max_ms=token.max_ms
        )
    if isinstance(request, RenewDelegationTokenRequest):
        return RenewDelegationTokenResponse(expires_ms=token.expires_ms)
    return ExpireDelegationTokenResponse(expires_ms=token.expires_ms)
