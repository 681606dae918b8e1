"""Lines of a trace to columns: parsed as columns where that is sure to give what `decode` gives.

`spec.trace.parse_trace` is the definition. A block that Arrow reads without complaint, one object a
line, into columns that hold what `TraceEvent` demands, gives the same events. Any other block is
halved until the lines in doubt are few; those go through the definition, one by one.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from fencepost.reports.tables.schema import WORDS, arrow_schema, to_table
from fencepost.spec.trace import TraceEvent, event_of

DOUBTED_BYTES = 16 << 10
"""A block in doubt that is shorter goes line by line."""

PARSED_BYTES = 1 << 20
"""What Arrow parses at a time."""

SEEN_BLOCKS = 4
"""So many of a file's last blocks tell which columns the next will have."""

_SCHEMA = arrow_schema()
_FIELDS = msgspec.structs.fields(TraceEvent)
_REQUIRED = tuple(field.name for field in _FIELDS if field.required)
_DEFAULTS = {
    field.name: field.default
    for field in _FIELDS
    if not field.required and field.default is not None
}
"""What a line means that leaves the field out; null is no value of these."""
_ALWAYS = frozenset((*_REQUIRED, *_DEFAULTS, "detail", "wall_ns"))
"""Columns that a table has, whatever it holds."""
_WORDS = {name: frozenset(member.value for member in words) for name, words in WORDS.items()}
"""The words that a field admits."""
_NULL_FOR_DEFAULT = re.compile(rb'"(?:%s)"\s*:\s*null' % b"|".join(map(str.encode, _DEFAULTS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLine:
    """A line that is no event."""

    number: int
    """From 1."""
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLines:
    """What a block holds."""

    tables: tuple[pa.Table, ...]
    """The events, in the order of their lines; columns of `arrow_schema()`, others hold nothing."""
    lines: int
    foreign: tuple[ForeignLine, ...] = ()
    torn: bytes = b""
    """A line without an end."""


class SeenColumns:
    """The columns of a file's last blocks: the next has mostly no others, and is read faster so."""

    def __init__(self) -> None:
        self._blocks: deque[frozenset[str]] = deque(maxlen=SEEN_BLOCKS)

    @property
    def schema(self) -> pa.Schema | None:
        """These columns; None before the first block."""
        seen = _ALWAYS.union(*self._blocks)
        return pa.schema([one for one in _SCHEMA if one.name in seen]) if self._blocks else None

    def note(self, table: pa.Table) -> None:
        """A block had these columns."""
        columns = zip(table.column_names, table.columns, strict=True)
        self._blocks.append(frozenset(name for name, column in columns if _is_told(column)))


def _is_told(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))


def read_lines(block: bytes, seen: SeenColumns | None = None) -> ReadLines:
    """The events of a block that ends with a line, or is one that was cut off."""
    end = block.rfind(b"\n") + 1
    tables: list[pa.Table] = []
    foreign: list[ForeignLine] = []
    lines = 0
    for part, columns in _as_seen(block[:end], seen or SeenColumns()):
        if columns is not None:
            tables.append(columns)
        else:
            table, strange = _line_by_line(part, lines)
            tables.append(table)
            foreign.extend(strange)
        lines += part.count(b"\n")
    torn = block[end:]
    return ReadLines(
        tables=tuple(tables), lines=lines + bool(torn), foreign=tuple(foreign), torn=torn
    )


def _as_seen(whole: bytes, seen: SeenColumns) -> Iterator[tuple[bytes, pa.Table | None]]:
    """As `_parts`, tried with the columns that were seen first."""
    schema = seen.schema
    columns = _columns(whole, schema) if schema is not None and whole else None
    parts = _parts(whole) if columns is None else ((whole, columns),)
    for part, table in parts:
        if table is not None:
            seen.note(table)
        yield part, table


def _parts(whole: bytes) -> Iterator[tuple[bytes, pa.Table | None]]:
    """The block with its columns, or its halves with theirs; None with lines in doubt."""
    if not whole:
        return
    columns = _columns(whole, _SCHEMA)
    middle = whole.find(b"\n", len(whole) // 2) + 1
    if columns is not None or len(whole) < DOUBTED_BYTES or middle in (0, len(whole)):
        yield whole, columns
        return
    yield from _parts(whole[:middle])
    yield from _parts(whole[middle:])


def _columns(block: bytes, schema: pa.Schema) -> pa.Table | None:
    """The block as these columns; None where the definition might say otherwise of a line."""
    lines = _objects(block)
    if not lines or (b"null" in block and _NULL_FOR_DEFAULT.search(block)) or not _is_utf8(block):
        return None
    try:
        table = pj.read_json(
            pa.py_buffer(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=PARSED_BYTES),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="error"
            ),
        )
    except pa.ArrowException:
        return None
    if table.num_rows != lines or not _is_whole(table):
        return None
    for name, default in _DEFAULTS.items():
        index = table.schema.get_field_index(name)
        table = table.set_column(index, name, pc.fill_null(table.column(index), default))
    return table


def _objects(block: bytes) -> int:
    """How many lines a block has; 0 unless each begins and ends as an object does.

    An object that goes on in the next line, or two in one, then change the number of rows.
    """
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if data[0] != ord("{") or ends[0] == 0:
        return 0
    is_closed = data[ends - 1] == ord("}")
    is_open = data[ends[:-1] + 1] == ord("{")
    return len(ends) if is_closed.all() and is_open.all() else 0


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_whole(table: pa.Table) -> bool:
    """Every row has what an event must have, words among those that there are, and no holes."""
    if any(table.column(name).null_count for name in _REQUIRED):
        return False
    for name in _WORDS.keys() & table.column_names:
        words = _WORDS[name]
        if not words.issuperset(pc.unique(table.column(name).drop_null()).to_pylist()):
            return False
    lists = (column for column in table.columns if pa.types.is_list(column.type))
    return not any(chunk.flatten().null_count for column in lists for chunk in column.chunks)


def _line_by_line(part: bytes, before: int) -> tuple[pa.Table, list[ForeignLine]]:
    """By the definition; a line with a number that no column holds is foreign too."""
    rows: list[TraceEvent] = []
    foreign: list[ForeignLine] = []
    for number, line in enumerate(part.split(b"\n")[:-1], start=before + 1):
        event = event_of(line)
        if event is None or _table_of([event]) is None:
            foreign.append(ForeignLine(number=number, text=line))
        else:
            rows.append(event)
    return to_table(rows), foreign


def _table_of(events: list[TraceEvent]) -> pa.Table | None:
    try:
        return to_table(events)
    except (ValueError, OverflowError):
        return None
