"""What clients do to a cluster: more at once than it is used to, and ends in the middle."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import Fault, ForMs
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstLoad(Fault):
    """More producers than usual work at once, none of them with a pause between two requests."""

    kind: ClassVar[str] = "load.burst"
    producers: Annotated[int, Parameter("how many more", at_least=1, at_most=100)]
    for_ms: ForMs


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashClient(Fault):
    """A producer ends between a request and its answer, of which nobody will ever know."""

    kind: ClassVar[str] = "client.crash"


KINDS = (
    FaultKind(
        fault_class=BurstLoad,
        injector="load:MoreProducers",
        missing={},
        evidence="how many of their requests were acknowledged",
        undo="they have ended",
        requirements=("ISR-001", "REPL-009"),
    ),
    FaultKind(
        fault_class=CrashClient,
        injector="load:EndOfProducer",
        missing={},
        evidence="the producer ended with a request under way",
        undo="another producer takes its place",
        requirements=("CLI-004", "REPL-002"),
    ),
)
