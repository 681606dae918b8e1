"""The events about one partition, and those about none, in the order of a diagram.

Display order is `mono_ns` with ties broken by Lamport clock and sequence: good enough to draw one
host's run, and never used to decide anything. ZooKeeper's own lines carry no `mono_ns` when they
were read from its log after the run; they stand where their transaction was first heard of.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from fencepost.reports.analysis.replicas import Replay, ReplicaState
from fencepost.spec.trace import Kind, Phase, TraceEvent

_WEIGHTS = {
    "TruncateLog": 0, "BecomeLeader": 0, "FenceLeader": 0, "LogRecovered": 1, "ElectController": 1,
    "ResignController": 1, "PublishDecision": 1, "BecomeFollower": 1, "ElectLeader": 2,
    "InitLeader": 2, "AdoptIsr": 2, "DetectBrokerChange": 2, "NodeStarted": 2, "ShrinkIsr": 3,
    "ExpandIsr": 3, "LeaderAppend": 3, "FollowerAppend": 4, "Produce": 4, "SendLeaderAndIsr": 4,
    "AdvanceHighWatermark": 5, "ServeFetch": 5, "Fetch": 6, "WriteLeaderAndIsr": 6,
}  # fmt: skip
UNTOLD_WEIGHT = 9
"""Weight of what is shown only for want of anything better."""


class Displayed(Protocol):
    """The events about one partition and those about none, in display order; by their places."""

    def __len__(self) -> int:
        """How many there are."""

    def places_of(self, witness: Sequence[TraceEvent]) -> list[int]:
        """Where these events are, ascending."""

    def weights(self, begin: int, end: int) -> NDArray[np.integer[Any]]:
        """Of the events from `begin` up to `end`: the less, the sooner one is shown."""

    def stamp(self, place: int) -> int:
        """The `mono_ns` of that event."""

    def events(self, places: Sequence[int]) -> list[TraceEvent]:
        """Those at these places."""

    def states(self, places: Iterable[int]) -> Mapping[int, tuple[ReplicaState, ...]]:
        """The replicas before each of these."""


class DisplayedEvents:
    """`Displayed` of events that are at hand."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        self._ordered = display_order(events)

    def __len__(self) -> int:
        return len(self._ordered)

    def places_of(self, witness: Sequence[TraceEvent]) -> list[int]:
        """As `Displayed` says."""
        wanted = {identity(event) for event in witness}
        return [at for at, event in enumerate(self._ordered) if identity(event) in wanted]

    def weights(self, begin: int, end: int) -> NDArray[np.integer[Any]]:
        """As `Displayed` says."""
        return np.array([weight_of(event) for event in self._ordered[begin:end]], np.int64)

    def stamp(self, place: int) -> int:
        """As `Displayed` says."""
        return self._ordered[place].mono_ns

    def events(self, places: Sequence[int]) -> list[TraceEvent]:
        """As `Displayed` says."""
        return [self._ordered[place] for place in places]

    def states(self, places: Iterable[int]) -> Mapping[int, tuple[ReplicaState, ...]]:
        """As `Displayed` says; the events are gone through once."""
        replay = Replay(self._ordered)
        return {place: replay.before(place) for place in sorted(set(places))}


_mono_ns = attrgetter("mono_ns")


def display_order(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """All events in the order in which a diagram shows them; see the module's docstring."""
    rows = list(events)
    heard = stamps_of_zxids(rows)
    known = sorted(heard)
    by_time = sorted((placed_by(event, heard, known) for event in rows), key=_mono_ns)
    if len({*map(_mono_ns, by_time)}) == len(by_time):
        return by_time
    return [
        event
        for _, together in groupby(by_time, key=_mono_ns)
        for event in sorted(together, key=_display_key)
    ]


def stamps_of_zxids(
    events: Iterable[TraceEvent], others: Iterable[tuple[int, int]] = ()
) -> dict[int, int]:
    """When each transaction was first heard of; `others`: zxid and stamp of lines not at hand."""
    told = ((event.zxid, event.mono_ns) for event in events if event.mono_ns > 0)
    heard: dict[int, int] = {}
    for zxid, stamp in chain(others, told):
        if zxid is not None:
            heard[zxid] = min(stamp, heard.get(zxid, stamp))
    return heard


def placed_by(event: TraceEvent, heard: Mapping[int, int], known: Sequence[int]) -> TraceEvent:
    """With a stamp: where its transaction, or the last one before it, was first heard of.

    `known`: the keys of `heard`, ascending.
    """
    if event.mono_ns > 0 or event.zxid is None or event.kind is not Kind.ZOOKEEPER:
        return event
    earlier = bisect_right(known, event.zxid)
    return msgspec.structs.replace(event, mono_ns=heard[known[earlier - 1]] if earlier else 0)


def _display_key(event: TraceEvent) -> tuple[int, bool, int, str, int, int]:
    is_ours = event.kind is not Kind.ZOOKEEPER
    return event.mono_ns, is_ours, event.lamport, event.node, event.incarnation, event.seq


def identity(event: TraceEvent) -> tuple[str, int, int]:
    """Node, incarnation and number: what no two lines of a run share."""
    return event.node, event.incarnation, event.seq


def weight_of(event: TraceEvent) -> int:
    """The less, the sooner an event is shown; faults that took effect weigh less than actions."""
    if event.kind is Kind.FAULT:
        return -1 if event.phase in {Phase.ACTIVE, Phase.HEALED} else UNTOLD_WEIGHT
    return weight_of_action(event.action)


def weight_of_action(action: str) -> int:
    """Of a line that is no fault."""
    return _WEIGHTS.get(action, UNTOLD_WEIGHT)
