"""The log of the quorum, told as ZooKeeper's transaction log would tell the same changes.

A batch that most controllers have on their disks was committed. Each record of it is a transaction:
its zxid is one more than its offset, and its session is the epoch of the quorum in which it was
written. A broker is registered while it is not fenced. Versions and leader epochs are counted, as
every node of Kafka counts them, for a record does not name them.

Source: `metadata/src/main/resources/common/metadata` of Kafka, and `PartitionRegistration.merge`.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import UNSET

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.kafka.disk.records import RawBatch, raw_batches
from fencepost.conformance.adapters.kafka.kraft.metadata_records import (
    BROKER_CHANGE,
    FENCE,
    PARTITION,
    PARTITION_CHANGE,
    REGISTER,
    REMOVE_TOPIC,
    TOPIC,
    UNFENCE,
    UNREGISTER,
    decoded,
    id_text,
)
from fencepost.fault_injection.zookeeper.transaction_log import Transaction, TransactionKind
from fencepost.spec import znodes
from fencepost.spec.vocabulary import NO_BROKER
from fencepost.spec.znodes import TopicPartition

METADATA_LOG = "__cluster_metadata"
_Record = tuple[int, Mapping[str, Any]]
_OF_BROKERS = frozenset({REGISTER, BROKER_CHANGE, FENCE, UNFENCE, UNREGISTER})


class MetadataLogError(ClusterError):
    """The logs of the controllers do not tell what was committed; says where."""


def read_history(folders: Sequence[Path]) -> list[Transaction]:
    """All changes in the logs of most of the controllers, given by their metadata folders.

    Raises `MetadataLogError` where the logs have a gap or cannot be read.
    """
    logs = [set(_batches(folder / f"{METADATA_LOG}-0")) for folder in folders]
    written = Counter(batch for log in logs for batch in log)
    committed = [batch for batch, times in written.items() if 2 * times > len(logs)]
    history = _History()
    for batch in sorted(committed, key=lambda batch: batch.base_offset):
        history.append(batch)
    return history.transactions


def _batches(folder: Path) -> Iterator[RawBatch]:
    """Those of one controller, up to one that cannot be read."""
    for path in sorted(folder.glob("*.log")):
        try:
            yield from raw_batches(path.read_bytes())
        except (LookupError, struct.error):
            return


@dataclass(slots=True, kw_only=True)
class _Partition:
    """The state of a partition as the records so far make it."""

    leader: int
    leader_epoch: int
    isr: Sequence[int]
    version: int
    eligible: Sequence[int] = ()


@dataclass(slots=True)
class _Topic:
    name: str
    topic_id: bytes
    replicas: dict[int, Sequence[int]]
    states: dict[int, _Partition] = field(default_factory=dict)
    version: int = 0

    def assignment(self) -> dict[str, Any]:
        """The znode of the topic as it is now."""
        replicas = {str(number): list(one) for number, one in sorted(self.replicas.items())}
        document = znodes.TopicDocument(partitions=replicas, topic_id=id_text(self.topic_id))
        data, path = znodes.document_bytes(document), znodes.topic_path(self.name)
        return _set(path, data, self.version) if self.version else _create(path, data)

    def assigned(self, number: int, replicas: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Note the replicas of a partition; they are written where they are others."""
        if self.replicas.get(number) != replicas:
            self.replicas[number] = replicas
            self.version += 1
            yield self.assignment()


@dataclass(slots=True)
class _History:
    """Turns batches into transactions, one after the other."""

    transactions: list[Transaction] = field(default_factory=list)
    _end: int = 0
    _epoch: int = 0
    _live: set[int] = field(default_factory=set)
    _topics: dict[bytes, _Topic] = field(default_factory=dict)

    def append(self, batch: RawBatch) -> None:
        """Add what the batch changes; raises `MetadataLogError`."""
        if batch.base_offset != self._end:
            raise MetadataLogError(
                f"no batch at offset {self._end} is in the metadata logs of most controllers, "
                f"and one at offset {batch.base_offset} is"
            )
        if not batch.is_control and len(batch.values) != batch.records:
            raise MetadataLogError(
                f"the batch at offset {batch.base_offset} of the metadata log has "
                f"{len(batch.values)} of {batch.records} records that can be read"
            )
        self._end += batch.records
        if batch.leader_epoch > self._epoch:
            self._epoch = batch.leader_epoch
            raised = _set(znodes.CONTROLLER_EPOCH, str(self._epoch).encode(), self._epoch)
            self._add(batch, 0, raised)
        if batch.is_control:
            return
        try:
            records = [decoded(value) for value in batch.values]
            for index, change in self._changes(records):
                self._add(batch, index, change)
        except (LookupError, ValueError, struct.error) as error:
            raise MetadataLogError(
                f"the batch at offset {batch.base_offset} of the metadata log cannot be read: "
                f"{error!r}"
            ) from error

    def _add(self, batch: RawBatch, index: int, change: Mapping[str, Any]) -> None:
        self.transactions.append(
            Transaction(
                zxid=batch.base_offset + index + 1,
                session_id=batch.leader_epoch,
                cxid=0,
                wall_ms=batch.wall_ms,
                **change,
            )
        )

    def _changes(self, records: Sequence[_Record]) -> Iterator[tuple[int, dict[str, Any]]]:
        """What the records of a batch change, each with its place.

        Brokers come first: a batch takes effect at once, and its elections know the fenced ones.
        """
        for kind, record in records:
            if kind in _OF_BROKERS:
                is_fenced = _is_fenced(kind, record)
                for change in self._liveness(record["broker_id"], is_fenced=is_fenced):
                    yield 0, change
        for index, (kind, record) in enumerate(records):
            for change in self._change(kind, record, records):
                yield index, change

    def _change(
        self, kind: int, record: Mapping[str, Any], beside: Sequence[_Record]
    ) -> Iterator[dict[str, Any]]:
        """What one record changes of topics; `beside` are all of its batch."""
        if kind == TOPIC:
            topic_id = record["topic_id"]
            with_it = (told for other, told in beside if other == PARTITION)
            replicas = {p["partition"]: p["replicas"] for p in with_it if p["topic_id"] == topic_id}
            self._topics[topic_id] = made = _Topic(record["name"], topic_id, replicas)
            yield made.assignment()
        elif kind == PARTITION:
            yield from self._created(self._topics[record["topic_id"]], record)
        elif kind == PARTITION_CHANGE:
            yield from self._changed(self._topics[record["topic_id"]], record)
        elif kind == REMOVE_TOPIC:
            yield from _removed(self._topics.pop(record["topic_id"]))

    def _liveness(self, broker_id: int, *, is_fenced: bool | None) -> Iterator[dict[str, Any]]:
        path = znodes.broker_path(broker_id)
        if is_fenced is True and broker_id in self._live:
            self._live.remove(broker_id)
            yield {"kind": TransactionKind.DELETE, "path": path}
        elif is_fenced is False and broker_id not in self._live:
            self._live.add(broker_id)
            yield _create(path, b"{}") | {"ephemeral": True}

    def _created(self, topic: _Topic, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        number = record["partition"]
        topic.states[number] = made = _Partition(
            leader=record["leader"],
            leader_epoch=record["leader_epoch"],
            isr=record["isr"],
            version=record["partition_epoch"],
        )
        yield from topic.assigned(number, record["replicas"])
        path = znodes.leader_and_isr_path(TopicPartition(topic.name, number))
        yield _create(path, self._document(topic, made)) | {"version": made.version}

    def _changed(self, topic: _Topic, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        number = record["partition"]
        one = topic.states[number]
        one.version += 1
        if "leader" in record:
            one.leader, one.leader_epoch = record["leader"], one.leader_epoch + 1
        if record.get("isr") is not None:
            one.isr = record["isr"]
        if record.get("eligible") is not None:
            one.eligible = record["eligible"]
        if record.get("replicas") is not None:
            yield from topic.assigned(number, record["replicas"])
        path = znodes.leader_and_isr_path(TopicPartition(topic.name, number))
        yield _set(path, self._document(topic, one), one.version)

    def _document(self, topic: _Topic, one: _Partition) -> bytes:
        return znodes.document_bytes(
            znodes.LeaderAndIsrDocument(
                leader=max(one.leader, NO_BROKER),
                leader_epoch=one.leader_epoch,
                isr=sorted(one.isr),
                controller_epoch=self._epoch,
                topic_id=id_text(topic.topic_id),
                eligible=sorted(one.eligible) or UNSET,
            )
        )


def _removed(topic: _Topic) -> Iterator[dict[str, Any]]:
    keys = (TopicPartition(topic.name, number) for number in topic.states)
    for path in (*map(znodes.leader_and_isr_path, keys), znodes.topic_path(topic.name)):
        yield {"kind": TransactionKind.DELETE, "path": path}


def _is_fenced(kind: int, record: Mapping[str, Any]) -> bool | None:
    """Whether the record fences the broker; None when it says nothing of that.

    A registration is fenced until the broker has caught up; a change has 1, or -1 for the end.
    """
    if kind == BROKER_CHANGE:
        return {1: True, -1: False}.get(record.get("fenced", 0))
    return kind != UNFENCE


def _create(path: str, data: bytes) -> dict[str, Any]:
    return {"kind": TransactionKind.CREATE, "path": path, "data": data, "version": 0}


def _set(path: str, data: bytes, version: int) -> dict[str, Any]:
    return {"kind": TransactionKind.SET_DATA, "path": path, "data": data, "version": version}
