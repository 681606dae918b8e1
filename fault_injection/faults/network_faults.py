"""Faults on the links between brokers; ZooKeeper stays in reach.

On real processes they are rules of the proxy (`network/proxy/`): bytes wait, and are not lost. A
message that was sent is delivered when the link is open again, unless its sender has taken it back.
In network namespaces the kernel drops packets, and TCP sends them again; what is late or slow waits
in front of the bridge.
"""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from fencepost.fault_injection.faults.fault import Fault, ForMs, LastingBrokerFault, LinkFault
from fencepost.fault_injection.faults.fault_kind import Backend, FaultClass, fault_kind
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import EnvironmentAction


def _cut(requirement: str, in_turns: str = "") -> Callable[[FaultClass], FaultClass]:
    """A kind that closes links; `in_turns` is what proves it of one that closes them by turns."""
    held = "bytes or connections are held, and probes pass on all other ways only"
    return fault_kind(
        injector="links:TimedCutInjector" if in_turns else "links:LinkCutInjector",
        needs_links=True,
        evidence=in_turns or held,
        undo="probes pass again",
        requirements=("ISR-001", requirement),
        spec_actions=(EnvironmentAction.LOSE_MESSAGE,),
    )


@_cut("CMD-010")
class IsolateBroker(LastingBrokerFault, frozen=True, kw_only=True, tag="net.isolate"):
    """Nothing passes between the broker and other brokers or clients; ZooKeeper stays in reach."""


@_cut("CMD-010")
class PartitionBrokers(Fault, frozen=True, kw_only=True, tag="net.partition"):
    """Nothing passes between the brokers of one side and all others; clients reach both sides."""

    side: Annotated[tuple[int, ...], Meta(min_length=1, description="the brokers of one side")]
    for_ms: ForMs


@_cut("CTL-012")
class CutOneWay(LinkFault, frozen=True, kw_only=True, tag="net.oneway"):
    """Neither requests nor answers get from the sender to the receiver; the way back is open."""


@_cut("CMD-010")
class BridgeBrokers(LastingBrokerFault, frozen=True, kw_only=True, tag="net.bridge"):
    """The brokers fall into two halves, and one broker alone still reaches both; clients all."""


@_cut("CTL-012")
class RingOfMajorities(Fault, frozen=True, kw_only=True, tag="net.majority_ring"):
    """Each broker hears only from a majority around itself, and no two from the same one."""

    for_ms: ForMs


@_cut("CMD-010", in_turns="each broker was cut off, and bytes or connections were held")
class SwizzleBrokers(Fault, frozen=True, kw_only=True, tag="net.swizzle"):
    """Brokers are cut off from all others one by one, and come back one by one otherwise."""

    cut: Annotated[
        tuple[int, ...],
        Meta(min_length=1, description="the brokers, in the order in which they are cut off"),
    ]
    back: Annotated[
        tuple[int, ...], Meta(min_length=1, description="the same brokers, as they come back")
    ]
    gap_ms: Annotated[int, milliseconds("the time between two steps", ge=1)]

    def __post_init__(self) -> None:
        super().__post_init__()
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


@_cut(
    "CMD-010", in_turns="the broker was cut off twice or more, and bytes or connections were held"
)
class FlapBroker(LastingBrokerFault, frozen=True, kw_only=True, tag="net.flap"):
    """The broker is cut off from other brokers and clients again and again, for a while each."""

    cut_ms: Annotated[int, milliseconds("how long it is cut off each time", ge=1)]
    open_ms: Annotated[int, milliseconds("how long it is reached between", ge=1)]

    def windows(self) -> tuple[tuple[int, int], ...]:
        """From when to when it is cut off."""
        starts = range(0, self.for_ms, self.cut_ms + self.open_ms)
        return tuple((start, min(start + self.cut_ms, self.for_ms)) for start in starts)


@fault_kind(
    missing={
        Backend.REAL: "bytes on a connection never overtake each other, and brokers send "
        "what they have for each other over one connection"
    },
    evidence="how many messages took their own time",
    undo="messages go their usual way again",
    requirements=("CMD-002", "CTL-006"),
)
class ReorderLink(LinkFault, frozen=True, kw_only=True, tag="net.reorder"):
    """Each message to the receiver takes its own time, so that later ones overtake earlier ones."""

    delay_ms: Annotated[int, milliseconds("at most this much more than usual", ge=1)]


@fault_kind(
    injector="links:SlowLinkInjector",
    needs_links=True,
    needs_relay=True,
    evidence="how many bytes came late; for real, a probe took that long too",
    undo="nothing waits any more, and probes pass",
    requirements=("ISR-001", "REPL-004"),
)
class DelayLink(LinkFault, frozen=True, kw_only=True, tag="net.latency"):
    """What the sender says to the receiver comes late; the way back is as fast as always."""

    delay_ms: Annotated[int, milliseconds("how much later than usual", ge=1)]
    jitter_ms: Annotated[int, milliseconds("up to this much more", ge=0)] = 0


@fault_kind(
    injector="links:SlowLinkInjector",
    needs_links=True,
    missing={Backend.SIM: "its messages have no size"},
    evidence="how many bytes had to wait, by the count of the proxy or of the kernel's queue",
    undo="nothing waits any more, and probes pass",
    requirements=("ISR-001", "REPL-004"),
)
class NarrowLink(LinkFault, frozen=True, kw_only=True, tag="net.bandwidth"):
    """Only so many bytes per second get from the sender to the receiver."""

    kb_per_s: Annotated[int, number("how many thousand bytes per second pass", ge=1)]


@fault_kind(
    injector="links:ConnectionResetInjector",
    needs_links=True,
    needs_proxy="a packet filter drops packets and resets nothing",
    missing={
        Backend.SIM: "it has messages and no connections; "
        "what a reset loses, rpc.drop_request and rpc.drop_response lose too"
    },
    evidence="how many connections were reset",
    undo="probes pass",
    requirements=("CMD-002", "REPL-004"),
)
class ResetStreams(LinkFault, frozen=True, kw_only=True, tag="rpc.stream_reset"):
    """Whatever the sender has connected to the receiver is reset, again and again."""

    every_ms: Annotated[int, milliseconds("the time between two resets", ge=1)]


def windows_of_moments(for_ms: int, every_ms: int) -> tuple[tuple[int, int], ...]:
    """A short window every `every_ms`, for `for_ms`; all of it in milliseconds."""
    return tuple((start, start + 1) for start in range(0, for_ms, every_ms))
