"""Histories of logs with clients at work at once, as traces and as lines for other checkers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from fencepost.spec.trace import Kind, TraceEvent, encode_all
from fencepost.spec.vocabulary import Outcome

TOPIC = "made"
RUN = "made"
ACKS_ALL = -1
READ_RECORDS_MAX = 2
WAIT_NS_MAX = 1_000_000
TRACE = "trace-client-1.ndjson"
"""All clients in one file: their lines are told apart by `op_id`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySize:
    """How much of a history there is."""

    operations: int
    """In each partition; half of them appends."""
    partitions: int
    clients: int
    """That work on one partition at a time."""

    def __str__(self) -> str:
        total = self.operations * self.partitions
        return f"{total:,} ops, {self.partitions:,} partitions, {self.clients} clients each"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOperation:
    """One that was answered, with times in ns."""

    partition: int
    inv: int
    ret: int
    is_append: bool
    offset: int
    values: tuple[str, ...]
    length: int
    """Of the log, as the answer tells it."""

    @property
    def line(self) -> str:
        """For checkers that read no traces."""
        numbers = (self.partition, self.inv, self.ret, int(self.is_append))
        return " ".join(map(str, (*numbers, self.offset, len(self.values), self.length)))


def history(size: HistorySize, seed: int) -> list[TimedOperation]:
    """The operations of all partitions; in the first of several, one answer is stale."""
    random = Random(seed)
    found = [
        one
        for partition in range(size.partitions)
        for one in _of_partition(partition, size, random)
    ]
    return _with_stale_read(found) if size.partitions > 1 else found


def _of_partition(partition: int, size: HistorySize, random: Random) -> Iterator[TimedOperation]:
    """Each client has one operation at a time, which takes effect somewhere inside it."""
    free_at = [0] * size.clients
    spans = []
    for _ in range(size.operations):
        client = random.randrange(size.clients)
        inv = free_at[client] + random.randint(1, WAIT_NS_MAX)
        effect = inv + random.randint(1, WAIT_NS_MAX)
        free_at[client] = effect + random.randint(1, WAIT_NS_MAX)
        spans.append((effect, inv, free_at[client]))
    log: list[str] = []
    for effect, inv, ret in sorted(spans):
        is_append = random.random() < 0.5
        offset = len(log) if is_append else max(0, len(log) - READ_RECORDS_MAX)
        if is_append:
            log.append(f"{partition}/{effect}/{offset}")
        yield TimedOperation(
            partition=partition,
            inv=inv,
            ret=ret,
            is_append=is_append,
            offset=offset,
            values=tuple(log[offset:]),
            length=len(log),
        )


def _with_stale_read(found: list[TimedOperation]) -> list[TimedOperation]:
    """The last read of partition 0 knows nothing of what was appended long before."""
    place = max(
        place for place, one in enumerate(found) if one.partition == 0 and not one.is_append
    )
    old = found[place]
    stale = TimedOperation(
        partition=0,
        inv=old.inv,
        ret=old.ret,
        is_append=False,
        offset=0,
        values=(),
        length=0,
    )
    return [*found[:place], stale, *found[place + 1 :]]


def write_lines(operations: Sequence[TimedOperation], path: Path) -> None:
    """One line for each operation."""
    path.write_text("".join(f"{one.line}\n" for one in operations))


def write_trace(operations: Sequence[TimedOperation], folder: Path) -> Path:
    """The trace of the clients, in the order of time."""
    lines: list[tuple[int, dict[str, Any]]] = []
    for op_id, one in enumerate(operations, start=1):
        asked: dict[str, Any] = {
            "action": "Produce" if one.is_append else "Fetch",
            "topic": TOPIC,
            "partition": one.partition,
            "op_id": op_id,
            "offset": None if one.is_append else one.offset,
            "values": one.values if one.is_append else None,
            "acks": ACKS_ALL if one.is_append else None,
        }
        answer = {
            "kind": Kind.COMPLETE,
            "outcome": Outcome.OK,
            "inv_ns": one.inv,
            "offset": one.offset,
            "values": one.values,
            "high_watermark": one.length,
            "leader_epoch": 0,
        }
        lines += [(one.inv, {**asked, "kind": Kind.INVOKE}), (one.ret, {**asked, **answer})]
    lines.sort(key=lambda line: line[0])
    events = [
        TraceEvent(
            run_id=RUN,
            node="client-1",
            incarnation=1,
            seq=seq,
            lamport=seq,
            mono_ns=at_ns,
            **fields,
        )
        for seq, (at_ns, fields) in enumerate(lines)
    ]
    path = folder / TRACE
    path.write_bytes(b"".join(encode_all(events)))
    return path
