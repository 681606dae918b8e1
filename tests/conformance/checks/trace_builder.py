"""Writes small traces by hand: one partition, few words per event."""

from dataclasses import dataclass, field

import msgspec

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path

PARTITION = TopicPartition("orders", 0)
ZNODE = leader_and_isr_path(PARTITION)

Fields = dict[str, object]
_HERE: Fields = {"topic": PARTITION.topic, "partition": PARTITION.partition}
_ANSWERED_LATER = frozenset(
    {"leader_epoch", "high_watermark", "log_end_offset", "znode_version", "zxid", "error_code"}
)


@dataclass
class Trace:
    """Appends events in the order of the calls; time is a counter unless given."""

    events: list[TraceEvent] = field(default_factory=list)
    now: int = 0
    operations: int = 0
    next_seq: dict[tuple[str, object], int] = field(default_factory=dict)

    def add(self, node: str, kind: Kind, action: str, fields: Fields) -> TraceEvent:
        """Append one line with all its fields."""
        self.now += 1
        place = (node, fields.get("incarnation", 1))
        seq = self.next_seq.get(place, 0)
        self.next_seq[place] = seq + 1
        line = {"run_id": "r", "node": node, "seq": seq, "mono_ns": self.now, **fields}
        event = msgspec.convert({**line, "kind": kind, "action": action}, TraceEvent)
        self.events.append(event)
        return event

    def broker(self, broker_id: int, action: str, **fields: object) -> TraceEvent:
        """An action of a broker about the partition."""
        kind = Kind.RUN if action in ("LogRecovered", "NodeStarted") else Kind.ACTION
        told = {"broker_id": broker_id, **_HERE, **fields}
        return self.add(f"broker-{broker_id}", kind, action, told)

    def operation(
        self, node: str, action: str, outcome: Outcome | None = Outcome.OK, **fields: object
    ) -> TraceEvent:
        """An invocation at `inv` and, unless `outcome` is None, its completion at `ret`.

        Returns the last line written.
        """
        self.operations += 1
        stamps = {name: fields.pop(name) for name in ("inv", "ret") if name in fields}
        line = {**_HERE, "op_id": self.operations, **fields}
        asked = {name: value for name, value in line.items() if name not in _ANSWERED_LATER}
        if "inv" in stamps:
            asked["mono_ns"] = stamps["inv"]
        invocation = self.add(node, Kind.INVOKE, action, asked)
        if outcome is None:
            return invocation
        if "ret" in stamps:
            line["mono_ns"] = stamps["ret"]
        answer = {**line, "outcome": outcome, "inv_ns": invocation.mono_ns}
        return self.add(node, Kind.COMPLETE, action, answer)

    def produce(
        self,
        values: str,
        outcome: Outcome | None = Outcome.OK,
        *,
        node: str = "client-1",
        **fields: object,
    ) -> TraceEvent:
        """`values` is one letter per record; acks=all unless said otherwise."""
        answer: Fields = {"leader_epoch": 1, "broker_id": 1} if outcome is Outcome.OK else {}
        line = {"acks": -1, "values": list(values), **answer, **fields}
        return self.operation(node, "Produce", outcome, **line)

    def fetch(
        self,
        offset: int,
        values: str,
        high_watermark: int,
        *,
        node: str = "client-2",
        **fields: object,
    ) -> TraceEvent:
        """A fetch that succeeded."""
        line = {"offset": offset, "values": list(values), "high_watermark": high_watermark}
        return self.operation(node, "Fetch", Outcome.OK, **{"leader_epoch": 1, **line, **fields})

    def final_read(
        self, values: str, high_watermark: int | None = None, **fields: object
    ) -> TraceEvent:
        """A final read in one answer, complete unless `high_watermark` says otherwise."""
        end = len(values) if high_watermark is None else high_watermark
        return self.fetch(0, values, end, node="client-final", **fields)

    def zookeeper(
        self, action: str, path: str, data: str, *, session: int, zxid: int, version: int = 0
    ) -> TraceEvent:
        """One of ZooKeeper's own lines."""
        line: Fields = {"path": path, "data": data, "session_id": session, "zxid": zxid}
        stamps = {"znode_version": version, "mono_ns": 0}
        return self.add("zookeeper", Kind.ZOOKEEPER, action, {**line, **stamps})


def document(leader: int, leader_epoch: int, isr: list[int], controller_epoch: int = 1) -> str:
    """The text of a LeaderAndISR znode."""
    return (
        f'{{"version":1,"leader":{leader},"leader_epoch":{leader_epoch},"isr":{isr},'
        f'"controller_epoch":{controller_epoch}}}'
    )
