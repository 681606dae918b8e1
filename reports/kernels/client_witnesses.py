"""The rows that decide what `LinearizableLog` and `AcknowledgedDurable` find of a partition.

All records that clients wrote are among them, and the last reader's answers. Of all other answers
only those that are part of a contradiction, or tell of an offset that none was acknowledged at:
without the others both definitions find the same, as these repeat what the records say.
"""

from typing import NamedTuple

import numpy as np

from fencepost.reports.kernels.bucket_rows import BucketRows, Mask, Numbers
from fencepost.reports.kernels.claims import contradicting
from fencepost.reports.kernels.client_logs import (
    Contents,
    Operations,
    claims_in_epochs,
    claims_of,
    contents_of,
    is_short,
    is_strange,
    misshapen,
    with_epoch,
)
from fencepost.reports.tables.buckets import BULK
from fencepost.spec.trace import FINAL_READER


class Deciding(NamedTuple):
    """What stage two needs of the clients' operations."""

    rows: Mask
    is_known: Mask
    """Of each partition; of any other all rows may decide."""
    answers: Numbers
    """How many each partition has, whether they decide anything or not."""


class _Items(NamedTuple):
    """Marks of the records that lines name, one by one."""

    at_fault: Mask
    """Part of a contradiction."""
    fills: Mask
    """Told at an offset that no write was acknowledged at."""
    is_open: Mask
    """As `fills`, where a definition that reads on in no fetch after a fault may find nothing."""


def deciding(rows: BucketRows, operations: Operations) -> Deciding:
    """The rows that decide, as far as they can be told without the definitions."""
    told = contents_of(rows, operations)
    items = _items(told, operations)
    named = np.bincount(told.row[items.at_fault | items.fills], minlength=len(rows.partition)) > 0
    kept = named | operations.records | misshapen(rows, operations)
    kept |= rows.word("node", FINAL_READER) & operations.answers
    kept |= ~rows.is_action(*BULK)
    recorded = told.is_record & (told.at[told.code] >= 0)
    own, first = told.row[recorded], _first_offsets(told)[told.code[recorded]]
    claims = claims_of(rows, operations, own, first)
    kept[operations.answered[contradicting(claims)[len(own) :]]] = True
    in_epochs, _ = claims_in_epochs(rows, operations)
    kept[with_epoch(rows, operations)[0][contradicting(in_epochs)]] = True
    unknown = rows.is_odd | is_strange(rows, operations)
    unknown |= np.bincount(told.partition[items.is_open], minlength=rows.count) > 0
    unknown |= told.cells.sparse | is_short(told.cells, claims)
    return Deciding(kept, ~unknown, rows.per_partition(operations.answers))


def _items(told: Contents, operations: Operations) -> _Items:
    cells = told.cells
    placed = told.placed[cells.kept]
    differs = cells.content(told.code[told.placed])[cells.place] != told.code[placed]
    acknowledged = operations.acknowledged[told.row[placed]]
    of_fault = np.zeros(len(told.at), np.bool_)
    of_fault[told.code[told.wrong]] = True
    at_fault = of_fault[told.code]
    at_fault[placed] |= cells.marked(differs)
    safe = acknowledged | ~_after_fault(told.row, at_fault)[placed]
    fills, is_open = np.zeros_like(at_fault), np.zeros_like(at_fault)
    fills[placed] = ~cells.marked(acknowledged)
    is_open[placed] = ~cells.marked(safe)
    return _Items(at_fault, fills, is_open)


def _after_fault(row: Numbers, at_fault: Mask) -> Mask:
    """The records of a line that come after one that is at fault."""
    before: Numbers = np.cumsum(at_fault) - at_fault
    is_first = np.diff(row, prepend=-1) != 0
    at_start: Numbers = before[np.flatnonzero(is_first)][np.cumsum(is_first) - 1]
    return np.asarray(before > at_start)


def _first_offsets(told: Contents) -> Numbers:
    """By code, the least offset at which it is told: no claim of it is lower."""
    first = np.full(len(told.at), np.iinfo(np.int64).max)
    np.minimum.at(first, told.code[told.placed], told.offset[told.placed])
    return first
