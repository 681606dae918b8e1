"""The addresses of brokers, as their registrations in ZooKeeper give them."""

from collections.abc import Iterable

from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import BROKER_IDS, MalformedZnodeError, parse_broker


class AddressBook:
    """The address of each broker, from its registration as it was last read."""

    def __init__(self) -> None:
        self._addresses: dict[BrokerId, str] = {}
        self._pinned: dict[BrokerId, str] = {}

    def pin(self, broker_id: BrokerId, address: str) -> None:
        """Use `address` for this broker, whatever its registration says."""
        self._pinned[broker_id] = address

    def learn(self, znodes: Iterable[Znode]) -> None:
        """Keep the addresses of registrations among `znodes`; ignore malformed ones (ZK-002)."""
        for znode in znodes:
            folder, _, name = znode.path.rpartition("/")
            if folder == BROKER_IDS and name.isdecimal():
                self._learn_one(BrokerId(int(name)), znode)

    def _learn_one(self, broker_id: BrokerId, znode: Znode) -> None:
        self.forget(broker_id)
        if znode.stat is None:
            return
        try:
            document = parse_broker(znode.path, znode.data)
        except MalformedZnodeError:
            return
        self._addresses[broker_id] = f"{document.host}:{document.port}"

    def forget(self, broker_id: BrokerId) -> None:
        """Drop the address, so that the registration is read again."""
        self._addresses.pop(broker_id, None)

    def __getitem__(self, broker_id: BrokerId) -> str | None:
        return self._pinned.get(broker_id) or self._addresses.get(broker_id)
