"""What clients did, piece by piece: what `kernels.client_logs` finds of them all."""

from typing import NamedTuple

import numpy as np

from fencepost.reports.hot.contents import ToldRecords
from fencepost.reports.hot.counters import Counters
from fencepost.reports.kernels.bucket_rows import BucketRows, Mask
from fencepost.reports.kernels.client_logs import (
    FinalFetches,
    Operations,
    claims_in_epochs,
    claims_of,
    final_fetches,
    found_finally,
    is_strange,
    misshapen,
    with_epoch,
)

LOG, EPOCH = 0, 1
"""Begin the keys of counters: of how long the log is, and of what is told of that in an epoch."""
_NO_ITEMS = np.zeros(0, np.int64)


class ClientsFound(NamedTuple):
    """What is found when all pieces were seen."""

    is_wrong: bool
    """C0, C1, C3, C4 or C5, or what the kernels leave to the definition."""
    is_strange: bool
    """There are lines that the kernels do not know."""
    unread: bool
    """Something was acknowledged in time, and the last reader did not find it."""
    unasked: bool
    """A leader appends what no line asked for with acks=all."""
    differs: bool
    """Between replicas."""
    length: int
    """How many records the last reader found."""
    asked: int
    """When its last fetch was."""


class Clients:
    """What is known of the clients after the pieces that were seen."""

    def __init__(self, contents: ToldRecords, counters: Counters) -> None:
        self._contents = contents
        self._counters = counters
        self._final: list[FinalFetches] = []
        self._longest = 0
        self._is_strange = False
        self._is_misshapen = False
        self.answers = 0
        self.acknowledged = 0
        """Records."""

    def see(self, rows: BucketRows, operations: Operations, appended: Mask) -> None:
        """The lines of one piece; `appended`: those of replicas."""
        self._is_strange |= bool(is_strange(rows, operations).any())
        self._is_misshapen |= bool(misshapen(rows, operations).any())
        self.answers += int(operations.answers.sum())
        self.acknowledged += int(rows.lengths("values")[operations.acknowledged].sum())
        self._final.append(final_fetches(rows, operations))
        self._see_lengths(rows, operations)
        self._contents.see(rows, operations, appended)

    def _see_lengths(self, rows: BucketRows, operations: Operations) -> None:
        claims = claims_of(rows, operations, _NO_ITEMS, _NO_ITEMS)
        self._longest = max(self._longest, int(claims.lo.max(initial=0)))
        self._counters.see(claims, [np.full(len(claims.lo), LOG)])
        in_epochs, _ = claims_in_epochs(rows, operations)
        epoch = rows.numbers("leader_epoch")[with_epoch(rows, operations)[0]]
        self._counters.see(in_epochs, [np.full(len(epoch), EPOCH), epoch])

    def join(self, other: "Clients") -> None:
        """What the other one has seen is seen here, too, but for contents and counters."""
        self._final.extend(other._final)
        self._longest = max(self._longest, other._longest)
        self._is_strange |= other._is_strange
        self._is_misshapen |= other._is_misshapen
        self.answers += other.answers
        self.acknowledged += other.acknowledged

    def found(self) -> ClientsFound:
        """What is found; nothing is seen after that."""
        columns = zip(*self._final, strict=True)
        length, asked = found_finally(FinalFetches(*map(np.concatenate, columns)), 1)
        is_wrong = self._is_strange or self._is_misshapen
        unread, unasked, differs = False, False, False
        for found in self._contents.found(int(length[0]), int(asked[0])):
            is_wrong |= found.is_wrong
            unread |= found.unread
            unasked |= found.unasked
            differs |= found.differs
            self._longest = max(self._longest, int(found.claims.lo.max(initial=0)))
            self._counters.see(found.claims, [np.full(len(found.claims.lo), LOG)], of_records=True)
        read = self._contents.read
        is_short = read.count != max(read.extent, self._longest)
        return ClientsFound(
            is_wrong=is_wrong or is_short,
            is_strange=self._is_strange,
            unread=unread,
            unasked=unasked,
            differs=differs,
            length=int(length[0]),
            asked=int(asked[0]),
        )


def of_log(key: tuple[int, ...]) -> bool:
    """True of a counter of the log's length, not of a replica's high watermark."""
    return key[0] in (LOG, EPOCH)
