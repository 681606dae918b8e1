"""Faults on the ways between brokers; ZooKeeper stays in reach.

On real processes they are rules of the proxy (`links/`): bytes wait, and are not lost. A message
that was sent is delivered when the way is open again, unless its sender has taken it back. In
network namespaces (`namespaces/`) the kernel drops packets, and TCP sends them again; what
is late or slow waits in front of the bridge.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import Fault, ForMs, LastingBrokerFault, LinkFault
from fencepost.fault_injection.faults.fault_kind import Backend, FaultKind
from fencepost.fault_injection.faults.parameters import Parameter
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import EnvironmentAction


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeBrokers(LastingBrokerFault):
    """The brokers fall into two halves, and one broker alone still reaches both; clients all."""

    kind: ClassVar[str] = "net.bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class RingOfMajorities(Fault):
    """Each broker hears only from a majority around itself, and no two from the same one."""

    kind: ClassVar[str] = "net.majority_ring"
    for_ms: ForMs


@dataclass(frozen=True, slots=True, kw_only=True)
class SwizzleBrokers(Fault):
    """Brokers are cut off from all others one by one, and come back one by one otherwise."""

    kind: ClassVar[str] = "net.swizzle"
    cut: Annotated[tuple[int, ...], Parameter("who is cut off, in this order", at_least=1)]
    back: Annotated[tuple[int, ...], Parameter("the same brokers, as they come back", at_least=1)]
    gap_ms: Annotated[int, Parameter("the time between two steps", unit="ms", at_least=1)]

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if sorted(self.cut) != sorted(self.back) or len(set(self.cut)) < len(self.cut):
            raise FaultError(f"{self.kind}: cut and back do not name the same brokers, each once")

    @property
    def active_ms(self) -> int:
        """Until the last one is back."""
        return 2 * len(self.cut) * self.gap_ms

    def windows(self) -> dict[int, tuple[int, int]]:
        """Of each broker, from when to when it is cut off."""
        steps = len(self.cut)
        return {
            broker_id: (at * self.gap_ms, (steps + self.back.index(broker_id)) * self.gap_ms)
            for at, broker_id in enumerate(self.cut)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapBroker(LastingBrokerFault):
    """The broker is cut off from other brokers and clients again and again, for a while each."""

    kind: ClassVar[str] = "net.flap"
    cut_ms: Annotated[int, Parameter("how long it is cut off each time", unit="ms", at_least=1)]
    open_ms: Annotated[int, Parameter("how long it is reached between", unit="ms", at_least=1)]

    def windows(self) -> tuple[tuple[int, int], ...]:
        """From when to when it is cut off."""
        starts = range(0, self.for_ms, self.cut_ms + self.open_ms)
        return tuple((start, min(start + self.cut_ms, self.for_ms)) for start in starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayLink(LinkFault):
    """What the sender says to the receiver comes late; the way back is as fast as always."""

    kind: ClassVar[str] = "net.latency"
    delay_ms: Annotated[int, Parameter("how much later than usual", unit="ms", at_least=1)]
    jitter_ms: Annotated[int, Parameter("up to this much more", unit="ms", at_least=0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowLink(LinkFault):
    """Only so many bytes per second get from the sender to the receiver."""

    kind: ClassVar[str] = "net.bandwidth"
    kb_per_s: Annotated[int, Parameter("how many thousand bytes per second pass", at_least=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetStreams(LinkFault):
    """Whatever the sender has connected to the receiver is reset, again and again."""

    kind: ClassVar[str] = "rpc.stream_reset"
    every_ms: Annotated[int, Parameter("the time between two resets", unit="ms", at_least=1)]


def windows_of_moments(for_ms: int, every_ms: int) -> tuple[tuple[int, int], ...]:
    """A short window every `every_ms`, for `for_ms`; all of it in milliseconds."""
    return tuple((start, start + 1) for start in range(0, for_ms, every_ms))


def _cut(fault_class: type[Fault], requirement: str, in_turns: str = "") -> FaultKind:
    """A kind that closes ways; `in_turns` is what proves it of one that closes them by turns."""
    held = "bytes or connections are held, and probes pass on all other ways only"
    return FaultKind(
        fault_class=fault_class,
        injector="links:CutInTurns" if in_turns else "links:Cut",
        needs_links=True,
        missing={},
        evidence=in_turns or held,
        undo="probes pass again",
        requirements=("ISR-001", requirement),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    )


KINDS = (
    _cut(IsolateBroker, "CMD-010"),
    _cut(PartitionBrokers, "CMD-010"),
    _cut(CutOneWay, "CTL-012"),
    _cut(BridgeBrokers, "CMD-010"),
    _cut(RingOfMajorities, "CTL-012"),
    _cut(
        SwizzleBrokers,
        "CMD-010",
        in_turns="each broker was cut off, and bytes or connections were held",
    ),
    _cut(
        FlapBroker,
        "CMD-010",
        in_turns="the broker was cut off twice or more, and bytes or connections were held",
    ),
    FaultKind(
        fault_class=ReorderLink,
        missing={
            Backend.REAL: "bytes on a connection never overtake each other, and brokers send "
            "what they have for each other over one connection"
        },
        evidence="how many messages took their own time",
        undo="messages go their usual way again",
        requirements=("CMD-002", "CTL-006"),
    ),
    FaultKind(
        fault_class=DelayLink,
        injector="links:Slow",
        needs_links=True,
        needs_relay=True,
        missing={},
        evidence="how many bytes came late; for real, a probe took that long too",
        undo="nothing waits any more, and probes pass",
        requirements=("ISR-001", "REPL-004"),
    ),
    FaultKind(
        fault_class=NarrowLink,
        injector="links:Slow",
        needs_links=True,
        missing={Backend.SIM: "its messages have no size"},
        evidence="how many bytes had to wait, by the count of the proxy or of the kernel's queue",
        undo="nothing waits any more, and probes pass",
        requirements=("ISR-001", "REPL-004"),
    ),
    FaultKind(
        fault_class=ResetStreams,
        injector="links:Reset",
        needs_links=True,
        needs_proxy="a packet filter drops packets and resets nothing",
        missing={
            Backend.SIM: "it has messages and no connections; "
            "what a reset loses, rpc.drop_request and rpc.drop_response lose too"
        },
        evidence="how many connections were reset",
        undo="probes pass",
        requirements=("CMD-002", "REPL-004"),
    ),
)
