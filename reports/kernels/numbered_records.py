"""`SequencesInOrder` over all partitions of a bucket at once.

A columnar twin of `conformance.checks.sequences_in_order`. It decides where nothing was refused for
its number and all logs, that of the last reader too, are beginnings of one: then that one is looked
through, and each log must end where a batch does.
"""

from typing import NamedTuple

import numpy as np

from fencepost.conformance.checks.replica_log import APPENDS
from fencepost.conformance.checks.sequences_in_order import NO_RECORD, REFUSALS
from fencepost.reports.kernels.bucket_rows import (
    UNTOLD,
    BucketRows,
    Cells,
    Found,
    Mask,
    Numbers,
    joint,
)
from fencepost.reports.kernels.replica_logs import ReplicaLines
from fencepost.spec.trace import FINAL_READER


class _Numbers(NamedTuple):
    """Of each record, by its code; the line is -1 where a record has no numbers."""

    line: Numbers
    position: Numbers


class _Log(NamedTuple):
    """The records of all partitions, by offset, one partition after the other."""

    partition: Numbers
    code: Numbers


def judge_numbers(
    rows: BucketRows, replicas: ReplicaLines, in_doubt: Mask, final: Numbers
) -> Found:
    """What is found, given how many records the last reader has of each partition."""
    told = is_numbered(rows)
    if not told.any():
        nothing = np.zeros(rows.count, np.int64)
        return Found(nothing, nothing > 0)
    row, _, code = rows.values
    numbers = _numbers(rows, told[row])
    is_known = numbers.line[code] >= 0
    elsewhere = is_known & (rows.partition[numbers.line[code]] != rows.partition[row])
    in_doubt = in_doubt | _of(rows.partition[row], elsewhere, rows.count)
    in_doubt |= rows.where(rows.word("error_code", *REFUSALS)) | _cut_batches(rows, numbers)
    partition, end = _ends(replicas, final)
    log, incomplete = _log(rows, partition, end, in_doubt)
    in_doubt |= incomplete | _out_of_order(rows, log, numbers)
    start = np.cumsum(np.bincount(log.partition, minlength=rows.count))
    start = np.concatenate([[0], start[:-1]])
    counted = np.concatenate([[0], np.cumsum(numbers.line[log.code] >= 0)])
    kept = ~in_doubt[partition]
    partition, end = partition[kept], end[kept]
    premises = np.zeros(rows.count, np.int64)
    np.add.at(premises, partition, counted[start[partition] + end] - counted[start[partition]])
    last = log.code[(start[partition] + end - 1)[end > 0]]
    open_end = (numbers.line[last] >= 0) & (_left(rows, numbers)[last] > 0)
    in_doubt |= _of(partition[end > 0], open_end, rows.count)
    return Found(premises, in_doubt & rows.where(told))


def is_numbered(rows: BucketRows) -> Mask:
    """Rows that number their records."""
    names = ("producer_id", "producer_epoch", "base_sequence")
    told = [rows.numbers(name) != UNTOLD for name in names]
    return np.asarray(np.logical_and.reduce(told))


def _numbers(rows: BucketRows, told: Mask) -> _Numbers:
    """By the last line that tells them."""
    row, position, code = rows.values
    codes = int(code.max(initial=-1)) + 1
    line, place = np.full(codes, -1), np.full(codes, 0)
    line[code[told]] = row[told]
    place[code[told]] = position[told]
    return _Numbers(line, place)


def _left(rows: BucketRows, numbers: _Numbers) -> Numbers:
    """How many records of its batch follow each, by code."""
    return rows.lengths("values")[numbers.line] - numbers.position - 1


def _of(partition: Numbers, items: Mask, count: int) -> Mask:
    return np.bincount(partition[items], minlength=count) > 0


def _cut_batches(rows: BucketRows, numbers: _Numbers) -> Mask:
    """Partitions with an append that ends within a batch."""
    row, position, code = rows.values
    appends = rows.is_action(*APPENDS)[row] & (position == rows.lengths("values")[row] - 1)
    cut = appends & (numbers.line[code] >= 0) & (_left(rows, numbers)[code] > 0)
    return _of(rows.partition[row], cut, rows.count)


def _ends(replicas: ReplicaLines, final: Numbers) -> tuple[Numbers, Numbers]:
    """The partition and the length of each log, in the end."""
    last = np.flatnonzero(np.diff(replicas.replica, append=-1))
    partition = np.concatenate([replicas.partition[last], np.arange(len(final))])
    return partition, np.concatenate([replicas.end[last], final])


def _log(rows: BucketRows, partition: Numbers, end: Numbers, in_doubt: Mask) -> tuple[_Log, Mask]:
    """The one log of each partition, and the partitions that have no such one."""
    row, position, code = rows.values
    is_appended = rows.is_action(*APPENDS)[row]
    is_read = (rows.is_action("Fetch") & rows.is_outcome("ok"))[row]
    is_read &= rows.word("node", FINAL_READER)[row]
    told = (is_appended | is_read) & ~in_doubt[rows.partition[row]]
    own = rows.partition[row[told]]
    cells = Cells(own, rows.known("offset", 0, row[told]) + position[told], rows.count)
    log = _Log(np.repeat(np.arange(rows.count), cells.extent), cells.content(code[told]))
    longest = np.zeros(rows.count, np.int64)
    np.maximum.at(longest, partition, end)
    is_short = (cells.filled != cells.extent) | (cells.extent != longest)
    return log, in_doubt | cells.sparse | cells.differs(code[told]) | is_short


def _out_of_order(rows: BucketRows, log: _Log, numbers: _Numbers) -> Mask:
    line = np.where(log.code >= 0, numbers.line[log.code], -1)
    left = _left(rows, numbers)[log.code]
    next_line, next_left = np.roll(line, -1), np.roll(left, -1)
    is_last = np.diff(log.partition, append=-1) != 0
    follows = ~is_last & (next_line == line) & (next_left == left - 1)
    broken = (line >= 0) & (left > 0) & ~follows
    own = line >= 0
    partition, line, code = log.partition[own], line[own], log.code[own]
    producer = joint(partition, rows.numbers("producer_id")[line])
    order = np.argsort(producer, kind="stable")
    producer, line, code = producer[order], line[order], code[order]
    epoch = rows.numbers("producer_epoch")[line]
    number = rows.numbers("base_sequence")[line] + numbers.position[code]
    is_first = np.diff(producer, prepend=-1) != 0
    epoch_before = np.where(is_first, NO_RECORD[0], np.roll(epoch, 1))
    number_before = np.where(is_first, NO_RECORD[1], np.roll(number, 1))
    begins = (epoch > epoch_before) & (number == 0)
    goes_on = (epoch == epoch_before) & (number == number_before + 1)
    wrong = _of(partition[order], ~(begins | goes_on), rows.count)
    return wrong | _of(log.partition, broken, rows.count)
