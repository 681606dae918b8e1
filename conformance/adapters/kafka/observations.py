"""What an unmodified Kafka leaves behind, as lines of our trace.

- ZooKeeper's transaction log: which broker each session belongs to, and which became controller
  (exact, as the log is).
- The lines of `state.change.logger`: commands that a broker received and completed (`log`).
- Segments and checkpoints of each replica after the run (`disk`): what it holds, and the high
  watermark that it last wrote down, which is up to five seconds old.

Lines of one broker are put in order by the time of its host, which dates all of them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.kafka.flushed import LOGS, offsets_in
from fencepost.conformance.adapters.kafka.launch import STARTED
from fencepost.conformance.adapters.kafka.records import read_segments
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH

MS = 1_000_000
_DATED = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (.*)")
_ISR = r"isr=\[?(?P<isr>[\d, ]*)\]?, "
_EPOCHS = r"controllerEpoch=\d+, leader=(?P<leader>-?\d+), leaderEpoch=(?P<leader_epoch>\d+), "
_SENDER = (
    r".*correlation id (?P<number>\d+) from controller (?P<controller>\d+) epoch (?P<epoch>\d+)"
)
_RECEIVED = (
    # up to 2.3, where a request has one state per partition
    re.compile(
        rf"[Rr]eceived LeaderAndIsr request PartitionState\({_EPOCHS}{_ISR}"
        rf"zkVersion=(?P<version>\d+){_SENDER} "
        r"for partition \[?(?P<topic>[^\s,]+?)[,-](?P<partition>\d+)\]?"
    ),
    # from 2.4 on, generated messages
    re.compile(
        r"[Rr]eceived LeaderAndIsr request LeaderAndIsrPartitionState\("
        r"topicName='(?P<topic>[^']*)', partitionIndex=(?P<partition>\d+), "
        rf"{_EPOCHS}{_ISR}(?:zkVersion|partitionEpoch)=(?P<version>\d+){_SENDER}"
    ),
)
_COMPLETED = re.compile(
    r"[Cc]ompleted LeaderAndIsr request (?:correlationId|with correlation id) (?P<number>\d+) "
    r"from controller (?P<controller>\d+) epoch (?P<epoch>\d+) for the "
    r"become-(?P<role>leader|follower) transition for partition (?P<topic>\S+)-(?P<partition>\d+)"
)
_ROLES = {"leader": Action.BECOME_LEADER, "follower": Action.BECOME_FOLLOWER}
HIGH_WATERMARKS = "replication-offset-checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dated:
    """A line before it has its place; `event` is None where a process starts."""

    wall_ms: int
    event: TraceEvent | None


def broker_lines(
    folder: Path, run_id: str, broker_ids: Iterable[int], zookeeper: Iterable[TraceEvent]
) -> Iterator[TraceEvent]:
    """The trace of every broker, in the order of brokers and time; `zookeeper` is in our words."""
    owners = list(_owners(run_id, zookeeper))
    folders = Folders(root=folder)
    for broker_id in broker_ids:
        node = broker_name(broker_id)
        log = folders.processes / f"{node}.log"
        found = [one for one in owners if one.event and one.event.node == node]
        found += _commands(log, run_id, broker_id)
        found.sort(key=lambda one: one.wall_ms)
        yield from _placed(found, list(_disk(folders.data(broker_id) / LOGS, run_id, broker_id)))


def _placed(found: list[_Dated], last: list[TraceEvent]) -> Iterator[TraceEvent]:
    """The lines with their incarnation and number; `last` is what the disk holds at the end."""
    incarnation, seq = 0, 0
    for one in found:
        if one.event is None:
            incarnation, seq = incarnation + 1, 0
            continue
        yield replace(one.event, incarnation=max(1, incarnation), seq=seq)
        seq += 1
    for number, event in enumerate(last):
        yield replace(event, incarnation=incarnation + 1, seq=number)


def _event(run_id: str, broker_id: int, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
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


def _owners(run_id: str, zookeeper: Iterable[TraceEvent]) -> Iterator[_Dated]:
    """Registrations and elections; the epoch of a controller is what its transaction raised."""
    epoch = 0
    lines = list(zookeeper)
    epochs = {
        line.zxid: int(line.data or 0)
        for line in lines
        if line.path == CONTROLLER_EPOCH and line.data
    }
    for line in lines:
        epoch = epochs.get(line.zxid, epoch)
        parent, _, name = (line.path or "").rpartition("/")
        told = {"session_id": line.session_id, "zxid": line.zxid}
        if line.action != "Create":
            continue
        at = (line.wall_ns or 0) // MS
        if parent == BROKER_IDS:
            event = _event(run_id, int(name), Action.REGISTER_BROKER, **told)
            yield _Dated(wall_ms=at, event=event)
        elif line.path == CONTROLLER:
            broker_id = int(json.loads(line.data or "{}").get("brokerid", 0))
            told |= {"controller_id": broker_id, "controller_epoch": epoch}
            event = _event(run_id, broker_id, Action.ELECT_CONTROLLER, **told)
            yield _Dated(wall_ms=at, event=event)


def _commands(log: Path, run_id: str, broker_id: int) -> Iterator[_Dated]:
    """Starts of the process, and the commands that it has obeyed."""
    received: dict[tuple[str, ...], Mapping[str, str]] = {}
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            dated = _DATED.match(line)
            if dated is None:
                continue
            at = _wall_ms(dated[1], dated[2])
            if dated[3].startswith(STARTED):
                yield _Dated(wall_ms=at, event=None)
            elif told := next(filter(None, (one.search(line) for one in _RECEIVED)), None):
                received[_command(told)] = told.groupdict()
            elif done := _COMPLETED.search(line):
                command = received.pop(_command(done), None)
                if command is not None:
                    event = _obeyed(run_id, broker_id, done["role"], command)
                    yield _Dated(wall_ms=at, event=event)


def _command(told: re.Match[str]) -> tuple[str, ...]:
    return tuple(told[name] for name in ("number", "controller", "topic", "partition"))


def _obeyed(run_id: str, broker_id: int, role: str, command: Mapping[str, str]) -> TraceEvent:
    return _event(
        run_id,
        broker_id,
        _ROLES[role],
        topic=command["topic"],
        partition=int(command["partition"]),
        leader=int(command["leader"]),
        leader_epoch=int(command["leader_epoch"]),
        controller_id=int(command["controller"]),
        controller_epoch=int(command["epoch"]),
        znode_version=int(command["version"]),
        isr=sorted(int(member) for member in command["isr"].split(",") if member.strip()),
    )


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
            yield _event(
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
        yield _event(run_id, broker_id, "LogRecovered", kind=Kind.RUN, **told)


def _wall_ms(date: str, ms: str) -> int:
    at = datetime.strptime(date, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - log4j dates in local time
    return int(at.timestamp()) * 1000 + int(ms)
