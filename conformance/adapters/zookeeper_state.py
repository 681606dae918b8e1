"""The state that the protocol publishes, read from ZooKeeper."""

from fencepost.conformance.adapters.implementation import PublishedState
from fencepost.conformance.adapters.znode_dialect import (
    Document,
    Parse,
    TopicAssignment,
    ZnodeAccess,
)
from fencepost.fault_injection.faults.targets import StateVersion
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZnodeContent
from fencepost.spec.vocabulary import Liveness
from fencepost.spec.znodes import (
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    parse_controller_epoch,
)


class ZooKeeperState(PublishedState):
    """`PublishedState` in ZooKeeper; a malformed znode is none. Reads raise `ZooKeeperError`."""

    def __init__(self, znodes: ZnodeAccess) -> None:
        """The client is connected; it is closed with this."""
        self.client, self.dialect = znodes

    def live_brokers(self) -> list[int]:
        """The registered brokers, ascending."""
        names = self._children(self.dialect.broker_ids)
        return sorted(int(name) for name in names if name.isdecimal())

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration now."""
        path = self.dialect.broker_path(broker_id)
        znode = self._read(path)
        address = _parsed(self.dialect.parse_address, path, znode)
        if znode is None or address is None:
            return None
        return Registration(session_id=znode.ephemeral_owner, zxid=znode.czxid, address=address)

    def controller(self) -> int | None:
        """The broker that owns the controller's znode."""
        path = self.dialect.controller
        return _parsed(self.dialect.parse_controller, path, self._read(path))

    def controller_epoch(self) -> int | None:
        """Of the last controller."""
        path = self.dialect.controller_epoch
        return _parsed(_epoch, path, self._read(path))

    def topics(self) -> list[str]:
        """All topics, ascending."""
        return sorted(self._children(self.dialect.topics))

    def assignment(self, topic: str) -> dict[int, tuple[int, ...]]:
        """The assigned replicas of each partition."""
        found = self._topic(topic)
        return found.assigned if found else {}

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The published leader, epoch and ISR of a partition."""
        path = self.dialect.state_path(partition)
        return _parsed(self.dialect.parse_state, path, self._read(path))

    def version_of(self, partition: TopicPartition, /) -> StateVersion | None:
        """The version of the znode that holds it, and which znode that is."""
        znode = self._read(self.dialect.state_path(partition))
        return StateVersion(znode.znode_version, znode.czxid) if znode else None

    def pending(self) -> frozenset[Liveness]:
        """The promises that open requests, and moves under way, stand for."""
        asked = {
            promise
            for parent, promise in self.dialect.requests.items()
            if any(self._children(f"{parent}/{topic}") for topic in self._children(parent))
        }
        if any(found.is_moving for topic in self.topics() if (found := self._topic(topic))):
            asked.add(Liveness.REASSIGNMENT_COMPLETES)
        return frozenset(asked)

    def close(self) -> None:
        """Close the session."""
        self.client.close()

    def _topic(self, topic: str) -> TopicAssignment | None:
        path = self.dialect.topic_path(topic)
        return _parsed(self.dialect.parse_topic, path, self._read(path))

    def _read(self, path: str) -> ZnodeContent | None:
        try:
            return self.client.read(path)
        except NoZnodeError:
            return None

    def _children(self, path: str) -> list[str]:
        try:
            return self.client.children(path)
        except NoZnodeError:
            return []


def _epoch(_: str, data: bytes) -> int:
    return int(parse_controller_epoch(data))


def _parsed(parse: Parse[Document], path: str, znode: ZnodeContent | None) -> Document | None:
    try:
        return None if znode is None else parse(path, znode.data)
    except MalformedZnodeError:
        return None
