"""What a timeline picture of one run shows: faults, the leader of each partition, and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.reports.analysis.folder_report import FolderReport
from fencepost.reports.analysis.metrics import Occurrence, occurrences
from fencepost.reports.analysis.narrative import MOMENTS_SHOWN, Moment, moments
from fencepost.reports.analysis.tenures import BINS, Leadership, Tenure, Turn, WriteBin
from fencepost.spec.vocabulary import Action

PARTITIONS_SHOWN = 6
TIMELINES_SHOWN = 24
FAULTS_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpan:
    """A fault that took effect; times since the run's first event."""

    fault: str
    broker_id: int
    target: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderBar:
    """One tenure on the picture."""

    leader: int
    leader_epoch: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrSpan:
    """The in-sync replicas, as the leader had them for a time."""

    members: tuple[int, ...]
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLane:
    """One partition on the picture."""

    topic: str
    partition: int
    bars: tuple[LeaderBar, ...]
    writes: tuple[int, ...]
    """Acknowledged records per column, `BINS` of them."""
    isr: tuple[IsrSpan, ...] = ()
    levels: tuple[tuple[int, int, int], ...] = ()
    """(column, high watermark, log end offset) at the end of each column that tells them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One trace folder as a picture."""

    folder: int
    duration_ns: int
    faults: tuple[FaultSpan, ...]
    lanes: tuple[PartitionLane, ...]
    lanes_left_out: int
    faults_left_out: int
    moments: tuple[Moment, ...] = ()
    """What happened, in order; none without a fault."""
    moments_left_out: int = 0


def timelines(
    reports: Sequence[FolderReport], starts: Mapping[int, int], leadership: Leadership
) -> tuple[Timeline, ...]:
    """A picture per folder, those of mutants left out; `starts` holds each folder's first stamp."""
    faults = occurrences(leadership.shared)
    shown = [report for report in reports if not report.is_canary][:TIMELINES_SHOWN]
    return tuple(
        _timeline(report.index, starts[report.index], report.duration_ns, leadership, faults)
        for report in shown
    )


def _timeline(
    folder: int,
    start_ns: int,
    duration_ns: int,
    leadership: Leadership,
    faults: Sequence[Occurrence],
) -> Timeline:
    own = [fault for fault in faults if fault.folder == folder]
    tenures: dict[tuple[str, int], list[Tenure]] = {}
    for tenure in leadership.tenures:
        if tenure.folder == folder:
            tenures.setdefault((tenure.topic, tenure.partition), []).append(tenure)
    writes = [bin_ for bin_ in leadership.writes if bin_.folder == folder]
    # Partitions with the most changes of leader say most; equal ones in the order of their names.
    chosen = sorted(sorted(tenures, key=lambda key: (-len(tenures[key]), key))[:PARTITIONS_SHOWN])
    told = moments(own, (start_ns, start_ns + duration_ns), leadership)
    return Timeline(
        folder=folder,
        duration_ns=duration_ns,
        faults=tuple(_span(fault, start_ns, duration_ns) for fault in own[:FAULTS_SHOWN]),
        lanes=tuple(
            replace(
                _lane(key, tenures[key], writes, start_ns, duration_ns),
                isr=_isr_spans(key, tenures[key], leadership.turns, (start_ns, duration_ns)),
                levels=tuple(
                    (level.column, level.high_watermark, level.log_end_offset)
                    for level in leadership.levels
                    if (level.folder, level.topic, level.partition) == (folder, *key)
                ),
            )
            for key in chosen
        ),
        lanes_left_out=len(tenures) - len(chosen),
        faults_left_out=max(0, len(own) - FAULTS_SHOWN),
        moments=told[:MOMENTS_SHOWN],
        moments_left_out=max(0, len(told) - MOMENTS_SHOWN),
    )


def _span(fault: Occurrence, start_ns: int, duration_ns: int) -> FaultSpan:
    end_ns = duration_ns if fault.end_ns is None else fault.end_ns - start_ns
    return FaultSpan(
        fault=fault.fault,
        broker_id=fault.broker_id,
        target=fault.target,
        start_ns=fault.start_ns - start_ns,
        end_ns=end_ns,
    )


def _isr_spans(
    key: tuple[str, int],
    tenures: Sequence[Tenure],
    turns: Sequence[Turn],
    span_ns: tuple[int, int],
) -> tuple[IsrSpan, ...]:
    """From each beginning of a tenure and each ISR that a leader adopted to the next."""
    folder, (start_ns, duration_ns) = tenures[0].folder, span_ns
    told = [(t.leading_ns - start_ns, t.isr) for t in tenures if t.leading_ns is not None and t.isr]
    told += [
        (turn.mono_ns - start_ns, turn.isr)
        for turn in turns
        if (turn.folder, turn.topic, turn.partition) == (folder, *key)
        and turn.action == Action.ADOPT_ISR
    ]
    told.sort()
    ends = [at_ns for at_ns, _ in told[1:]] + [duration_ns]
    return tuple(
        IsrSpan(members=tuple(sorted(members)), start_ns=at_ns, end_ns=max(at_ns, end_ns))
        for (at_ns, members), end_ns in zip(told, ends, strict=False)
    )


def _lane(
    key: tuple[str, int],
    tenures: Sequence[Tenure],
    writes: Sequence[WriteBin],
    start_ns: int,
    duration_ns: int,
) -> PartitionLane:
    led = [(t, t.leading_ns - start_ns) for t in tenures if t.leading_ns is not None]
    ends = [begin for _, begin in led[1:]] + [duration_ns] if led else []
    columns = {row.column: row.records for row in writes if (row.topic, row.partition) == key}
    return PartitionLane(
        topic=key[0],
        partition=key[1],
        bars=tuple(
            LeaderBar(
                leader=-1 if tenure.leader is None else tenure.leader,
                leader_epoch=tenure.leader_epoch,
                start_ns=begin,
                end_ns=max(begin, end),
            )
            for (tenure, begin), end in zip(led, ends, strict=True)
        ),
        writes=tuple(columns.get(column, 0) for column in range(BINS)),
    )
