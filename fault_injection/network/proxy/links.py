"""Links that a proxy in user space hurts: its client, and how connections are led through it.

Each broker finds each ZooKeeper server at a place of its own, and all others find the broker at
the place that it registers.
"""

from dataclasses import dataclass, field

from fencepost.fault_injection.network.links import LinkError, Links
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.wiring import BrokerPlace, Wiring, broker_name
from fencepost.spec.zookeeper import ZooKeeperAddress


class ProxyLinks(Links):
    """A running proxy."""

    PROGRAM = "fencepost.fault_injection.network.proxy.proxy"
    NAME = "proxy"

    def open_place(
        self,
        place: str,
        *,
        server: str,
        client: str | None = None,
        upstream: str | None = None,
        protocol: WireProtocol = WireProtocol.GRPC,
    ) -> str:
        """Where others find `server` from now on, as `HOST:PORT`.

        Only `client` comes there, if it is named. Without `upstream` connections go on to where
        the process of the member `server` listens.
        """
        answer = self.command(
            "open",
            place=place,
            server=server,
            client=client,
            upstream=upstream,
            protocol=protocol,
        )
        return f"127.0.0.1:{answer['port']}"

    def set_member(self, name: str, pid: int) -> None:
        """The member is that process from now on, with whatever it starts."""
        self.command("member", name=name, pid=pid)

    def address(self, place: str) -> str:
        """Where the server of a place listens itself, past all rules."""
        return str(self.command("address", place=place)["address"])


@dataclass(slots=True, kw_only=True)
class ProxyWiring(Wiring):
    """The places of one cluster at the proxy."""

    links: ProxyLinks
    protocol: WireProtocol = WireProtocol.GRPC
    """What brokers speak with each other and with clients."""
    _zookeepers: dict[int, str] = field(init=False, default_factory=dict)
    _addresses: dict[int, str] = field(init=False, default_factory=dict)
    _advertised: dict[int, str] = field(init=False, default_factory=dict)
    """Of brokers with a fixed place."""

    def place_of(self, broker_id: int) -> BrokerPlace:
        """In the network of the harness, between its places at the proxy."""
        return BrokerPlace(
            zookeeper=self.zookeeper_for(broker_id), advertised=self.advertised_for(broker_id)
        )

    def zookeeper_for(self, broker_id: int) -> str:
        """The address at which the broker finds ZooKeeper; the same whenever it starts."""
        if not self.zookeeper:
            return ""
        if broker_id not in self._zookeepers:
            client, chroot = broker_name(broker_id), ZooKeeperAddress.parse(self.zookeeper).chroot
            places = [
                self.links.open_place(
                    f"{server}-of-{client}",
                    server=server,
                    client=client,
                    upstream=host,
                    protocol=WireProtocol.ZOOKEEPER,
                )
                for server, host in zip(self.zookeepers, self._hosts(), strict=True)
            ]
            self._zookeepers[broker_id] = ",".join(places) + chroot
        return self._zookeepers[broker_id]

    def advertised_for(self, broker_id: int) -> str:
        """The address that the broker is to register at its next start."""
        if broker_id in self._advertised:
            return self._advertised[broker_id]
        name = broker_name(broker_id)
        self._addresses.pop(broker_id, None)
        return self.links.open_place(name, server=name, protocol=self.protocol)

    def fixed_place(self, broker_id: int, listener: str, listens: str) -> str:
        """Open a place that stays when the broker ends; the last one is what it advertises."""
        name = broker_name(broker_id)
        place = self.links.open_place(
            f"{listener}-of-{name}", server=name, upstream=listens, protocol=self.protocol
        )
        self._advertised[broker_id], self._addresses[broker_id] = place, listens
        return place

    def started(self, broker_id: int, pid: int) -> None:
        """The broker is known by its process from now on."""
        self.links.set_member(broker_name(broker_id), pid)

    def address_of(self, broker_id: int) -> str | None:
        """Where a registered broker listens itself; None when it does not."""
        if broker_id not in self._addresses:
            try:
                self._addresses[broker_id] = self.links.address(broker_name(broker_id))
            except LinkError:
                return None
        return self._addresses[broker_id]
