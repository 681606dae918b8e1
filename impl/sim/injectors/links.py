"""Links between members of the simulated world that are cut or slow."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    PartitionBrokers,
    ReorderLink,
    RingOfMajorities,
    SwizzleBrokers,
)
from fencepost.fault_injection.faults.targets import ANY_BROKER
from fencepost.fault_injection.network.link_sets import around_bridge, outside_majorities
from fencepost.impl.sim.engine.scheduler import US_PER_MS
from fencepost.impl.sim.injectors.injector import AnyFault, InstantInjector, nothing_to_act_on
from fencepost.impl.sim.world.cluster import CLIENT
from fencepost.impl.sim.world.network import Link
from fencepost.impl.trace_lines import Line

DirectedFault = CutOneWay | ReorderLink | DelayLink
CutFault = IsolateBroker | BridgeBrokers | PartitionBrokers | RingOfMajorities


class SimulatedLinkFault(InstantInjector[AnyFault]):
    """A set of links is cut or slow."""

    _link: Link

    def inject(self) -> None:
        """Add the fault to the network."""
        self._link = self.link()
        self.cluster.network.links.append(self._link)

    @abstractmethod
    def link(self) -> Link:
        """The links, and what happens to their messages."""

    def undo(self) -> Line:
        """Take the fault off the network; how many messages met it."""
        self.cluster.network.links.remove(self._link)
        return {"matched": self._link.matched}


class SimulatedLinkCut(SimulatedLinkFault[CutFault]):
    """`net.isolate`, `net.bridge`, `net.partition`, `net.majority_ring`."""

    def link(self) -> Link:
        """The links between the brokers that are to be apart."""
        match self.fault:
            case IsolateBroker():
                return _cut_off(self.process.broker_id)
            case PartitionBrokers():
                side = frozenset(self.fault.side)
                return Link(lambda a, b: CLIENT not in (a, b) and (a in side) != (b in side), None)
            case RingOfMajorities():
                unheard = outside_majorities(sorted(self.cluster.processes))
                return Link(lambda a, b: (a, b) in unheard, None)
            case BridgeBrokers():
                halves = around_bridge(self.process.broker_id, sorted(self.cluster.processes))
                if not halves:
                    raise nothing_to_act_on()
                return Link(lambda a, b: (a, b) in halves, None)


class SimulatedDirectedFault(SimulatedLinkFault[DirectedFault]):
    """`net.oneway`, `net.reorder`, `net.latency`: from one broker to another, or to all."""

    def link(self) -> Link:
        """The link, and how it delays; raises `InjectionError` without a receiver."""
        victim, receiver = self.process.broker_id, self.fault.receiver
        other = receiver.resolve(self.cluster.view())
        if other == victim or (other is None and receiver != ANY_BROKER):
            raise nothing_to_act_on()
        applies = _one_way(victim, other)
        match self.fault:
            case ReorderLink(delay_ms=delay_ms):
                return Link(applies, delay_ms * US_PER_MS)
            case DelayLink(delay_ms=delay_ms, jitter_ms=jitter_ms):
                return Link(applies, jitter_ms * US_PER_MS, least_us=delay_ms * US_PER_MS)
            case CutOneWay():
                return Link(applies, None)


class SimulatedTimedCut(InstantInjector[FlapBroker | SwizzleBrokers]):
    """`net.flap`, `net.swizzle`: each broker is cut off in windows of time."""

    _links: list[Link]
    _over: list[Link]

    def inject(self) -> None:
        """Plan the beginning and the end of each cut."""
        self._links, self._over = [], []
        for broker_id, (start_ms, end_ms) in self._windows():
            link = _cut_off(broker_id)
            self._links.append(link)
            self.cluster.scheduler.after_ms(start_ms, partial(self._begin, link))
            self.cluster.scheduler.after_ms(end_ms, partial(self._end, link))

    def undo(self) -> Line:
        """End all cuts; how many messages met them."""
        for link in self._links:
            self._end(link)
        return {"matched": sum(link.matched for link in self._links)}

    def _windows(self) -> list[tuple[int, tuple[int, int]]]:
        if isinstance(self.fault, SwizzleBrokers):
            return list(self.fault.windows().items())
        return [(self.process.broker_id, window) for window in self.fault.windows()]

    def _begin(self, link: Link) -> None:
        if link not in self._over:
            self.cluster.network.links.append(link)

    def _end(self, link: Link) -> None:
        self._over.append(link)
        if link in self.cluster.network.links:
            self.cluster.network.links.remove(link)


def _cut_off(victim: int) -> Link:
    return Link(lambda a, b: (a == victim) != (b == victim), None)


def _one_way(sender: int, receiver: int | None) -> Callable[[int, int], bool]:
    """From the sender to all but clients when there is no receiver."""
    if receiver is None:
        return lambda a, b: a == sender and b != CLIENT
    return lambda a, b: a == sender and b == receiver
