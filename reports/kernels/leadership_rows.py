"""What `reports.analysis.tenures` makes of a bucket, from columns and few events.

A tenure needs the first and the last acknowledgement of its leader epoch, and a partition that is
not served the writes after its last one: all between these are left out. Writes per column of the
picture are counted without events.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fencepost.reports.analysis.tenures import (
    BINS,
    LEVEL_ACTIONS,
    Leadership,
    Levels,
    Writes,
    tenures_of,
    turns_of,
    unserved_of,
)
from fencepost.reports.kernels.bucket_rows import (
    UNTOLD,
    BucketRows,
    Mask,
    Numbers,
    in_order,
    joint,
    segments,
)
from fencepost.reports.tables.buckets import BULK
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition


def leadership_of(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> Leadership:
    """The tenures, turns, writes and unserved partitions of a bucket."""
    events = [*rows.few, *rows.of(telling(rows))]
    return Leadership(
        tenures=tenures_of(folder, events),
        writes=writes_in(rows, folder, span_ns),
        unserved=unserved_of(folder, events),
        turns=turns_of(folder, events),
        levels=_levels(rows, folder, span_ns),
    )


def _is_write(rows: BucketRows) -> Mask:
    of_client = rows.is_kind("invoke", "complete") & rows.is_action("Produce")
    return np.asarray(of_client & (rows.numbers("acks") == -1))


def is_acknowledged(rows: BucketRows) -> Mask:
    """Answers to writes with acks=all that took effect."""
    return _is_write(rows) & rows.is_kind("complete") & rows.is_outcome("ok")


def telling(rows: BucketRows, served_ns: int = UNTOLD) -> Mask:
    """The acknowledgements at both ends, and what none followed; not what is few.

    `served_ns`: each partition acknowledged something then, whatever these rows say.
    """
    acknowledged, stamp = is_acknowledged(rows), rows.numbers("mono_ns")
    own = np.flatnonzero(acknowledged)
    term = joint(
        rows.partition[own],
        rows.numbers("leader_epoch")[own],
        rows.numbers("partition_incarnation")[own],
        _starts_before(rows, own),
    )
    by_time = in_order(term, stamp[own])
    first = np.diff(term[by_time], prepend=-1) != 0
    last = np.diff(term[by_time], append=-1) != 0
    found = np.zeros(len(stamp), np.bool_)
    found[own[by_time[np.flatnonzero(first | last)]]] = True
    found |= acknowledged & rows.is_told("leader")
    served = np.full(rows.count, served_ns)
    np.maximum.at(served, rows.partition[own], stamp[own])
    found |= _is_write(rows) & ~acknowledged & (stamp > served[rows.partition])
    return found & rows.is_action(*BULK)


def _starts_before(rows: BucketRows, answers: Numbers) -> Numbers:
    """Of each answer without a leader epoch: which start of its broker as leader it follows."""
    untold = rows.numbers("leader_epoch")[answers] == UNTOLD
    if not untold.any():
        return np.zeros(len(answers), np.int64)
    starts = np.flatnonzero(rows.is_action(Action.BECOME_LEADER))
    both = np.concatenate([starts, answers])
    led = joint(rows.partition[both], rows.numbers("broker_id")[both])
    order = np.lexsort((rows.numbers("mono_ns")[both], led))
    counted = np.empty(len(both), np.int64)
    counted[order] = np.cumsum(order < len(starts))
    return np.where(untold, counted[len(starts) :], 0)


def writes_in(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> tuple[Writes, ...]:
    """As `tenures.writes_of`."""
    acknowledged = is_acknowledged(rows)
    unanswered = _is_write(rows) & rows.is_kind("complete") & rows.is_outcome("indefinite")
    told = np.flatnonzero(acknowledged | unanswered)
    picture = _picture(rows, told, span_ns)
    place = picture.place
    records = _sums(place, np.where(acknowledged, rows.lengths("values"), 0)[told])
    missed = _sums(place, unanswered[told].astype(np.int64))
    found = np.flatnonzero(np.bincount(place))
    return tuple(
        Writes(
            folder=folder,
            topic=topic,
            partition=partition,
            columns=tuple(columns),
            records=tuple(done),
            unanswered=tuple(left),
        )
        for (topic, partition), columns, done, left in picture.lanes(
            found, records[found], missed[found]
        )
    )


def _levels(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> tuple[Levels, ...]:
    """As `tenures.levels_of`."""
    last, picture = last_levels(rows, span_ns)
    told = rows.numbers("high_watermark")[last], rows.numbers("log_end_offset")[last]
    return tuple(
        Levels(
            folder=folder,
            topic=topic,
            partition=partition,
            columns=tuple(columns),
            high_watermarks=tuple(committed),
            log_end_offsets=tuple(ended),
        )
        for (topic, partition), columns, committed, ended in picture.lanes(picture.place, *told)
    )


def last_levels(rows: BucketRows, span_ns: tuple[int, int]) -> tuple[Numbers, "Picture"]:
    """The rows that tell the levels at the end of a column, and where they are in the picture."""
    own_rows = rows.is_kind("action") & rows.is_action(*LEVEL_ACTIONS)
    own_rows &= rows.is_told("high_watermark") & rows.is_told("log_end_offset")
    own, stamp = np.flatnonzero(own_rows), rows.numbers("mono_ns")
    picture = _picture(rows, own, span_ns)
    latest = np.full(int(picture.place.max(initial=-1)) + 1, UNTOLD)
    np.maximum.at(latest, picture.place, stamp[own])
    tied = np.flatnonzero(stamp[own] == latest[picture.place])
    place, row = picture.place[tied], own[tied]
    broker = np.maximum(rows.numbers("broker_id")[row], -1)
    order = np.lexsort((broker, rows.numbers("seq")[row], place))
    is_last = tied[order[np.diff(place[order], append=-1) != 0]]
    return own[is_last], picture._replace(place=picture.place[is_last])


class Picture(NamedTuple):
    """Where rows are in the picture."""

    rows: BucketRows
    place: Numbers
    """Partition and column of each row in one number, ascending as their names do."""
    first: int
    """The first column: before the span, if any row is."""

    def lanes(
        self, places: Numbers, one: Numbers, other: Numbers
    ) -> Iterator[tuple[TopicPartition, list[int], list[int], list[int]]]:
        """Of each partition its columns among ascending `places`, and the two numbers of each."""
        lane, column = np.divmod(places, BINS - self.first)
        told = column + self.first, one, other
        for start, end in segments(lane):
            name = self.rows.name(self.rows.by_name[lane[start]])
            columns, its_one, its_other = (numbers[start:end].tolist() for numbers in told)
            yield name, columns, its_one, its_other


def _picture(rows: BucketRows, own: Numbers, span_ns: tuple[int, int]) -> Picture:
    """Where these rows are."""
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])
    column = np.minimum(BINS - 1, (rows.numbers("mono_ns")[own] - first_ns) * BINS // length_ns)
    first = int(column.min(initial=0))
    ranks = np.empty(rows.count, np.int64)
    ranks[rows.by_name] = np.arange(rows.count)
    return Picture(rows, ranks[rows.partition[own]] * (BINS - first) + column - first, first)


def _sums(places: Numbers, numbers: Numbers) -> Numbers:
    found = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    np.add.at(found, places, numbers)
    return found
