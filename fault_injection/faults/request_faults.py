"""Faults on single requests between brokers; the sender applies them."""

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, field

from fencepost.fault_injection.faults.fault import Fault, ForMs, Receiver, Sender
from fencepost.fault_injection.faults.fault_kind import fault_kind
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import any_broker
from fencepost.spec.vocabulary import EnvironmentAction

RpcMethod = Literal[
    "",
    "LeaderAndIsr",
    "Fetch",
    "OffsetForLeaderEpoch",
    "StopReplica",
    "UpdateMetadata",
    "AlterPartition",
    "ControlledShutdown",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
]
"""Requests between brokers, the latter ones of Kafka only; the empty name matches all of them."""
StatusCode = Literal[
    "ABORTED",
    "INTERNAL",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
]
"""The statuses of gRPC that say that a request was not executed."""


class RpcFault(Fault, frozen=True, kw_only=True):
    """What the faults on requests between brokers have in common."""

    method: Annotated[RpcMethod, Meta(description="which requests; empty: all")]
    sender: Sender
    receiver: Receiver = field(default_factory=any_broker)
    topic: Annotated[str, Meta(description="what they are about; empty: whatever it is")] = ""
    count: Annotated[
        int, number("to how many requests it applies; 0: to all while it is active", ge=0)
    ] = 1
    for_ms: ForMs

    @property
    def verb(self) -> str:
        """As `RpcRule.verb` of `spec/wire/fault_control.proto`."""
        return self.kind.removeprefix("rpc.")


_request_rule = partial(
    fault_kind,
    injector="requests:RequestRuleInjector",
    evidence="how many requests the rule matched",
)


@_request_rule(
    undo="the rule is gone",
    requirements=("CTL-012", "REPL-009"),
    spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
)
class DropRequest(RpcFault, frozen=True, kw_only=True, tag="rpc.drop_request"):
    """The request never reaches the receiver; the sender sees it fail."""


@_request_rule(
    undo="the rule is gone",
    requirements=("CMD-002", "REPL-001"),
    spec_actions=(EnvironmentAction.LOSE_REPLY,),
)
class DropResponse(RpcFault, frozen=True, kw_only=True, tag="rpc.drop_response"):
    """The receiver obeys the request, but its answer never reaches the sender."""


@_request_rule(
    undo="the rule is gone, and what it held is delivered",
    requirements=("CTL-006", "CTL-013", "CMD-002"),
)
class HoldRequest(RpcFault, frozen=True, kw_only=True, tag="rpc.hold"):
    """The sender gives the request up, and the receiver gets it late, when the fault heals."""


@_request_rule(
    undo="the rule is gone",
    requirements=("CMD-002", "REPL-006"),
    spec_actions=(EnvironmentAction.DUPLICATE_MESSAGE,),
)
class DuplicateRequest(RpcFault, frozen=True, kw_only=True, tag="rpc.duplicate"):
    """The receiver gets the request twice."""


@_request_rule(
    undo="the rule is gone, and what it held is delivered",
    requirements=("CTL-006", "CTL-013", "CMD-002"),
)
class DelayRequest(RpcFault, frozen=True, kw_only=True, tag="rpc.delay"):
    """The request leaves late, and reaches the receiver though its sender has given it up."""

    delay_ms: Annotated[int, milliseconds("how late", ge=1, le=600_000)]


@_request_rule(
    undo="the rule is gone, and what it held is delivered, the last one first",
    requirements=("CTL-006", "CMD-002"),
)
class ReorderRequests(RpcFault, frozen=True, kw_only=True, tag="rpc.reorder"):
    """Requests wait until there are a few, and leave in reverse order."""

    window: Annotated[int, number("how many wait for each other", ge=2)] = 2


@_request_rule(
    undo="the rule is gone",
    requirements=("CTL-012", "REPL-009"),
    spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
)
class RefuseRequest(RpcFault, frozen=True, kw_only=True, tag="rpc.error"):
    """The request never reaches the receiver; the sender is told so at once, by a status."""

    code: Annotated[StatusCode, Meta(description="which status of gRPC")] = "UNAVAILABLE"
