"""Where a simulated broker takes the requests of callers that have proven their names (SEC-001).

In a secured run brokers have certificates, as it were, and so have some clients. What the gate of
the core does not take never reaches the node.
"""

from typing import NamedTuple, get_args

from msgspec import json

from fencepost.impl.core.configuration.stored_acls import StoredAuthorizer
from fencepost.impl.core.configuration.stored_tokens import stored_token
from fencepost.impl.core.node import Node
from fencepost.impl.core.rules.security.access import ProvenCaller
from fencepost.impl.core.rules.security.acls import USER
from fencepost.impl.core.rules.security.gate import Gate
from fencepost.impl.core.rules.security.token_gate import TokenGate
from fencepost.impl.core.rules.security.tokens import TakenProofs
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.sim.engine.scheduler import Scheduler
from fencepost.impl.trace_lines import node_name
from fencepost.spec.vocabulary import NO_BROKER, BrokerId
from fencepost.spec.wire.tokens import SignedCall

SUPER_USER = "client-last"
"""The administrator of the last requests."""
TOKEN_KEY = b"the key of all brokers of a simulated cluster"
RESPONSES = {one.__name__: one for one in get_args(Response)}


class CertifiedCaller(NamedTuple):
    """The sender of a call, and the proof of a token that the call shows, if it shows one."""

    proven: ProvenCaller
    shown: str | None = None

    @property
    def principal(self) -> str:
        """As it is called in access control lists."""
        return self.proven.asker.principal

    @property
    def peer(self) -> BrokerId:
        """The broker that calls; `NO_BROKER` if none does."""
        return NO_BROKER if self.proven.broker_id is None else self.proven.broker_id

    @property
    def is_broker(self) -> bool:
        """True of a broker."""
        return self.proven.broker_id is not None


def broker_caller(broker_id: BrokerId) -> CertifiedCaller:
    """As a broker calls its peers."""
    return CertifiedCaller(ProvenCaller(name=node_name(broker_id), broker_id=broker_id))


def signed_call(request: Request, receiver: BrokerId) -> SignedCall:
    """What a proof is for; the values of a request stand for its bytes."""
    return SignedCall(type(request).__name__, f"{receiver}", json.encode(request))


class SimulatedListener:
    """The gate of one broker process; the time of all is the same."""

    def __init__(self, broker_id: BrokerId, node: Node, scheduler: Scheduler) -> None:
        self._broker_id = broker_id
        self._scheduler = scheduler
        configs = node.configs
        tokens = TokenGate(
            key=TOKEN_KEY,
            known=lambda token_id: stored_token(configs, token_id),
            is_read=lambda: configs.is_read,
            now_ms=lambda: scheduler.now_ms,
            proofs=TakenProofs(scheduler.now_ms),
        )
        self._gate = Gate(StoredAuthorizer(configs, frozenset({USER + SUPER_USER})).now, tokens)

    def admit(self, request: Request, caller: CertifiedCaller) -> ProvenCaller | Refusal:
        """The caller for which the request is taken, or why it is not."""
        call = signed_call(request, self._broker_id)
        known = self._gate.known(caller.proven, call, caller.shown)
        return known if isinstance(known, Refusal) else self._gate.refuse(request, known) or known

    def shown(self, response: Response, caller: ProvenCaller) -> Response:
        """The response as the caller may see it."""
        return self._gate.shown(response, caller)

    def refused(self, request: Request, refusal: Refusal) -> Response:
        """The answer to a request that is not taken."""
        kind = RESPONSES[type(request).__name__.removesuffix("Request") + "Response"]
        told = {
            "error_code": refusal.error_code,
            "message": refusal.message,
            "broker_id": self._broker_id,
            "fetch_offset": getattr(request, "fetch_offset", None),
        }
        known = {name: value for name, value in told.items() if name in kind.__struct_fields__}
        response: Response = kind(**known)
        return response
