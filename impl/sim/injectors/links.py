"""Faults on the ways between members of the simulated world; `deeds.py` has all the others."""

from collections.abc import Callable
from functools import partial

from fencepost.fault_injection.faults.fault import Fault
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
from fencepost.impl.sim.injectors.awaited import Heal
from fencepost.impl.sim.world.cluster import CLIENT, VirtualCluster
from fencepost.impl.sim.world.network import Link
from fencepost.impl.sim.world.process import Process
from fencepost.impl.trace_lines import Line

LinkFaultOfOne = IsolateBroker | CutOneWay | ReorderLink | DelayLink | BridgeBrokers | FlapBroker
LinkFaultOfAll = PartitionBrokers | RingOfMajorities | SwizzleBrokers


def hurt_link(fault: LinkFaultOfOne, cluster: VirtualCluster, process: Process) -> Heal | None:
    """A fault on the ways of one broker; None when there is no such way."""
    victim = process.broker_id
    match fault:
        case IsolateBroker():
            return _link(cluster, _cut_off(victim))
        case BridgeBrokers():
            ways = around_bridge(victim, sorted(cluster.processes))
            return _link(cluster, Link(lambda a, b: (a, b) in ways, None)) if ways else None
        case FlapBroker():
            return _in_turns(cluster, [(_cut_off(victim), window) for window in fault.windows()])
        case CutOneWay() | ReorderLink() | DelayLink():
            other = fault.receiver.resolve(cluster.view())
            if other == victim or (other is None and fault.receiver != ANY_BROKER):
                return None
            return _link(cluster, _slow_or_cut(fault, _one_way(victim, other)))


def hurt_links(fault: LinkFaultOfAll, cluster: VirtualCluster) -> Heal:
    """A fault on the ways of many."""
    match fault:
        case PartitionBrokers():
            return _partition(fault, cluster)
        case RingOfMajorities():
            unheard = outside_majorities(sorted(cluster.processes))
            return _link(cluster, Link(lambda a, b: (a, b) in unheard, None))
        case SwizzleBrokers():
            windows = fault.windows().items()
            return _in_turns(cluster, [(_cut_off(broker), window) for broker, window in windows])


def _cut_off(victim: int) -> Link:
    return Link(lambda a, b: (a == victim) != (b == victim), None)


def _slow_or_cut(fault: Fault, applies: Callable[[int, int], bool]) -> Link:
    if isinstance(fault, ReorderLink):
        return Link(applies, fault.delay_ms * US_PER_MS)
    if isinstance(fault, DelayLink):
        jitter_us, least_us = fault.jitter_ms * US_PER_MS, fault.delay_ms * US_PER_MS
        return Link(applies, jitter_us, least_us=least_us)
    return Link(applies, None)


def _one_way(sender: int, receiver: int | None) -> Callable[[int, int], bool]:
    """To everybody but clients when there is no receiver."""
    if receiver is None:
        return lambda a, b: a == sender and b != CLIENT
    return lambda a, b: a == sender and b == receiver


def _partition(fault: PartitionBrokers, cluster: VirtualCluster) -> Heal:
    side = frozenset(fault.side)
    return _link(
        cluster, Link(lambda a, b: CLIENT not in (a, b) and (a in side) != (b in side), None)
    )


def _link(cluster: VirtualCluster, link: Link) -> Heal:
    cluster.network.links.append(link)

    def heal() -> Line:
        cluster.network.links.remove(link)
        return {"matched": link.matched}

    return heal


def _in_turns(cluster: VirtualCluster, turns: list[tuple[Link, tuple[int, int]]]) -> Heal:
    """Each link is hurt from the one to the other time of its window, in milliseconds from now."""
    links = cluster.network.links
    over: list[Link] = []

    def begin(link: Link) -> None:
        if link not in over:
            links.append(link)

    def end(link: Link) -> None:
        over.append(link)
        if link in links:
            links.remove(link)

    for link, (start_ms, end_ms) in turns:
        cluster.scheduler.after_ms(start_ms, partial(begin, link))
        cluster.scheduler.after_ms(end_ms, partial(end, link))

    def heal() -> Line:
        for link, _ in turns:
            end(link)
        return {"matched": sum(link.matched for link, _ in turns)}

    return heal
