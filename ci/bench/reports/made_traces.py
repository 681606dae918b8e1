"""Traces of any size that keep every promise but those that are broken on purpose.

Ten brokers, ten clients, replication factor 3. Each round every client writes one record and reads
the last ones; half-way every tenth partition gets another leader. Broken are, in a few partitions,
a record that the last reader does not find, and an offset that is acknowledged twice.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fencepost.spec.trace import FINAL_READER, encode_fields, line_head
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path

BROKERS = CLIENTS = 10
REPLICAS = 3
EVENTS_PER_RECORD = 10
FIRST_ZXID = 1000
FINAL_READ_RECORDS = 500
BROKEN_MAX = 5
"""Partitions with something broken."""
MILLISECOND = 1_000_000
_RUN = "made"
_TOPIC = "made"
_CONTROLLER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTrace:
    """What was written."""

    events: int
    size: int
    """Bytes."""
    lost: frozenset[int]
    """Partitions in which an acknowledged record is not found again."""
    twice: frozenset[int]
    """Partitions in which two records were acknowledged at one offset."""
    lost_at: int
    """The offset of each such record."""
    twice_at: int


@dataclass(slots=True, kw_only=True)
class _Partition:
    number: int
    zxid: int
    replicas: list[int]
    leader: int
    leader_epoch: int = 0
    values: list[str] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)

    @property
    def place(self) -> dict[str, object]:
        return {"topic": _TOPIC, "partition": self.number}

    @property
    def life(self) -> dict[str, object]:
        return {**self.place, "partition_incarnation": self.zxid}

    @property
    def state(self) -> dict[str, object]:
        isr = sorted(self.replicas)
        epochs = {"leader_epoch": self.leader_epoch, "controller_epoch": 1}
        return {"leader": self.leader, **epochs, "isr": isr}


class _Files:
    """One file per node; time goes on with each line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[IO[bytes], bytes]] = {}
        self._next_seq: Counter[str] = Counter()
        self.now_ns = MILLISECOND

    def write(self, node: str, kind: str, action: str, **fields: object) -> int:
        """Append one line; its `mono_ns`."""
        if node not in self._open:
            path = self._folder / f"trace-{node}.ndjson"
            self._open[node] = path.open("wb", 1 << 20), line_head(_RUN, node, 1)
        stream, head = self._open[node]
        self.now_ns += 10_000
        stamps = self._next_seq[node], self.now_ns, self.now_ns // 10_000, self.now_ns
        stream.write(encode_fields(head, *stamps, {"kind": kind, "action": action, **fields}))
        self._next_seq[node] += 1
        return self.now_ns

    def close(self) -> int:
        """All is on disk; how many lines."""
        for stream, _ in self._open.values():
            stream.close()
        return self._next_seq.total()


def make_trace(folder: Path, events: int, partitions: int, *, is_broken: bool) -> MadeTrace:
    """Write some `events` lines into the new `folder`; the same numbers give the same bytes."""
    folder.mkdir(parents=True)
    maker = _Maker(_Files(folder), partitions)
    records = max(2, (events - 25 * partitions) // EVENTS_PER_RECORD // partitions)
    broken = list(range(0, partitions, max(1, partitions // BROKEN_MAX)))[:BROKEN_MAX]
    lost = frozenset(broken[::2] if is_broken else ())
    twice = frozenset(broken[1::2] or broken if is_broken else ())
    maker.begin()
    for number in range(records):
        if number == records // 2:
            maker.fail_over()
        for partition in maker.partitions:
            again = partition.number in twice and number == records // 3
            maker.append(partition, number, is_acknowledged_before=again)
    maker.end(lost, records // 4)
    written = maker.files.close()
    size = sum(path.stat().st_size for path in folder.iterdir())
    return MadeTrace(
        events=written,
        size=size,
        lost=lost,
        twice=twice,
        lost_at=records // 4,
        twice_at=records // 3 - 1,
    )


class _Maker:
    def __init__(self, files: _Files, partitions: int) -> None:
        self.files = files
        self.zxid = FIRST_ZXID
        self.operations = 0
        self.partitions = [self._partition(number) for number in range(partitions)]

    def _partition(self, number: int) -> _Partition:
        replicas = [(number + step) % BROKERS + 1 for step in range(REPLICAS)]
        return _Partition(number=number, zxid=0, replicas=replicas, leader=replicas[0])

    def begin(self) -> None:
        """Brokers are registered, one of them is controller, the topic is there and led."""
        detail = {"trace_version": 1, "backend": "sim", "level": 2, "brokers": BROKERS}
        self.files.write("harness", "run", "RunStarted", detail=json.dumps(detail))
        for broker_id in range(1, BROKERS + 1):
            told = {"broker_id": broker_id}
            self.files.write(f"broker-{broker_id}", "run", "NodeStarted", **told)
            self._zookeeper("CreateSession", broker_id)
            data = json.dumps({"version": 1, "host": "127.0.0.1", "port": 9000 + broker_id})
            self._zookeeper("Create", broker_id, f"/brokers/ids/{broker_id}", data)
            registered = {**told, "session_id": broker_id, "zxid": self.zxid}
            self.files.write(f"broker-{broker_id}", "action", "RegisterBroker", **registered)
        self._elect()
        assigned = {str(one.number): one.replicas for one in self.partitions}
        topic = json.dumps({"version": 1, "partitions": assigned, "topic_id": "a"})
        self._zookeeper("Create", _CONTROLLER, f"/brokers/topics/{_TOPIC}", topic)
        for partition in self.partitions:
            self._decide(partition, 0)

    def _elect(self) -> None:
        data = json.dumps({"version": 1, "brokerid": _CONTROLLER, "timestamp": "10"})
        self._zookeeper("Create", _CONTROLLER, "/controller", data)
        self.zxid -= 1  # one transaction
        self._zookeeper("Create", _CONTROLLER, "/controller_epoch", "1")
        told = {"broker_id": _CONTROLLER, "session_id": _CONTROLLER}
        epoch = {"controller_id": _CONTROLLER, "controller_epoch": 1}
        self.files.write(f"broker-{_CONTROLLER}", "action", "ElectController", **told, **epoch)

    def _zookeeper(
        self, action: str, session_id: int, path: str = "", data: str = "", version: int = 0
    ) -> None:
        self.zxid += 1
        told = {"path": path, "data": data, "znode_version": version} if path else {}
        told |= {"session_id": session_id, "zxid": self.zxid}
        self.files.write("zookeeper", "zookeeper", action, **told)

    def _decide(self, partition: _Partition, version: int) -> None:
        """Decided, written, published, sent and obeyed."""
        write, node = self.files.write, f"broker-{_CONTROLLER}"
        told = {"broker_id": _CONTROLLER}
        path = leader_and_isr_path(TopicPartition(_TOPIC, partition.number))
        data = json.dumps({"version": 1, "topic_id": "a", **partition.state})
        life = partition.life if version else partition.place
        decided = {**told, **life, **partition.state, "assigned_replicas": partition.replicas}
        action = "ElectLeader" if version else "InitLeader"
        write(node, "action", action, **decided, expected_version=version - 1)
        self.operations += 1
        asked = {**partition.place, **told, "path": path, "data": data, "session_id": _CONTROLLER}
        asked |= {"op_id": self.operations, "expected_version": version - 1}
        invoked = write(node, "invoke", "WriteLeaderAndIsr", **asked)
        self._zookeeper("SetData" if version else "Create", _CONTROLLER, path, data, version)
        partition.zxid = partition.zxid or self.zxid
        answer = {"outcome": "ok", "znode_version": version, "zxid": self.zxid, "inv_ns": invoked}
        write(node, "complete", "WriteLeaderAndIsr", **asked, **answer)
        state = {**partition.life, **partition.state, "znode_version": version}
        write(node, "action", "PublishDecision", **told, **state, zxid=self.zxid)
        for broker_id in partition.replicas:
            peer = f"broker-{broker_id}"
            write(node, "action", "SendLeaderAndIsr", **told, **state, peer=peer)
        for broker_id in partition.replicas:
            self._obey(partition, broker_id, state)

    def _obey(self, partition: _Partition, broker_id: int, state: dict[str, object]) -> None:
        action = "BecomeLeader" if broker_id == partition.leader else "BecomeFollower"
        end = len(partition.values)
        told = {"broker_id": broker_id, "controller_id": _CONTROLLER, "high_watermark": end}
        self.files.write(
            f"broker-{broker_id}", "action", action, **state, **told, log_end_offset=end
        )

    def fail_over(self) -> None:
        """Every tenth partition, the first among them, has another leader."""
        for partition in self.partitions[::10]:
            partition.leader = partition.replicas[1]
            partition.leader_epoch += 1
            self._decide(partition, 1)

    def append(self, partition: _Partition, number: int, *, is_acknowledged_before: bool) -> None:
        """One record is written, replicated, acknowledged, and read by another client."""
        client = f"client-{(partition.number + number) % CLIENTS + 1}"
        self.operations += 1
        offset, value = number, f"{client}/{self.operations}/1"
        asked = {**partition.place, "op_id": self.operations, "acks": -1, "values": [value]}
        invoked = self.files.write(client, "invoke", "Produce", **asked)
        self._replicate(partition, offset, value)
        partition.values.append(value)
        partition.epochs.append(partition.leader_epoch)
        answer = self._answer(partition, invoked)
        answer["offset"] = offset - is_acknowledged_before
        self.files.write(client, "complete", "Produce", **asked, **answer)
        reader = f"client-{(partition.number + number + 1) % CLIENTS + 1}"
        self._read(partition, reader, max(0, offset - 1), 2)

    def _replicate(self, partition: _Partition, offset: int, value: str) -> None:
        leader, epoch = partition.leader, {"leader_epoch": partition.leader_epoch}
        record = {"offset": offset, "values": [value], "record_epochs": [partition.leader_epoch]}
        log = {"high_watermark": offset, "log_end_offset": offset + 1}
        told = {**partition.life, **epoch, **record, **log}
        own = {"broker_id": leader}
        self.files.write(f"broker-{leader}", "action", "LeaderAppend", **told, **own)
        for broker_id in partition.replicas:
            if broker_id != leader:
                node = f"broker-{broker_id}"
                self.files.write(node, "action", "FollowerAppend", **told, broker_id=broker_id)
                asked = {**partition.place, **epoch, **own, "peer": node, "offset": offset + 1}
                self.files.write(f"broker-{leader}", "action", "ServeFetch", **asked)
        isr = sorted(partition.replicas)
        end = {"high_watermark": offset + 1, "log_end_offset": offset + 1}
        advance = {**partition.life, **epoch, **own, **end, "isr": isr, "maximal_isr": isr}
        self.files.write(f"broker-{leader}", "action", "AdvanceHighWatermark", **advance)

    def _answer(self, partition: _Partition, invoked: int) -> dict[str, object]:
        epoch = {"broker_id": partition.leader, "leader_epoch": partition.leader_epoch}
        length = {"high_watermark": len(partition.values)}
        life = {"partition_incarnation": partition.zxid}
        return {**epoch, **length, **life, "outcome": "ok", "inv_ns": invoked}

    def _read(self, partition: _Partition, reader: str, offset: int, count: int) -> None:
        self.operations += 1
        asked = {**partition.place, "op_id": self.operations, "offset": offset}
        invoked = self.files.write(reader, "invoke", "Fetch", **asked)
        found = slice(offset, offset + count)
        read = {"values": partition.values[found], "record_epochs": partition.epochs[found]}
        answer = self._answer(partition, invoked)
        answer["log_end_offset"] = len(partition.values)
        self.files.write(reader, "complete", "Fetch", **asked, **read, **answer)

    def end(self, lost: frozenset[int], offset: int) -> None:
        """Every partition is read from its start; where a record is lost, another is found."""
        for partition in self.partitions:
            if partition.number in lost:
                self.operations += 1
                value = f"client-lost/{self.operations}/1"
                asked = {**partition.place, "op_id": self.operations, "acks": -1}
                self.files.write("client-lost", "invoke", "Produce", **asked, values=[value])
                partition.values[offset] = value
            for start in range(0, len(partition.values), FINAL_READ_RECORDS):
                self._read(partition, FINAL_READER, start, FINAL_READ_RECORDS)
        detail = json.dumps({"converged": True, "final_read": True})
        self.files.write("harness", "run", "RunEnded", detail=detail)
