"""A recorded run as it lies in its folder: every line, and where it stands."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from fencepost.spec.trace import (
    BY_HAND,
    TRACE_VERSION,
    TRACES,
    Kind,
    TraceEvent,
    TraceFile,
    read_trace,
    run_folders,
)
from fencepost.spec.vocabulary import ProtocolLevel

EXACT = "exact"
LEVELS = [level.value for level in ProtocolLevel]


class ReplayError(Exception):
    """The run cannot be replayed; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class TraceFileLine:
    """One line of a trace file."""

    event: TraceEvent
    file: str
    """Name of the file, in the run's folder."""
    number: int
    """Of the line, from 1."""


class ReplayedRunDetail(msgspec.Struct, frozen=True):
    """What a replay needs of the `detail` of `RunStarted`."""

    level: Annotated[int, msgspec.Meta(ge=min(LEVELS), le=max(LEVELS))]
    trace_version: int = TRACE_VERSION
    brokers: int = 0
    """How many there were; 0 where the trace does not tell."""
    backend: str = ""
    mutant: str | None = None
    reproduce: str = ""
    observes: dict[str, str] = {}
    """Kind of events -> how faithfully they are known; without a word of it, all are exact."""
    unclean_leader_election: bool = False

    def lacks(self, kinds: Collection[str]) -> tuple[str, ...]:
        """Those of the kinds that a replay cannot go by, for it needs each event."""
        if not self.observes:
            return ()
        return tuple(kind for kind in kinds if self.observes.get(kind) != EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """The lines of one run, file by file, and what `RunStarted` tells of it."""

    name: str
    detail: ReplayedRunDetail
    lines: tuple[TraceFileLine, ...]


def find_runs(folder: Path) -> list[Path]:
    """The folders with traces at or below `folder`, ascending; raises `ReplayError`."""
    if not folder.is_dir():
        why = (
            "it is a file; name the folder that holds it" if folder.exists() else "it is not there"
        )
        raise ReplayError(f"{folder} is no folder of traces: {why}")
    found = run_folders(folder)
    if not found:
        raise ReplayError(f"{folder} holds no {TRACES}: name the folder of a run, or one above it")
    return found


def read_run(folder: Path, name: str = "") -> RecordedRun:
    """The run in `folder`, by which it is named unless told; `ReplayError` when it is not whole."""
    lines = [line for path in sorted(folder.glob(TRACES)) for line in _lines(path)]
    return recorded_run(name or str(folder), lines)


def recorded_run(name: str, lines: list[TraceFileLine]) -> RecordedRun:
    """The run made of `lines`; raises `ReplayError` when something is missing."""
    _require_whole(name, lines)
    detail = _detail(name, lines)
    _require_brokers(name, detail.brokers, lines)
    return RecordedRun(name=name, detail=detail, lines=tuple(_of_the_protocol(lines)))


def _of_the_protocol(lines: list[TraceFileLine]) -> Iterator[TraceFileLine]:
    """All but the refusals of commands by hand: no controller sent those, and they change nothing.

    What a broker obeys stays, also when a person sent the same.
    """
    by_hand = {
        (one.event.peer, *_command(one.event)) for one in lines if _is_run(one.event, BY_HAND)
    }
    for line in lines:
        is_refusal = line.event.kind is Kind.REFUSAL
        if not is_refusal or (line.event.node, *_command(line.event)) not in by_hand:
            yield line


def _command(event: TraceEvent) -> tuple[object, ...]:
    return (
        event.topic,
        event.partition,
        event.partition_incarnation,
        event.leader_epoch,
        event.controller_id,
        event.controller_epoch,
    )


def as_lines(events: list[TraceEvent]) -> list[TraceFileLine]:
    """Events that are in no file, as if each node had one."""
    numbers: dict[str, int] = {}
    lines = []
    for event in events:
        file = f"trace-{event.node}-{event.incarnation}.ndjson"
        numbers[file] = numbers.get(file, 0) + 1
        lines.append(TraceFileLine(event, file, numbers[file]))
    return lines


def _lines(path: Path) -> Iterator[TraceFileLine]:
    try:
        trace: TraceFile = read_trace(path)
    except OSError as error:
        raise ReplayError(f"{path} cannot be read: {error.strerror}") from error
    if trace.foreign_lines:
        raise ReplayError(f"{path}, line {trace.foreign_lines[0]} is no line of a trace")
    if trace.torn_lines:
        raise ReplayError(f"{path} ends in the middle of a line: the trace is torn")
    for number, event in enumerate(trace.events, start=1):
        yield TraceFileLine(event, path.name, number)


def _require_whole(name: str, lines: list[TraceFileLine]) -> None:
    runs = sorted({line.event.run_id for line in lines})
    if not runs:
        raise ReplayError(f"{name} is empty: there is no line to replay")
    if len(runs) > 1:
        raise ReplayError(f"{name} holds the lines of {len(runs)} runs, {runs[0]} and {runs[1]}")
    numbers: dict[tuple[str, int], list[int]] = {}
    for line in lines:
        numbers.setdefault((line.event.node, line.event.incarnation), []).append(line.event.seq)
    for (node, incarnation), found in sorted(numbers.items()):
        if sorted(found) != list(range(len(found))):
            raise ReplayError(
                f"{name}: the lines of {node}, incarnation {incarnation}, are not numbered "
                f"0 to {len(found) - 1}: lines are missing or doubled"
            )
    if not any(_is_run(line.event, "RunEnded") for line in lines):
        raise ReplayError(f"{name} has no RunEnded: the run was cut short")


def _detail(name: str, lines: list[TraceFileLine]) -> ReplayedRunDetail:
    started = [line.event for line in lines if _is_run(line.event, "RunStarted")]
    if len(started) != 1:
        raise ReplayError(f"{name} has {len(started)} lines RunStarted instead of one")
    try:
        detail = msgspec.json.decode(started[0].detail or "", type=ReplayedRunDetail)
    except msgspec.MsgspecError as error:
        raise ReplayError(f"{name}: the detail of RunStarted cannot be read: {error}") from error
    if detail.trace_version != TRACE_VERSION:
        raise ReplayError(
            f"{name} was written as trace version {detail.trace_version}; "
            f"this Fencepost reads version {TRACE_VERSION}"
        )
    return detail


def _require_brokers(name: str, brokers: int, lines: list[TraceFileLine]) -> None:
    """A broker without a line would make its peers look like strangers."""
    heard = {line.event.node for line in lines}
    silent = (f"broker-{number}" for number in range(1, brokers + 1))
    if missing := next((node for node in silent if node not in heard), None):
        raise ReplayError(f"{name} has no trace of {missing}: its file is empty or gone")


def _is_run(event: TraceEvent, action: str) -> bool:
    return event.kind is Kind.RUN and event.action == action
