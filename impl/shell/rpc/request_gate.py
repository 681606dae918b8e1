"""Where a broker with TLS decides which requests it takes, by certificates (SEC-001 to 003)."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import unquote

from fencepost.impl.core.rules.security.access import ProvenCaller, refuse_kind
from fencepost.impl.core.rules.security.acls import Authorizer
from fencepost.impl.core.rules.security.gate import Gate
from fencepost.impl.core.rules.security.token_gate import TokenGate
from fencepost.impl.core.types.messages import ProduceRequest, Request, Response
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.shell.rpc.codec import leading_topic
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire import replication_pb2
from fencepost.spec.wire.tls import ADMIN, TlsIdentity, broker_named
from fencepost.spec.wire.tokens import SignedCall

COMMON_NAME = "x509_common_name"
USER_BYTES_MAX = 1 << 20
"""Of a user's request without records: what is small on the wire may be a hundredfold in memory."""
NO_TOPIC = Refusal(
    ErrorCode.INVALID_REQUEST,
    f"a Produce of more than {USER_BYTES_MAX:,} bytes begins with its topic",
)
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
        """As of a `Gate`."""
        self.identity = identity
        self._gate = Gate(authorizer, tokens)

    def caller(self, proven: Mapping[str, Sequence[bytes]], peer: str) -> ProvenCaller:
        """Which broker or user has the connection, by what TLS has `proven`; `peer` as in gRPC."""
        names = [name.decode(errors="replace") for name in proven.get(COMMON_NAME, ())]
        if len(names) != 1:
            return STRANGER
        return ProvenCaller(name=names[0], broker_id=broker_named(names[0]), host=_host(peer))

    def is_administrator(self, caller: ProvenCaller) -> bool:
        """True of the administrator, by its certificate: no token stands for it here."""
        return caller.name == ADMIN

    def admit(
        self, kind: type[Request], caller: ProvenCaller, call: SignedCall, shown: object
    ) -> ProvenCaller | bytes:
        """For which the request is decoded, given the token that is `shown`; or its answer."""
        text = None if shown is None else str(shown)
        known = _refuse_unread(kind, len(call.body), caller) or self._gate.known(caller, call, text)
        if not isinstance(known, Refusal) and kind is ProduceRequest:
            known = self._refuse_records(call.body, known) or known
        return _answer(kind, known) if isinstance(known, Refusal) else known

    def refuse(self, request: Request, caller: ProvenCaller) -> bytes | None:
        """The answer to a request that is not taken; None: it is."""
        refusal = self._gate.refuse(request, caller)
        return None if refusal is None else _answer(type(request), refusal)

    def _refuse_records(self, body: bytes, caller: ProvenCaller) -> Refusal | None:
        """Why a Produce is not decoded, though it may be large; None: it is.

        That judges all that users without any permission send. Whether another topic follows is
        left to the decoder, after which it is judged again: to look here would take longer.
        """
        if len(body) <= USER_BYTES_MAX:
            return None
        topic = leading_topic(body)
        if topic is None:
            return NO_TOPIC
        return self._gate.refuse(ProduceRequest(topic=topic, partition=0, values=()), caller)

    def shown(self, response: Response, caller: ProvenCaller) -> Response:
        """The response as the caller may see it."""
        return self._gate.shown(response, caller)


def _refuse_unread(kind: type[Request], size: int, caller: ProvenCaller) -> Refusal | None:
    """Why a request of so many bytes is not even decoded, whatever it says; None: it may be."""
    if (refusal := refuse_kind(kind, caller)) is not None:
        return refusal
    if caller.broker_id is not None or kind is ProduceRequest or size <= USER_BYTES_MAX:
        return None
    said = f"it has {size:,} bytes; the most of a request of a user: {USER_BYTES_MAX:,}"
    return Refusal(ErrorCode.INVALID_REQUEST, said)


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
