"""How a cluster is led through network namespaces: each broker in one of its own.

A broker registers the address at which the others find it. The harness asks it about its faults at
another one, which no cut is about.
"""

from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.network.links.wiring import BrokerPlace, Wiring, broker_name
from fencepost.fault_injection.network.namespaces.client import SwitchControl
from fencepost.fault_injection.network.namespaces.layout import BROKER_PORT


@dataclass(slots=True, kw_only=True)
class NamespaceWiring(Wiring):
    """The networks of one cluster's members."""

    links: SwitchControl

    def place_of(self, broker_id: int) -> BrokerPlace:
        """In its own network; it listens at all addresses there."""
        node = self.links.node(broker_name(broker_id))
        return BrokerPlace(
            zookeeper=self.zookeeper,
            listens=f"0.0.0.0:{BROKER_PORT}",
            advertised=f"{node.host}:{BROKER_PORT}",
            namespace=node.namespace,
        )

    def network_of(self, broker_id: int) -> Path:
        """One of its own."""
        return self.links.node(broker_name(broker_id)).namespace

    def started(self, broker_id: int, pid: int) -> None:
        """Its address identifies it; the process says nothing."""

    def address_of(self, broker_id: int) -> str | None:
        """Where only the harness finds it."""
        return f"{self.links.node(broker_name(broker_id)).control}:{BROKER_PORT}"
