"""Paths of znodes and the JSON documents in them (ZK-001; V3 "Paths", EL section 2)."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from fencepost.spec.vocabulary import (
    NO_BROKER_EPOCH,
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ElectionKind,
    LeaderEpoch,
)

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
PRODUCER_IDS = "/latest_producer_id_block"
ADMIN = "/admin"
LEADER_ELECTION = "/admin/leader_election"
PARTITIONS_ADD = "/admin/partitions_add"
PARTITIONS_REMOVE = "/admin/partitions_remove"
PARTITIONS_REASSIGNED = "/admin/partitions_reassigned"
REQUEST_PATHS = (LEADER_ELECTION, PARTITIONS_ADD, PARTITIONS_REMOVE, PARTITIONS_REASSIGNED)
"""Where administrators ask for changes of partitions: `<path>/<t>/<p>` (V3 F, H)."""
PERSISTENT_PATHS = ("/brokers", BROKER_IDS, TOPICS, ADMIN, *REQUEST_PATHS)
"""Created by whoever starts first; never deleted."""

TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_LEADER_AND_ISR = re.compile(rf"{TOPICS}/([^/]+)/(\d+)/leaderAndISR")


class TopicPartition(NamedTuple):
    """A partition of a topic; a tuple, because everything is looked up by it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


class MalformedZnodeError(ValueError):
    """A document that is not what its path promises; names the path (ZK-002)."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; the znode is skipped until it is repaired")
        self.path = path


class ControllerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/controller`, ephemeral (EL, CTL-001)."""

    version: int = 1
    brokerid: int
    timestamp: str
    """Milliseconds of some clock, as text; nothing is decided by it."""


class BrokerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/brokers/ids/<id>`, ephemeral."""

    version: int = 1
    host: str
    port: int
    inter_broker_protocol: int | msgspec.UnsetType = msgspec.UNSET
    """The level that the broker speaks (UMD-003)."""


class ProducerIdBlockDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/latest_producer_id_block`: the producer ids that were given out last, to one broker."""

    version: int = 1
    broker: int
    block_start: int
    block_end: int
    """The last one of the block."""


class TopicDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/brokers/topics/<t>`: partition number as text -> ordered distinct brokers (ZK-008)."""

    version: int = 1
    partitions: dict[str, list[int]]
    topic_id: str | msgspec.UnsetType = msgspec.UNSET
    """Of this incarnation alone; while it lives, there is a znode of that name (H12)."""
    is_deleted: bool | msgspec.UnsetType = msgspec.UNSET
    """True from the begin of a deletion in steps: nothing below counts any more."""
    adding: dict[str, list[int]] | msgspec.UnsetType = msgspec.UNSET
    """Partition -> those of its replicas that a reassignment adds, until it switches (REAS-001)."""
    removing: dict[str, list[int]] | msgspec.UnsetType = msgspec.UNSET
    """Partition -> brokers that are assigned no more and are still to be stopped (REAS-005)."""


class ElectionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/admin/leader_election/<t>/<p>`: another leader is asked for."""

    version: int = 1
    kind: ElectionKind


class ReplicasDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/admin/partitions_add/<t>/<p>` and `/admin/partitions_reassigned/<t>/<p>`: where to be."""

    version: int = 1
    replicas: list[int]


class LeaderAndIsrDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/brokers/topics/<t>/<p>/leaderAndISR`."""

    version: int = 1
    leader: int
    leader_epoch: int
    isr: list[int]
    """Ascending."""
    controller_epoch: int = 0
    """Of the controller that the writer is or obeys; 0 at level 0."""
    topic_id: str | msgspec.UnsetType = msgspec.UNSET
    isr_broker_epochs: list[int] | msgspec.UnsetType = msgspec.UNSET
    """Of each of `isr`, the registration under which it joined; 0: not known (level 3)."""
    eligible: list[int] | msgspec.UnsetType = msgspec.UNSET
    """Replicas outside the ISR that may lead as its members may: Kafka has them (KIP-966)."""


class LeaderAndIsr(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about one partition; with the version it has in ZooKeeper it is a state."""

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: frozenset[BrokerId]
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    topic_id: str = ""
    """Of the topic that the state belongs to; empty when the topic has none."""
    isr_broker_epochs: Mapping[BrokerId, BrokerEpoch] = msgspec.field(default_factory=dict)
    """Member of the ISR -> the registration under which it joined, where that is known."""
    eligible: frozenset[BrokerId] = frozenset()
    """Replicas outside the ISR that may lead; none in the protocol."""

    def document(self) -> bytes:
        """The bytes that the znode holds."""
        return document_bytes(
            LeaderAndIsrDocument(
                leader=self.leader,
                leader_epoch=self.leader_epoch,
                isr=sorted(self.isr),
                controller_epoch=self.controller_epoch,
                topic_id=self.topic_id or msgspec.UNSET,
                isr_broker_epochs=list(self.listed_broker_epochs()) or msgspec.UNSET,
                eligible=sorted(self.eligible) or msgspec.UNSET,
            )
        )

    def listed_broker_epochs(self) -> tuple[BrokerEpoch, ...]:
        """Of the members in ascending order, 0 where it is not known; none where none is."""
        known = self.isr_broker_epochs
        return tuple([known.get(one, NO_BROKER_EPOCH) for one in sorted(self.isr)]) if known else ()


def broker_epochs_by_member(
    isr: Iterable[int], listed: Iterable[int]
) -> dict[BrokerId, BrokerEpoch]:
    """What `listed_broker_epochs` was made of, for an ISR in ascending order."""
    pairs = zip(isr, listed, strict=False)
    return {BrokerId(one): BrokerEpoch(epoch) for one, epoch in pairs if epoch != NO_BROKER_EPOCH}


_encoder = msgspec.json.Encoder()


def document_bytes(document: msgspec.Struct) -> bytes:
    """The bytes that a znode holds for `document`."""
    return _encoder.encode(document)


def controller_term_path(controller_epoch: ControllerEpoch) -> str:
    """Ephemeral: it is there as long as the session that was elected under that epoch (H8d)."""
    return f"{CONTROLLER_EPOCH}/{controller_epoch}"


def broker_path(broker_id: int) -> str:
    """`/brokers/ids/<id>`."""
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    """`/brokers/topics/<t>`."""
    return f"{TOPICS}/{topic}"


def topic_ids_path(topic: str) -> str:
    """`/brokers/topics/<t>/id`."""
    return f"{TOPICS}/{topic}/id"


def topic_id_path(topic: str, topic_id: str) -> str:
    """`/brokers/topics/<t>/id/<topic_id>`: a write about the topic checks that it exists."""
    return f"{topic_ids_path(topic)}/{topic_id}"


def topic_of(path: str) -> str | None:
    """The topic of the znode at `path`, or None."""
    parent, _, topic = path.rpartition("/")
    return topic if parent == TOPICS else None


def leader_and_isr_path(partition: TopicPartition) -> str:
    """`/brokers/topics/<t>/<p>/leaderAndISR`."""
    return f"{TOPICS}/{partition.topic}/{partition.partition}/leaderAndISR"


def partition_path(partition: TopicPartition) -> str:
    """`/brokers/topics/<t>/<p>`: its version counts the removals of the partition (ZK-003)."""
    return f"{TOPICS}/{partition.topic}/{partition.partition}"


def request_path(kind: str, partition: TopicPartition) -> str:
    """The znode that asks for a change of `partition`; `kind` is one of `REQUEST_PATHS`."""
    return f"{kind}/{partition.topic}/{partition.partition}"


def partition_of(path: str) -> TopicPartition | None:
    """The partition of the LeaderAndISR znode at `path`, or None."""
    match = _LEADER_AND_ISR.fullmatch(path)
    return TopicPartition(match[1], int(match[2])) if match else None


def parse_controller(path: str, data: bytes) -> ControllerDocument:
    """Decode `/controller`; raises `MalformedZnodeError`."""
    return _decode(path, data, ControllerDocument)


def parse_broker(path: str, data: bytes) -> BrokerDocument:
    """Decode a broker's registration; raises `MalformedZnodeError`."""
    return _decode(path, data, BrokerDocument)


def parse_controller_epoch(data: bytes) -> ControllerEpoch:
    """Decode `/controller_epoch`, a decimal number; raises `MalformedZnodeError`."""
    if not data.isdigit():
        raise MalformedZnodeError(
            CONTROLLER_EPOCH, f"expected a decimal number, found {data[:40]!r}"
        )
    return ControllerEpoch(int(data))


def parse_producer_id_block(data: bytes) -> ProducerIdBlockDocument:
    """Decode `/latest_producer_id_block`; raises `MalformedZnodeError`."""
    return _decode(PRODUCER_IDS, data, ProducerIdBlockDocument)


def parse_topic(path: str, data: bytes) -> dict[int, tuple[BrokerId, ...]]:
    """Decode a topic's assignment, partition -> replicas; raises `MalformedZnodeError`."""
    return assignment_of(parse_topic_document(path, data))


def parse_topic_document(path: str, data: bytes) -> TopicDocument:
    """Decode all that a topic's znode says; raises `MalformedZnodeError`."""
    document = _decode(path, data, TopicDocument)
    for name, replicas in document.partitions.items():
        if not name.isdecimal() or not replicas or len(set(replicas)) != len(replicas):
            raise MalformedZnodeError(path, f"partition {name!r} has replicas {replicas}")
    return document


def assignment_of(document: TopicDocument) -> dict[int, tuple[BrokerId, ...]]:
    """Partition -> replicas."""
    return {
        int(name): tuple(BrokerId(replica) for replica in replicas)
        for name, replicas in document.partitions.items()
    }


def parse_election(path: str, data: bytes) -> ElectionKind:
    """Decode what kind of election is asked for; raises `MalformedZnodeError`."""
    return _decode(path, data, ElectionDocument).kind


def parse_replicas(path: str, data: bytes) -> tuple[BrokerId, ...]:
    """Decode where a partition is to be; raises `MalformedZnodeError`."""
    replicas = _decode(path, data, ReplicasDocument).replicas
    if not replicas or len(set(replicas)) != len(replicas):
        raise MalformedZnodeError(path, f"{replicas} are no distinct brokers")
    return tuple(BrokerId(replica) for replica in replicas)


def parse_topic_id(path: str, data: bytes) -> str:
    """The id in a topic's document, empty when it has none; raises `MalformedZnodeError`."""
    return _decode(path, data, TopicDocument).topic_id or ""


def parse_leader_and_isr(path: str, data: bytes) -> LeaderAndIsr:
    """Decode a partition's state; raises `MalformedZnodeError`."""
    document = _decode(path, data, LeaderAndIsrDocument)
    listed = document.isr_broker_epochs or []
    if listed and len(listed) != len(document.isr):
        raise MalformedZnodeError(
            path, f"{len(listed)} broker epochs for an ISR of {len(document.isr)}"
        )
    return LeaderAndIsr(
        leader=BrokerId(document.leader),
        leader_epoch=LeaderEpoch(document.leader_epoch),
        isr=frozenset(map(BrokerId, document.isr)),
        controller_epoch=ControllerEpoch(document.controller_epoch),
        topic_id=document.topic_id or "",
        isr_broker_epochs=broker_epochs_by_member(document.isr, listed),
        eligible=frozenset(map(BrokerId, document.eligible or ())),
    )


_Document = TypeVar("_Document", bound=msgspec.Struct)


def _decode(path: str, data: bytes, kind: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise MalformedZnodeError(path, str(error)) from error
