"""The checks of all partitions of a bucket in two stages.

Stage one are kernels over the columns: for a partition they say how often a check's premise held
and that all is well, or that it is suspicious. Stage two is the definition: it judges suspicious
partitions from their events, and checks without a kernel from the few events that they read.
What is found is what the definition alone would find; `tests/reports/kernels` holds them together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fencepost.conformance.checks.min_insync_replicas import least_of
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.verdict import CheckResult
from fencepost.reports.kernels.bucket_rows import BucketRows, Found
from fencepost.reports.kernels.client_logs import final_reads, judge_clients, operations_of
from fencepost.reports.kernels.insync_appends import judge_appends
from fencepost.reports.kernels.isr_repeats import premises_of, repeated_advances
from fencepost.reports.kernels.numbered_records import judge_numbers
from fencepost.reports.kernels.replica_logs import judge_replicas, replicas_of
from fencepost.reports.tables.buckets import BULK
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant
from fencepost.spec.znodes import TopicPartition

FEW_ROWS = 500
"""In a bucket with fewer rows the definition is the faster one."""

_Control = Mapping[TopicPartition, Sequence[TraceEvent]]
"""The events of each partition that are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResults:
    """What checks found in one partition, or kernels in all those in which all is well."""

    results: tuple[CheckResult, ...]
    events: Sequence[TraceEvent] = ()
    """All of the partition, when something is violated."""


def judge_bucket(
    rows: BucketRows, begun: Sequence[TraceEvent], dialect: TraceDialect = SPEC
) -> Iterator[PartResults]:
    """What each check per partition finds in a bucket; `begun` are the `RunStarted` of the run.

    First what the kernels found to be well, then partition by partition, ascending.
    """
    checks = [check for check in CHECKS.values() if check.per_partition]
    control = split_by_partition(rows.few)
    found = _stage_one(rows, begun, control, dialect)
    yield PartResults(
        results=tuple(
            CheckResult(invariant=name, premise_count=int(own.premises[~own.suspicious].sum()))
            for name, own in found.items()
        )
    )
    for partition, code in sorted((rows.name(code), code) for code in range(rows.count)):
        events = _LazyEvents(rows, code)
        results = []
        for check in checks:
            own = found.get(check.invariant)
            if own is not None and not own.suspicious[code]:
                continue
            given = control.get(partition, ()) if own is None else events.all
            results.append(check.judge([*begun, *given], dialect))
        is_violated = any(result.violations for result in results)
        yield PartResults(results=tuple(results), events=events.all if is_violated else ())


class _LazyEvents:
    """The events of one partition, made when they are first asked for."""

    def __init__(self, rows: BucketRows, code: int) -> None:
        self._rows = rows
        self._code = code
        self._events: list[TraceEvent] | None = None

    @property
    def all(self) -> list[TraceEvent]:
        """In the order of their lines."""
        if self._events is None:
            self._events = self._rows.events(self._code)
        return self._events


def _stage_one(
    rows: BucketRows, begun: Sequence[TraceEvent], control: _Control, dialect: TraceDialect
) -> dict[Invariant, Found]:
    """For each check that reads bulk; of one without a kernel everything is suspicious."""
    nothing = np.zeros(rows.count, np.int64)
    unknown = Found(nothing, np.ones(rows.count, np.bool_))
    found = {check.invariant: unknown for check in CHECKS.values() if check.reads & BULK}
    if dialect == SPEC and rows.table.num_rows >= FEW_ROWS:
        found |= _by_kernels(rows, begun, control)
    return found


def _by_kernels(
    rows: BucketRows, begun: Sequence[TraceEvent], control: _Control
) -> dict[Invariant, Found]:
    operations, replicas = operations_of(rows), replicas_of(rows)
    linear, durable = judge_clients(rows, operations)
    judged = judge_replicas(rows, replicas)
    final, _ = final_reads(rows, operations)
    return {
        Invariant.LINEARIZABLE_LOG: linear,
        Invariant.ACKNOWLEDGED_DURABLE: durable,
        Invariant.LOG_MATCHING: judged.matching,
        Invariant.LEADER_COMPLETE: judged.complete,
        Invariant.HIGH_WATERMARK_MONOTONIC: judged.monotonic,
        Invariant.ONE_COMMITTER_PER_EPOCH: judged.committers,
        Invariant.LEADER_IN_ISR: _in_isr(rows, control),
        Invariant.MIN_INSYNC_REPLICAS: _in_sync(rows, begun),
        Invariant.SEQUENCES_IN_ORDER: judge_numbers(
            rows, replicas, judged.entries | linear.suspicious, final
        ),
    }


def _in_isr(rows: BucketRows, control: _Control) -> Found:
    """By the definition, without the advances that repeat the one before."""
    repeats = repeated_advances(rows)
    advances = rows.is_action(Action.ADVANCE_HIGH_WATERMARK) & ~repeats
    kept = split_by_partition(rows.of(advances))
    premises, suspicious = premises_of(rows, repeats), np.zeros(rows.count, np.bool_)
    for code in range(rows.count):
        partition = rows.name(code)
        events = [*control.get(partition, ()), *kept.get(partition, ())]
        result = CHECKS[Invariant.LEADER_IN_ISR].judge(events)
        premises[code] += result.premise_count
        suspicious[code] = bool(result.violations or result.doubts)
    return Found(premises, suspicious)


def _in_sync(rows: BucketRows, begun: Iterable[TraceEvent]) -> Found:
    least = least_of(begun)
    of_own = rows.where(rows.is_told("min_insync_replicas"))
    if least <= 1:
        return Found(np.zeros(rows.count, np.int64), of_own)
    found = judge_appends(rows, least)
    return Found(found.premises, found.suspicious | of_own)
