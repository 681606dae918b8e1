"""The lines of clients that stage two is given; of all others it is told what they leave out."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conformance.checks.log_history import LeftOut
from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.reports.hot.stage_two.doubts import Doubts
from fencepost.reports.hot.stage_two.needed_lines import MaskedLines
from fencepost.reports.kernels.bucket_rows import BucketRows, Mask, Numbers
from fencepost.reports.kernels.client_logs import Operations, misshapen, operations_of
from fencepost.spec.trace import FINAL_READER


class ClientLines(MaskedLines):
    """What `LinearizableLog` and `AcknowledgedDurable` are given, in the order of lines."""

    def __init__(self, doubts: Doubts, final: tuple[int, int], extent: int) -> None:
        """`final`: as `client_logs.found_finally`; `extent`: above all offsets of records."""
        super().__init__()
        self._doubts = doubts
        self._values = pa.array(sorted(doubts.values), pa.string())
        self._length, self._asked = final
        self._is_filled = np.zeros(extent, np.bool_)
        self._epochs: set[int] = set()
        self._is_any_acknowledged = False

    def _keep(self, rows: BucketRows) -> Mask:
        operations = operations_of(rows)
        named = self._named(rows)
        answers, misshaped = operations.answers, misshapen(rows, operations)
        kept = answers & np.isin(rows.numbers("mono_ns"), self._doubts.returned)
        is_asked = np.isin(rows.invoked(operations.answered), self._doubts.invoked)
        kept[operations.answered[is_asked]] = True
        kept |= misshaped | (named & self._counts(rows, operations, named))
        kept |= answers & rows.word("node", FINAL_READER)
        kept |= self._first_of_epochs(rows, operations) | self._unread(rows, operations)
        told = operations.acknowledged | (operations.fetch & answers)
        self._fill(rows, told & ~named)
        return kept

    @property
    def left_out(self) -> LeftOut:
        """What all lines say that were not kept, when all pieces were seen."""
        bounds = np.flatnonzero(np.diff(self._is_filled, prepend=False, append=False))
        filled = tuple(list(pairwise(bounds.tolist()))[::2])
        return LeftOut(doubted=self._doubts.values, filled=filled)

    def _named(self, rows: BucketRows) -> Mask:
        """The lines that name a record in doubt."""
        is_doubted = pc.is_in(rows.records, self._values)
        items = is_doubted.to_numpy(zero_copy_only=False)[rows.values.code]
        found = np.zeros(len(rows.partition), np.bool_)
        found[rows.values.row[items.astype(np.bool_)]] = True
        return found

    def _counts(self, rows: BucketRows, operations: Operations, named: Mask) -> Mask:
        """False of an invocation that has an answer, in whichever piece."""
        found = (operations.produce | operations.fetch) & ~rows.is_kind("invoke")
        names, nodes = rows.word_list("node"), rows.words("node")
        incarnation, op_id = rows.numbers("incarnation"), rows.numbers("op_id")
        for row in np.flatnonzero(named & operations.produce & rows.is_kind("invoke")).tolist():
            operation = names[nodes[row]], int(incarnation[row]), int(op_id[row])
            found[row] = operation in self._doubts.open_operations
        return found

    def _first_of_epochs(self, rows: BucketRows, operations: Operations) -> Mask:
        """These say in which order epochs are told."""
        found = np.zeros(len(rows.partition), np.bool_)
        epoch = rows.numbers("leader_epoch")
        for one in self._doubts.epochs - self._epochs:
            own = np.flatnonzero(operations.answers & (epoch == one))[:1]
            found[own] = True
            self._epochs.update(epoch[own].tolist())
        return found

    def _unread(self, rows: BucketRows, operations: Operations) -> Mask:
        """Acknowledged behind what the last reader found; without a last reader, any one."""
        acknowledged = operations.acknowledged & (rows.lengths("values") > 0)
        if self._asked < UNBOUNDED:
            end = rows.numbers("offset") + rows.lengths("values")
            return acknowledged & (end > self._length) & (rows.numbers("mono_ns") < self._asked)
        found = np.zeros_like(acknowledged)
        if not self._is_any_acknowledged:
            found[np.flatnonzero(acknowledged)[:1]] = True
            self._is_any_acknowledged = bool(found.any())
        return found

    def _fill(self, rows: BucketRows, told: Mask) -> None:
        row, position, _ = rows.values
        own = told[row]
        offsets: Numbers = rows.known("offset", 0, row[own]) + position[own]
        self._is_filled[offsets] = True
