"""Which network a run has: the machine's loopback, with a proxy where needed, or namespaces."""

from collections.abc import Iterable, Sequence

from fencepost.conformance.adapters.choices import NAMESPACES, why_no_network
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import Scenario
from fencepost.fault_injection.faults.catalogue import kind_of, needs_proxy, needs_relay
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.zookeeper_faults import HurtZooKeeperLink
from fencepost.fault_injection.network.namespaces.links import NamespaceLinks, NamespaceWiring
from fencepost.fault_injection.network.namespaces.relay import why_no_relay
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.links import ProxyLinks, ProxyWiring
from fencepost.fault_injection.network.wiring import Wiring
from fencepost.fault_injection.processes.supervisor import Supervisor


def require_network(settings: ClusterSettings, scenarios: Sequence[Scenario]) -> None:
    """Raise `ChoiceError` unless there is such a network and every scenario can be played there."""
    if why := why_no_network(settings.network, settings.zookeeper):
        raise ChoiceError(why)
    for scenario in scenarios if settings.network == NAMESPACES else ():
        if why := why_proxy(scenario):
            raise ChoiceError(f"{scenario.name} takes the proxy: {why}")


def why_proxy(scenario: Scenario) -> str:
    """Why network namespaces of this machine cannot do what it does; empty: they can."""
    if scenario.needs_proxy or not scenario.needs_relay:
        return scenario.needs_proxy
    return why_no_relay()


def require_possible(network: str, faults: Iterable[Fault]) -> None:
    """Raise `ChoiceError` for a fault that this network cannot have."""
    for fault in faults if network == NAMESPACES else ():
        late = needs_relay([fault.kind])
        if why := needs_proxy(fault) or (why_no_relay() if late else ""):
            raise ChoiceError(f"{fault.kind} takes the proxy: {why}")


def possible(kinds: Sequence[str], network: str) -> list[str]:
    """Those that can be drawn in that network; raises `ChoiceError` when none of them can.

    What is drawn of `zk.link` stalls connections, which every network can.
    """
    if network != NAMESPACES:
        return list(kinds)
    found = [k for k in kinds if k == HurtZooKeeperLink.kind or not kind_of(k).needs_proxy]
    if late := why_no_relay():
        found = [kind for kind in found if not kind_of(kind).needs_relay]
    if kinds and not found:
        why = kind_of(kinds[0]).needs_proxy or late
        raise ChoiceError(f"nothing of the profile can be drawn in {network}: {kinds[0]}: {why}")
    return found


def switch_for(network: str, supervisor: Supervisor) -> NamespaceLinks | None:
    """The networks of a run, before anything is in them; raises `LinkError`."""
    return NamespaceLinks.start(supervisor) if network == NAMESPACES else None


def wiring_for(
    supervisor: Supervisor,
    *,
    switch: NamespaceLinks | None,
    needs_links: bool,
    zookeeper: str,
    broker_ids: tuple[int, ...],
    protocol: WireProtocol,
) -> Wiring | None:
    """How the connections of a cluster are led; None: as they like. Raises `LinkError`."""
    if switch is not None:
        return NamespaceWiring(links=switch, zookeeper=zookeeper, broker_ids=broker_ids)
    if not needs_links:
        return None
    links = ProxyLinks.start(supervisor)
    return ProxyWiring(links=links, zookeeper=zookeeper, broker_ids=broker_ids, protocol=protocol)
