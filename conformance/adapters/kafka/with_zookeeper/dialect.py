"""Kafka's znodes, in ZooKeeper mode, and what they are in the words of `spec/znodes.py`.

Source: `ZkData.scala` of Kafka 0.10 to 3.9; the differences are tabled in `kafka.md` section 1.
"""

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

import msgspec

from fencepost.conformance.adapters.znode_dialect import TopicAssignment, ZnodeDialect
from fencepost.fault_injection.zookeeper.transaction_log import Transaction
from fencepost.spec import znodes
from fencepost.spec.vocabulary import Liveness
from fencepost.spec.znodes import LeaderAndIsr, MalformedZnodeError, TopicPartition

REASSIGNMENTS = "/admin/reassign_partitions"
_STATE = re.compile(rf"{znodes.TOPICS}/([^/]+)/partitions/(\d+)/state")


class KafkaRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """`/brokers/ids/<id>`: of its listeners the plain one is the harness's."""

    endpoints: list[str]


class KafkaTopic(msgspec.Struct, frozen=True, kw_only=True):
    """`/brokers/topics/<t>`."""

    partitions: dict[str, list[int]]
    adding_replicas: dict[str, list[int]] = msgspec.field(default_factory=dict)
    removing_replicas: dict[str, list[int]] = msgspec.field(default_factory=dict)


class KafkaState(msgspec.Struct, frozen=True, kw_only=True):
    """`/brokers/topics/<t>/partitions/<p>/state`; the order of the ISR means nothing."""

    leader: int
    leader_epoch: int
    isr: list[int]
    controller_epoch: int


class KafkaController(msgspec.Struct, frozen=True, kw_only=True):
    """`/controller`."""

    brokerid: int


def state_path(partition: TopicPartition) -> str:
    """`/brokers/topics/<t>/partitions/<p>/state`."""
    return f"{znodes.TOPICS}/{partition.topic}/partitions/{partition.partition}/state"


_Document = TypeVar("_Document")


def _decode(path: str, data: bytes, kind: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise MalformedZnodeError(path, str(error)) from error


def _address(path: str, data: bytes) -> str:
    for endpoint in _decode(path, data, KafkaRegistration).endpoints:
        protocol, _, address = endpoint.partition("://")
        if protocol == "PLAINTEXT":
            return address
    raise MalformedZnodeError(path, "no endpoint is a plain one")


def _assignment(path: str, data: bytes) -> TopicAssignment:
    document = _decode(path, data, KafkaTopic)
    return TopicAssignment(
        assigned={int(number): tuple(found) for number, found in document.partitions.items()},
        is_moving=bool(document.adding_replicas or document.removing_replicas),
    )


def _state(path: str, data: bytes) -> LeaderAndIsr:
    return znodes.parse_leader_and_isr(path, _state_in_words(_decode(path, data, KafkaState)))


def _state_in_words(document: KafkaState) -> bytes:
    return znodes.document_bytes(
        znodes.LeaderAndIsrDocument(
            leader=document.leader,
            leader_epoch=document.leader_epoch,
            isr=sorted(document.isr),
            controller_epoch=document.controller_epoch,
        )
    )


KAFKA_DIALECT = ZnodeDialect(
    name="kafka",
    broker_ids=znodes.BROKER_IDS,
    broker_path=znodes.broker_path,
    parse_address=_address,
    controller=znodes.CONTROLLER,
    parse_controller=lambda path, data: _decode(path, data, KafkaController).brokerid,
    controller_epoch=znodes.CONTROLLER_EPOCH,
    topics=znodes.TOPICS,
    topic_path=znodes.topic_path,
    parse_topic=_assignment,
    state_path=state_path,
    parse_state=_state,
    requests=MappingProxyType({REASSIGNMENTS: Liveness.REASSIGNMENT_COMPLETES}),
)
"""The dialect of Kafka in ZooKeeper mode."""


def in_words(transaction: Transaction) -> Transaction:
    """The transaction with the path and the document that `spec/znodes.py` has for them.

    What has no counterpart there, or cannot be read, stays as it is; no check reads it.
    """
    try:
        return _in_words(transaction)
    except MalformedZnodeError:
        return transaction


def _in_words(transaction: Transaction) -> Transaction:
    path, data = transaction.path, transaction.data
    if path is None:
        return transaction
    if match := _STATE.fullmatch(path):
        key = TopicPartition(match[1], int(match[2]))
        document = _state_in_words(_decode(path, data, KafkaState)) if data else data
        return replace(transaction, path=znodes.leader_and_isr_path(key), data=document)
    if znodes.topic_of(path) and data:
        topic = _decode(path, data, KafkaTopic)
        return replace(
            transaction,
            data=znodes.document_bytes(znodes.TopicDocument(partitions=topic.partitions)),
        )
    return transaction
