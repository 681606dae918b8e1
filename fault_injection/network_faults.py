"""Faults on the ways between brokers; ZooKeeper stays in reach."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fault_injection.fault import Fault, ForMs, LastingBrokerFault, LinkFault
from fault_injection.fault_kind import Backend, FaultKind
from fault_injection.parameters import Parameter
from spec.vocabulary import EnvironmentAction


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolateBroker(LastingBrokerFault):
    """Nothing passes between the broker and other brokers or clients; ZooKeeper stays in reach."""

    kind: ClassVar[str] = "net.isolate"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBrokers(Fault):
    """Nothing passes between the brokers of one side and all others; clients reach both sides."""

    kind: ClassVar[str] = "net.partition"
    side: Annotated[tuple[int, ...], Parameter("the brokers of one side", at_least=1)]
    for_ms: ForMs


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOneWay(LinkFault):
    """Neither requests nor answers get from the sender to the receiver; the way back is open."""

    kind: ClassVar[str] = "net.oneway"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderLink(LinkFault):
    """Each message to the receiver takes its own time, so that later ones overtake earlier ones."""

    kind: ClassVar[str] = "net.reorder"
    delay_ms: Annotated[int, Parameter("at most this much more than usual", unit="ms", at_least=1)]


NEEDS_LINKS = "the ways between processes go through no proxy yet"

KINDS = (
    FaultKind(
        fault_class=IsolateBroker,
        missing={Backend.REAL: NEEDS_LINKS},
        evidence="how many messages were stopped",
        undo="the ways are open again",
        requirements=("ISR-001", "CMD-010"),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    ),
    FaultKind(
        fault_class=PartitionBrokers,
        missing={Backend.REAL: NEEDS_LINKS},
        evidence="how many messages were stopped",
        undo="the ways are open again",
        requirements=("ISR-001", "CMD-010"),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    ),
    FaultKind(
        fault_class=CutOneWay,
        missing={Backend.REAL: NEEDS_LINKS},
        evidence="how many messages were stopped",
        undo="the way is open again",
        requirements=("ISR-001", "CTL-012"),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    ),
    FaultKind(
        fault_class=ReorderLink,
        missing={Backend.REAL: NEEDS_LINKS},
        evidence="how many messages took their own time",
        undo="messages go their usual way again",
        requirements=("CMD-002", "CTL-006"),
    ),
)
