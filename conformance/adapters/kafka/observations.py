"""What an unmodified Kafka leaves behind in either mode, as lines of our trace.

- Lines of its log (`log`): each mode says which of them it knows.
- Segments and checkpoints of each replica after the run (`disk`): what it holds, and the high
  watermark that it last wrote down, which is up to five seconds old.

Lines of one broker are put in order by the time of its host, which dates all of them. That date is
also their place on the clock of `mono_ns`, to a millisecond: for pictures; no check relies on it.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import RunSite
from fencepost.conformance.adapters.kafka.disk.flushed import LOGS, offsets_in
from fencepost.conformance.adapters.kafka.disk.records import read_segments
from fencepost.conformance.adapters.kafka.started import STARTED
from fencepost.conformance.checks.znode_history import leader_and_isr_writes
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action
from fencepost.spec.znodes import TopicPartition, partition_of

_DATED = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (.*)")
MS = 1_000_000
ROLES = {"leader": Action.BECOME_LEADER, "follower": Action.BECOME_FOLLOWER}
"""Of which a broker writes that it has become it."""
HIGH_WATERMARKS = "replication-offset-checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A line before it has its place; `event` is None where a process starts."""

    wall_ms: int
    event: TraceEvent | None


def trace_of(
    folder: Path, run_id: str, broker_id: int, found: Iterable[Dated]
) -> Iterator[TraceEvent]:
    """The trace of one broker: what was found of it in order of time, and then its disk."""
    in_order = sorted(found, key=lambda one: one.wall_ms)
    now_ns = time.monotonic_ns()
    since_ns = now_ns - time.time_ns()
    incarnation, seq = 0, 0
    for one in in_order:
        if one.event is None:
            incarnation, seq = incarnation + 1, 0
            continue
        at_ns = one.wall_ms * MS + since_ns
        yield replace(one.event, incarnation=max(1, incarnation), seq=seq, mono_ns=at_ns)
        seq += 1
    data = Folders(root=folder).data(broker_id) / LOGS
    for number, event in enumerate(_disk(data, run_id, broker_id)):
        yield replace(event, incarnation=incarnation + 1, seq=number, mono_ns=now_ns)


def broker_log(folder: Path, broker_id: int) -> Path:
    """What a broker's processes write: when they start, and what they complain about."""
    return Folders(root=folder).processes / f"{broker_name(broker_id)}.log"


def observed_log(folder: Path, broker_id: int) -> Path:
    """Where a broker writes the lines of the loggers that are observed."""
    return Folders(root=folder).processes / f"{broker_name(broker_id)}.observed.log"


def log_lines(
    site: RunSite, broker_id: int, told: Callable[[str], TraceEvent | None]
) -> Iterator[Dated]:
    """Starts of a broker's processes, and what is `told` by the lines that it wrote.

    Of a leader that was elected while the brokers were ended, no line says what it has.
    """
    for log in (broker_log(site.folder, broker_id), observed_log(site.folder, broker_id)):
        for one in _lines_of(log, told):
            if one.event is None or site.ended_ms is None or one.wall_ms <= site.ended_ms:
                yield one
            elif one.event.action != Action.ADVANCE_HIGH_WATERMARK:
                yield Dated(wall_ms=one.wall_ms, event=replace(one.event, log_end_offset=None))


def _lines_of(log: Path, told: Callable[[str], TraceEvent | None]) -> Iterator[Dated]:
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            dated = _DATED.match(line)
            if dated is None:
                continue
            is_start = dated[3].startswith(STARTED)
            event = None if is_start else told(dated[3])
            if is_start or event is not None:
                yield Dated(wall_ms=_wall_ms(dated[1], dated[2]), event=event)


def isr_of(text: str) -> list[int]:
    """The ISR that a broker writes as `3, 1`, ascending."""
    return sorted(int(member) for member in text.split(",") if member.strip())


def action_line(run_id: str, broker_id: int, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
    """A line of a broker that has no place yet."""
    return TraceEvent(
        run_id=run_id,
        node=broker_name(broker_id),
        seq=0,
        mono_ns=0,
        kind=fields.pop("kind", Kind.ACTION),
        action=action,
        broker_id=broker_id,
        **fields,
    )


def creations(zookeeper: Iterable[TraceEvent]) -> Mapping[TopicPartition, list[tuple[int, int]]]:
    """When the state of each partition was created, and by which transaction, oldest first."""
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for line in zookeeper:
        partition = partition_of(line.path or "")
        if line.action == "Create" and partition is not None:
            at = (line.wall_ns or 0) // MS
            found.setdefault(partition, []).append((at, line.zxid or 0))
    return found


def of_incarnation(one: Dated, created: Mapping[TopicPartition, list[tuple[int, int]]]) -> Dated:
    """The line with the incarnation that was created last before it, of several."""
    event = one.event
    if event is None or event.topic is None or event.partition is None:
        return one
    if event.partition_incarnation is not None:
        return one
    found = created.get(TopicPartition(event.topic, event.partition), [])
    before = [zxid for at, zxid in found if at <= one.wall_ms]
    if len(found) < 2 or not before:
        return one
    return Dated(wall_ms=one.wall_ms, event=replace(event, partition_incarnation=before[-1]))


def unclean_elections(
    run_id: str, zookeeper: Sequence[TraceEvent], elected: Iterable[TraceEvent]
) -> Iterator[Dated]:
    """The leaders outside the ISR that a controller wrote: it has no line that says so."""
    controllers = {line.session_id: line.controller_id for line in elected if line.controller_id}
    for write in leader_and_isr_writes(zookeeper):
        before, after, session = write.before, write.after, write.event.session_id
        if before is None or after is None or after.leader in {NO_BROKER, *write.eligible}:
            continue
        if session != write.reign.session_id or session not in controllers:
            continue
        event = action_line(
            run_id,
            controllers[session],
            Action.ELECT_LEADER,
            topic=write.partition.topic,
            partition=write.partition.partition,
            leader=after.leader,
            leader_epoch=after.leader_epoch,
            isr=sorted(after.isr),
            controller_epoch=after.controller_epoch,
            is_unclean=True,
        )
        yield Dated(wall_ms=(write.event.wall_ns or 0) // MS, event=event)


def _disk(data: Path, run_id: str, broker_id: int) -> Iterator[TraceEvent]:
    """What the replicas hold after the run; internal topics are not ours."""
    ends = offsets_in(data / HIGH_WATERMARKS)
    for folder in sorted(data.glob("*-[0-9]*")):
        topic, _, number = folder.name.rpartition("-")
        if topic.startswith("__") or not number.isdecimal():
            continue
        place: dict[str, Any] = {"topic": topic, "partition": int(number)}
        end = 0
        for batch in read_segments(folder):
            end = batch.base_offset + len(batch.values)
            epochs = (
                None if batch.leader_epoch is None else [batch.leader_epoch] * len(batch.values)
            )
            yield action_line(
                run_id,
                broker_id,
                Action.FOLLOWER_APPEND,
                **place,
                offset=batch.base_offset,
                values=list(batch.values),
                record_epochs=epochs,
            )
        high_watermark = ends.get(folder.name, 0)
        told = {**place, "log_end_offset": end, "high_watermark": min(end, high_watermark)}
        yield action_line(run_id, broker_id, "LogRecovered", kind=Kind.RUN, **told)


def _wall_ms(date: str, ms: str) -> int:
    at = datetime.strptime(date, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - log4j dates in local time
    return int(at.timestamp()) * 1000 + int(ms)
