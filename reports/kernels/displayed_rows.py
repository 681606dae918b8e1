"""The events about a partition in the order of a diagram, told from columns.

`DisplayedEvents` is the definition. Here lines that are many stay columns: places,
weights and states are found in these, and only what is shown becomes an event.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from fencepost.conformance.checks.ordering import broker_named, broker_of
from fencepost.conformance.checks.replica_log import APPENDS
from fencepost.reports.analysis.replicas import LAST_RECORDS, ReplicaState, replica_states
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Mask, Numbers
from fencepost.reports.kernels.displayed import (
    identity,
    placed_by,
    stamps_of_zxids,
    weight_of,
    weight_of_action,
)
from fencepost.reports.tables.schema import from_table
from fencepost.spec.trace import Kind, TraceEvent

_UNCUT = np.int64(np.iinfo(np.int64).max)
BLOCK = 1 << 20
"""Entries that are looked through in one go."""
SORTED_APART = 16
"""Parts of all entries that are sorted one after the other."""
LINES_OF_REPLICA = 256
"""What a replica told last is looked for among so many of its lines, at first."""


class ToldLines(NamedTuple):
    """What lines tell of replicas, as `replicas.replica_states` reads them."""

    replica: Numbers
    """The broker; -1 of a line that tells nothing of a replica."""
    high_watermark: Numbers
    log_end_offset: Numbers
    offset: Numbers
    """Of the first record that is appended; -1 without one."""
    end: Numbers


class BulkColumns(Protocol):
    """The lines about a partition that are many."""

    node: Numbers
    names: list[str]
    """The node of each code."""
    incarnation: Numbers
    seq: Numbers
    stamps: Numbers
    """Their `mono_ns`."""
    weights: Numbers
    heard: list[tuple[int, int]]
    """Transactions that they tell of, and their stamps."""

    def lines(self, numbers: Numbers) -> ToldLines:
        """What some of them tell of replicas; `numbers` ascend."""

    def events(self, numbers: Numbers) -> list[TraceEvent]:
        """Some of them; `numbers` ascend."""

    def outlines(self, numbers: Numbers) -> list[TraceEvent]:
        """As `events`, with all that tells a replica's state, if it is cheaper."""


class DisplayedColumns:
    """The events of one partition and those about none; see `Displayed`."""

    def __init__(self, bulk: BulkColumns, few: Sequence[TraceEvent]) -> None:
        """`few`: those about none and those of actions that are few, in this order."""
        self._bulk = bulk
        heard = stamps_of_zxids(few, bulk.heard)
        known = sorted(heard)
        self._few = [placed_by(event, heard, known) for event in few]
        self._entry = self._ordered()

    def __len__(self) -> int:
        return len(self._entry)

    def places_of(self, witness: Sequence[TraceEvent]) -> list[int]:
        """Where these events are, ascending."""
        wanted = {identity(event) for event in witness}
        found = [at for at, event in enumerate(self._few) if identity(event) in wanted]
        nodes = {name: at for at, name in enumerate(self._bulk.names)}
        for node, incarnation, seq in wanted:
            is_it = self._bulk.seq == seq
            is_it &= self._bulk.incarnation == incarnation
            is_it &= self._bulk.node == nodes.get(node, -1)
            found.extend((len(self._few) + np.flatnonzero(is_it)).tolist())
        return sorted(int(np.argmax(self._entry == entry)) for entry in found)

    def weights(self, begin: int, end: int) -> Numbers:
        """Of the events from `begin` up to `end`."""
        return self._weights[self._entry[begin:end]]

    def stamp(self, place: int) -> int:
        """The `mono_ns` of that event."""
        entry = int(self._entry[place])
        own = entry - len(self._few)
        return self._few[entry].mono_ns if own < 0 else int(self._bulk.stamps[own])

    def events(self, places: Sequence[int]) -> list[TraceEvent]:
        """Those at these places."""
        entries = self._entry[list(places)]
        bulk = self._made(entries[entries >= len(self._few)])
        few = self._few
        return [few[entry] if entry < len(few) else bulk[entry] for entry in entries.tolist()]

    def states(self, places: Iterable[int]) -> Mapping[int, tuple[ReplicaState, ...]]:
        """The replicas before each of these."""
        telling = self._telling(sorted(set(places)))
        entries = [entry for own in telling.values() for entry in own if entry >= len(self._few)]
        own = np.unique(np.array(entries, np.int64))
        outlines = self._bulk.outlines(own - len(self._few))
        bulk = dict(zip(own.tolist(), outlines, strict=True))
        return {
            place: replica_states(
                self._few[entry] if entry < len(self._few) else bulk[entry] for entry in own
            )
            for place, own in telling.items()
        }

    def _ordered(self) -> Numbers:
        """The entries, those that are few first, in the order of a diagram."""
        few = np.array([event.mono_ns for event in self._few], np.int64)
        bulk = self._bulk.stamps
        order = np.empty(len(few) + len(bulk), np.min_scalar_type(len(few) + len(bulk)))
        bounds = np.sort(bulk[:: max(1, len(bulk) // SORTED_APART)]).tolist()
        done = 0
        for least, above in pairwise([None, *sorted(set(bounds)), None]):
            own = np.concatenate(
                [_within(few, least, above), len(few) + _within(bulk, least, above)]
            )
            is_few = own < len(few)
            stamps = np.concatenate([few[own[is_few]], bulk[own[~is_few] - len(few)]])
            order[done : done + len(own)] = self._by_stamp(own, stamps)
            done += len(own)
        return order

    def _by_stamp(self, entries: Numbers, stamps: Numbers) -> Numbers:
        """Some entries in this order."""
        order = np.argsort(stamps, kind="stable")
        entries, stamps = entries[order], stamps[order]
        is_same = np.concatenate([[False], stamps[1:] == stamps[:-1], [False]])
        tied = np.flatnonzero((is_same[1:] | is_same[:-1])[: len(order)])
        if len(tied):
            own = entries[tied]
            entries[tied] = own[np.lexsort((*self._ranks(own), stamps[tied]))]
        return entries

    def _ranks(self, entries: Numbers) -> Iterator[Numbers]:
        """The keys by which events of one instant are sorted, the last one first."""
        bulk = self._made(entries[entries >= len(self._few)])
        events = [self._few[e] if e < len(self._few) else bulk[e] for e in entries.tolist()]
        nodes = {node: rank for rank, node in enumerate(sorted({event.node for event in events}))}
        yield np.array([event.seq for event in events])
        yield np.array([event.incarnation for event in events])
        yield np.array([nodes[event.node] for event in events])
        yield np.array([event.lamport for event in events])
        yield np.array([event.kind is not Kind.ZOOKEEPER for event in events])

    @cached_property
    def _weights(self) -> Numbers:
        few = np.array([weight_of(event) for event in self._few], np.int8)
        return np.concatenate([few, self._bulk.weights])

    def _made(self, entries: Numbers) -> dict[int, TraceEvent]:
        """The events of entries that are many."""
        own = np.unique(entries).astype(np.int64)
        return dict(zip(own.tolist(), self._bulk.events(own - len(self._few)), strict=True))

    def _telling(self, places: Sequence[int]) -> dict[int, list[int]]:
        """Of the entries before each place, in order, those that tell the replicas' states."""
        few = np.flatnonzero(self._entry < len(self._few))
        found: dict[int, list[Numbers]] = {place: [few[few < place]] for place in places}
        left = [(place, broker_id) for place in places for broker_id in self._replicas]
        most = LINES_OF_REPLICA
        while left:
            windows = {one: self._last_lines(*one, most) for one in left}
            told = self._lines(np.unique(np.concatenate(list(windows.values()))))
            left = []
            for (place, broker_id), window in windows.items():
                lines = told.of(window, broker_id)
                kept, is_enough = _telling(lines.lines)
                if is_enough or len(window) < most:
                    found[place].append(lines.places[kept])
                else:
                    left.append((place, broker_id))
            most *= 16
        return {
            place: self._entry[np.unique(np.concatenate(own))].tolist()
            for place, own in found.items()
        }

    @cached_property
    def _replicas(self) -> list[int]:
        """The brokers that any line may be of."""
        told = {broker_named(name) for name in self._bulk.names} | {
            broker_of(event) for event in self._few
        }
        return sorted(one for one in told if one is not None)

    def _last_lines(self, place: int, broker_id: int, most: int) -> Numbers:
        """The places of the last lines of a broker before a place, so many at the most."""
        of_few = np.array([broker_of(event) == broker_id for event in self._few], np.bool_)
        of_node = np.array([broker_named(name) == broker_id for name in self._bulk.names], np.bool_)
        found: list[Numbers] = [np.zeros(0, np.int64)]
        left, end = most, place
        while end and left:
            begin = max(0, end - BLOCK)
            entries = self._entry[begin:end].astype(np.int64)
            is_few = entries < len(of_few)
            is_own = np.zeros(len(entries), np.bool_)
            is_own[is_few] = of_few[entries[is_few]]
            is_own[~is_few] = of_node[self._bulk.node[entries[~is_few] - len(of_few)]]
            own = begin + np.flatnonzero(is_own)[-left:]
            found.append(own)
            left, end = left - len(own), begin
        return np.concatenate(found[::-1])

    def _lines(self, places: Numbers) -> "_PlacedLines":
        """What lines at these places, which ascend, tell of replicas."""
        entries = self._entry[places].astype(np.int64)
        is_few = entries < len(self._few)
        few = [_line_of(self._few[entry]) for entry in entries[is_few].tolist()]
        numbers = entries[~is_few] - len(self._few)
        order = np.argsort(numbers)
        columns = np.empty((len(ToldLines._fields), len(places)), np.int64)
        columns[:, is_few] = np.array(few, np.int64).reshape(-1, len(columns)).T
        columns[:, np.flatnonzero(~is_few)[order]] = self._bulk.lines(numbers[order])
        return _PlacedLines(places, ToldLines(*columns))


class _PlacedLines(NamedTuple):
    """Lines and their places, ascending."""

    places: Numbers
    lines: ToldLines

    def of(self, places: Numbers, broker_id: int) -> "_PlacedLines":
        """Those at some of the places that tell of a replica."""
        own = np.searchsorted(self.places, places)
        own = own[self.lines.replica[own] == broker_id]
        return _PlacedLines(self.places[own], ToldLines(*(column[own] for column in self.lines)))


def _within(stamps: Numbers, least: int | None, above: int | None) -> Numbers:
    """Where they are at least one number, and less than another."""
    is_own = np.ones(len(stamps), np.bool_) if least is None else stamps >= least
    if above is not None:
        is_own &= stamps < above
    return np.flatnonzero(is_own)


class DisplayedRows(DisplayedColumns):
    """Those of one partition of a bucket."""

    def __init__(self, rows: BucketRows, code: int, shared: Sequence[TraceEvent]) -> None:
        own = np.flatnonzero((rows.partition == code) & rows.is_bulk)
        few = rows.control.get(rows.name(code), ())
        super().__init__(RowColumns(rows, own), [*shared, *few])


class RowColumns:
    """`BulkColumns` of some rows of a bucket."""

    def __init__(self, rows: BucketRows, own: Numbers) -> None:
        self._rows = rows
        self._own = own
        self.node, self.names = rows.words("node", own), rows.word_list("node")
        self.incarnation, self.seq = rows.numbers("incarnation")[own], rows.numbers("seq")[own]
        self.stamps = rows.numbers("mono_ns")[own]
        by_code = np.array([weight_of_action(name) for name in rows.word_list("action")], np.int8)
        self.weights: Numbers = by_code[rows.words("action", own)]
        zxid = rows.numbers("zxid")[own]
        told = (zxid != UNTOLD) & (self.stamps > 0)
        self.heard: list[tuple[int, int]] = list(
            zip(zxid[told].tolist(), self.stamps[told].tolist(), strict=True)
        )

    def lines(self, numbers: Numbers) -> ToldLines:
        """As `BulkColumns` says."""
        return ToldLines(*(column[numbers] for column in self._lines))

    @cached_property
    def _lines(self) -> ToldLines:
        rows, own = self._rows, self._own
        brokers = [-1 if (b := broker_named(n)) is None else b for n in self.names]
        is_own = (rows.is_kind(Kind.ACTION, Kind.RUN) & rows.is_told("partition"))[own]
        offset, length = rows.numbers("offset")[own], rows.lengths("values")[own]
        appends = rows.is_action(*APPENDS)[own] & (offset != UNTOLD)
        return ToldLines(
            np.where(is_own, np.array([*brokers, -1])[self.node], -1),
            rows.numbers("high_watermark")[own],
            rows.numbers("log_end_offset")[own],
            np.where(appends, offset, -1),
            np.where(appends, offset + length, -1),
        )

    def events(self, numbers: Numbers) -> list[TraceEvent]:
        """As `BulkColumns` says."""
        return from_table(self._rows.kept(self._among(numbers)))

    def outlines(self, numbers: Numbers) -> list[TraceEvent]:
        """As `BulkColumns` says."""
        return self._rows.of(self._among(numbers))

    def _among(self, numbers: Numbers) -> Mask:
        """These of the rows of the bucket."""
        found = np.zeros(len(self._rows.partition), np.bool_)
        found[self._own[numbers]] = True
        return found


def _line_of(event: TraceEvent) -> tuple[int, int, int, int, int]:
    """Of one that appends nothing, as all that are few."""
    is_own = event.kind in (Kind.ACTION, Kind.RUN) and event.partition is not None
    broker_id = broker_of(event) if is_own else None
    told = (broker_id, event.high_watermark, event.log_end_offset)
    replica, high_watermark, end = (UNTOLD if one is None else one for one in told)
    return replica, high_watermark, end, -1, -1


def _telling(lines: ToldLines) -> tuple[Mask, bool]:
    """The lines of one replica, in order, without which its state in the end would be another.

    True if lines before these, whatever they told, would change nothing.
    """
    kept = np.zeros(len(lines.replica), np.bool_)
    kept[:1] = True
    ends = np.where(lines.log_end_offset == UNTOLD, _UNCUT, lines.log_end_offset)
    cut = np.minimum.accumulate(ends[::-1])[::-1]
    last = np.minimum(lines.end, cut)
    for at in _last_appends(lines.offset, last).tolist():
        kept[[at, at + int(np.argmin(ends[at:]))]] = True
    told = np.flatnonzero(lines.log_end_offset != UNTOLD)
    measured = int(told[-1]) if len(told) else -1
    shown = np.flatnonzero(lines.high_watermark != UNTOLD)
    kept[told[-1:]] = kept[shown[-1:]] = kept[shown[shown <= measured][-1:]] = True
    kept[measured + 1 : measured + 2] = True
    later = shown[shown > measured]
    kept[later[np.argsort(lines.high_watermark[later], kind="stable")][-1:]] = True
    left = np.unique(last[last > lines.offset])
    is_full = len(left) >= LAST_RECORDS and bool(cut[0] < left[-LAST_RECORDS])
    return kept, is_full and bool((shown <= measured).any())


def _last_appends(offset: Numbers, end: Numbers) -> Numbers:
    """Those with one of the last records that are left; `end`: behind the last one left of each."""
    is_left = end > offset
    last = np.unique(end[is_left])[-LAST_RECORDS:]
    return np.flatnonzero(is_left & (end >= last[0])) if len(last) else last
