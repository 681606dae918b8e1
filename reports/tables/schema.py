"""The columns of a trace: derived from `TraceEvent`, never listed a second time.

One field of the line is one Parquet column of the same name. Two columns say where a row comes
from: `folder` and `bucket` are the names of directories, so no row repeats them.
"""

import types
import typing
from collections.abc import Callable, Iterable, Iterator

import msgspec
import pyarrow as pa

from fencepost.spec.trace import TraceEvent

ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark's `mapInArrow` calls in a task."""

FOLDER = "folder"
BUCKET = "bucket"

_ARROW: dict[object, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    list[int]: pa.list_(pa.int64()),
    list[str]: pa.list_(pa.string()),
}


_WORD = pa.dictionary(pa.int32(), pa.string())
_SAID_ONCE = frozenset({"data", "detail", "request_id"})


def _present(hint: object) -> object:
    """`hint` without `None`."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return next(part for part in typing.get_args(hint) if part is not types.NoneType)
    return hint


def _plain(hint: object) -> object:
    """`hint` with every enumeration as the text that it is."""
    return str if isinstance(hint, type) and issubclass(hint, str) else hint


def field_types() -> dict[str, object]:
    """Field of `TraceEvent` -> its type without `None`, enumerations as such, in field order."""
    hints = typing.get_type_hints(TraceEvent)
    return {name: _present(hints[name]) for name in TraceEvent.__struct_fields__}


def column_types() -> dict[str, object]:
    """Field of `TraceEvent` -> `str`, `int`, `bool`, `list[int]` or `list[str]`, in field order."""
    return {name: _plain(kind) for name, kind in field_types().items()}


ENCODED = frozenset(name for name, kind in column_types().items() if kind is str) - _SAID_ONCE
"""Columns of words that many rows have."""


def arrow_schema() -> pa.Schema:
    """The columns of a trace; every one may be null."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in column_types().items()])


def stored_schema() -> pa.Schema:
    """As `arrow_schema`, the columns of `ENCODED` by dictionary: they repeat few words."""
    return pa.schema(
        [(field.name, _WORD if field.name in ENCODED else field.type) for field in arrow_schema()]
    )


def encoded(rows: pa.Table) -> pa.Table:
    """Rows of `arrow_schema()` in the types of `stored_schema()`, without columns of nulls."""
    return pa.table(
        {
            name: column.dictionary_encode() if name in ENCODED else column
            for name, column in zip(rows.column_names, rows.columns, strict=True)
            if column.null_count < len(column)
        }
    )


def to_table(events: Iterable[TraceEvent]) -> pa.Table:
    """The rows of `events`; raises a `ValueError` or `OverflowError` if a number is too large."""
    rows = list(events)
    columns = [
        pa.array([getattr(row, name) for row in rows], type=_ARROW[kind])
        for name, kind in column_types().items()
    ]
    return pa.table(columns, schema=arrow_schema())


def from_table(table: pa.Table) -> Iterator[TraceEvent]:
    """The events of rows of either schema, in row order."""
    told = [name for name in table.column_names if table.column(name).null_count < table.num_rows]
    for row in table.select(told).to_pylist():
        yield msgspec.convert(row, TraceEvent)
