"""`SequencesInOrder`: what an idempotent producer numbers is in the log by these numbers (CLI-005).

A broker appends whole batches. In the log of each replica, and in what the last reader finds, those
of one producer follow each other: under an epoch from the first number on without a gap. So a
broker has no reason to refuse a well-behaved producer for its numbers once everything before the
batch is acknowledged: OUT_OF_ORDER_SEQUENCE_NUMBER and DUPLICATE_SEQUENCE_NUMBER mean then that it
has forgotten what its log says. Where an election outside the ISR may have lost records, or the
partition was created again, the refusal is right.

A well-behaved producer tries again as long as a batch before it is unanswered, and records the
answer to a try that was sent afterwards; when it gives a batch up, it gives up those behind it
under the same epoch with whatever they were answered last. A leader that was replaced may refuse
what its successor takes: the refusal names its leader epoch, else it decides nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import is_flagged
from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.log_history import final_read, known, read_history
from fencepost.conformance.checks.ordering import actions
from fencepost.conformance.checks.replica_log import APPENDS, replay
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import ErrorCode, Invariant, Outcome

REFUSALS = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})


class _Numbered(NamedTuple):
    """One record of an idempotent producer."""

    producer_id: int
    producer_epoch: int
    sequence: int
    left: int
    """How many records of its batch follow it."""
    event: TraceEvent


NO_RECORD = -1, -1
"""Epoch and number before the first record."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge one partition; the premise counts numbered records in logs, and refusals."""
    evidence = Evidence(invariant=Invariant.SEQUENCES_IN_ORDER)
    numbered = _numbered(events)
    if not numbered:
        return evidence.result()
    _check_appends(events, numbered, evidence)
    parts = list(split_by_incarnation(events))
    for _, part in parts:
        for values in _logs(part):
            _check_log(values, numbered, evidence)
    if len(parts) == 1 and not any(map(is_flagged, events)):
        _check_refusals(events, evidence)
    return evidence.result()


def _numbered(events: Iterable[TraceEvent]) -> Mapping[str, _Numbered]:
    """Record -> its numbers."""
    return {
        value: _Numbered(
            event.producer_id,
            event.producer_epoch,
            event.base_sequence + position,
            len(event.values or ()) - position - 1,
            event,
        )
        for event in events
        if event.producer_id is not None
        and event.producer_epoch is not None
        and event.base_sequence is not None
        for position, value in enumerate(event.values or ())
    }


def _check_appends(
    events: Sequence[TraceEvent], numbered: Mapping[str, _Numbered], evidence: Evidence
) -> None:
    for event in actions(events, *APPENDS):
        last = numbered.get((event.values or [""])[-1])
        if last is not None and last.left:
            message = f"Broker {event.broker_id} appended a batch without its last {last.left}."
            evidence.violated(message, last.event, event)


def _logs(events: Sequence[TraceEvent]) -> list[list[str | None]]:
    """What each replica and the last reader have in the end; None for a record that is not told."""
    ends = {log.broker_id: log for _, log in replay(events)}
    logs = [[entry.value if entry else None for entry in log.entries] for log in ends.values()]
    read = final_read(read_history(events).answers)
    return [*logs, [*read.values]] if read else logs


def _check_log(
    values: Iterable[str | None], numbered: Mapping[str, _Numbered], evidence: Evidence
) -> None:
    last: dict[int, tuple[int, int]] = {}
    begun: _Numbered | None = None
    is_known = True
    for value in values:
        record = numbered.get(value or "")
        if begun is not None and not _follows(begun, record):
            _tell_part(begun, evidence)
        begun = record if record is not None and record.left else None
        if value is None:
            is_known = False
            last.clear()
        if record is None:
            continue
        evidence.premise_count += 1
        before = last.get(record.producer_id, NO_RECORD)
        if (is_known or before != NO_RECORD) and not _comes_next(before, record):
            epoch, sequence = before
            message = (
                f"Number {record.sequence} of producer {record.producer_id} under epoch"
                f" {record.producer_epoch} follows number {sequence} under epoch {epoch}."
            )
            evidence.violated(message, record.event)
        last[record.producer_id] = record.producer_epoch, record.sequence
    if begun is not None:
        _tell_part(begun, evidence)


def _follows(begun: _Numbered, record: _Numbered | None) -> bool:
    return record is not None and record.event is begun.event and record.left == begun.left - 1


def _comes_next(before: tuple[int, int], record: _Numbered) -> bool:
    epoch, sequence = before
    if record.producer_epoch > epoch:
        return record.sequence == 0
    return record.producer_epoch == epoch and record.sequence == sequence + 1


def _tell_part(begun: _Numbered, evidence: Evidence) -> None:
    message = f"A log has a batch of producer {begun.producer_id} without its last {begun.left}."
    evidence.violated(message, begun.event)


def _check_refusals(events: Iterable[TraceEvent], evidence: Evidence) -> None:
    ended = [event for event in events if event.kind is Kind.COMPLETE]
    for refusal in ended:
        if refusal.error_code not in REFUSALS or refusal.base_sequence is None:
            continue
        before = [event for event in ended if _is_before(event, refusal)]
        if sum(len(event.values or ()) for event in before) < refusal.base_sequence:
            continue
        if _is_of_older_leader(refusal, before):
            continue
        if any(_is_given_up(event, refusal) for event in ended):
            continue
        evidence.premise_count += 1
        message = (
            f"Producer {refusal.producer_id} was answered {refusal.error_code} for number"
            f" {refusal.base_sequence}, though everything before it was acknowledged."
        )
        evidence.violated(message, *before[-1:], refusal)


def _is_of_older_leader(refusal: TraceEvent, before: Iterable[TraceEvent]) -> bool:
    """The refusal came from a leader that need not have what was acknowledged, or names none."""
    epoch = refusal.leader_epoch
    return epoch is None or any((event.leader_epoch or 0) > epoch for event in before)


def _is_given_up(failed: TraceEvent, refusal: TraceEvent) -> bool:
    """Another batch of the same producer and epoch had failed by then."""
    return (
        failed.outcome is not Outcome.OK
        and failed.producer_id == refusal.producer_id
        and failed.producer_epoch == refusal.producer_epoch
        and failed.base_sequence != refusal.base_sequence
        and failed.mono_ns <= refusal.mono_ns
    )


def _is_before(answer: TraceEvent, refusal: TraceEvent) -> bool:
    """Of an earlier batch of the same producer and epoch, and given before the refusal was."""
    return (
        answer.producer_id == refusal.producer_id
        and answer.producer_epoch == refusal.producer_epoch
        and known(answer.base_sequence, 0) < known(refusal.base_sequence, 0)
        and answer.mono_ns < refusal.mono_ns
    )
