"""The surroundings of a violation in a partition with more lines than a task holds.

Of each line only its place among the others is held, some 20 bytes; what is shown is read again.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from fencepost.reports.hot.stage_two.definitions import NumberedLines, nothing_more
from fencepost.reports.kernels.bucket_rows import BucketRows, Numbers
from fencepost.reports.kernels.displayed_rows import (
    DisplayedColumns,
    RowColumns,
    ToldLines,
)
from fencepost.reports.tables.buckets import SplitRows
from fencepost.reports.tables.schema import from_table
from fencepost.spec.trace import TraceEvent


class DisplayedPieces(DisplayedColumns):
    """The events about one partition and those about none; see `Displayed`."""

    def __init__(self, pieces: NumberedLines, shared: Sequence[TraceEvent]) -> None:
        super().__init__(_PieceColumns(pieces), [*shared, *from_table(pieces.few)])


class _PieceColumns:
    """`BulkColumns` of all pieces."""

    def __init__(self, pieces: NumberedLines) -> None:
        self._pieces = pieces
        self.names: list[str] = []
        self.heard: list[tuple[int, int]] = []
        codes: dict[str, int] = {}
        kinds = np.int8, np.int8, np.int8, np.int64, np.int8
        parts: list[list[Numbers]] = [[np.zeros(0, kind)] for kind in kinds]
        for rows in self._rows():
            nodes = [codes.setdefault(name, len(codes)) for name in rows.names]
            self.heard.extend(rows.heard)
            node = np.array(nodes, np.int64)[rows.node]
            columns = node, rows.incarnation, rows.seq, rows.stamps, rows.weights
            for own, column in zip(parts, columns, strict=True):
                own.append(column if column is rows.stamps else _narrowest(column))
        self.names = list(codes)
        joined: list[Numbers] = []
        while parts:
            joined.append(np.concatenate(parts.pop(0)))
        self.node, self.incarnation, self.seq, self.stamps, self.weights = joined

    def _rows(self) -> Iterator[RowColumns]:
        for bulk in self._pieces.lines():
            yield RowColumns(self._bucket(bulk), np.arange(bulk.num_rows))

    def _bucket(self, bulk: pa.Table) -> BucketRows:
        return BucketRows(SplitRows(self._pieces.few.slice(0, 0), bulk, nothing_more))

    def lines(self, numbers: Numbers) -> ToldLines:
        """As `BulkColumns` says."""
        found = np.empty((len(ToldLines._fields), len(numbers)), np.int64)
        for own, table in self._pieces.whole(numbers):
            rows = RowColumns(self._bucket(table), np.arange(table.num_rows))
            found[:, np.searchsorted(numbers, own)] = rows.lines(np.arange(table.num_rows))
        return ToldLines(*found)

    def events(self, numbers: Numbers) -> list[TraceEvent]:
        """As `BulkColumns` says."""
        found: dict[int, TraceEvent] = {}
        for own, rows in self._pieces.whole(numbers):
            found.update(zip(own.tolist(), from_table(rows), strict=True))
        return [found[number] for number in numbers.tolist()]

    def outlines(self, numbers: Numbers) -> list[TraceEvent]:
        """As `BulkColumns` says."""
        return self.events(numbers)


def _narrowest(numbers: Numbers) -> Numbers:
    """In as few bytes as hold all of them."""
    kind = np.result_type(*map(np.min_scalar_type, (numbers.min(), numbers.max(), -1)))
    return numbers.astype(kind)
