"""The columns of a trace: derived from `TraceEvent`, never listed a second time.

One field of the line is one Parquet column of the same name. Two columns say where a row comes
from: `folder` and `bucket` are the names of directories, so no row repeats them.
"""

import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.spec.trace import Kind, TraceEvent

ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark's `mapInArrow` calls in a task."""

FOLDER = "folder"
BUCKET = "bucket"

_ARROW: dict[object, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
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


@cache
def field_types() -> dict[str, object]:
    """Field of `TraceEvent` -> its type without `None`, enumerations as such, in field order."""
    hints = typing.get_type_hints(TraceEvent)
    return {name: _present(hints[name]) for name in TraceEvent.__struct_fields__}


@cache
def column_types() -> dict[str, object]:
    """Field of `TraceEvent` -> a plain type or `list[int]` or `list[str]`, in field order."""
    return {name: _plain(kind) for name, kind in field_types().items()}


WORDS: Mapping[str, type[StrEnum]] = {
    name: kind
    for name, kind in field_types().items()
    if isinstance(kind, type) and issubclass(kind, StrEnum)
}
"""Columns of an enumeration."""

FEW_ROWS = 1000
_NO_EVENT = TraceEvent(run_id="", node="", seq=0, mono_ns=0, kind=Kind.RUN, action="")


ENCODED = frozenset(name for name, kind in column_types().items() if kind is str) - _SAID_ONCE
"""Columns of words that many rows have."""


@cache
def arrow_schema() -> pa.Schema:
    """The columns of a trace; every one may be null."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in column_types().items()])


@cache
def stored_schema() -> pa.Schema:
    """As `arrow_schema`, the columns of `ENCODED` by dictionary: they repeat few words."""
    return pa.schema(
        [(field.name, _WORD if field.name in ENCODED else field.type) for field in arrow_schema()]
    )


def encoded(rows: pa.Table) -> pa.Table:
    """Rows of `arrow_schema()` in the types of `stored_schema()`, without columns of nulls."""
    told = told_columns(rows)
    return pa.table(
        {
            name: column.dictionary_encode() if name in ENCODED else column
            for name, column in zip(told.column_names, told.columns, strict=True)
        }
    )


def told_columns(rows: pa.Table) -> pa.Table:
    """Without columns of nulls."""
    columns = zip(rows.column_names, rows.columns, strict=True)
    return rows.select([name for name, column in columns if column.null_count < len(column)])


def to_table(events: Iterable[TraceEvent]) -> pa.Table:
    """The rows of `events`; raises a `ValueError` or `OverflowError` if a number is too large."""
    rows = list(events)
    columns = [
        pa.array([getattr(row, name) for row in rows], type=_ARROW[kind])
        for name, kind in column_types().items()
    ]
    return pa.table(columns, schema=arrow_schema())


def from_table(table: pa.Table) -> list[TraceEvent]:
    """The events of rows of either schema, in row order.

    Rows of one action have the same fields, so those of each are made together if there are many.
    """
    rows = table.combine_chunks()
    if rows.num_rows < FEW_ROWS:
        return list(_alike(rows))
    actions = as_array(rows.column("action").dictionary_encode())
    codes = actions.indices.to_numpy()
    order = np.argsort(codes.astype(np.int16), kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)).tolist()
    events: list[TraceEvent] = [_NO_EVENT] * rows.num_rows
    for start, end in pairwise([*starts, rows.num_rows]):
        places = order[start:end]
        for place, event in zip(places.tolist(), _alike(rows.take(places)), strict=True):
            events[place] = event
    return events


def _alike(rows: pa.Table) -> Iterator[TraceEvent]:
    """The events of rows with much the same fields."""
    names = [name for name in rows.column_names if rows.column(name).null_count < rows.num_rows]
    columns = [_values(name, as_array(rows.column(name))) for name in names]
    for row in zip(*columns, strict=True):
        yield TraceEvent(**dict(zip(names, row, strict=True)))


def _values(name: str, column: pa.Array) -> list[Any]:
    """The column as Python has it, enumerations as such."""
    if pa.types.is_dictionary(column.type):
        words = [
            WORDS[name](word) if name in WORDS else word for word in _values("", column.dictionary)
        ]
        return [None if code is None else words[code] for code in _values("", column.indices)]
    if name in WORDS:
        return _values(name, column.dictionary_encode())
    if pa.types.is_list(column.type):
        return _lists(column)
    if column.null_count or not pa.types.is_integer(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    return column.to_numpy().tolist()  # type: ignore[no-any-return]


def _lists(column: pa.Array) -> list[list[Any] | None]:
    items = _values("", column.flatten())
    lengths = pc.fill_null(column.value_lengths(), 0).to_numpy()
    ends = np.cumsum(lengths).tolist()
    found: list[list[Any] | None] = [
        items[start:end] for start, end in zip([0, *ends], ends, strict=False)
    ]
    for place in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
        found[place] = None
    return found


def as_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
