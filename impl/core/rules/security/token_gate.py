"""Calls with a delegation token: what its proof is worth (SEC-003)."""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.impl.core.rules.security.access import ProvenCaller
from fencepost.impl.core.rules.security.acls import USER
from fencepost.impl.core.rules.security.tokens import (
    NOT_GENUINE,
    DelegationToken,
    TakenProofs,
    principal_of_proof,
    token_hmac,
)
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire.tokens import SignedCall, proof_in

NOT_READ = Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "the tokens are not read yet")
USED_BEFORE = Refusal(
    ErrorCode.SASL_AUTHENTICATION_FAILED,
    "the proof was used before, or its time is not the broker's: are the clocks alike?",
)
NOT_TAKEN = Refusal(
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "this broker has no key for tokens: --token-key"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGate:
    """Judges the proofs of tokens, and gives tokens their secrets."""

    key: bytes
    known: Callable[[str], DelegationToken | None]
    """The token of that id, as the broker has read it."""
    is_read: Callable[[], bool]
    """Whether it has read them at all."""
    now_ms: Callable[[], int]
    """Milliseconds since 1970."""
    proofs: TakenProofs

    def secret_of(self, token_id: str) -> bytes:
        """By which the holder of the token signs."""
        return token_hmac(token_id, self.key)

    def holder(self, caller: ProvenCaller, text: str, call: SignedCall) -> ProvenCaller | Refusal:
        """The owner of the token, at the caller's host: a user, whatever the certificate says."""
        if not self.is_read():
            return NOT_READ
        proof, now_ms = proof_in(text), self.now_ms()
        if proof is None or not caller.name:
            return NOT_GENUINE
        token = self.known(proof.token_id)
        owner = principal_of_proof(token, proof, call, key=self.key, now_ms=now_ms)
        if isinstance(owner, Refusal):
            return owner
        if not self.proofs.take(proof, now_ms):
            return USED_BEFORE
        return ProvenCaller(name=owner.removeprefix(USER), host=caller.host, by_token=True)
