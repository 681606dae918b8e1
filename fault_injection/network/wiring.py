"""How a cluster's connections are led, and the names of members and links.

The harness's own connection to ZooKeeper, and what it asks brokers about their faults, go past
every rule.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.network.links import LinkError, Links
from fencepost.fault_injection.network.rules import CLIENTS, Link
from fencepost.spec.zookeeper import ZooKeeperAddress

ZOOKEEPER = "zookeeper"


def broker_name(broker_id: int) -> str:
    """The member that a broker is: its node name."""
    return f"broker-{broker_id}"


def zookeeper_name(number: int) -> str:
    """The member that a server of an ensemble is, from 1 on."""
    return f"{ZOOKEEPER}-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPlace:
    """Where a broker runs, and what it must be told of it."""

    zookeeper: str
    """The address at which it finds ZooKeeper."""
    listens: str | None = None
    """`HOST:PORT` at which it is to listen; None: as it likes."""
    advertised: str | None = None
    """`HOST:PORT` that it is to register; None: where it listens."""
    namespace: Path | None = None
    """The network that its process is in; None: that of the harness."""


@dataclass(slots=True, kw_only=True)
class Wiring(ABC):
    """The members of one cluster and the links between them."""

    links: Links
    zookeeper: str
    """`HOST:PORT[,HOST:PORT...][/chroot]`; empty: there is none."""
    broker_ids: tuple[int, ...]

    @property
    def zookeepers(self) -> tuple[str, ...]:
        """The members that serve ZooKeeper, in the order of the address."""
        if not self.zookeeper:
            return ()
        hosts = self._hosts()
        if len(hosts) == 1:
            return (ZOOKEEPER,)
        return tuple(map(zookeeper_name, range(1, len(hosts) + 1)))

    @property
    def brokers(self) -> tuple[str, ...]:
        """The members that are brokers."""
        return tuple(broker_name(broker_id) for broker_id in self.broker_ids)

    @abstractmethod
    def place_of(self, broker_id: int) -> BrokerPlace:
        """Where the broker is to run when it starts next."""

    def network_of(self, broker_id: int) -> Path | None:  # noqa: ARG002 - of some wirings
        """The network that its processes are in; None: that of the harness."""
        return None

    def fixed_place(self, broker_id: int, listener: str, listens: str) -> str:
        """Where others find a listener of a broker, the same whenever the broker starts.

        `listens` is its own address. Raises `LinkError` where there is no such place.
        """
        raise LinkError(
            f"the {listener} of broker {broker_id} has an address of its own, {listens}, and only "
            "the proxy leads connections to such listeners"
        )

    @abstractmethod
    def started(self, broker_id: int, pid: int) -> None:
        """The broker runs as that process."""

    @abstractmethod
    def address_of(self, broker_id: int) -> str | None:
        """Where the harness reaches a registered broker past all rules; None when it does not."""

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
