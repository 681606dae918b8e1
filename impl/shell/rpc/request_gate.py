"""Where a broker with TLS decides which requests it takes: the one place (SEC-001, SEC-002)."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import unquote

from msgspec import structs

from fencepost.impl.core.rules.security.access import ProvenCaller, may_see, refuse_request
from fencepost.impl.core.rules.security.acls import Authorizer
from fencepost.impl.core.types.messages import MetadataResponse, Request, Response
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.wire import replication_pb2
from fencepost.spec.wire.tls import TlsIdentity, broker_named

COMMON_NAME = "x509_common_name"
STRANGER = ProvenCaller(name="")
"""Without exactly one common name in the certificate: nothing of it is taken."""


class RequestGate:
    """Judges requests by the certificate of their connection."""

    def __init__(
        self, identity: TlsIdentity, authorizer: Callable[[], Authorizer | None] = lambda: None
    ) -> None:
        """`authorizer` gives the one that holds now; None: every user may do what users do."""
        self.identity = identity
        self._authorizer = authorizer

    def caller(self, proven: Mapping[str, Sequence[bytes]], peer: str) -> ProvenCaller:
        """Which broker or user has the connection, by what TLS has `proven`; `peer` as in gRPC."""
        names = [name.decode(errors="replace") for name in proven.get(COMMON_NAME, ())]
        if len(names) != 1:
            return STRANGER
        return ProvenCaller(name=names[0], broker_id=broker_named(names[0]), host=_host(peer))

    def refuse(self, request: Request, caller: ProvenCaller) -> bytes | None:
        """The answer to a request that is not taken; None: it is."""
        refusal = refuse_request(request, caller, self._authorizer())
        return None if refusal is None else _answer(type(request), refusal)

    def shown(self, response: Response, caller: ProvenCaller) -> Response:
        """The response without the topics that the caller may not know of."""
        if not isinstance(response, MetadataResponse):
            return response
        authorizer = self._authorizer()
        seen = tuple(p for p in response.partitions if may_see(p.topic, caller, authorizer))
        return structs.replace(response, partitions=seen)


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
