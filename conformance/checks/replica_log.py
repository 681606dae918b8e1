"""The log of each replica of one partition, rebuilt from what its broker wrote to the trace.

`LeaderAppend` and `FollowerAppend` add entries, `TruncateLog` drops them, and any line that tells
the log end offset after its step shortens the log to it: what a crash lost is gone. Entries that
the trace does not tell are unknown and contradict nothing.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.conformance.checks.ordering import order
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action

REPLICA_ACTIONS = frozenset(
    {
        Action.BECOME_LEADER,
        Action.BECOME_FOLLOWER,
        Action.TRUNCATE_LOG,
        Action.LEADER_APPEND,
        Action.FOLLOWER_APPEND,
        Action.ADVANCE_HIGH_WATERMARK,
        "LogRecovered",
    }
)
"""Lines that tell a replica's log end offset and high watermark after the step."""

APPENDS = frozenset({Action.LEADER_APPEND, Action.FOLLOWER_APPEND})
"""Lines that tell records."""


class ReplicaEntry(NamedTuple):
    """One record of a log; two replicas agree on an offset when their entries are equal."""

    value: str
    record_epoch: int | None

    def __str__(self) -> str:
        return f"{self.value} of leader epoch {self.record_epoch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What is known of lines about replicas that a check is not given.

    They append, and cut nothing. But at some offsets all replicas have one entry, whenever they
    have any, and have one wherever they have one behind it.
    """

    doubted: tuple[tuple[int, int], ...]
    """Those offsets, from one up to another, ascending: every line that appends there is given."""

    def within(self, start: int, stop: int) -> Iterator[int]:
        """Those from `start` up to `stop`, ascending."""
        for begin, end in self.doubted[bisect_right(self.doubted, start, key=_end) :]:
            if begin >= stop:
                return
            yield from range(max(begin, start), min(end, stop))

    def below(self, stop: int) -> Iterator[int]:
        """Those below `stop`, descending."""
        for begin, end in reversed(self.doubted):
            yield from range(min(end, stop) - 1, begin - 1, -1)


def _end(offsets: tuple[int, int]) -> int:
    return offsets[1]


@dataclass(slots=True, kw_only=True)
class ReplicaLog:
    """A replica as of one event; the same object is brought up to date by the next event."""

    broker_id: int
    entries: list[ReplicaEntry | None] = field(default_factory=list)
    high_watermark: int = 0
    shortest: int = 0
    """The least length that the log had since the caller last reset this."""
    agreed: Agreed | None = None
    """If given, entries are told at doubted offsets alone."""

    def apply(self, event: TraceEvent) -> None:
        """Bring the log to its state after `event`."""
        if event.values:
            self._append(event)
        if event.log_end_offset is not None:
            self._truncate(event.log_end_offset)
            missing = event.log_end_offset - len(self.entries)
            self.entries.extend([None] * missing)
        if event.high_watermark is not None:
            self.high_watermark = event.high_watermark

    def _append(self, event: TraceEvent) -> None:
        values = event.values or []
        epochs: list[int] | list[None] = event.record_epochs or [None] * len(values)
        base = len(self.entries) if event.offset is None else event.offset
        self._truncate(base)
        self.entries.extend([None] * (base - len(self.entries)))
        told = list(map(ReplicaEntry, values, epochs))
        if self.agreed is None:
            self.entries.extend(told)
            return
        self.entries.extend([None] * len(told))
        for offset in self.agreed.within(base, base + len(told)):
            self.entries[offset] = told[offset - base]

    def _truncate(self, log_end_offset: int) -> None:
        del self.entries[log_end_offset:]
        self.shortest = min(self.shortest, len(self.entries))


def replay(
    events: Iterable[TraceEvent], agreed: Agreed | None = None
) -> Iterator[tuple[TraceEvent, ReplicaLog]]:
    """Each line about a replica of one partition, with that replica's log after it.

    Brokers come one after the other, each in its own order: the pairs of different brokers tell
    nothing about time.
    """
    logs: dict[int, ReplicaLog] = {}
    for event in order(e for e in events if is_replica_event(e)):
        assert event.broker_id is not None
        log = logs.setdefault(event.broker_id, ReplicaLog(broker_id=event.broker_id, agreed=agreed))
        log.apply(event)
        yield event, log


def is_replica_event(event: TraceEvent) -> bool:
    """True of a line that tells the state of a replica's log."""
    return event.action in REPLICA_ACTIONS and event.broker_id is not None
