"""What clients asked of one partition's log, as records written and answers given."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.conformance.checks.ordering import order
from fencepost.spec.trace import FINAL_READER, Kind, TraceEvent
from fencepost.spec.vocabulary import ErrorCode, Outcome

CLIENT_READS = frozenset({"Fetch", "ListOffsets"})


class LogStanding(Enum):
    """What the answer to a produce says about its records."""

    ACKNOWLEDGED = "acknowledged"
    """acks=all and `ok`: committed at the offset answered."""
    POSSIBLE = "possible"
    """Indefinite, never answered, or `ok` with fewer acks, which promises nothing."""
    REFUSED = "refused"
    """A definite error: never in the log."""
    ELSEWHERE = "elsewhere"
    """In the log of another incarnation of the partition: never in this one."""


class LogRecord(NamedTuple):
    """One record that a client tried to write."""

    value: str
    offset: int
    """Where it was acknowledged; -1 otherwise."""
    standing: LogStanding
    inv: int
    ret: int
    """`UNBOUNDED` unless acknowledged."""
    event: TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHistory:
    """All client operations on one partition."""

    records: tuple[LogRecord, ...]
    answers: tuple[TraceEvent, ...]
    """Completed operations that say something of the log: every `ok`, and out of range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is known of client operations on a partition that a check is not given.

    They agree: each record was written once, and is told at one offset, which no other record has.
    """

    doubted: frozenset[str]
    """Records of which this is not known; all operations that name one are given."""
    filled: tuple[tuple[int, int], ...]
    """Offsets at which others are told, from one up to another; ascending."""


def read_history(events: Iterable[TraceEvent]) -> LogHistory:
    """The client operations among `events` of one partition."""
    completed: set[tuple[str, int, int | None]] = set()
    invocations: list[TraceEvent] = []
    records: list[LogRecord] = []
    answers: list[TraceEvent] = []
    for event in events:
        action = event.action
        if action == "Produce" and event.kind is Kind.INVOKE:
            invocations.append(event)
        elif action == "Produce":
            completed.add(_operation(event))
            records.extend(_records(event))
            if event.outcome is Outcome.OK:
                answers.append(event)
        elif action in CLIENT_READS and _speaks(event):
            answers.append(event)
    for event in invocations:
        if _operation(event) not in completed:
            records.extend(_records(event))
    return LogHistory(records=tuple(records), answers=tuple(answers))


def _operation(event: TraceEvent) -> tuple[str, int, int | None]:
    return event.node, event.incarnation, event.op_id


def _speaks(event: TraceEvent) -> bool:
    return event.outcome is Outcome.OK or is_out_of_range(event)


def is_out_of_range(event: TraceEvent) -> bool:
    """True of a fetch that was told that its offset lies beyond the log."""
    return event.action == "Fetch" and event.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def _records(event: TraceEvent) -> Iterator[LogRecord]:
    standing, inv = _standing(event), invoked_ns(event)
    values = event.values or ()
    if standing is not LogStanding.ACKNOWLEDGED:
        for value in values:
            yield LogRecord(value, -1, standing, inv, UNBOUNDED, event)
        return
    for offset, value in enumerate(values, known(event.offset, -1)):
        yield LogRecord(value, offset, standing, inv, event.mono_ns, event)


def _standing(event: TraceEvent) -> LogStanding:
    """An invocation has no outcome."""
    if event.outcome is Outcome.DEFINITE_ERROR:
        return LogStanding.REFUSED
    if event.outcome is Outcome.OK and event.acks == -1 and known(event.offset, -1) >= 0:
        return LogStanding.ACKNOWLEDGED
    return LogStanding.POSSIBLE


def invoked_ns(event: TraceEvent) -> int:
    """When the operation of `event` was invoked, on the clock of `mono_ns`."""
    return event.mono_ns if event.inv_ns is None else event.inv_ns


Told = tuple[int, TraceEvent]
"""What an answer tells of something that only grows, and the answer."""


def after_highest(answers: Iterable[Told]) -> Iterator[tuple[Told, Told]]:
    """Each answer that was asked for after others had come, behind the highest of those."""
    came = sorted(answers, key=lambda one: one[1].mono_ns)
    highest, number = None, 0
    for answer in sorted(came, key=lambda one: invoked_ns(one[1])):
        while came[number][1].mono_ns < invoked_ns(answer[1]):
            if highest is None or came[number][0] > highest[0]:
                highest = came[number]
            number += 1
        if highest is not None:
            yield highest, answer


def known(number: int | None, otherwise: int) -> int:
    """`number`, or `otherwise` where an answer left it out or said -1, "not asked for"."""
    return otherwise if number is None or number < 0 else number


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalRead:
    """The last complete pass of `client-final` over the log."""

    values: tuple[str, ...]
    """From offset 0."""
    log_end_offset: int
    """Where the leader's log ended; above `len(values)` when its high watermark still lagged."""
    last: TraceEvent


def final_read(answers: Sequence[TraceEvent]) -> FinalRead | None:
    """The last pass of `client-final` from offset 0 to the high watermark; None if incomplete.

    Where a fetch does not tell the log end offset, ListOffsets does.
    """
    values: list[str] = []
    last: TraceEvent | None = None
    listed = 0
    for event in order(e for e in answers if e.node == FINAL_READER):
        if event.outcome is not Outcome.OK:
            continue
        if event.action != "Fetch":
            listed = known(event.log_end_offset, listed)
            continue
        if event.offset == 0:
            values, last = [], None
        if event.offset == len(values):
            values.extend(event.values or ())
            last = event
    if last is None or len(values) < known(last.high_watermark, len(values) + 1):
        return None
    end = max(len(values), known(last.log_end_offset, 0), listed)
    return FinalRead(values=tuple(values), log_end_offset=end, last=last)
