"""`LinearizableLog` and `AcknowledgedDurable` over all partitions of a bucket at once.

Columnar twins of `conformance.checks.linearizable_log` and `acknowledged_durable`, C0 to C6 by the
same names. They decide where all is plain: one incarnation, one generation, no answer that an
offset is out of range, no spare record needed to fill a hole. Anything else is suspicious.
C2 follows from the rest: two records acknowledged at one offset are two values there, or one value
that was sent twice.
"""

from typing import NamedTuple

import numpy as np

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.reports.kernels.bucket_rows import (
    SORTED_MAX,
    BucketRows,
    Cells,
    Found,
    Mask,
    Numbers,
    joint,
    set_where,
)
from fencepost.reports.kernels.claims import Claims, contradicted
from fencepost.reports.tables.buckets import NEAR, ranks
from fencepost.spec.trace import FINAL_READER
from fencepost.spec.vocabulary import ErrorCode

_NONE, _ACKNOWLEDGED, POSSIBLE, _REFUSED = range(4)


class Operations(NamedTuple):
    """What clients did, as masks of rows."""

    produce: Mask
    fetch: Mask
    answers: Mask
    acknowledged: Mask
    records: Mask
    """Rows that tell of records as `log_history.read_history` counts them."""
    standing: Numbers
    answered: Numbers
    """The rows of `answers`."""
    proven: Numbers
    """The committed length that each of these proves."""


def judge_clients(rows: BucketRows, operations: Operations) -> tuple[Found, Found]:
    """What is found of `LinearizableLog`, then of `AcknowledgedDurable`."""
    suspicious = rows.is_odd | is_strange(rows, operations)
    suspicious |= rows.where(misshapen(rows, operations))
    suspicious |= _contents(rows, operations)
    linear = Found(rows.per_partition(operations.answers), suspicious)
    return linear, _durable(rows, operations, suspicious)


def operations_of(rows: BucketRows) -> Operations:
    """What clients did, as masks of rows."""
    produce, fetch = rows.is_action("Produce"), rows.is_action("Fetch")
    client = produce | fetch | rows.is_action("ListOffsets")
    ok, invoke = rows.is_outcome("ok"), rows.is_kind("invoke")
    answers = client & ok & ~invoke
    acknowledged = produce & answers & (rows.numbers("acks") == -1) & (rows.numbers("offset") >= 0)
    standing = np.full(len(produce), POSSIBLE, np.int8)
    standing[np.flatnonzero(acknowledged)] = _ACKNOWLEDGED
    standing[np.flatnonzero(rows.is_outcome("definite_error"))] = _REFUSED
    ended = produce & ~invoke
    answered = np.flatnonzero(answers)
    return Operations(
        produce=produce,
        fetch=fetch,
        answers=answers,
        acknowledged=acknowledged,
        records=ended | (produce & invoke & ~also_among(rows, produce & invoke, ended)),
        standing=standing,
        answered=answered,
        proven=_proven(rows, fetch, answered),
    )


def _proven(rows: BucketRows, fetch: Mask, own: Numbers) -> Numbers:
    values = rows.lengths("values")[own]
    proves = (values > 0) & (fetch[own] | (rows.numbers("acks")[own] == -1))
    end = set_where(~proves, rows.known("offset", 0, own) + values, 0)
    return np.maximum(rows.known("high_watermark", 0, own), end)


def also_among(rows: BucketRows, these: Mask, others: Mask) -> Mask:
    """The rows of these with an operation that is one of the others', too."""
    own, other = np.flatnonzero(these), np.flatnonzero(others)
    both = np.concatenate([own, other])
    number, client = rows.numbers("op_id")[both], joint(rows.starts[both], rows.partition[both])
    number = number - number.min(initial=SORTED_MAX)
    if number.max(initial=0) >= NEAR * len(number):
        number = ranks(number)
    last = np.full(int(number.max(initial=-1)) + 1, -1)
    last[number[len(own) :]] = client[len(own) :]
    told = last[number[: len(own)]]
    found = np.zeros(len(these), np.bool_)
    found[own] = told == client[: len(own)]
    left = np.flatnonzero((told >= 0) & ~found[own])
    if len(left):  # numbers that several clients use
        is_left = np.zeros(len(last), np.bool_)
        is_left[number[left]] = True
        again = np.append(left, len(own) + np.flatnonzero(is_left[number[len(own) :]]))
        operation = joint(number[again], client[again])
        found[own[left]] = np.isin(operation[: len(left)], operation[len(left) :])
    return found


def is_strange(rows: BucketRows, operations: Operations) -> Mask:
    """Partitions with lines that the definition knows, and these kernels do not."""
    client = operations.produce | operations.fetch | rows.is_action("ListOffsets")
    odd_kind = client & ~rows.is_kind("invoke", "complete")
    answered = client & rows.is_kind("invoke") & rows.is_told("outcome")
    out_of_range = operations.fetch & rows.word("error_code", ErrorCode.OFFSET_OUT_OF_RANGE)
    return rows.where(odd_kind | answered | out_of_range)


def misshapen(rows: BucketRows, operations: Operations) -> Mask:
    """C0: the answers that are not well formed."""
    own = operations.answered
    values = rows.lengths("values")[own]
    end = rows.known("offset", 0, own) + values
    high_watermark = rows.known("high_watermark", UNBOUNDED, own)
    log_end_offset = rows.known("log_end_offset", UNBOUNDED, own)
    nowhere = (rows.numbers("acks")[own] == -1) & (rows.numbers("offset")[own] < 0)
    above = operations.fetch[own] & (values > 0) & (end > high_watermark)
    beyond = (log_end_offset < high_watermark) & (high_watermark < UNBOUNDED)
    found = np.zeros(len(rows.partition), np.bool_)
    found[own] = nowhere | above | beyond
    return found


class Contents(NamedTuple):
    """The records that lines name, one by one, and what is wrong with each."""

    row: Numbers
    code: Numbers
    """Equal for equal records."""
    partition: Numbers
    offset: Numbers
    is_record: Mask
    """Clients wrote it, by `LogHistory.records`."""
    wrong: Mask
    """Seen, and never written, or refused, or written elsewhere; or written twice; or moved."""
    placed: Numbers
    """Those told at their offsets: acknowledged or seen."""
    moved: Numbers
    """Of those placed, what is told elsewhere too."""
    at: Numbers
    """By code, an offset at which it is told; -1: none."""
    cells: Cells
    """Of what is placed."""


class Tellings(NamedTuple):
    """What each telling of a record says."""

    code: Numbers
    """Equal for equal records."""
    partition: Numbers
    offset: Numbers
    is_record: Mask
    is_seen: Mask
    is_acknowledged: Mask
    standing: Numbers


class ByValue(NamedTuple):
    """What follows from all tellings of each record; see `Contents`."""

    wrong: Mask
    placed: Numbers
    moved: Numbers
    at: Numbers


def tellings_of(rows: BucketRows, operations: Operations) -> Tellings:
    """What clients' lines say of each record."""
    row, position, code = rows.values
    return Tellings(
        code=code,
        partition=rows.partition[row],
        offset=rows.known("offset", 0, row) + position,
        is_record=operations.records[row],
        is_seen=(operations.fetch & operations.answers)[row],
        is_acknowledged=operations.acknowledged[row],
        standing=operations.standing[row],
    )


def by_value(told: Tellings) -> ByValue:
    """C3 and C4, given all tellings of each record."""
    code, partition, offset = told.code, told.partition, told.offset
    codes = int(code.max(initial=-1)) + 1
    standing, origin = np.full(codes, _NONE), np.full(codes, -1)
    is_record = np.flatnonzero(told.is_record)
    written = code[is_record]
    standing[written] = told.standing[is_record]
    origin[written] = partition[is_record]
    sent = np.bincount(written, minlength=codes)
    is_sourceless, is_resent = (standing == _NONE) | (standing == _REFUSED), sent > 1
    wrong = (told.is_seen | told.is_record) & (origin[code] != partition)
    wrong |= (told.is_seen & is_sourceless[code]) | (told.is_record & is_resent[code])
    placed = np.flatnonzero(told.is_acknowledged | told.is_seen)
    code, offset = code[placed], offset[placed]
    at = np.full(codes, -1)
    at[code] = offset
    moved = placed[np.flatnonzero(at[code] != offset)]
    wrong[moved] = True
    return ByValue(wrong=wrong, placed=placed, moved=moved, at=at)


def contents_of(rows: BucketRows, operations: Operations) -> Contents:
    """C1 to C4."""
    told = tellings_of(rows, operations)
    found = by_value(told)
    placed = found.placed
    return Contents(
        row=rows.values.row,
        code=told.code,
        partition=told.partition,
        offset=told.offset,
        is_record=told.is_record,
        cells=Cells(told.partition[placed], told.offset[placed], rows.count),
        **found._asdict(),
    )


def _contents(rows: BucketRows, operations: Operations) -> Mask:
    """C1 to C6."""
    told = contents_of(rows, operations)
    suspicious = _of(told.partition, told.wrong, rows.count)
    suspicious |= told.cells.sparse | told.cells.differs(told.code[told.placed])
    recorded = np.flatnonzero(told.is_record & (told.at[told.code] >= 0))
    claims = claims_of(rows, operations, told.row[recorded], told.at[told.code[recorded]])
    suspicious[contradicted(claims)] = True
    in_epochs, owner = claims_in_epochs(rows, operations)
    suspicious[owner[contradicted(in_epochs)]] = True
    return np.asarray(suspicious | is_short(told.cells, claims))


def is_short(cells: Cells, claims: Claims) -> Mask:
    """C5: partitions with an offset of which nothing is told, below a length that is."""
    length = cells.extent.copy()
    np.maximum.at(length, claims.group, claims.lo)
    return np.asarray(cells.filled != length)


def _of(partition: Numbers, items: Mask, count: int) -> Mask:
    return np.asarray(np.bincount(partition[np.flatnonzero(items)], minlength=count) > 0)


def claims_of(rows: BucketRows, operations: Operations, row: Numbers, offset: Numbers) -> Claims:
    """The step of each record with a known offset, and the least length that each answer proves."""
    stamp = rows.numbers("mono_ns")
    answers = operations.answered
    ret = set_where(~operations.acknowledged[row], stamp[row], UNBOUNDED)
    both = np.concatenate([row, answers])
    return Claims(
        group=rows.partition[both],
        inv=rows.invoked(both),
        ret=np.concatenate([ret, stamp[answers]]),
        lo=np.concatenate([offset + 1, operations.proven]),
        hi=np.concatenate([offset, np.full(len(answers), UNBOUNDED)]),
    )


def claims_in_epochs(rows: BucketRows, operations: Operations) -> tuple[Claims, Numbers]:
    """What the answers of each leader epoch say of lengths, and the partition of each epoch.

    They are those of `with_epoch`, in the order of their rows.
    """
    told, proven = with_epoch(rows, operations)
    partition = rows.partition[told]
    group = joint(partition, rows.numbers("leader_epoch")[told])
    owner = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    owner[group] = partition
    is_empty = operations.fetch[told] & (rows.lengths("values")[told] == 0)
    most = rows.known("high_watermark", UNBOUNDED, told)
    nothing_at = is_empty & (rows.numbers("high_watermark")[told] < 0)
    vague = np.flatnonzero(nothing_at)
    most[vague] = rows.known("offset", 0, told[vague])
    most[np.flatnonzero(operations.produce[told])] = UNBOUNDED
    claims = Claims(
        group=group,
        inv=rows.invoked(told),
        ret=rows.numbers("mono_ns")[told],
        lo=proven,
        hi=most,
    )
    return claims, owner


def with_epoch(rows: BucketRows, operations: Operations) -> tuple[Numbers, Numbers]:
    """The answers that name a leader epoch, and the length that each proves."""
    own = np.flatnonzero(rows.numbers("leader_epoch")[operations.answered] >= 0)
    return operations.answered[own], operations.proven[own]


def _durable(rows: BucketRows, operations: Operations, suspicious: Mask) -> Found:
    """What is suspicious to the log is so here; otherwise each offset has one value throughout."""
    row, position, _ = rows.values
    is_acknowledged = np.flatnonzero(operations.acknowledged[row])
    row, position = row[is_acknowledged], position[is_acknowledged]
    partition = rows.partition[row]
    premises = np.bincount(partition, minlength=rows.count)
    length, asked = final_reads(rows, operations)
    offset = rows.numbers("offset")[row] + position
    unread = (offset >= length[partition]) & (rows.numbers("mono_ns")[row] < asked[partition])
    return Found(premises, suspicious | _of(partition, unread, rows.count))


def final_reads(rows: BucketRows, operations: Operations) -> tuple[Numbers, Numbers]:
    """As `log_history.final_read`: how many records it finds, and when its last fetch was asked.

    Without a complete one: none, at the end of time.
    """
    return found_finally(final_fetches(rows, operations), rows.count)


class FinalFetches(NamedTuple):
    """What the last reader was answered."""

    partition: Numbers
    incarnation: Numbers
    seq: Numbers
    offset: Numbers
    length: Numbers
    """How many records it was given."""
    high_watermark: Numbers
    invoked: Numbers


def final_fetches(rows: BucketRows, operations: Operations) -> FinalFetches:
    """The answers, in any order."""
    of_reader = operations.answers & operations.fetch & rows.word("node", FINAL_READER)
    own = np.flatnonzero(of_reader)
    return FinalFetches(
        partition=rows.partition[own],
        incarnation=rows.numbers("incarnation")[own],
        seq=rows.numbers("seq")[own],
        offset=rows.numbers("offset")[own],
        length=rows.lengths("values")[own],
        high_watermark=rows.known("high_watermark", UNBOUNDED, own),
        invoked=rows.invoked(own),
    )


def found_finally(fetches: FinalFetches, count: int) -> tuple[Numbers, Numbers]:
    """As `final_reads`, of so many partitions."""
    partitions, offsets, values = fetches.partition, fetches.offset, fetches.length
    found, last = np.zeros(count, np.int64), np.full(count, -1)
    for fetch in np.lexsort((fetches.seq, fetches.incarnation)).tolist():
        partition = partitions[fetch]
        if offsets[fetch] == 0:
            found[partition], last[partition] = 0, -1
        if offsets[fetch] == found[partition]:
            found[partition] += values[fetch]
            last[partition] = fetch
    complete = np.flatnonzero(last >= 0)
    complete = complete[found[complete] >= fetches.high_watermark[last[complete]]]
    length, asked = np.zeros(count, np.int64), np.full(count, UNBOUNDED)
    length[complete], asked[complete] = found[complete], fetches.invoked[last[complete]]
    return length, asked
