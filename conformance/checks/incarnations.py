"""Which events are about which incarnation of a partition (TOP-003).

A partition that is deleted and created again is another one under the same name: its log is another
one, and its leader epochs begin again. Its incarnation is the zxid that created its state. Answers
and brokers' lines name it; ZooKeeper's own lines show it.

What names none belongs to the only incarnation that is named, if there is but one. Else a produce
of unknown effect may be in the log of each, and any other line says nothing of a named one.
"""

from collections.abc import Iterable, Iterator, Sequence

from fencepost.conformance.checks.generations import is_flagged
from fencepost.conformance.checks.log_history import LogHistory, LogRecord, LogStanding
from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.conformance.checks.ordering import by_zxid
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome

UNNAMED = 0


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
