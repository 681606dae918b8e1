"""The checks of all partitions of a bucket in two stages.

Stage one are kernels over the columns: for a partition they say how often a check's premise held
and that all is well, or that it is suspicious. Stage two is the definition: it judges suspicious
partitions from their events, and checks without a kernel from the few events that they read.
What is found is what the definition alone would find; `tests/reports/kernels` holds them together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fencepost.conformance.checks.min_insync_replicas import least_of
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.verdict import CheckResult
from fencepost.reports.kernels.bucket_rows import BucketRows, Found
from fencepost.reports.kernels.client_logs import final_reads, judge_clients, operations_of
from fencepost.reports.kernels.in_doubt import InDoubt
from fencepost.reports.kernels.insync_appends import judge_appends
from fencepost.reports.kernels.isr_repeats import premises_of, repeated_advances
from fencepost.reports.kernels.numbered_records import judge_numbers
from fencepost.reports.kernels.replica_logs import judge_replicas, replicas_of
from fencepost.reports.kernels.roles import judge_roles
from fencepost.reports.tables.buckets import BULK
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

FEW_ROWS = 500
"""In a bucket with fewer rows the definition is the faster one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResults:
    """What checks found in one partition, or kernels in all those in which all is well."""

    results: tuple[CheckResult, ...]
    partition: int | None = None
    """Its code; None for all those in which all is well."""


def judge_bucket(
    rows: BucketRows, begun: Sequence[TraceEvent], dialect: TraceDialect = SPEC
) -> Iterator[PartResults]:
    """What each check per partition finds in a bucket; `begun` are the `RunStarted` of the run.

    First what the kernels found to be well, then partition by partition, ascending.
    """
    checks = [check for check in CHECKS.values() if check.per_partition]
    found = _stage_one(rows, begun, dialect)
    yield PartResults(
        results=tuple(
            CheckResult(invariant=name, premise_count=int(own.premises[~own.suspicious].sum()))
            for name, own in found.items()
        )
    )
    suspicious = {name: own.suspicious for name, own in found.items()}
    in_doubt = InDoubt(rows, suspicious, by_kernels=_has_kernels(rows, dialect))
    for code in rows.by_name:
        results = []
        events = in_doubt.events(code)
        for check in checks:
            own = found.get(check.invariant)
            if own is None:
                given = rows.control.get(rows.name(code), ())
                results.append(check.judge([*begun, *given], dialect))
            elif own.suspicious[code]:
                result = check.judge([*begun, *events], dialect)
                results.append(in_doubt.counted(result, code))
        yield PartResults(results=tuple(results), partition=code)


def _stage_one(
    rows: BucketRows, begun: Sequence[TraceEvent], dialect: TraceDialect
) -> dict[Invariant, Found]:
    """For each check that reads bulk; of one without a kernel everything is suspicious."""
    nothing = np.zeros(rows.count, np.int64)
    unknown = Found(nothing, np.ones(rows.count, np.bool_))
    found = {check.invariant: unknown for check in CHECKS.values() if check.reads & BULK}
    if _has_kernels(rows, dialect):
        found |= _by_kernels(rows, begun)
    return found


def _has_kernels(rows: BucketRows, dialect: TraceDialect) -> bool:
    return dialect == SPEC and rows.table.num_rows >= FEW_ROWS


def _by_kernels(rows: BucketRows, begun: Sequence[TraceEvent]) -> dict[Invariant, Found]:
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
        Invariant.LEADER_IN_ISR: _in_isr(rows),
        Invariant.ACTS_IN_ITS_ROLE: judge_roles(rows),
        Invariant.MIN_INSYNC_REPLICAS: _in_sync(rows, begun),
        Invariant.SEQUENCES_IN_ORDER: judge_numbers(
            rows, replicas, judged.entries | linear.suspicious, final
        ),
    }


def _in_isr(rows: BucketRows) -> Found:
    """By the definition, without the advances that repeat the one before."""
    repeats = repeated_advances(rows)
    advances = rows.is_action(Action.ADVANCE_HIGH_WATERMARK) & ~repeats
    kept = split_by_partition(rows.of(advances))
    premises, suspicious = premises_of(rows, repeats), np.zeros(rows.count, np.bool_)
    for code in range(rows.count):
        partition = rows.name(code)
        events = [*rows.control.get(partition, ()), *kept.get(partition, ())]
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
