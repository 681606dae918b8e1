"""The columns are the fields of the trace line, whatever is added to it."""

from fencepost.reports.tables.schema import arrow_schema, from_table, spark_schema, to_table
from fencepost.spec.trace import TraceEvent
from tests.reports.stories import failover_story


def test_columns_are_the_fields_of_the_trace_line() -> None:
    assert tuple(arrow_schema().names) == TraceEvent.__struct_fields__


def test_spark_reads_the_same_columns_and_the_two_of_the_directories() -> None:
    assert tuple(spark_schema().names) == (*TraceEvent.__struct_fields__, "folder", "bucket")


def test_both_schemas_have_the_same_types() -> None:
    simple = {"string": "string", "bigint": "int64", "boolean": "bool"}
    for field in spark_schema().fields[:-2]:
        inner = field.dataType.simpleString().removeprefix("array<").removesuffix(">")
        arrow = str(arrow_schema().field(field.name).type)

        assert simple[inner] in arrow
        assert field.dataType.simpleString().startswith("array") == arrow.startswith("list")


def test_events_survive_the_columns() -> None:
    events = failover_story("r").events

    assert list(from_table(to_table(events))) == events
