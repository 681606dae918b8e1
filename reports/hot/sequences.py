"""The numbers of idempotent producers' records, piece by piece; what `numbered_records` finds.

What lines number is dealt out beside what they tell of the same records. Of each record of the one
log its numbers are dealt out again, by its offset, and looked through in this order.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.sequences_in_order import NO_RECORD, REFUSALS
from fencepost.reports.hot.carried import Carried
from fencepost.reports.hot.spill import NUMBERS_MAX, Spill
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Mask, Numbers
from fencepost.reports.kernels.numbered_records import is_numbered

DIGEST_BYTES = 8
_OF_BATCH = ("producer_id", "producer_epoch", "base_sequence", "length", "position", "digest")
NUMBERED = pa.schema([("value", pa.string()), *((name, pa.int64()) for name in _OF_BATCH)])
"""A record and its numbers: those of its batch, and where in it the record is."""
_AT_OFFSET = pa.schema([("offset", pa.int64()), *((name, pa.int64()) for name in _OF_BATCH)])


def numbered_of(rows: BucketRows) -> pa.Table:
    """The records of a piece that are numbered, each time that they are."""
    row, position, code = rows.values
    own = np.flatnonzero(is_numbered(rows)[row])
    row, length = row[own], rows.lengths("values")
    numbers = [rows.numbers(name)[row] for name in _OF_BATCH[:3]]
    values = rows.records.take(pa.array(code[own]))
    told = [values, *numbers, length[row], position[own], _digests(rows)[row]]
    return pa.table(told, schema=NUMBERED)


def _digests(rows: BucketRows) -> Numbers:
    """Of the batches of more than one record; 0 for any other row."""
    found = np.zeros(len(rows.partition), np.int64)
    own = np.flatnonzero(is_numbered(rows) & (rows.lengths("values") > 1))
    batches = rows.table.column("values").take(pa.array(own)).to_pylist()
    texts = map(msgspec.json.encode, batches)
    digests = (blake2b(text, digest_size=DIGEST_BYTES).digest() for text in texts)
    found[own] = [int.from_bytes(digest, signed=True) for digest in digests]
    return found


class ToldNumbers(NamedTuple):
    """The numbers of the records of one table."""

    line: Numbers
    """By the code of a record, where it is numbered; -1: nowhere."""
    columns: tuple[Numbers, ...]
    """Of `_OF_BATCH`."""
    is_clear: bool
    """All lines that number a record number it alike."""

    @classmethod
    def of(cls, table: pa.Table, code: Numbers, codes: int) -> "ToldNumbers":
        """`code` is that of each row of `NUMBERED`, of so many."""
        columns = tuple(column.to_numpy() for column in table.columns[1:])
        line = np.full(codes, -1)
        line[code] = np.arange(len(code))
        is_clear = all((column[line[code]] == column).all() for column in columns)
        return cls(line, columns, is_clear)

    def left(self, code: Numbers) -> Numbers:
        """How many records of its batch follow each; 0 for one without numbers."""
        line, (*_, length, position, _) = self.line[code], self.columns
        found = np.zeros(len(code), np.int64)
        own = line >= 0
        found[own] = (length - position - 1)[line[own]]
        return found


class Sequences:
    """What is known of the numbers of records."""

    def __init__(self, folder: Path, width: int) -> None:
        """`width`: how many offsets are judged together."""
        self._spill = Spill(folder, _AT_OFFSET)
        self._width = width
        self.is_used = False
        """Any record is numbered."""
        self._is_unclear = False

    def see(self, rows: BucketRows) -> None:
        """The lines of one piece."""
        self.is_used |= bool(is_numbered(rows).any())
        self._is_unclear |= bool(rows.word("error_code", *REFUSALS).any())

    def join(self, other: "Sequences") -> None:
        """What the other one has seen of lines is seen here, too."""
        self.is_used |= other.is_used
        self._is_unclear |= other._is_unclear

    def see_log(self, offset: Numbers, code: Numbers, numbering: ToldNumbers) -> None:
        """Records of the log by offset."""
        self._is_unclear |= not numbering.is_clear
        line = numbering.line[code]
        own = line >= 0
        told = [np.full(len(line), UNTOLD) for _ in _OF_BATCH]
        for column, numbers in zip(told, numbering.columns, strict=True):
            column[own] = numbers[line[own]]
        ranges = np.minimum(offset // self._width, NUMBERS_MAX - 1)
        self._spill.write(pa.table([offset, *told], schema=_AT_OFFSET), ranges)

    def found(self, ends: Sequence[int]) -> tuple[int, bool]:
        """The premises, and whether the definition must decide; nothing is seen after that.

        `ends`: the length of each log. They are beginnings of the one log that was seen.
        """
        order, premises = _Order(), 0
        lengths = np.array(ends, np.int64)
        for rows in self._spill:
            by_offset = np.argsort(rows.column("offset").to_numpy())
            offset, *columns = (column.to_numpy()[by_offset] for column in rows.columns)
            is_numbered = columns[0] != UNTOLD
            order.see(columns, is_numbered)
            premises += int(np.searchsorted(offset[is_numbered], lengths).sum())
            *_, length, position, _ = columns
            is_open = is_numbered & (position < length - 1)
            self._is_unclear |= bool(np.isin(offset[is_open], lengths - 1).any())
        return premises, self._is_unclear or order.is_broken


class _Order:
    """The records of the log that were seen, one after the other."""

    def __init__(self) -> None:
        self._last = [np.full(1, UNTOLD) for _ in _OF_BATCH]
        self._epochs = Carried(first=NO_RECORD[0])
        self._numbers = Carried(first=NO_RECORD[1])
        self.is_broken = False

    def see(self, columns: Sequence[Numbers], is_numbered: Mask) -> None:
        """The next ones."""
        both = zip(self._last, columns, strict=True)
        *batch, position, digest = (np.concatenate([last, column]) for last, column in both)
        self._last = [column[-1:] for column in columns]
        is_begun = (position >= 0) & (position < batch[-1] - 1)
        goes_on = np.diff(position) == 1
        for column in (*batch, digest):
            goes_on &= np.diff(column) == 0
        self.is_broken |= bool((is_begun[:-1] & ~goes_on).any())
        producer, epoch, base, _, place, _ = (column[is_numbered] for column in columns)
        epoch_before = self._epochs.before([producer], epoch)
        number_before = self._numbers.before([producer], base + place)
        begins = (epoch > epoch_before) & (base + place == 0)
        follows = (epoch == epoch_before) & (base + place == number_before + 1)
        self.is_broken |= not (begins | follows).all()
