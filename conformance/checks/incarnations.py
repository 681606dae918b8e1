"""Which events are about which incarnation of a partition (TOP-003).

A partition that is deleted and created again is another one under the same name: its log is another
one, and its leader epochs begin again. Its incarnation is the zxid that created its state. Answers
and brokers' lines name it; ZooKeeper's own lines show it.

What names none belongs to the only incarnation that is named, if there is but one. Else a produce
of unknown effect may be in the log of each, and any other line says nothing of a named one.

Of implementations that name none, `named` tells them by time: ZooKeeper dates the creation of each
state on the clock of its host. An operation that was under way then may be about either of two, and
stays unnamed.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from fencepost.conformance.checks.generations import is_flagged
from fencepost.conformance.checks.log_history import LogHistory, LogRecord, LogStanding
from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.conformance.checks.ordering import by_zxid
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import TopicPartition, partition_of

UNNAMED = 0
NS_PER_MS = 1_000_000
Lives = Mapping[TopicPartition, Sequence[tuple[int, int]]]
"""When each incarnation of a partition was created, on the clock of `mono_ns`, and its zxid."""


def incarnation_of(event: TraceEvent) -> int:
    """What the line names; `UNNAMED` where it names none."""
    return event.partition_incarnation or UNNAMED


def split_by_incarnation(
    events: Sequence[TraceEvent],
) -> Iterator[tuple[int, Sequence[TraceEvent]]]:
    """The lines about each incarnation of one partition, ascending, in the order given.

    An election outside the ISR that names none is among the lines of every one.
    """
    stored = _stored(events)
    named = {incarnation_of(event) for event in events} | set(stored.values())
    named.discard(UNNAMED)
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
            incarnation = event.zxid or UNNAMED
        found[_place(event)] = incarnation
    return found


def is_over(incarnation: int, events: Sequence[TraceEvent]) -> bool:
    """True when the partition was deleted at the end, or there is a newer incarnation of it."""
    lines = [event for event in by_zxid(events) if event.action in ("Create", "Delete")]
    if lines and lines[-1].action == "Delete":
        return True
    created = (line.zxid or UNNAMED for line in lines)
    newest = max([*created, *map(incarnation_of, events)], default=UNNAMED)
    return UNNAMED < incarnation < newest


def split_history(history: LogHistory) -> Iterator[tuple[int, LogHistory]]:
    """What clients asked of the log of each incarnation, and what they were answered."""
    named = {incarnation_of(answer) for answer in history.answers} - {UNNAMED}
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
    is_answered = event.kind is Kind.COMPLETE and event.outcome is Outcome.OK
    is_elsewhere = is_answered and incarnation_of(event) != UNNAMED and event.producer_id is None
    standing = LogStanding.ELSEWHERE if is_elsewhere else LogStanding.POSSIBLE
    return record._replace(standing=standing, offset=-1, ret=UNBOUNDED)


def lives_in(zookeeper: Iterable[TraceEvent], since_ns: int) -> Lives:
    """Of partitions that were created more than once; `since_ns` is `mono_ns` minus `wall_ns`."""
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for event in by_zxid(zookeeper):
        key = partition_of(event.path or "")
        if event.action == "Create" and key is not None:
            found.setdefault(key, []).append(((event.wall_ns or 0) + since_ns, event.zxid or 0))
    return {key: lives for key, lives in found.items() if len(lives) > 1}


def named(events: Iterable[TraceEvent], lives: Lives) -> Iterator[TraceEvent]:
    """The lines, those about a partition that was created again with its incarnation."""
    for event in events:
        zxid = _told_by_time(event, lives)
        yield event if zxid is None else replace(event, partition_incarnation=zxid)


def _told_by_time(event: TraceEvent, lives: Lives) -> int | None:
    if event.topic is None or event.partition is None or event.partition_incarnation is not None:
        return None
    created = lives.get(TopicPartition(event.topic, event.partition))
    if created is None or event.kind is Kind.INVOKE:
        return None
    times = [at_ns for at_ns, _ in created]
    # ZooKeeper's clock tells whole milliseconds: what comes within the same one may be before.
    begun = bisect_right(times, (event.inv_ns or event.mono_ns) - NS_PER_MS)
    ended = bisect_right(times, event.mono_ns)
    return created[ended - 1][1] if begun == ended and ended else None
