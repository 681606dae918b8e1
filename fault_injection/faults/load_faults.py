"""What clients do to a cluster: more at once than it is used to, and ends in the middle."""

from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import Fault, ForMs
from fencepost.fault_injection.faults.fault_kind import fault_kind
from fencepost.fault_injection.faults.parameters import number


@fault_kind(
    injector="load:BurstInjector",
    evidence="how many of their requests were acknowledged",
    undo="they have ended",
    requirements=("ISR-001", "REPL-009"),
)
class BurstLoad(Fault, frozen=True, kw_only=True, tag="load.burst"):
    """More producers than usual work at once, none of them with a pause between two requests."""

    producers: Annotated[int, number("how many more", ge=1, le=100)]
    for_ms: ForMs


@fault_kind(
    injector="load:ClientCrashInjector",
    evidence="the producer ended with a request under way",
    undo="another producer takes its place",
    requirements=("CLI-004", "REPL-002"),
)
class CrashClient(Fault, frozen=True, kw_only=True, tag="client.crash"):
    """A producer ends between a request and its answer: the outcome stays unknown."""

    is_awaited: ClassVar[bool] = True
