"""Where a broker with TLS decides which requests it takes: the one place (SEC-001 to 003)."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import unquote

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
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenResponse,
    DescribeDelegationTokenResponse,
)
from fencepost.impl.core.types.messages import MetadataResponse, Request, Response
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.shell.rpc.token_gate import NOT_TAKEN, TokenGate
from fencepost.spec.wire import replication_pb2
from fencepost.spec.wire.tls import TlsIdentity, broker_named
from fencepost.spec.wire.tokens import SignedCall

COMMON_NAME = "x509_common_name"
STRANGER = ProvenCaller(name="")
"""Without exactly one common name in the certificate: nothing of it is taken."""


class RequestGate:
    """Judges requests by the certificate of their connection."""

    def __init__(
        self,
        identity: TlsIdentity,
        authorizer: Callable[[], Authorizer | None] = lambda: None,
        tokens: TokenGate | None = None,
    ) -> None:
        """`authorizer` gives the one that holds now; None: every user may do what users do.

        Without `tokens` nothing that has to do with delegation tokens is taken.
        """
        self.identity = identity
        self._authorizer = authorizer
        self._tokens = tokens

    def caller(self, proven: Mapping[str, Sequence[bytes]], peer: str) -> ProvenCaller:
        """Which broker or user has the connection, by what TLS has `proven`; `peer` as in gRPC."""
        names = [name.decode(errors="replace") for name in proven.get(COMMON_NAME, ())]
        if len(names) != 1:
            return STRANGER
        return ProvenCaller(name=names[0], broker_id=broker_named(names[0]), host=_host(peer))

    def admit(
        self, request: Request, caller: ProvenCaller, call: SignedCall, shown: object
    ) -> ProvenCaller | bytes:
        """For which the request is taken, given the token that is `shown`; or its answer."""
        if shown is not None:
            tokens = self._tokens
            holder = tokens.holder(caller, str(shown), call) if tokens else NOT_TAKEN
            if isinstance(holder, Refusal):
                return _answer(type(request), holder)
            caller = holder
        return self.refuse(request, caller) or caller

    def refuse(self, request: Request, caller: ProvenCaller) -> bytes | None:
        """The answer to a request that is not taken; None: it is."""
        refusal = refuse_request(request, caller, self._authorizer())
        if refusal is None and self._tokens is None and access_of(request) == WithoutToken():
            refusal = NOT_TAKEN
        return None if refusal is None else _answer(type(request), refusal)

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


def _answer(kind: type[Request], refusal: Refusal) -> bytes:
    name = kind.__name__.removesuffix("Request")
    response = getattr(replication_pb2, f"{name}Response")(error_code=refusal.error_code)
    if "message" in response.DESCRIPTOR.fields_by_name:
        response.message = refusal.message
    answer: bytes = response.SerializeToString()
    return answer


def _host(peer: str) -> str:
    """The address in `ipv4:HOST:PORT` or `ipv6:%5BHOST%5D:PORT`; empty for another form."""
    host = unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
    try:
        return str(ip_address(host))
    except ValueError:
        return ""
