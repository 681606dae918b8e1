"""Where it is decided which requests are taken, and what of an answer is shown (SEC-001 to 003)."""

from collections.abc import Callable

from msgspec import structs

from fencepost.impl.core.rules.security.access import (
    ProvenCaller,
    WithoutToken,
    access_of,
    may_see,
    may_see_token,
    refuse_request,
)
from fencepost.impl.core.rules.security.acls import Authorizer
from fencepost.impl.core.rules.security.token_gate import NOT_TAKEN, TokenGate
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenResponse,
    DescribeDelegationTokenResponse,
)
from fencepost.impl.core.types.messages import MetadataResponse, Request, Response
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.wire.tokens import SignedCall


class Gate:
    """Judges requests by their callers."""

    def __init__(
        self,
        authorizer: Callable[[], Authorizer | None] = lambda: None,
        tokens: TokenGate | None = None,
    ) -> None:
        """`authorizer` gives the one that holds now; None: every user may do what users do.

        Without `tokens` nothing that has to do with delegation tokens is taken.
        """
        self._authorizer = authorizer
        self._tokens = tokens

    def known(
        self, caller: ProvenCaller, call: SignedCall, shown: str | None
    ) -> ProvenCaller | Refusal:
        """For which caller the call counts, given the token that is `shown`; or why for none."""
        if shown is None:
            return caller
        return self._tokens.holder(caller, shown, call) if self._tokens else NOT_TAKEN

    def refuse(self, request: Request, caller: ProvenCaller) -> Refusal | None:
        """Why the request is not taken; None: it is."""
        refusal = refuse_request(request, caller, self._authorizer())
        if refusal is None and self._tokens is None and access_of(request) == WithoutToken():
            return NOT_TAKEN
        return refusal

    def shown(self, response: Response, caller: ProvenCaller) -> Response:
        """The response without what the caller may not know of, and with the secret that it may."""
        authorizer = self._authorizer()
        match response:
            case MetadataResponse(partitions=partitions):
                seen = tuple(p for p in partitions if may_see(p.topic, caller, authorizer))
                return structs.replace(response, partitions=seen)
            case DescribeDelegationTokenResponse(tokens=tokens):
                known = tuple(one for one in tokens if may_see_token(one, caller, authorizer))
                return structs.replace(response, tokens=known)
            case CreateDelegationTokenResponse(token_id=token_id) if token_id and self._tokens:
                is_asked_here = caller.broker_id is None
                secret = self._tokens.secret_of(token_id) if is_asked_here else b""
                return structs.replace(response, hmac=secret)
            case _:
                return response
