"""The paths and documents of an implementation's znodes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.spec import znodes
from fencepost.spec.vocabulary import Liveness
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

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

    name: str
    """As reports name it."""
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
    name="spec",
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


class ZnodeAccess(NamedTuple):
    """A session of the harness at a cluster's ZooKeeper, and what is where in it."""

    client: ZooKeeperClient
    dialect: ZnodeDialect
