"""Which operations of clients the definitions need of a partition in which something is wrong.

They need every telling of the records that contradict something. Of all other operations they need
those alone that may be one of the two claims in a contradiction about lengths, or the first to
prove a length above an offset at which there is no record: these are known by their stamps.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.reports.hot.carried import Key
from fencepost.reports.hot.clients import EPOCH, LOG
from fencepost.reports.hot.contents import Operation, StoredTellings, ToldRecords
from fencepost.reports.hot.counters import Counters, Stale
from fencepost.reports.kernels.bucket_rows import UNTOLD, Mask, Numbers
from fencepost.reports.kernels.client_logs import POSSIBLE

_NONE = np.zeros(0, np.int64)


class Doubts(NamedTuple):
    """What is asked of each operation."""

    values: frozenset[str]
    """Records of which every telling is needed."""
    returned: Numbers
    """When answers came that are needed."""
    invoked: Numbers
    """When they were asked for."""
    epochs: frozenset[int]
    """Leader epochs with answers that contradict each other."""
    open_operations: frozenset[Operation]
    """The produces without an answer."""


class _Told(NamedTuple):
    """Of the records that contradict nothing, and where the others are."""

    least: Numbers
    """The length that each acknowledged record proves."""
    returned: Numbers
    offset: Numbers
    """Of each record with a known one."""
    invoked: Numbers
    spares: Numbers
    """When those were invoked that may be anywhere."""
    elsewhere: Numbers
    """Offsets at which a record that contradicts something is told."""
    beside: Numbers
    """When those of these were invoked that need not be anywhere: others came with them."""


def doubts_of(
    contents: ToldRecords, counters: Counters, contradicted: Mapping[Key, Stale]
) -> Doubts:
    """When all was found."""
    values = contents.doubted()
    told = _Told(*_joined(tuple(_told_in(one, values)) for one in contents.tellings()))
    lengths = _Lengths(told, *counters.least_of((LOG,)))
    most = 1 + len(told.spares) + len(told.elsewhere) + len(told.beside)
    holes = contents.read.free(lengths.longest(told), most)
    epochs = {key[1]: stale for key, stale in contradicted.items() if key[0] == EPOCH}
    stales = [*epochs.values(), *lengths.worst()]
    returned = [lengths.first_proofs(told.elsewhere), lengths.first_proofs(holes)]
    returned.append(np.array([stale.ret for stale in stales], np.int64))
    invoked = [lengths.last_denials(told.elsewhere + 1), told.beside]
    if len(holes) or len(told.elsewhere):
        invoked.append(np.sort(told.spares)[: len(holes) + len(told.elsewhere)])
    invoked.append(np.array([stale.inv for stale in stales], np.int64))
    found = Doubts(
        values=frozenset(),
        returned=np.unique(np.concatenate(returned)),
        invoked=np.unique(np.concatenate(invoked)),
        epochs=frozenset(epochs),
        open_operations=frozenset(contents.open_operations()),
    )
    for one in contents.tellings():
        values.update(one.words(_unsettled(one, found)))
    return found._replace(values=frozenset(values))


def _unsettled(told: StoredTellings, doubts: Doubts) -> Mask:
    """Records of needed operations that do not tell themselves where the record is."""
    is_needed = np.isin(told.numbers("inv"), doubts.invoked)
    is_needed |= np.isin(told.numbers("ended"), doubts.returned)
    return np.asarray(told.is_record & (told.standing == POSSIBLE) & is_needed)


def _told_in(told: StoredTellings, values: set[str]) -> Iterable[Numbers]:
    """As the fields of `_Told`; of one table, which is let go before the next is read."""
    doubted = told.names(values)
    inv, recorded = told.numbers("inv"), told.is_record & (told.at >= 0) & ~doubted
    proves = recorded & told.is_acknowledged
    possible = told.is_record & (told.standing == POSSIBLE)
    yield told.at[proves] + 1
    yield told.numbers("ended")[proves]
    yield told.at[recorded]
    yield inv[recorded]
    yield inv[possible & (told.at < 0) & ~doubted]
    yield told.offset[told.is_placed & doubted]
    yield inv[possible & doubted]


def _joined(tables: Iterable[Iterable[Numbers]]) -> Iterable[Numbers]:
    found = list(zip(*tables, strict=True)) or [()] * len(_Told._fields)
    return (np.concatenate([_NONE, *columns]) for columns in found)


class _Lengths:
    """What says that the log is at least or at most so long."""

    def __init__(self, told: _Told, least: Numbers, returned: Numbers) -> None:
        """`least`: what answers prove, and when they came."""
        bound = np.concatenate([told.least, least])
        stamp = np.concatenate([told.returned, returned])
        order = np.argsort(bound, kind="stable")
        self._least, self._returned = bound[order], stamp[order]
        self._first = np.minimum.accumulate(self._returned[::-1])[::-1]
        order = np.argsort(told.offset, kind="stable")
        self._most = told.offset[order]
        self._last = np.maximum.accumulate(told.invoked[order])

    def longest(self, told: _Told) -> int:
        """What was proven at most."""
        return max(int(self._least.max(initial=0)), int(told.elsewhere.max(initial=-1)) + 1)

    def first_proofs(self, offsets: Numbers) -> Numbers:
        """When the log was first proven to be longer than each of these, where it ever was."""
        at = np.searchsorted(self._least, offsets, side="right")
        return self._first[at[at < len(self._first)]]

    def last_denials(self, lengths: Numbers) -> Numbers:
        """When the last operation began that found the log shorter, where there was one."""
        at = np.searchsorted(self._most, lengths, side="left")
        return self._last[at[at > 0] - 1]

    def worst(self) -> Iterable[Stale]:
        """As `monotone_counter.find_violation` finds it."""
        at = np.searchsorted(self._most, self._least, side="left")
        before = np.concatenate([[UNTOLD], self._last])[at]
        early = np.flatnonzero((before > self._returned) & (self._returned < UNBOUNDED))
        if len(early):
            worst = early[np.argmax(before[early] - self._returned[early])]
            yield Stale(int(self._returned[worst]), int(before[worst]))
