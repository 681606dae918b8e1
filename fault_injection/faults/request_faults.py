"""Faults on single requests between brokers; the sender applies them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import Fault, ForMs, Receiver, Sender
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Parameter
from fencepost.fault_injection.faults.targets import ANY_BROKER, Target
from fencepost.spec.vocabulary import EnvironmentAction

RPC_METHODS = ("", "LeaderAndIsr", "Fetch", "OffsetForLeaderEpoch")
"""What brokers say to each other; the empty name matches all of it."""
STATUS_CODES = (
    "ABORTED",
    "INTERNAL",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
)
"""By which a server says that it has not done what it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcFault(Fault):
    """What the faults on requests between brokers have in common."""

    verb: ClassVar[str]
    """As `RpcRule.verb` of `spec/wire/fault_control.proto`."""
    method: Annotated[str, Parameter("which requests; empty: all", choices=RPC_METHODS)]
    sender: Sender
    receiver: Receiver = ANY_BROKER
    topic: Annotated[str, Parameter("what they are about; empty: whatever it is")] = ""
    count: Annotated[
        int, Parameter("to how many requests it applies; 0: to all while it is active", at_least=0)
    ] = 1
    for_ms: ForMs

    @property
    def victim(self) -> Target:
        """Who sends."""
        return self.sender


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRequest(RpcFault):
    """The request never reaches the receiver; the sender sees it fail."""

    kind: ClassVar[str] = "rpc.drop_request"
    verb: ClassVar[str] = "drop_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropResponse(RpcFault):
    """The receiver obeys the request, but its answer never reaches the sender."""

    kind: ClassVar[str] = "rpc.drop_response"
    verb: ClassVar[str] = "drop_response"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRequest(RpcFault):
    """The sender gives the request up, and the receiver gets it late, when the fault heals."""

    kind: ClassVar[str] = "rpc.hold"
    verb: ClassVar[str] = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateRequest(RpcFault):
    """The receiver gets the request twice."""

    kind: ClassVar[str] = "rpc.duplicate"
    verb: ClassVar[str] = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRequest(RpcFault):
    """The request leaves late, and reaches the receiver though its sender has given it up."""

    kind: ClassVar[str] = "rpc.delay"
    verb: ClassVar[str] = "delay"
    delay_ms: Annotated[int, Parameter("how late", unit="ms", at_least=1, at_most=600_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderRequests(RpcFault):
    """Requests wait until there are a few, and leave in reverse order."""

    kind: ClassVar[str] = "rpc.reorder"
    verb: ClassVar[str] = "reorder"
    window: Annotated[int, Parameter("how many wait for each other", at_least=2)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseRequest(RpcFault):
    """The request never reaches the receiver; the sender is told so at once, by a status."""

    kind: ClassVar[str] = "rpc.error"
    verb: ClassVar[str] = "error"
    code: Annotated[str, Parameter("which status of gRPC", choices=STATUS_CODES)] = "UNAVAILABLE"


KINDS = (
    FaultKind(
        fault_class=DropRequest,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone",
        requirements=("CTL-012", "REPL-009"),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    ),
    FaultKind(
        fault_class=DropResponse,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone",
        requirements=("CMD-002", "REPL-001"),
        spec_actions=(EnvironmentAction.LOSE_REPLY,),
    ),
    FaultKind(
        fault_class=HoldRequest,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone, and what it held is delivered",
        requirements=("CTL-006", "CTL-013", "CMD-002"),
    ),
    FaultKind(
        fault_class=DuplicateRequest,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone",
        requirements=("CMD-002", "REPL-006"),
        spec_actions=(EnvironmentAction.DUPLICATE_MESSAGE,),
    ),
    FaultKind(
        fault_class=DelayRequest,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone, and what it held is delivered",
        requirements=("CTL-006", "CTL-013", "CMD-002"),
    ),
    FaultKind(
        fault_class=ReorderRequests,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone, and what it held is delivered, the last one first",
        requirements=("CTL-006", "CMD-002"),
    ),
    FaultKind(
        fault_class=RefuseRequest,
        injector="requests:Rule",
        missing={},
        evidence="how many requests the rule matched",
        undo="the rule is gone",
        requirements=("CTL-012", "REPL-009"),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    ),
)
