"""What the two stages find beside what the definitions find, of the same events."""

from collections.abc import Iterable, Sequence

from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.conformance.checks.registry import CHECKS, RUN_STARTED, run_check
from fencepost.conformance.verdict import CheckResult, merge
from fencepost.reports.analysis.tenures import (
    Leadership,
    levels_of,
    tenures_of,
    turns_of,
    unserved_of,
    writes_of,
)
from fencepost.reports.kernels import two_stages
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows
from fencepost.reports.kernels.leadership_rows import leadership_of
from fencepost.reports.kernels.two_stages import judge_bucket
from fencepost.reports.tables.buckets import BULK, SplitRows
from fencepost.reports.tables.schema import encoded, to_table
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

PER_PARTITION = [check for check in CHECKS.values() if check.per_partition]


def rows_of(events: Iterable[TraceEvent]) -> BucketRows:
    """The events about partitions, as a bucket has them."""
    own = [event for event in events if partition_of_event(event)]
    few, bulk = (
        encoded(to_table(event for event in own if (event.action in BULK) is is_bulk))
        for is_bulk in (False, True)
    )
    told = [name for name in bulk.column_names if name in KERNEL_COLUMNS]
    return BucketRows(SplitRows(few, bulk.select(told), lambda: bulk))


def in_two_stages(events: Sequence[TraceEvent]) -> dict[Invariant, CheckResult]:
    begun = [event for event in events if event.action in RUN_STARTED]
    two_stages.FEW_ROWS = 1
    parts: dict[Invariant, list[CheckResult]] = {check.invariant: [] for check in PER_PARTITION}
    for part in judge_bucket(rows_of(events), begun):
        for result in part.results:
            parts[result.invariant].append(result)
    return {invariant: merge(invariant, found) for invariant, found in parts.items()}


def by_definition(events: Sequence[TraceEvent]) -> dict[Invariant, CheckResult]:
    return {check.invariant: run_check(check, events) for check in PER_PARTITION}


def leadership_by_definition(events: Sequence[TraceEvent], span: tuple[int, int]) -> Leadership:
    bucket = [event for event in events if partition_of_event(event)]
    return Leadership(
        tenures=tenures_of(0, bucket),
        writes=writes_of(0, bucket, span),
        unserved=unserved_of(0, bucket),
        turns=turns_of(0, bucket),
        levels=levels_of(0, bucket, span),
    )


def assert_same(events: Sequence[TraceEvent]) -> None:
    assert in_two_stages(events) == by_definition(events)
    stamps = [event.mono_ns for event in events if event.mono_ns > 0] or [0]
    span = min(stamps), max(stamps)
    assert leadership_of(rows_of(events), 0, span) == leadership_by_definition(events, span)
