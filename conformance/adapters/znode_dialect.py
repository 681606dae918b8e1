"""How an implementation's state is read from ZooKeeper: the paths and documents of its znodes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZnodeContent, ZooKeeperClient
from fencepost.spec import znodes
from fencepost.spec.vocabulary import Liveness
from fencepost.spec.znodes import LeaderAndIsr, MalformedZnodeError, TopicPartition

Document = TypeVar("Document")
Parse = Callable[[str, bytes], Document]
"""The document of a path and its data; raises `MalformedZnodeError`."""


class TopicAssignment(NamedTuple):
    """The document of one topic."""

    assigned: dict[int, tuple[int, ...]]
    """Partition -> its replicas, the preferred one first."""
    is_moving: bool
    """True while a reassignment adds or removes replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeDialect:
    """Paths and documents."""

    broker_ids: str
    """The parent of registrations, each named by its broker id."""
    broker_path: Callable[[int], str]
    parse_address: Parse[str]
    """`HOST:PORT` of a registration."""
    controller: str
    parse_controller: Parse[int]
    """The broker id of the controller."""
    controller_epoch: str
    topics: str
    """The parent of topics, each named by its topic."""
    topic_path: Callable[[str], str]
    parse_topic: Parse[TopicAssignment]
    state_path: Callable[[TopicPartition], str]
    """Of the leader, leader epoch and ISR of a partition."""
    parse_state: Parse[LeaderAndIsr]
    requests: Mapping[str, Liveness]
    """Parent of `<topic>/<partition>` that asks for a change -> the promise that it stands for."""


def _address(path: str, data: bytes) -> str:
    document = znodes.parse_broker(path, data)
    return f"{document.host}:{document.port}"


def _assignment(path: str, data: bytes) -> TopicAssignment:
    document = znodes.parse_topic_document(path, data)
    assigned = znodes.assignment_of(document)
    return TopicAssignment(
        assigned={number: tuple(map(int, replicas)) for number, replicas in assigned.items()},
        is_moving=bool(document.adding or document.removing),
    )


SPEC_DIALECT = ZnodeDialect(
    broker_ids=znodes.BROKER_IDS,
    broker_path=znodes.broker_path,
    parse_address=_address,
    controller=znodes.CONTROLLER,
    parse_controller=lambda path, data: int(znodes.parse_controller(path, data).brokerid),
    controller_epoch=znodes.CONTROLLER_EPOCH,
    topics=znodes.TOPICS,
    topic_path=znodes.topic_path,
    parse_topic=_assignment,
    state_path=znodes.leader_and_isr_path,
    parse_state=znodes.parse_leader_and_isr,
    requests=MappingProxyType(
        {
            znodes.LEADER_ELECTION: Liveness.EVENTUALLY_LEADER,
            znodes.PARTITIONS_ADD: Liveness.ADDITION_COMPLETES,
            znodes.PARTITIONS_REMOVE: Liveness.REMOVAL_COMPLETES,
            znodes.PARTITIONS_REASSIGNED: Liveness.REASSIGNMENT_COMPLETES,
        }
    ),
)
"""The dialect of `spec/znodes.py`."""


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
        address = _parsed(self.dialect.parse_address, path, znode)
        if znode is None or address is None:
            return None
        return Registration(session_id=znode.ephemeral_owner, zxid=znode.czxid, address=address)

    def controller(self) -> int | None:
        """The broker that owns the controller's znode."""
        path = self.dialect.controller
        return _parsed(self.dialect.parse_controller, path, self._read(path))

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


def _parsed(parse: Parse[Document], path: str, znode: ZnodeContent | None) -> Document | None:
    try:
        return None if znode is None else parse(path, znode.data)
    except MalformedZnodeError:
        return None
