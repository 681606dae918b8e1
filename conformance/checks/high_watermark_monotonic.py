"""`HighWatermarkMonotonic`: it never moves back on one leader, and never passes the log's end.

Per broker, start, incarnation of the partition and leader epoch, in the broker's own order
(REPL-002), and what is told as an advance is one; one read back at a start is at most the log end
that was recovered (START-003). A follower takes its leader's word, which may lag after an election
(REPL-003): only the log's end binds it.

Clients see it too: an answer that was asked for after another one had come, of the same leader in
the same epoch, has no lower one. An answer that names no epoch is of the only one in which its
broker led; where a broker led more than once, or in more than one process, it says nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.incarnations import incarnation_of
from fencepost.conformance.checks.log_history import after_highest
from fencepost.conformance.checks.ordering import actions, order
from fencepost.conformance.checks.replica_log import is_replica_event
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, Outcome

LEADER_ACTIONS = frozenset({Action.LEADER_APPEND, Action.ADVANCE_HIGH_WATERMARK})
_Led = Mapping[tuple[int | None, int], frozenset[tuple[int | None, int]]]
"""Broker and incarnation of the partition -> leader epochs, each with the process that led."""


def check(events: Sequence[TraceEvent], dialect: TraceDialect = SPEC) -> CheckResult:
    """Judge one partition; the premise counts high watermarks that have one before them."""
    evidence = Evidence(invariant=Invariant.HIGH_WATERMARK_MONOTONIC)
    latest: dict[tuple[int | None, int, int, int | None], TraceEvent] = {}
    for event in order(e for e in events if is_replica_event(e) and e.high_watermark is not None):
        _check_bound(event, evidence)
        key = event.broker_id, event.incarnation, incarnation_of(event), event.leader_epoch
        before = latest.get(key)
        if before is not None and event.action in LEADER_ACTIONS and dialect.orders_advances:
            _check_step(before, event, event.leader_epoch, evidence)
        latest[key] = event
    for leader_epoch, answers in _of_one_leader(events):
        told = ((answer.high_watermark or 0, answer) for answer in answers)
        for (_, before), (_, answer) in after_highest(told):
            _check_step(before, answer, leader_epoch, evidence)
    return evidence.result()


def _check_bound(event: TraceEvent, evidence: Evidence) -> None:
    high_watermark, log_end_offset = event.high_watermark or 0, event.log_end_offset
    if log_end_offset is None or high_watermark <= log_end_offset:
        return
    where = f"on broker {event.broker_id}"
    message = f"High watermark {high_watermark} {where} lies above log end {log_end_offset}."
    evidence.violated(message, event)


def _check_step(
    before: TraceEvent, event: TraceEvent, leader_epoch: int | None, evidence: Evidence
) -> None:
    evidence.premise_count += 1
    high_watermark, known = event.high_watermark or 0, before.high_watermark or 0
    where = f"on broker {event.broker_id} in leader epoch {leader_epoch}"
    if high_watermark < known:
        message = f"The high watermark {where} fell from {known} to {high_watermark}."
        evidence.violated(message, before, event)
    elif high_watermark == known and event.action == Action.ADVANCE_HIGH_WATERMARK:
        evidence.violated(f"The high watermark {where} advanced to {known} twice.", before, event)


def _of_one_leader(
    events: Sequence[TraceEvent],
) -> Iterator[tuple[int | None, list[TraceEvent]]]:
    """The answers with a high watermark, those of one leader in one epoch together."""
    led = _led(events)
    found: dict[tuple[int | None, int, int | None], list[TraceEvent]] = defaultdict(list)
    for event in events:
        if event.outcome is not Outcome.OK or event.high_watermark is None:
            continue
        place = event.broker_id, incarnation_of(event)
        terms = [
            epoch for epoch, _ in led.get(place, ()) if event.leader_epoch in (epoch, None, -1)
        ]
        if len(terms) == 1:
            found[*place, terms[0]].append(event)
    for (_, _, leader_epoch), answers in found.items():
        yield leader_epoch, answers


def _led(events: Iterable[TraceEvent]) -> _Led:
    found: dict[tuple[int | None, int], set[tuple[int | None, int]]] = defaultdict(set)
    for event in actions(events, Action.BECOME_LEADER):
        found[event.broker_id, incarnation_of(event)].add((event.leader_epoch, event.incarnation))
    return {place: frozenset(terms) for place, terms in found.items()}
