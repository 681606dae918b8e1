"""Where ZooKeeper listens, as people write it, and where brokers do, as ZooKeeper holds it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import BROKER_IDS, MalformedZnodeError, parse_broker

_HOST = re.compile(r"[^\s:,/]+:\d{1,5}")
_CHROOT = re.compile(r"(/[^/\s]+)*")


class AddressError(ValueError):
    """An address that cannot be one; says what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperAddress:
    """`host:port[,host:port...]`, and the folder that the cluster has there ("" for the root)."""

    hosts: str
    chroot: str = ""


def parse_zookeeper_address(text: str) -> ZooKeeperAddress:
    """Decode `host:port[,host:port...][/chroot]`; raises `AddressError`."""
    hosts, slash, rest = text.partition("/")
    chroot = (slash + rest).rstrip("/")
    sound = all(_HOST.fullmatch(host) and _port(host) for host in hosts.split(","))
    if not sound or not _CHROOT.fullmatch(chroot):
        raise AddressError(f"{text!r} is no ZooKeeper address; give HOST:PORT or HOST:PORT/CHROOT")
    return ZooKeeperAddress(hosts=hosts, chroot=chroot)


def _port(host: str) -> bool:
    return 0 < int(host.rpartition(":")[2]) < 65536


class AddressBook:
    """Where brokers listen, as their registrations said when they were last read."""

    def __init__(self) -> None:
        self._addresses: dict[BrokerId, str] = {}
        self._pinned: dict[BrokerId, str] = {}

    def pin(self, broker_id: BrokerId, address: str) -> None:
        """The broker is there, whatever its registration says."""
        self._pinned[broker_id] = address

    def learn(self, znodes: Iterable[Znode]) -> None:
        """Keep what registrations among `znodes` say; a malformed one says nothing (ZK-002)."""
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
        """The address is not good any more: it is to be read again."""
        self._addresses.pop(broker_id, None)

    def __getitem__(self, broker_id: BrokerId) -> str | None:
        return self._pinned.get(broker_id) or self._addresses.get(broker_id)
