"""What `reports.analysis.tenures` makes of a bucket, from columns and few events.

A tenure needs the first and the last acknowledgement of its leader epoch, and a partition that is
not served the writes after its last one: all between these are left out. Writes per column of the
picture are counted without events.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypedDict

import numpy as np

from fencepost.reports.analysis.tenures import (
    BINS,
    LEVEL_ACTIONS,
    Leadership,
    Level,
    WriteBin,
    tenures_of,
    turns_of,
    unserved_of,
)
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Mask, Numbers, joint
from fencepost.reports.tables.buckets import BULK


def leadership_of(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> Leadership:
    """The tenures, turns, writes and unserved partitions of a bucket."""
    events = [*rows.few, *rows.of(_telling(rows))]
    return Leadership(
        tenures=tenures_of(folder, events),
        writes=_writes(rows, folder, span_ns),
        unserved=unserved_of(folder, events),
        turns=turns_of(folder, events),
        levels=_levels(rows, folder, span_ns),
    )


def _is_write(rows: BucketRows) -> Mask:
    of_client = rows.is_kind("invoke", "complete") & rows.is_action("Produce")
    return np.asarray(of_client & (rows.numbers("acks") == -1))


def _is_acknowledged(rows: BucketRows) -> Mask:
    return _is_write(rows) & rows.is_kind("complete") & rows.is_outcome("ok")


def _telling(rows: BucketRows) -> Mask:
    """The acknowledgements at both ends, and what none followed; not what is few."""
    acknowledged, stamp = _is_acknowledged(rows), rows.numbers("mono_ns")
    own = np.flatnonzero(acknowledged)
    term = joint(
        rows.partition[own],
        rows.numbers("leader_epoch")[own],
        rows.numbers("partition_incarnation")[own],
    )
    by_time = np.lexsort((stamp[own], term))
    first = np.diff(term[by_time], prepend=-1) != 0
    last = np.diff(term[by_time], append=-1) != 0
    telling = np.zeros(len(stamp), np.bool_)
    telling[own[by_time[first | last]]] = True
    telling |= acknowledged & rows.is_told("leader")
    served = np.full(rows.count, UNTOLD)
    np.maximum.at(served, rows.partition[own], stamp[own])
    telling |= _is_write(rows) & ~acknowledged & (stamp > served[rows.partition])
    return telling & rows.is_action(*BULK)


def _writes(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> tuple[WriteBin, ...]:
    """As `tenures.writes_of`."""
    acknowledged = _is_acknowledged(rows)
    unanswered = _is_write(rows) & rows.is_kind("complete") & rows.is_outcome("indefinite")
    told = np.flatnonzero(acknowledged | unanswered)
    picture = _picture(rows, told, span_ns)
    place = picture.place
    records = _sums(place, np.where(acknowledged, rows.lengths("values"), 0)[told])
    missed = _sums(place, unanswered[told].astype(np.int64))
    found = np.flatnonzero(np.bincount(place))
    own = zip(picture.names(found), records[found].tolist(), missed[found].tolist(), strict=True)
    return tuple(
        WriteBin(folder=folder, **named, records=done, unanswered=left) for named, done, left in own
    )


def _levels(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> tuple[Level, ...]:
    """As `tenures.levels_of`."""
    told = rows.is_kind("action") & rows.is_action(*LEVEL_ACTIONS)
    told &= rows.is_told("high_watermark") & rows.is_told("log_end_offset")
    own, stamp = np.flatnonzero(told), rows.numbers("mono_ns")
    picture = _picture(rows, own, span_ns)
    seq, broker_id = rows.numbers("seq")[own], rows.numbers("broker_id", -1)[own]
    order = np.lexsort((broker_id, seq, stamp[own], picture.place))
    is_last = order[np.diff(picture.place[order], append=-1) != 0]
    last = own[is_last]
    length = rows.numbers("high_watermark")[last].tolist()
    end = rows.numbers("log_end_offset")[last].tolist()
    found = zip(picture.names(picture.place[is_last]), length, end, strict=True)
    return tuple(
        Level(folder=folder, **named, high_watermark=committed, log_end_offset=ended)
        for named, committed, ended in found
    )


class _Named(TypedDict):
    """A column of the picture of a partition."""

    topic: str
    partition: int
    column: int


class _Picture(NamedTuple):
    """Where rows are in the picture."""

    rows: BucketRows
    place: Numbers
    """Partition and column of each row in one number, ascending as their names do."""
    first: int
    """The first column: before the span, if any row is."""

    def names(self, places: Numbers) -> Iterator[_Named]:
        """What each place is."""
        width = BINS - self.first
        partitions = [self.rows.name(code) for code in self.rows.by_name]
        for place in places.tolist():
            topic, partition = partitions[place // width]
            yield _Named(topic=topic, partition=partition, column=place % width + self.first)


def _picture(rows: BucketRows, own: Numbers, span_ns: tuple[int, int]) -> _Picture:
    """Where these rows are."""
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])
    column = np.minimum(BINS - 1, (rows.numbers("mono_ns")[own] - first_ns) * BINS // length_ns)
    first = int(column.min(initial=0))
    ranks = np.empty(rows.count, np.int64)
    ranks[rows.by_name] = np.arange(rows.count)
    return _Picture(rows, ranks[rows.partition[own]] * (BINS - first) + column - first, first)


def _sums(places: Numbers, numbers: Numbers) -> Numbers:
    found = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    np.add.at(found, places, numbers)
    return found
