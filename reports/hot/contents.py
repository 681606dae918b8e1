"""The records that lines name, all tellings of one record together, wherever they are told.

Records are dealt out by a hash of their value, so that what is told of one is looked at in one go;
of all others only has to be known which offsets are taken.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.conformance.checks.replica_log import APPENDS
from fencepost.reports.hot.sequences import NUMBERED, Sequences, ToldNumbers, numbered_of
from fencepost.reports.hot.spill import NUMBERS_MAX, Spill
from fencepost.reports.kernels.bucket_rows import (
    CELLS_PER_ITEM_MAX,
    UNTOLD,
    BucketRows,
    Mask,
    Numbers,
    joint,
)
from fencepost.reports.kernels.claims import Claims
from fencepost.reports.kernels.client_logs import (
    ByValue,
    Operations,
    Tellings,
    also_among,
    by_value,
    tellings_of,
)
from fencepost.reports.tables.schema import as_array
from fencepost.spec.trace import FINAL_READER
from fencepost.spec.vocabulary import Action

ITEMS_TOGETHER = 500_000
"""Tellings that are looked at in one go, about."""
_NO_NUMBERS = np.zeros(0, np.int64)
Operation = tuple[str, int, int]
"""Node, incarnation and `op_id`."""
_RECORD, _SEEN, _ACKNOWLEDGED, _APPENDED, _LED, _FOR_ALL, _FINAL, _LAST = (
    1 << bit for bit in range(8)
)
_SCHEMA = pa.schema(
    [
        ("value", pa.string()),
        ("offset", pa.int64()),
        ("record_epoch", pa.int64()),
        ("inv", pa.int64()),
        ("ended", pa.int64()),
        ("standing", pa.uint8()),
        ("marks", pa.uint8()),
    ]
)


class ValuesFound(NamedTuple):
    """What is found of the records that are dealt out to one table."""

    is_wrong: bool
    """To clients: C1, C3 or C4."""
    differs: bool
    """Between replicas."""
    unread: bool
    """Acknowledged before the last reader asked, and behind what it found."""
    unasked: bool
    """A leader appends what no line asked for with acks=all."""
    claims: Claims
    """The step of each record with a known offset, all of one counter."""


class ToldRecords:
    """The records of all pieces."""

    def __init__(self, folder: Path, items: int, sequences: Sequences) -> None:
        """`items`: the most tellings that there can be."""
        self._told = Spill(folder / "told", _SCHEMA)
        self._numbered = Spill(folder / "numbered", NUMBERED)
        self._tables = min(NUMBERS_MAX, 1 + items // ITEMS_TOGETHER)
        self._open = _OpenInvocations()
        self._sequences = sequences
        self.read = TakenOffsets(items)
        """The offsets of what is acknowledged or seen."""
        self.held = TakenOffsets(items)
        """The offsets of what replicas have."""
        self.logged = TakenOffsets(items)
        """The offsets of what replicas have or the last reader found, if records are numbered."""
        self.is_unclear = False
        """Whether the logs are beginnings of one, in which each batch is whole."""
        self._doubted: set[str] = set()
        """Records with something wrong that no other record shows."""

    def see(self, rows: BucketRows, operations: Operations, appended: Mask) -> None:
        """The records of a piece; `appended`: the rows of replicas that tell them."""
        is_open = operations.records & rows.is_kind("invoke")
        closed = operations._replace(records=operations.records & ~is_open)
        marked = _Marked.of(rows, closed, appended)
        self._deal(self._told, marked.table(rows, (marked.marks & ~np.uint8(_FOR_ALL)) > 0))
        self._deal(self._numbered, numbered_of(rows))
        self.is_unclear |= bool(((marked.marks & (_APPENDED | _LAST)) == _LAST).any())
        self._open.see(rows, operations, is_open)

    def close(self) -> None:
        """As `Spill.close`."""
        self._told.close()
        self._numbered.close()

    def join(self, other: "ToldRecords") -> None:
        """What the other one has seen is seen here, too."""
        self._told.join(other._told)
        self._numbered.join(other._numbered)
        self._open.join(other._open)
        self.is_unclear |= other.is_unclear

    def open_operations(self) -> set[Operation]:
        """The produces that have no answer, when all pieces were seen."""
        return self._open.operations_left()

    def doubted(self) -> set[str]:
        """The records that contradict something, when all was found: every telling of them."""
        clashes = np.unique(np.concatenate(self.read.clashes or [_NO_NUMBERS]))
        for told in self.tellings():
            own = told.is_placed & np.isin(told.offset, clashes)
            self._doubted.update(told.words(own))
        return self._doubted

    def tellings(self) -> Iterator["StoredTellings"]:
        """What was told of records, table by table, when all was found."""
        for number in range(self._tables):
            yield StoredTellings(self._told.read(number))

    def found(self, length: int, asked: int) -> Iterator[ValuesFound]:
        """What is found, table by table; nothing is seen after that.

        `length`: how many records the last reader found; `asked`: when its last fetch was invoked.
        """
        self._deal(self._told, self._open.left())
        for number in range(self._tables):
            table, numbered = self._told.read(number), self._numbered.read(number)
            code, words = _codes(table, numbered)
            told, marks = _tellings(table, code[: table.num_rows])
            if self._sequences.is_used:
                numbering = ToldNumbers.of(numbered, code[table.num_rows :], len(words))
                self._see_log(told, marks, numbering)
            by = by_value(told)
            wrong = np.unique(told.code[by.wrong])
            self._doubted.update(words.take(pa.array(wrong)).to_pylist())
            yield self._found(table, told, marks, by, (length, asked))

    def _deal(self, spill: Spill, table: pa.Table) -> None:
        """Each record to the table of its value."""
        values = as_array(table.column("value").dictionary_encode())
        words = values.dictionary.to_pylist()
        hashes = [zlib.crc32((word or "").encode()) % self._tables for word in words]
        spill.write(table, np.array(hashes, np.int64)[values.indices.to_numpy()])

    def _see_log(self, told: Tellings, marks: Numbers, numbering: ToldNumbers) -> None:
        own = (marks & (_APPENDED | _FINAL)) > 0
        code, offset = _distinct(told.code[own], told.offset[own])
        self.is_unclear |= not self.logged.take(offset)
        self._sequences.see_log(offset, code, numbering)
        is_last = (marks & _LAST) > 0
        self.is_unclear |= bool((numbering.left(told.code[is_last]) > 0).any())

    def _found(
        self,
        table: pa.Table,
        told: Tellings,
        marks: Numbers,
        found: ByValue,
        final: tuple[int, int],
    ) -> ValuesFound:
        length, asked = final
        is_wrong = bool(found.wrong.any())
        is_wrong |= not self.read.take(_taken(told, found))
        inv, ended = table.column("inv").to_numpy(), table.column("ended").to_numpy()
        ret = np.where(told.is_acknowledged, ended, UNBOUNDED)
        recorded = told.is_record & (found.at[told.code] >= 0)
        bound = found.at[told.code[recorded]]
        behind = told.is_acknowledged & (told.offset >= length) & (ret < asked)
        nowhere = np.zeros(len(bound), np.int64)
        return ValuesFound(
            is_wrong=is_wrong,
            differs=not self._take_entries(table, told, (marks & _APPENDED) > 0),
            unread=bool(behind.any()),
            unasked=bool(_unasked(told, marks).any()),
            claims=Claims(nowhere, inv[recorded], ret[recorded], bound + 1, bound),
        )

    def _take_entries(self, table: pa.Table, told: Tellings, appended: Mask) -> bool:
        """False when two replicas have different entries at one offset."""
        epoch = table.column("record_epoch").to_numpy()
        offset = told.offset[appended]
        return self.held.take(_distinct(offset, told.code[appended], epoch[appended])[0])


class TakenOffsets:
    """Offsets, each of which has one taker."""

    def __init__(self, items: int) -> None:
        self._limit = CELLS_PER_ITEM_MAX * (items + 1)
        self.clashes: list[Numbers] = []
        """Offsets with more than one taker, or too far from the others."""
        self._is_taken = np.zeros(0, np.bool_)
        self.count = 0
        self.extent = 0

    def take(self, offsets: Numbers) -> bool:
        """False when one of these is taken already, or too far from the others."""
        is_far = offsets >= self._limit
        near = offsets[~is_far]
        extent = int(near.max(initial=-1)) + 1
        if extent > len(self._is_taken):
            more = np.zeros(max(extent, 2 * len(self._is_taken)) - len(self._is_taken), np.bool_)
            self._is_taken = np.concatenate([self._is_taken, more])
        taken, count = np.unique(near, return_counts=True)
        is_clash = self._is_taken[taken] | (count > 1)
        if is_far.any() or is_clash.any():
            self.clashes += [offsets[is_far], taken[is_clash]]
        self._is_taken[taken] = True
        self.count += len(near)
        self.extent = max(self.extent, extent)
        return not (is_far.any() or is_clash.any())

    def free(self, below: int, most: int) -> Numbers:
        """The first offsets below a length that have no taker, so many at the most."""
        here = np.flatnonzero(~self._is_taken[: min(self.extent, below)])[:most]
        beyond = np.arange(self.extent, min(below, self.extent + most - len(here)))
        return np.concatenate([here, beyond])


class StoredTellings:
    """What was told of the records of one table."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        code, self._words = _codes(table)
        told, _ = _tellings(table, code)
        self.code = code
        self.offset = told.offset
        self.is_placed = told.is_acknowledged | told.is_seen
        self.is_record = told.is_record
        self.is_acknowledged = told.is_acknowledged
        self.standing = told.standing
        self.at = by_value(told).at[code]
        """An offset at which the record of each is told; -1: none."""

    def numbers(self, name: str) -> Numbers:
        """A column, `inv` or `ended`."""
        return np.asarray(self._table.column(name).to_numpy())

    def words(self, own: Mask) -> list[str]:
        """The records of these, each once."""
        return self._words.take(pa.array(np.unique(self.code[own]))).to_pylist()  # type: ignore[no-any-return]

    def names(self, words: set[str]) -> Mask:
        """Which tellings are of one of these."""
        known = pc.is_in(self._words, pa.array(sorted(words), pa.string()))
        return np.asarray(known.to_numpy(zero_copy_only=False)[self.code], np.bool_)


class _Marked(NamedTuple):
    """What the lines of a piece say of records, and what each telling counts as."""

    told: Tellings
    marks: Numbers
    record_epoch: Numbers

    @classmethod
    def of(cls, rows: BucketRows, operations: Operations, appended: Mask) -> "_Marked":
        told = tellings_of(rows, operations)
        is_appended = appended[rows.values.row]
        marks = np.zeros(len(told.code), np.uint8)
        marks[told.is_record] |= _RECORD
        marks[told.is_seen] |= _SEEN
        marks[told.is_acknowledged] |= _ACKNOWLEDGED
        marks[is_appended] |= _APPENDED
        marks[rows.is_action(Action.LEADER_APPEND)[rows.values.row]] |= _LED
        marks[(rows.numbers("acks") == -1)[rows.values.row]] |= _FOR_ALL
        marks[told.is_seen & rows.word("node", FINAL_READER)[rows.values.row]] |= _FINAL
        marks[_is_last(rows)] |= _LAST
        return cls(told, marks, _record_epochs(rows, is_appended))

    def table(self, rows: BucketRows, items: Mask) -> pa.Table:
        """Of `_SCHEMA`, with these."""
        own = np.flatnonzero(items)
        row = rows.values.row[own]
        return pa.table(
            [
                rows.records.take(pa.array(self.told.code[own])),
                self.told.offset[own],
                self.record_epoch[own],
                rows.invoked(row),
                rows.numbers("mono_ns")[row],
                self.told.standing[own].astype(np.uint8),
                self.marks[own],
            ],
            schema=_SCHEMA,
        )


def _record_epochs(rows: BucketRows, items: Mask) -> Numbers:
    """The epoch of each of these records, where its line has as many of them as records."""
    own = np.flatnonzero(items)
    found = np.full(len(items), UNTOLD)
    found[own] = rows.record_epochs(own)
    return found


def _is_last(rows: BucketRows) -> Mask:
    """The last record of each append."""
    row, position, _ = rows.values
    return np.asarray(rows.is_action(*APPENDS)[row] & (position == rows.lengths("values")[row] - 1))


def _distinct(*columns: Numbers) -> tuple[Numbers, ...]:
    """The different rows of these columns."""
    code = joint(*columns)
    some = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    some[code] = np.arange(len(code))
    return tuple(column[some] for column in columns)


def _taken(told: Tellings, found: ByValue) -> Numbers:
    """The offsets at which records are told, each as often as there are records."""
    is_moved = np.zeros(len(found.at), np.bool_)
    is_moved[told.code[found.moved]] = True
    own = found.placed[is_moved[told.code[found.placed]]]
    at, _ = _distinct(told.offset[own], told.code[own])
    return np.concatenate([found.at[(found.at >= 0) & ~is_moved], at])


def _codes(*tables: pa.Table) -> tuple[Numbers, pa.Array]:
    """A code for the record of each row of these tables, and what each stands for."""
    values = pa.chunked_array([c for t in tables for c in t.column("value").chunks], pa.string())
    found = as_array(values).dictionary_encode()
    return found.indices.to_numpy().astype(np.int64), found.dictionary


def _tellings(table: pa.Table, code: Numbers) -> tuple[Tellings, Numbers]:
    marks = table.column("marks").to_numpy()
    told = Tellings(
        code=code,
        partition=np.zeros(len(marks), np.int64),
        offset=table.column("offset").to_numpy(),
        is_record=(marks & _RECORD) > 0,
        is_seen=(marks & _SEEN) > 0,
        is_acknowledged=(marks & _ACKNOWLEDGED) > 0,
        standing=table.column("standing").to_numpy().astype(np.int64),
    )
    return told, marks


def _unasked(told: Tellings, marks: Numbers) -> Mask:
    """The appends of records that nothing was told of with acks=all."""
    is_asked = np.zeros(int(told.code.max(initial=-1)) + 1, np.bool_)
    is_asked[told.code[(marks & _FOR_ALL) > 0]] = True
    return np.asarray(((marks & _LED) > 0) & ~is_asked[told.code])


class _OpenInvocations:
    """Produces without an answer in their own piece."""

    def __init__(self) -> None:
        self._nodes: dict[str, int] = {}
        self._operations: list[Numbers] = []
        self._records: list[pa.Table] = [_SCHEMA.empty_table()]
        self._answered: list[Numbers] = []

    def see(self, rows: BucketRows, operations: Operations, is_open: Mask) -> None:
        ended = operations.produce & ~rows.is_kind("invoke")
        unasked = ended & ~also_among(rows, ended, operations.produce & ~ended)
        self._answered.append(self._keys(rows, np.flatnonzero(unasked)))
        asked = operations._replace(records=is_open)
        marked = _Marked.of(rows, asked, np.zeros_like(is_open))
        own = marked.told.is_record
        self._operations.append(self._keys(rows, rows.values.row[own]))
        marks = marked.marks & (_RECORD | _FOR_ALL)
        self._records.append(marked._replace(marks=marks).table(rows, own))

    def join(self, other: "_OpenInvocations") -> None:
        codes = [self._nodes.setdefault(name, len(self._nodes)) for name in other._nodes]
        for own, others in (
            (self._operations, other._operations),
            (self._answered, other._answered),
        ):
            own.extend(
                np.column_stack([np.array(codes, np.int64)[keys[:, 0]], keys[:, 1:]])
                for keys in others
            )
        self._records.extend(other._records)

    def left(self) -> pa.Table:
        """The records of those that were answered in no piece."""
        return pa.concat_tables(self._records).filter(pa.array(self._is_left))

    def operations_left(self) -> set[Operation]:
        """Those that were answered in no piece."""
        names = list(self._nodes)
        left = np.concatenate(self._operations)[self._is_left].tolist()
        return {(names[node], incarnation, op_id) for node, incarnation, op_id in left}

    @property
    def _is_left(self) -> Mask:
        asked, answered = np.concatenate(self._operations), np.concatenate(self._answered)
        both = joint(*np.concatenate([asked, answered]).T)
        return ~np.isin(both[: len(asked)], both[len(asked) :])

    def _keys(self, rows: BucketRows, own: Numbers) -> Numbers:
        names = rows.word_list("node")
        codes = [self._nodes.setdefault(name, len(self._nodes)) for name in names]
        node = np.array(codes, np.int64)[rows.words("node", own)]
        return np.column_stack([node, rows.numbers("incarnation")[own], rows.numbers("op_id")[own]])
