"""What a timeline picture of one run shows: faults, leaders, writes, and the controller's queue.

A partition waits for the controller from the creation of its topic, or later from the decision
about its next leader, until the controller sends that leader its role. Before such a decision it
waits for the controller to notice, which the phases of failovers tell (`metrics.py`). A wait
depends on the machine, so that none is judged here; with the mutation quota few creations can stand
before an election, and without it many (QUOTA-009).
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.reports.analysis.folder_report import FolderReport
from fencepost.reports.analysis.metrics import Occurrence, occurrences
from fencepost.reports.analysis.narrative import MOMENTS_SHOWN, Moment, moments
from fencepost.reports.analysis.tenures import BINS, Creation, Leadership, Tenure, Turn, Writes
from fencepost.spec.vocabulary import Action

PARTITIONS_SHOWN = 6
TIMELINES_SHOWN = 24
FAULTS_SHOWN = 60
NS_PER_MS = 1_000_000


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
class QueueColumn:
    """One column of the picture in which something waited."""

    column: int
    waiting: int
    """So many partitions at once, at most."""
    longest_ms: float
    """Of the partitions that were told in it; 0 when none was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One trace folder as a picture."""

    folder: int
    duration_ns: int
    faults: tuple[FaultSpan, ...]
    lanes: tuple[PartitionLane, ...]
    lanes_left_out: int
    faults_left_out: int
    queue: tuple[QueueColumn, ...] = ()
    """What waited for the controller."""
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
    writes = [row for row in leadership.writes if row.folder == folder]
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
                    level
                    for row in leadership.levels
                    if (row.folder, row.topic, row.partition) == (folder, *key)
                    for level in zip(
                        row.columns, row.high_watermarks, row.log_end_offsets, strict=True
                    )
                ),
            )
            for key in chosen
        ),
        queue=controller_queue(
            (tenure for of_partition in tenures.values() for tenure in of_partition),
            (one for one in leadership.creations if one.folder == folder),
            (start_ns, start_ns + duration_ns),
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
    writes: Sequence[Writes],
    start_ns: int,
    duration_ns: int,
) -> PartitionLane:
    led = [(t, t.leading_ns - start_ns) for t in tenures if t.leading_ns is not None]
    ends = [begin for _, begin in led[1:]] + [duration_ns] if led else []
    columns = {
        column: records
        for row in writes
        if (row.topic, row.partition) == key
        for column, records in zip(row.columns, row.records, strict=True)
    }
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


def controller_queue(
    tenures: Iterable[Tenure], creations: Iterable[Creation], span_ns: tuple[int, int]
) -> tuple[QueueColumn, ...]:
    """The columns of one run that lasts from and to `span_ns`, ascending; empty ones left out."""
    created: dict[str, list[int]] = {}
    for creation in sorted(creations, key=lambda one: one.mono_ns):
        created.setdefault(creation.topic, []).append(creation.mono_ns)
    waits = [wait for tenure in tenures if (wait := _wait(tenure, created)) is not None]
    return _columns(waits, span_ns)


def _wait(tenure: Tenure, created: Mapping[str, Sequence[int]]) -> tuple[int, int] | None:
    """From when to when the partition waited; None where a line is missing."""
    decided_ns, told_ns = tenure.decided_ns, tenure.told_ns
    if decided_ns is None or told_ns is None or told_ns < decided_ns:
        return None
    stamps = created.get(tenure.topic, ())
    before = bisect_right(stamps, decided_ns)
    is_first = tenure.leader_epoch == 0 and before > 0
    return (stamps[before - 1] if is_first else decided_ns), told_ns


def _columns(waits: Sequence[tuple[int, int]], span_ns: tuple[int, int]) -> tuple[QueueColumn, ...]:
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])

    def column_of(at_ns: int) -> int:
        return min(BINS - 1, max(0, (at_ns - first_ns) * BINS // length_ns))

    most, longest, waiting, reached = [0] * BINS, [0] * BINS, 0, 0
    turns = [(begun_ns, 0, 0) for begun_ns, _ in waits]
    turns += [(told_ns, 1, told_ns - begun_ns) for begun_ns, told_ns in waits]
    for at_ns, is_end, waited_ns in sorted(turns):
        column = column_of(at_ns)
        for passed in range(reached, column + 1):
            most[passed] = max(most[passed], waiting)
        waiting, reached = waiting + (-1 if is_end else 1), column
        most[column] = max(most[column], waiting)
        longest[column] = max(longest[column], waited_ns)
    return tuple(
        QueueColumn(column=column, waiting=most[column], longest_ms=longest[column] / NS_PER_MS)
        for column in range(BINS)
        if most[column]
    )
