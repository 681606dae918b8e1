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


def column_types() -> dict[str, object]:
    """Field of `TraceEvent` -> `str`, `int`, `bool`, `list[int]` or `list[str]`, in field order."""
    hints = typing.get_type_hints(TraceEvent)
    return {name: _plain(hints[name]) for name in TraceEvent.__struct_fields__}


def arrow_schema() -> pa.Schema:
    """The Parquet schema; every column may be null."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in column_types().items()])


def to_table(events: Iterable[TraceEvent]) -> pa.Table:
    """The rows of `events`; raises a `ValueError` or `OverflowError` if a number is too large."""
    rows = list(events)
    columns = [
        pa.array([getattr(row, name) for row in rows], type=_ARROW[kind])
        for name, kind in column_types().items()
    ]
    return pa.table(columns, schema=arrow_schema())


def from_table(table: pa.Table) -> Iterator[TraceEvent]:
    """The events of rows that `to_table` made, in row order."""
    for row in table.to_pylist():
        yield msgspec.convert(row, TraceEvent)


def _plain(hint: object) -> object:
    """`hint` without `None` and with every enumeration as the text that it is."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not types.NoneType)
    return str if isinstance(hint, type) and issubclass(hint, str) else hint
