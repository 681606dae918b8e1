"""The events about a partition in the order of a diagram, told from columns.

`DisplayedEvents` is the definition. Here lines that are many stay columns: places,
weights and states are found in these, and only what is shown becomes an event.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

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

_UNCUT = np.iinfo(np.int64).max


class DisplayedRows:
    """The events of one partition of a bucket and those about none; see `Displayed`."""

    def __init__(self, rows: BucketRows, code: int, shared: Sequence[TraceEvent]) -> None:
        self._rows = rows
        self._bulk = np.flatnonzero((rows.partition == code) & rows.is_bulk)
        own = rows.control.get(rows.name(code), ())
        heard = stamps_of_zxids([*shared, *own], self._heard())
        known = sorted(heard)
        self._few = [placed_by(event, heard, known) for event in (*shared, *own)]
        self._entry = self._ordered()
        self._place = np.empty_like(self._entry)
        self._place[self._entry] = np.arange(len(self._entry))

    def __len__(self) -> int:
        return len(self._entry)

    def places_of(self, witness: Sequence[TraceEvent]) -> list[int]:
        """Where these events are, ascending."""
        wanted = {identity(event) for event in witness}
        found = [at for at, event in enumerate(self._few) if identity(event) in wanted]
        nodes = {name: at for at, name in enumerate(self._rows.word_list("node"))}
        for node, incarnation, seq in wanted:
            is_it = self._of("seq") == seq
            is_it &= self._of("incarnation") == incarnation
            is_it &= self._rows.words("node")[self._bulk] == nodes.get(node, -1)
            found.extend((len(self._few) + np.flatnonzero(is_it)).tolist())
        return sorted(self._place[found].tolist())

    def weights(self, begin: int, end: int) -> Numbers:
        """Of the events from `begin` up to `end`."""
        return self._weights[self._entry[begin:end]]

    def stamp(self, place: int) -> int:
        """The `mono_ns` of that event."""
        return int(self._stamps[self._entry[place]])

    def events(self, places: Sequence[int]) -> list[TraceEvent]:
        """Those at these places."""
        entries = self._entry[list(places)]
        bulk = self._made(entries[entries >= len(self._few)])
        few = self._few
        return [few[entry] if entry < len(few) else bulk[entry] for entry in entries.tolist()]

    def states(self, places: Iterable[int]) -> Mapping[int, tuple[ReplicaState, ...]]:
        """The replicas before each of these."""
        telling = {place: self._telling(place) for place in places}
        entries = [entry for own in telling.values() for entry in own if entry >= len(self._few)]
        bulk = self._made(np.array(entries, np.int64))
        return {
            place: replica_states(
                self._few[entry] if entry < len(self._few) else bulk[entry] for entry in own
            )
            for place, own in telling.items()
        }

    def _of(self, name: str) -> Numbers:
        return self._rows.numbers(name)[self._bulk]

    def _heard(self) -> Iterator[tuple[int, int]]:
        zxid, stamp = self._of("zxid"), self._of("mono_ns")
        told = (zxid != UNTOLD) & (stamp > 0)
        return zip(zxid[told].tolist(), stamp[told].tolist(), strict=True)

    @cached_property
    def _stamps(self) -> Numbers:
        few = np.array([event.mono_ns for event in self._few], np.int64)
        return np.concatenate([few, self._of("mono_ns")])

    def _ordered(self) -> Numbers:
        """The entries, those that are few first, in the order of a diagram."""
        order = np.argsort(self._stamps, kind="stable")
        stamps = self._stamps[order]
        is_same = np.diff(stamps, prepend=stamps[:1] - 1) == 0
        tied = np.flatnonzero(is_same | np.append(is_same[1:], False))
        if len(tied):
            entries = order[tied]
            order[tied] = entries[np.lexsort((*self._ranks(entries), stamps[tied]))]
        return order

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
        few = np.array([weight_of(event) for event in self._few], np.int64)
        by_code = np.array([weight_of_action(name) for name in self._rows.word_list("action")])
        return np.concatenate([few, by_code[self._rows.words("action")[self._bulk]]])

    def _made(self, entries: Numbers) -> dict[int, TraceEvent]:
        """The events of entries that are many."""
        wanted = np.zeros(len(self._rows.partition), np.bool_)
        own = np.unique(entries)
        wanted[self._bulk[own - len(self._few)]] = True
        return dict(zip(own.tolist(), from_table(self._rows.kept(wanted)), strict=True))

    def _telling(self, place: int) -> list[int]:
        """Of the entries before a place, in order, those that tell the replicas' states."""
        before = self._entry[:place]
        kept = before < len(self._few)
        replica = self._lines.replica[before]
        for broker_id in np.unique(replica[replica >= 0]).tolist():
            own = np.flatnonzero(replica == broker_id)
            kept[own[_telling(_Lines(*(column[before[own]] for column in self._lines)))]] = True
        return before[kept].tolist()  # type: ignore[no-any-return]

    @cached_property
    def _lines(self) -> "_Lines":
        """What all entries tell of replicas."""
        few = np.array([_line_of(event) for event in self._few], np.int64).reshape(-1, 5).T
        rows, bulk = self._rows, self._bulk
        brokers = [-1 if (b := broker_named(n)) is None else b for n in rows.word_list("node")]
        is_own = rows.is_kind(Kind.ACTION, Kind.RUN) & rows.is_told("partition")
        offset, length = rows.numbers("offset"), rows.lengths("values")
        appends = rows.is_action(*APPENDS) & (offset != UNTOLD)
        many = (
            np.where(is_own, np.array([*brokers, -1])[rows.words("node")], -1),
            rows.numbers("high_watermark"),
            rows.numbers("log_end_offset"),
            np.where(appends, offset, -1),
            np.where(appends, offset + length, -1),
        )
        return _Lines(
            *(np.concatenate([one, all_of[bulk]]) for one, all_of in zip(few, many, strict=True))
        )


class _Lines(NamedTuple):
    """What lines tell of replicas, as `replicas.replica_states` reads them."""

    replica: Numbers
    """The broker; -1 of a line that tells nothing of a replica."""
    high_watermark: Numbers
    log_end_offset: Numbers
    offset: Numbers
    """Of the first record that is appended; -1 without one."""
    end: Numbers


def _line_of(event: TraceEvent) -> tuple[int, int, int, int, int]:
    """Of one that appends nothing, as all that are few."""
    is_own = event.kind in (Kind.ACTION, Kind.RUN) and event.partition is not None
    broker_id = broker_of(event) if is_own else None
    told = (broker_id, event.high_watermark, event.log_end_offset)
    replica, high_watermark, end = (UNTOLD if one is None else one for one in told)
    return replica, high_watermark, end, -1, -1


def _telling(lines: _Lines) -> Mask:
    """The lines of one replica, in order, without which its state in the end would be another."""
    kept = np.zeros(len(lines.replica), np.bool_)
    kept[0] = True
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
    return kept


def _last_appends(offset: Numbers, end: Numbers) -> Numbers:
    """Those with one of the last records that are left; `end`: behind the last one left of each."""
    is_left = end > offset
    last = np.unique(end[is_left])[-LAST_RECORDS:]
    return np.flatnonzero(is_left & (end >= last[0])) if len(last) else last
