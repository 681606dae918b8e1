"""How an implementation's state is read from ZooKeeper: the paths and documents of its znodes."""

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple, Protocol

from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZnodeContent, ZooKeeperClient
from fencepost.spec import znodes
from fencepost.spec.vocabulary import Liveness
from fencepost.spec.znodes import LeaderAndIsr, MalformedZnodeError, TopicPartition


class TopicAssignment(NamedTuple):
    """The document of one topic."""

    assigned: dict[int, tuple[int, ...]]
    """Partition -> its replicas, the preferred one first."""
    is_moving: bool
    """True while a reassignment adds or removes replicas."""


class ZnodeDialect(Protocol):
    """Paths and documents; every `parse_*` raises `MalformedZnodeError`."""

    broker_ids: str
    """The parent of registrations, each named by its broker id."""
    controller: str
    topics: str
    """The parent of topics, each named by its topic."""
    requests: Mapping[str, Liveness]
    """Parent of `<topic>/<partition>` that asks for a change -> the promise that it stands for."""

    def broker_path(self, broker_id: int) -> str:
        """The registration of a broker."""

    def topic_path(self, topic: str) -> str:
        """The assignment of a topic."""

    def state_path(self, partition: TopicPartition) -> str:
        """The LeaderAndISR of a partition."""

    def parse_address(self, path: str, data: bytes) -> str:
        """`HOST:PORT` of a registration."""

    def parse_controller(self, path: str, data: bytes) -> int:
        """The broker id of the controller."""

    def parse_topic(self, path: str, data: bytes) -> TopicAssignment:
        """The replicas of each partition."""

    def parse_state(self, path: str, data: bytes) -> LeaderAndIsr:
        """Leader, leader epoch and ISR."""


class SpecDialect:
    """The dialect of `spec/znodes.py`."""

    broker_ids = znodes.BROKER_IDS
    controller = znodes.CONTROLLER
    topics = znodes.TOPICS
    requests: Mapping[str, Liveness] = MappingProxyType(
        {
            znodes.LEADER_ELECTION: Liveness.EVENTUALLY_LEADER,
            znodes.PARTITIONS_ADD: Liveness.ADDITION_COMPLETES,
            znodes.PARTITIONS_REMOVE: Liveness.REMOVAL_COMPLETES,
            znodes.PARTITIONS_REASSIGNED: Liveness.REASSIGNMENT_COMPLETES,
        }
    )

    def broker_path(self, broker_id: int) -> str:
        """The registration of a broker."""
        return znodes.broker_path(broker_id)

    def topic_path(self, topic: str) -> str:
        """The assignment of a topic."""
        return znodes.topic_path(topic)

    def state_path(self, partition: TopicPartition) -> str:
        """The LeaderAndISR of a partition."""
        return znodes.leader_and_isr_path(partition)

    def parse_address(self, path: str, data: bytes) -> str:
        """`HOST:PORT` of a registration."""
        document = znodes.parse_broker(path, data)
        return f"{document.host}:{document.port}"

    def parse_controller(self, path: str, data: bytes) -> int:
        """The broker id of the controller."""
        return int(znodes.parse_controller(path, data).brokerid)

    def parse_topic(self, path: str, data: bytes) -> TopicAssignment:
        """The replicas of each partition."""
        document = znodes.parse_topic_document(path, data)
        assigned = znodes.assignment_of(document)
        return TopicAssignment(
            assigned={number: tuple(map(int, replicas)) for number, replicas in assigned.items()},
            is_moving=bool(document.adding or document.removing),
        )

    def parse_state(self, path: str, data: bytes) -> LeaderAndIsr:
        """Leader, leader epoch and ISR."""
        return znodes.parse_leader_and_isr(path, data)


SPEC_DIALECT = SpecDialect()


class ZooKeeperState:
    """`PublishedState` in ZooKeeper; a malformed znode is none. Reads raise `ZooKeeperError`."""

    def __init__(self, client: ZooKeeperClient, dialect: ZnodeDialect) -> None:
        """The `client` is connected; it is closed with this."""
        self.client = client
        self.dialect = dialect

    def live_brokers(self) -> list[int]:
        """The registered brokers, ascending."""
        names = self._children(self.dialect.broker_ids)
        return sorted(int(name) for name in names if name.isdecimal())

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration now."""
        path = self.dialect.broker_path(broker_id)
        znode = self._read(path)
        if znode is None:
            return None
        with suppress(MalformedZnodeError):
            return Registration(
                session_id=znode.ephemeral_owner,
                zxid=znode.czxid,
                address=self.dialect.parse_address(path, znode.data),
            )
        return None

    def controller(self) -> int | None:
        """The broker that owns the controller's znode."""
        znode = self._read(self.dialect.controller)
        if znode is not None:
            with suppress(MalformedZnodeError):
                return self.dialect.parse_controller(self.dialect.controller, znode.data)
        return None

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
        znode = self._read(path)
        if znode is not None:
            with suppress(MalformedZnodeError):
                return self.dialect.parse_state(path, znode.data)
        return None

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
        znode = self._read(path)
        if znode is not None:
            with suppress(MalformedZnodeError):
                return self.dialect.parse_topic(path, znode.data)
        return None

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
