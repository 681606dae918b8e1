"""The checks of `conformance`, run where the events are: one Spark task per bucket of a run.

A task reads its own Parquet files, calls the very functions that tests and simulator call, and
returns one bounded answer per check. Checks that look across partitions get one task per run.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from fencepost.conformance.checks.registry import CHECKS, RUN_STARTED, InvariantCheck
from fencepost.conformance.checks.trace_dialect import DIALECTS, SPEC
from fencepost.conformance.runs.host_interference import read_interference
from fencepost.conformance.verdict import CheckResult, Violation, merge
from fencepost.reports.analysis.evidence import ViolationContext, gather, instant_of
from fencepost.reports.analysis.tenures import (
    Leadership,
    creations_of,
    shared_rows,
    together,
)
from fencepost.reports.hot.displayed import DisplayedPieces
from fencepost.reports.hot.tasks import CrowdedBucket, SeenParts, scratch_beside, seen_parts
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows
from fencepost.reports.kernels.displayed import Displayed, DisplayedEvents
from fencepost.reports.kernels.displayed_rows import DisplayedRows
from fencepost.reports.kernels.leadership_rows import leadership_of
from fencepost.reports.kernels.two_stages import judge_bucket
from fencepost.reports.spark.executors import rows_of_tasks
from fencepost.reports.tables import pieces
from fencepost.reports.tables.buckets import (
    bucket_names,
    bucket_with,
    read_bucket,
    read_shared,
    read_split,
)
from fencepost.reports.tables.schema import ArrowFunction
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant
from fencepost.spec.znodes import TopicPartition

Spans = Mapping[int, tuple[int, int]]
"""The first and last `mono_ns` of each folder."""

Key = TypeVar("Key")
Made = TypeVar("Made")

_NO_NAME = TopicPartition("", -1)
EVERY_BUCKET = "*"
"""The bucket of a task that runs the checks across partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one check found in one folder, and the surroundings of its first violation."""

    folder: int
    result: CheckResult
    evidence: ViolationContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What one task found, or all of them together."""

    judged: tuple[Judged, ...]
    """Of all tasks: by folder, then in registry order."""
    leadership: Leadership


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTask:
    """One Spark task: the checks on one bucket, or those across a whole folder."""

    folder: int
    bucket: str
    span_ns: tuple[int, int]
    """First and last `mono_ns` of the folder."""
    dialect: str = SPEC.name
    """Of the run, by name."""
    most: int = field(default_factory=lambda: pieces.CROWDED_ROWS)
    """So many lines are held by a task; decided by the driver."""
    seen: SeenParts | None = None
    """Of its partitions that are too long for a task; None: the task sees their parts itself."""

    @property
    def is_of_texts(self) -> bool:
        """The kernels know what the run tells."""
        return DIALECTS[self.dialect] == SPEC


_decoder = msgspec.json.Decoder(Findings)


def judge(
    spark: SparkSession, target: Path, spans_ns: Spans, dialects: Mapping[int, str]
) -> Findings:
    """Every registered check on every folder below `target`, and the leaders of its partitions."""
    tasks = judge_tasks(target, spans_ns, dialects)
    with scratch_beside(target) as scratch:
        of_texts = [task for task in tasks if task.bucket != EVERY_BUCKET and task.is_of_texts]
        seen = seen_parts(spark, [_crowded(task, target) for task in of_texts], scratch)
        told = dict(zip(of_texts, seen, strict=True))
        tasks = [replace(task, seen=told.get(task)) for task in tasks]
        worker = _worker(tasks, target)
        rows = rows_of_tasks(spark, len(tasks), worker, "findings string", folder=target)
    return combine([_decoder.decode(row.findings) for row in rows])


def _crowded(task: JudgeTask, target: Path) -> CrowdedBucket:
    return CrowdedBucket(
        target=target,
        folder=task.folder,
        name=task.bucket,
        span_ns=task.span_ns,
        most=task.most,
        seen=task.seen,
    )


def judge_tasks(
    target: Path, spans_ns: Spans, dialects: Mapping[int, str] = MappingProxyType({})
) -> list[JudgeTask]:
    """One task per bucket of each folder, and one per folder for the checks across partitions.

    `dialects` names those of folders that have not the one of our texts.
    """
    return [
        JudgeTask(
            folder=folder,
            bucket=bucket,
            span_ns=span_ns,
            dialect=dialects.get(folder, SPEC.name),
        )
        for folder, span_ns in sorted(spans_ns.items())
        for bucket in [EVERY_BUCKET, *bucket_names(target, folder)]
    ]


def combine(found: Sequence[Findings]) -> Findings:
    """One answer per folder and check, of the answers of all tasks."""
    parts: dict[int, list[Judged]] = {}
    for findings in found:
        for part in findings.judged:
            parts.setdefault(part.folder, []).append(part)
    return Findings(
        judged=tuple(
            _together(folder, name, own) for folder, own in sorted(parts.items()) for name in CHECKS
        ),
        leadership=together(findings.leadership for findings in found),
    )


def _worker(tasks: list[JudgeTask], target: Path) -> ArrowFunction:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [judge_task(tasks[index], target) for index in batch.column(0).to_pylist()]
            texts = [msgspec.json.encode(findings).decode() for findings in found]
            yield pa.RecordBatch.from_pydict({"findings": texts})

    return run


def judge_task(task: JudgeTask, target: Path) -> Findings:
    """What a task finds in the Parquet below `target`: bounded, whatever the size of its bucket."""
    with _without_collector():
        return (_across if task.bucket == EVERY_BUCKET else _per_partition)(task, target)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Events hold no cycles: to look for them again and again costs a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _per_partition(task: JudgeTask, target: Path) -> Findings:
    shared = read_shared(target, task.folder)
    begun = [event for event in shared if event.action in RUN_STARTED]
    found: dict[TopicPartition | None, list[CheckResult]] = {}
    leadership = []
    crowded = _crowded(task, target)
    for partition, told in crowded.found() if task.is_of_texts else ():
        if told is not None:
            found[partition] = [*told.results]
            leadership.append(told.leadership)
    judged = frozenset(one for one in found if one is not None)
    held = _HeldShares(crowded, judged)
    for share in held.shares:
        rows = held.rows(share)
        for part in judge_bucket(rows, begun, DIALECTS[task.dialect]):
            name = None if part.partition is None else rows.name(part.partition)
            found.setdefault(name, []).extend(part.results)
        leadership.append(leadership_of(rows, task.folder, task.span_ns))
        del rows  # before those of the next share are read

    def displayed(partition: TopicPartition) -> Displayed:
        if partition in judged:
            return DisplayedPieces(crowded.pieces(partition), shared)
        return held.displayed(partition, shared)

    by_name = {name: found[name] for name in sorted(found, key=lambda name: name or _NO_NAME)}
    evidence = _evidence(by_name, displayed, task.span_ns[0])
    results = [result for own in by_name.values() for result in own]
    return Findings(
        judged=tuple(
            Judged(
                folder=task.folder,
                result=merge(
                    check.invariant, [one for one in results if one.invariant is check.invariant]
                ),
                evidence=evidence.get(check.invariant),
            )
            for check in _checks(per_partition=True)
        ),
        leadership=together(leadership),
    )


def _one_at_a_time(make: Callable[[Key], Made]) -> Callable[[Key], Made]:
    """`make`, the last value kept; it is let go before another one is made, for both are large."""
    kept: dict[Key, Made] = {}

    def made(key: Key) -> Made:
        if key not in kept:
            kept.clear()
            kept[key] = make(key)
        return kept[key]

    return made


class _HeldShares:
    """The rows of a bucket that are judged together, those of one share at a time."""

    def __init__(
        self, bucket: CrowdedBucket, without: frozenset[TopicPartition] = frozenset()
    ) -> None:
        """`without`: crowded partitions that were judged in pieces."""
        place = bucket.target, bucket.folder, bucket.name

        def read(share: frozenset[TopicPartition] | None) -> BucketRows:
            return BucketRows(read_split(*place, KERNEL_COLUMNS, only=share))

        together, self.crowded = bucket.shares()
        alone = (frozenset({one}) for one in self.crowded if one not in without)
        self.shares = (*together, *alone)
        self.rows = _one_at_a_time(read)  # in no cycle, for nothing collects these here

    def displayed(self, partition: TopicPartition, shared: Sequence[TraceEvent]) -> Displayed:
        """The events about one partition of a share and those about none."""
        own = [share for share in self.shares if share is None or partition in share]
        rows = self.rows(own[0]) if own else None
        if rows is None or partition not in rows.partitions:
            return DisplayedEvents(shared)
        return DisplayedRows(rows, rows.partitions.index(partition), shared)


def _evidence(
    found: Mapping[TopicPartition | None, Sequence[CheckResult]],
    displayed: Callable[[TopicPartition], Displayed],
    start_ns: int,
) -> dict[Invariant, ViolationContext]:
    """The surroundings of the earliest of the first violations in each partition, of each check."""
    first: dict[Invariant, tuple[int, TopicPartition, Violation]] = {}
    last_shown = _one_at_a_time(displayed)
    for partition, results in found.items():
        violations = [one for result in results for one in result.violations[:1]]
        if partition is None or not violations:
            continue
        around = last_shown(partition)
        for one in violations:
            at_ns = max(start_ns, around.stamp(instant_of(one, around)))
            if one.invariant not in first or at_ns < first[one.invariant][0]:
                first[one.invariant] = at_ns, partition, one
    contexts: dict[Invariant, ViolationContext] = {}
    for partition in sorted({partition for _, partition, _ in first.values()}):
        own = [one for _, its_name, one in first.values() if its_name == partition]
        told = gather(own, last_shown(partition), start_ns)
        contexts |= {one.invariant: context for one, context in zip(own, told, strict=True)}
    return contexts


def _across(task: JudgeTask, target: Path) -> Findings:
    checks = _checks(per_partition=False)
    events = _read_all(task, target, frozenset[str]().union(*(check.reads for check in checks)))
    judged = []
    for check in checks:
        result = check.judge(events, DIALECTS[task.dialect])
        evidence = None
        for first in result.violations[:1]:
            around = _around(task, target, first)
            (evidence,) = gather([first], around, task.span_ns[0])
        judged.append(Judged(folder=task.folder, result=result, evidence=evidence))
    shared = read_shared(target, task.folder)
    leadership = Leadership(
        shared=shared_rows(task.folder, shared),
        creations=creations_of(task.folder, shared),
        noise={task.folder: read_interference(shared)},
    )
    return Findings(judged=tuple(judged), leadership=leadership)


def _checks(*, per_partition: bool) -> list[InvariantCheck]:
    return [check for check in CHECKS.values() if check.per_partition is per_partition]


def _read_all(task: JudgeTask, target: Path, actions: frozenset[str]) -> list[TraceEvent]:
    shared = [event for event in read_shared(target, task.folder) if event.action in actions]
    buckets = bucket_names(target, task.folder)
    parts = (read_bucket(target, task.folder, bucket, actions) for bucket in buckets)
    return [*shared, *chain.from_iterable(parts)]


def _around(task: JudgeTask, target: Path, violation: Violation) -> Displayed:
    """The events about no partition and those of the violation's, whatever else the folder has."""
    shared = read_shared(target, task.folder)
    if violation.topic is None or violation.partition is None:
        return DisplayedEvents(shared)
    partition = TopicPartition(violation.topic, violation.partition)
    bucket = bucket_with(target, task.folder, partition)
    crowded = _crowded(replace(task, bucket=bucket), target)
    held = _HeldShares(crowded)
    if partition in held.crowded:
        return DisplayedPieces(crowded.pieces(partition), shared)
    return held.displayed(partition, shared)


def _together(folder: int, invariant: Invariant, found: Iterable[Judged]) -> Judged:
    """One answer for the parts of a folder, with the evidence of the earliest violation."""
    parts = [part for part in found if (part.folder, part.result.invariant) == (folder, invariant)]
    told = [part.evidence for part in parts if part.evidence is not None]
    return Judged(
        folder=folder,
        result=merge(invariant, [part.result for part in parts]),
        evidence=min(told, key=lambda evidence: evidence.at_ns, default=None),
    )
