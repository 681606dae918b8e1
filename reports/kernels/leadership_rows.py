"""What `reports.analysis.tenures` makes of a bucket, from columns and few events.

A tenure needs the first and the last acknowledgement of its leader epoch, and a partition that is
not served the writes after its last one: all between these are left out. Writes per column of the
picture are counted without events.
"""

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
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])
    acknowledged = _is_acknowledged(rows)
    unanswered = _is_write(rows) & rows.is_kind("complete") & rows.is_outcome("indefinite")
    column = np.minimum(BINS - 1, (rows.numbers("mono_ns") - first_ns) * BINS // length_ns)
    told = acknowledged | unanswered
    place = joint(rows.partition[told], column[told])
    records = _sums(place, np.where(acknowledged, rows.lengths("values"), 0)[told])
    missed = _sums(place, unanswered[told].astype(np.int64))
    _, at = np.unique(place, return_index=True)
    own = np.flatnonzero(told)[at]
    bins = []
    for row, done, left in zip(own.tolist(), records.tolist(), missed.tolist(), strict=True):
        partition = rows.name(int(rows.partition[row]))
        bins.append(
            WriteBin(
                folder=folder,
                topic=partition.topic,
                partition=partition.partition,
                column=int(column[row]),
                records=done,
                unanswered=left,
            )
        )
    return tuple(sorted(bins, key=lambda one: (one.topic, one.partition, one.column)))


def _levels(rows: BucketRows, folder: int, span_ns: tuple[int, int]) -> tuple[Level, ...]:
    """As `tenures.levels_of`."""
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])
    told = rows.is_kind("action") & rows.is_action(*LEVEL_ACTIONS)
    told &= rows.is_told("high_watermark") & rows.is_told("log_end_offset")
    own, stamp = np.flatnonzero(told), rows.numbers("mono_ns")
    column = np.minimum(BINS - 1, (stamp - first_ns) * BINS // length_ns)
    place = joint(rows.partition[own], column[own])
    seq, broker_id = rows.numbers("seq")[own], rows.numbers("broker_id", -1)[own]
    order = np.lexsort((broker_id, seq, stamp[own], place))
    last = own[order[np.diff(place[order], append=-1) != 0]]
    levels = []
    for row in last.tolist():
        partition = rows.name(int(rows.partition[row]))
        levels.append(
            Level(
                folder=folder,
                topic=partition.topic,
                partition=partition.partition,
                column=int(column[row]),
                high_watermark=int(rows.numbers("high_watermark")[row]),
                log_end_offset=int(rows.numbers("log_end_offset")[row]),
            )
        )
    return tuple(sorted(levels, key=lambda one: (one.topic, one.partition, one.column)))


def _sums(places: Numbers, numbers: Numbers) -> Numbers:
    found = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    np.add.at(found, places, numbers)
    return found
