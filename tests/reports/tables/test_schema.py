"""The columns are the fields of the trace line, whatever is added to it."""

from fencepost.reports.tables.schema import arrow_schema, from_table, to_table
from fencepost.spec.trace import TraceEvent
from tests.reports.stories import failover_story


def test_columns_are_the_fields_of_the_trace_line() -> None:
    assert tuple(arrow_schema().names) == TraceEvent.__struct_fields__


def test_events_survive_the_columns() -> None:
    events = failover_story("r").events

    assert list(from_table(to_table(events))) == events
