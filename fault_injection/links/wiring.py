"""How a cluster's connections are led through the proxy: which place is whose.

Each broker finds each ZooKeeper server at a place of its own, and all others find the broker at the
place that it registers. The harness's own connection to ZooKeeper, and what it asks brokers about
their faults, go past the proxy.
"""

from dataclasses import dataclass, field

from fault_injection.links.client import LinkError, Links
from fault_injection.links.rules import CLIENTS, Link
from fault_injection.zookeeper_address import ZooKeeperAddress

ZOOKEEPER = "zookeeper"


def broker_name(broker_id: int) -> str:
    """The member that a broker is: its node name."""
    return f"broker-{broker_id}"


@dataclass(slots=True, kw_only=True)
class Wiring:
    """The places of one cluster."""

    links: Links
    zookeeper: str
    """`HOST:PORT[,HOST:PORT...][/chroot]`."""
    broker_ids: tuple[int, ...]
    _zookeepers: dict[int, str] = field(init=False, default_factory=dict)
    _addresses: dict[int, str] = field(init=False, default_factory=dict)

    @property
    def zookeepers(self) -> tuple[str, ...]:
        """The members that serve ZooKeeper, in the order of the address."""
        hosts = self._hosts()
        if len(hosts) == 1:
            return (ZOOKEEPER,)
        return tuple(f"{ZOOKEEPER}-{number}" for number in range(1, len(hosts) + 1))

    @property
    def brokers(self) -> tuple[str, ...]:
        """The members that are brokers."""
        return tuple(broker_name(broker_id) for broker_id in self.broker_ids)

    def zookeeper_for(self, broker_id: int) -> str:
        """The address at which the broker finds ZooKeeper; the same whenever it starts."""
        if broker_id not in self._zookeepers:
            client, chroot = broker_name(broker_id), ZooKeeperAddress.parse(self.zookeeper).chroot
            places = [
                self.links.open_place(
                    f"{server}-of-{client}",
                    server=server,
                    client=client,
                    upstream=host,
                    is_framed=True,
                )
                for server, host in zip(self.zookeepers, self._hosts(), strict=True)
            ]
            self._zookeepers[broker_id] = ",".join(places) + chroot
        return self._zookeepers[broker_id]

    def advertised_for(self, broker_id: int) -> str:
        """The address that the broker is to register at its next start."""
        name = broker_name(broker_id)
        self._addresses.pop(broker_id, None)
        return self.links.open_place(name, server=name)

    def started(self, broker_id: int, pid: int) -> None:
        """The broker runs as that process, and is known by it."""
        self.links.set_member(broker_name(broker_id), pid)

    def address_of(self, broker_id: int) -> str | None:
        """Where a registered broker listens itself; None when it does not."""
        if broker_id not in self._addresses:
            try:
                self._addresses[broker_id] = self.links.address(broker_name(broker_id))
            except LinkError:
                return None
        return self._addresses[broker_id]

    def between(self, one: int, other: int) -> frozenset[Link]:
        """Both directions between two brokers."""
        a, b = broker_name(one), broker_name(other)
        return frozenset({(a, b), (b, a)})

    def to_zookeeper(self, broker_id: int) -> frozenset[Link]:
        """What a broker sends to ZooKeeper."""
        return frozenset((broker_name(broker_id), server) for server in self.zookeepers)

    def from_zookeeper(self, broker_id: int) -> frozenset[Link]:
        """What a broker gets from ZooKeeper."""
        return frozenset((server, broker_name(broker_id)) for server in self.zookeepers)

    def with_clients(self, broker_id: int) -> frozenset[Link]:
        """Both directions between a broker and all clients."""
        name = broker_name(broker_id)
        return frozenset({(CLIENTS, name), (name, CLIENTS)})

    def _hosts(self) -> list[str]:
        return ZooKeeperAddress.parse(self.zookeeper).servers.split(",")
