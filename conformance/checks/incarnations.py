"""Which events are about which incarnation of a partition (TOP-003).

A partition that is deleted and created again is another one under the same name: its log is another
one, and its leader epochs begin again. Its incarnation is the zxid that created its state. Answers
and brokers' lines name it; ZooKeeper's own lines show it.

What names none belongs to the only incarnation that is named, if there is but one. Else a produce
of unknown effect may be in the log of each, and any other line says nothing of a named one.

Of implementations that name none, `named` tells them by time: the creation of each state is dated
on the clock of the host, and so is the first role that a broker took in it. An operation that was
under way between the two may be about either of two incarnations, and stays unnamed.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fencepost.conformance.checks.generations import is_flagged
from fencepost.conformance.checks.log_history import LogHistory, LogRecord, LogStanding, known
from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.conformance.checks.ordering import by_zxid
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome
from fencepost.spec.znodes import TopicPartition, partition_of

UNNAMED = 0
NS_PER_MS = 1_000_000
_ROLES = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})


class Life(NamedTuple):
    """One incarnation of a partition, on the clock of `mono_ns`."""

    begun_ns: int
    zxid: int
    told_ns: Mapping[int | None, int]
    """By broker, when it first took a role in it; empty when no broker tells that."""

    def known_ns(self, broker_id: int | None) -> int:
        """When the broker knew of it; without such a line, when all did that tell."""
        return self.told_ns.get(broker_id, max(self.told_ns.values(), default=self.begun_ns))


Lives = Mapping[TopicPartition, Sequence[Life]]
"""Of partitions that were created more than once."""


def incarnation_of(event: TraceEvent) -> int:
    """What the line names; `UNNAMED` where it names none."""
    return known(event.partition_incarnation, UNNAMED)


def _named_by(events: Iterable[TraceEvent]) -> set[int]:
    """All that the lines name."""
    told = {event.partition_incarnation for event in events}
    return {known(one, UNNAMED) for one in told} - {UNNAMED}


def split_by_incarnation(
    events: Sequence[TraceEvent],
) -> Iterator[tuple[int, Sequence[TraceEvent]]]:
    """The lines about each incarnation of one partition, ascending, in the order given.

    An election outside the ISR that names none is among the lines of every one.
    """
    stored = _stored(events)
    named = _named_by(events) | set(stored.values()) - {UNNAMED}
    if len(named) <= 1:
        yield max(named, default=UNNAMED), events
        return
    parts: dict[int, list[TraceEvent]] = {incarnation: [] for incarnation in (UNNAMED, *named)}
    for event in events:
        incarnation = stored.get(_place(event)) or incarnation_of(event)
        if incarnation == UNNAMED and is_flagged(event):
            for part in parts.values():
                part.append(event)
        else:
            parts[incarnation].append(event)
    yield from sorted(parts.items())


def _place(event: TraceEvent) -> tuple[str, int, int]:
    return event.node, event.incarnation, event.seq


def _stored(events: Iterable[TraceEvent]) -> dict[tuple[str, int, int], int]:
    """ZooKeeper's lines about the state -> the incarnation that they are about."""
    found: dict[tuple[str, int, int], int] = {}
    incarnation = UNNAMED
    for event in by_zxid(events):
        if event.action == "Create":
            incarnation = known(event.zxid, UNNAMED)
        found[_place(event)] = incarnation
    return found


def is_over(incarnation: int, events: Sequence[TraceEvent]) -> bool:
    """True when the partition was deleted at the end, or there is a newer incarnation of it."""
    lines = [event for event in by_zxid(events) if event.action in ("Create", "Delete")]
    if lines and lines[-1].action == "Delete":
        return True
    created = (known(line.zxid, UNNAMED) for line in lines)
    newest = max([*created, *_named_by(events)], default=UNNAMED)
    return UNNAMED < incarnation < newest


def split_history(history: LogHistory) -> Iterator[tuple[int, LogHistory]]:
    """What clients asked of the log of each incarnation, and what they were answered."""
    named = _named_by(history.answers)
    if len(named) <= 1:
        yield max(named, default=UNNAMED), history
        return
    for incarnation in sorted(named):
        answers = tuple(a for a in history.answers if incarnation_of(a) == incarnation)
        records = tuple(_as_seen_from(incarnation, record) for record in history.records)
        yield incarnation, LogHistory(records=records, answers=answers)


def _as_seen_from(incarnation: int, record: LogRecord) -> LogRecord:
    """A record that another incarnation took is not here, unless its request was sent again."""
    event = record.event
    if record.standing is LogStanding.REFUSED or incarnation_of(event) == incarnation:
        return record
    is_answered = event.outcome is Outcome.OK
    is_elsewhere = is_answered and incarnation_of(event) != UNNAMED and event.producer_id is None
    standing = LogStanding.ELSEWHERE if is_elsewhere else LogStanding.POSSIBLE
    return record._replace(standing=standing, offset=-1, ret=UNBOUNDED)


def lives_in(
    zookeeper: Iterable[TraceEvent], of_brokers: Iterable[TraceEvent], since_ns: int
) -> Lives:
    """The lives of a run, by its state and its brokers; `since_ns` is `mono_ns` minus `wall_ns`."""
    created: dict[TopicPartition, list[TraceEvent]] = {}
    for event in by_zxid(zookeeper):
        key = partition_of(event.path or "")
        if event.action == "Create" and key is not None:
            created.setdefault(key, []).append(event)
    found = {
        key: [Life((line.wall_ns or 0) + since_ns, line.zxid or 0, {}) for line in lines]
        for key, lines in created.items()
        if len(lines) > 1
    }
    return _as_told(found, of_brokers)


def _as_told(lives: Lives, of_brokers: Iterable[TraceEvent]) -> Lives:
    """With the first role of each broker in each."""
    told: dict[tuple[TopicPartition, int], dict[int | None, int]] = {}
    for event in of_brokers:
        if event.action not in _ROLES:
            continue
        key = _place_of(event)
        begun = [one.begun_ns for one in lives.get(key, ())]
        if at := bisect_right(begun, event.mono_ns):
            first = told.setdefault((key, at - 1), {})
            first[event.broker_id] = min(first.get(event.broker_id, event.mono_ns), event.mono_ns)
    return {
        key: [one._replace(told_ns=told.get((key, at), {})) for at, one in enumerate(found)]
        for key, found in lives.items()
    }


def _place_of(event: TraceEvent) -> TopicPartition:
    """The partition that the line names, not by a path; one that is not where it names none."""
    return TopicPartition(event.topic or "", known(event.partition, -1))


def named(events: Iterable[TraceEvent], lives: Lives) -> Iterator[TraceEvent]:
    """The lines, those about a partition that was created again with its incarnation."""
    for event in events:
        zxid = _told_by_time(event, lives)
        yield event if zxid is None else replace(event, partition_incarnation=zxid)


def _told_by_time(event: TraceEvent, lives: Lives) -> int | None:
    if event.partition_incarnation is not None or event.kind is Kind.INVOKE:
        return None
    created = lives.get(_place_of(event), ())
    ended = bisect_right([one.begun_ns for one in created], event.mono_ns)
    if not ended:
        return None
    life = created[ended - 1]
    # Dates are whole milliseconds: what comes within the same one may be before.
    known_ns = life.known_ns(event.broker_id) + NS_PER_MS
    return life.zxid if known_ns <= (event.inv_ns or event.mono_ns) else None
