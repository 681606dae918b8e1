"""Columns hold what the definition of a line says, of good lines and of any others."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from fencepost.reports.tables import lines
from fencepost.reports.tables.lines import ReadLines, SeenColumns, read_lines
from fencepost.reports.tables.schema import arrow_schema, from_table
from fencepost.spec.trace import TraceEvent, encode_all, parse_trace
from tests.reports.stories import failover_story

GOOD = [line.rstrip(b"\n") for line in encode_all(failover_story("r").events)]
HEAD = b'{"run_id":"r","node":"n","seq":0,"mono_ns":1,"kind":"action","action":"A"'
STRANGE = (
    b"", b"{}", b"[]", b"{} {}", b"null", b"\xef\xbb\xbf" + GOOD[0], GOOD[0] + GOOD[1],
    GOOD[0][:-1], b" " + GOOD[0], GOOD[0] + b" \r", HEAD + b"}", HEAD + b',"kind":"run"}',
    HEAD + b',"lamport":null}', HEAD + b',"topic":null}', HEAD + b',"is_unclean" : null}',
    HEAD + b',"isr":[1,null]}', HEAD + b',"values":["a",null]}', HEAD + b',"isr":[]}',
    HEAD + b',"phase":"never"}', HEAD + b',"phase":""}', HEAD + b',"outcome":"ok"}',
    HEAD + b',"offset":1.0}', HEAD + b',"offset":1e3}', HEAD + b',"offset":"1"}',
    HEAD + b',"offset":-0}', HEAD + b',"topic":7}', HEAD + b',"is_unclean":1}',
    HEAD + b',"unknown":NaN}', HEAD + b',"unknown":{"a":[1]}}', HEAD + b',"data":"\xff"}',
    HEAD + b',"data":"\\ud800"}', HEAD + b',"data":"a\tb"}', HEAD + b',"data":"null"}',
    HEAD + b',"data":"\\u0000\xc3\xa9"}', HEAD + b',"\\u0074opic":"t"}', HEAD + b',"isr":{}}',
    HEAD + b',"unknown":' + b"[" * 5000 + b"]" * 5000 + b"}",
    HEAD.replace(b'"seq":0', b'"seq":null') + b"}", HEAD.replace(b'"action"', b'""', 1) + b"}",
)  # fmt: skip


def events_of(tables: Sequence[pa.Table]) -> list[TraceEvent]:
    return [event for table in tables for event in from_table(table)]


def assert_as_defined(block: bytes) -> None:
    seen = SeenColumns()
    read_lines(GOOD[0] + b"\n", seen)
    for read in (read_lines(block), read_lines(block, seen)):
        assert_read(block, read)


def assert_read(block: bytes, read: ReadLines) -> None:
    defined = parse_trace(block)
    assert events_of(read.tables) == defined.events
    assert [line.number for line in read.foreign] == defined.foreign_lines
    assert bool(read.torn) == bool(defined.torn_lines)
    assert read.lines == block.count(b"\n") + defined.torn_lines


def test_good_lines_are_read_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "event_of", None)

    assert len(events_of(read_lines(b"\n".join(GOOD) + b"\n").tables)) == len(GOOD)


def test_a_block_with_the_columns_of_the_last_ones_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block, seen = b"\n".join(GOOD) + b"\n", SeenColumns()
    assert_read(block, read_lines(block, seen))
    monkeypatch.setattr(lines, "_parts", None)

    (table,) = read_lines(block, seen).tables

    assert events_of([table]) == parse_trace(block).events
    assert len(table.column_names) < len(arrow_schema())


@pytest.mark.parametrize("line", STRANGE)
def test_a_strange_line_is_what_the_definition_says(line: bytes) -> None:
    assert_as_defined(GOOD[0] + b"\n" + line + b"\n" + GOOD[1] + b"\n")


def test_an_object_over_two_lines_and_two_in_one_line_do_not_make_up_for_each_other() -> None:
    assert_as_defined(HEAD + b"\n}\n" + GOOD[0] + GOOD[1] + b"\n")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*GOOD[:6], *STRANGE]), max_size=12), st.booleans())
def test_any_mixture_of_lines_is_what_the_definition_says(found: list[bytes], torn: bool) -> None:
    lines.DOUBTED_BYTES, before = 200, lines.DOUBTED_BYTES
    try:
        assert_as_defined(b"\n".join(found) + (b"" if torn else b"\n"))
    finally:
        lines.DOUBTED_BYTES = before
