"""What the two stages find beside what the definitions find, of the same events."""

from collections.abc import Sequence

from fencepost.ci.bench.reports.agreement import by_definition, in_two_stages, rows_of
from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.reports.analysis.tenures import (
    Leadership,
    levels_of,
    tenures_of,
    turns_of,
    unserved_of,
    writes_of,
)
from fencepost.reports.kernels.leadership_rows import leadership_of
from fencepost.spec.trace import TraceEvent


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
