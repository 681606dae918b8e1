"""`LinearizableLog`: clients of a partition see one log that only grows (CLI-001, 002, 004, 005).

The specification: a sequence; an append answers the old length as its offset; a fetch returns a
run of it. Consumers see what is committed, so the length is the high watermark. Given unique
payloads, the history is linearizable iff (Theorem 2)

- C0 every answer is well formed: no record at or above the high watermark it carries;
- C1 each offset has one value, C2 one acknowledgement, C3 each value has one offset;
- C4 every value seen was written, and not by an operation that was definitely refused;
- C5 every offset below a length once proven has a writer, or an unseen indefinite record,
  invoked in time, that may be it;
- C6 the claims of all answers about the length fit one counter (`monotone_counter`).

An acknowledgement with acks=0 or 1 promises nothing and counts as indefinite. What proves the log
to be *at least* so long always counts, across all leaders. What says that it is *at most* so long
counts among answers of one leader epoch only: the design lets the high watermark of a new leader
lag behind what was committed before it, and lets a leader that does not yet know its successor
answer consumers from the past. Once an answer of the epoch has shown the old length, a later one
of that epoch must not fall below it, so the allowance ends where the new leader has caught up.

An election outside the ISR that says so may lose committed records (FAIL-002): it begins another
log. The answers of each generation are judged as one log, in which records that another generation
acknowledged may be or not. So are those of each incarnation of the partition, but there nothing may
be of what another incarnation took.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

from msgspec.structs import replace

from fencepost.conformance.checks.evidence import Evidence, milliseconds
from fencepost.conformance.checks.generations import Generations, generations
from fencepost.conformance.checks.incarnations import split_history
from fencepost.conformance.checks.log_history import (
    LeftOut,
    LogHistory,
    LogRecord,
    LogStanding,
    invoked_ns,
    is_out_of_range,
    known,
    read_history,
)
from fencepost.conformance.checks.monotone_counter import UNBOUNDED, find_violation
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant


@dataclass(slots=True, kw_only=True)
class _Contents:
    """Which value is where, and which operation says so."""

    value_at: dict[int, tuple[str, TraceEvent]] = field(default_factory=dict)
    offset_of: dict[str, tuple[int, TraceEvent]] = field(default_factory=dict)
    left_out: LeftOut | None = None
    """None: nothing was."""


def check(
    events: Sequence[TraceEvent], dialect: TraceDialect = SPEC, left_out: LeftOut | None = None
) -> CheckResult:
    """C0 to C6 for the events of one partition; the premise counts answers.

    `left_out`: of one incarnation and generation, what else there is.
    """
    evidence = Evidence(invariant=Invariant.LINEARIZABLE_LOG)
    history = read_history(events)
    if not dialect.leads_once_in_epoch:
        history = _without_epochs_led_twice(history, events)
    evidence.premise_count = len(history.answers)
    for answer in history.answers:
        _check_shape(answer, evidence)
    for incarnation, life in split_history(history):
        logs = generations(events, incarnation)
        for generation in range(logs.last + 1):
            _check_log(_of_generation(life, logs, generation), left_out, evidence)
    return evidence.result()


def _without_epochs_led_twice(history: LogHistory, events: Iterable[TraceEvent]) -> LogHistory:
    """Answers name their epoch only where one leader began it, once, and is seen to."""
    begun = Counter(event.leader_epoch for event in events if event.action == Action.BECOME_LEADER)
    answers = (
        answer if begun[answer.leader_epoch] == 1 else replace(answer, leader_epoch=None)
        for answer in history.answers
    )
    return LogHistory(records=history.records, answers=tuple(answers))


def _of_generation(history: LogHistory, logs: Generations, generation: int) -> LogHistory:
    """What is said of the log of one generation."""
    if not logs.last:
        return history
    answers = tuple(a for a in history.answers if logs.of(a.leader_epoch) == generation)
    records = tuple(
        record
        if record.standing is not LogStanding.ACKNOWLEDGED
        or logs.of(record.event.leader_epoch) == generation
        else record._replace(standing=LogStanding.POSSIBLE, offset=-1, ret=UNBOUNDED)
        for record in history.records
    )
    return LogHistory(records=records, answers=answers)


def _check_log(history: LogHistory, left_out: LeftOut | None, evidence: Evidence) -> None:
    contents = _Contents(left_out=left_out)
    _place_acknowledged(history.records, contents, evidence)
    _place_seen(history, contents, evidence)
    claims, by_epoch = _Claims(), defaultdict[int, _Claims](_Claims)
    _claim_records(history.records, contents, claims)
    _claim_lengths(history.answers, claims, by_epoch)
    _check_density(history.records, contents, claims, evidence)
    for comparable in (claims, *by_epoch.values()):
        _check_order(comparable, evidence)


def _check_shape(answer: TraceEvent, evidence: Evidence) -> None:
    """C0."""
    values = answer.values or ()
    end = known(answer.offset, 0) + len(values)
    high_watermark = known(answer.high_watermark, UNBOUNDED)
    log_end_offset = known(answer.log_end_offset, UNBOUNDED)
    if answer.acks == -1 and known(answer.offset, -1) < 0:
        evidence.violated("A produce with acks=all succeeded without an offset.", answer)
    if values and end > high_watermark and answer.action == "Fetch":
        message = f"A fetch returned records up to {end}, above its high watermark"
        evidence.violated(f"{message} {high_watermark}.", answer)
    if log_end_offset < high_watermark < UNBOUNDED:
        message = f"An answer has high watermark {high_watermark} above log end {log_end_offset}."
        evidence.violated(message, answer)
    if answer.error_code and is_out_of_range(answer) and end <= known(answer.log_end_offset, 0):
        evidence.violated(f"Offset {end} was refused as out of range inside the log.", answer)


def _place_acknowledged(
    records: Sequence[LogRecord], contents: _Contents, evidence: Evidence
) -> None:
    """C2 and C3 among acknowledgements."""
    for record in records:
        if record.standing is not LogStanding.ACKNOWLEDGED:
            continue
        other = contents.value_at.setdefault(record.offset, (record.value, record.event))
        if other[1] is not record.event:
            message = f"Offset {record.offset} was acknowledged twice: {other[0]}, {record.value}."
            evidence.violated(message, other[1], record.event)
            continue
        _place_value(record.value, record.offset, record.event, contents, evidence)


def _place_value(
    value: str, offset: int, event: TraceEvent, contents: _Contents, evidence: Evidence
) -> bool:
    """C3: False when `value` is already at another offset."""
    other = contents.offset_of.setdefault(value, (offset, event))
    if other[0] == offset:
        return True
    message = f"Record {value} is at offset {other[0]} and at offset {offset}."
    evidence.violated(message, other[1], event)
    return False


def _place_seen(history: LogHistory, contents: _Contents, evidence: Evidence) -> None:
    """C1, C3 and C4 for every fetched record; one violation per fetch."""
    sources: dict[str, LogRecord] = {}
    for record in history.records:
        if sources.setdefault(record.value, record) is not record:
            evidence.doubt(f"Payload {record.value} was sent twice: attempts cannot be told apart.")
    for answer in history.answers:
        if answer.action == "Fetch":
            _place_fetched(answer, sources, contents, evidence)


def _place_fetched(
    answer: TraceEvent, sources: dict[str, LogRecord], contents: _Contents, evidence: Evidence
) -> None:
    doubted = None if contents.left_out is None else contents.left_out.doubted
    if doubted is not None and doubted.isdisjoint(answer.values or ()):
        return
    for offset, value in enumerate(answer.values or (), start=known(answer.offset, 0)):
        other = contents.value_at.setdefault(offset, (value, answer))
        if doubted is not None and value not in doubted:
            continue
        if other[0] != value:
            message = f"Offset {offset} holds {other[0]} and, for another reader, {value}."
            evidence.violated(message, other[1], answer)
            return
        source = sources.get(value)
        if source is None:
            evidence.violated(f"Record {value} at offset {offset} was never written.", answer)
            return
        if source.standing is LogStanding.REFUSED:
            message = f"Record {value} at offset {offset} was read though its produce was refused."
            evidence.violated(message, source.event, answer)
            return
        if source.standing is LogStanding.ELSEWHERE:
            message = f"Record {value} at offset {offset} was written to another incarnation."
            evidence.violated(message, source.event, answer)
            return
        if not _place_value(value, offset, answer, contents, evidence):
            return


@dataclass(slots=True)
class _Claims:
    """What operations claim about the length, for the kernel; plain tuples, as there are many."""

    bounds: list[tuple[int, int, int, int]] = field(default_factory=list)
    events: list[TraceEvent] = field(default_factory=list)

    def add(self, bounds: tuple[int, int, int, int], event: TraceEvent) -> None:
        """Append the claim of `event`, as the fields of a `Claim`."""
        self.bounds.append(bounds)
        self.events.append(event)


def _claim_records(records: Sequence[LogRecord], contents: _Contents, claims: _Claims) -> None:
    """The step of each record with a known offset: the log was as long as that offset."""
    for record in records:
        if record.value in contents.offset_of:
            offset, _ = contents.offset_of[record.value]
            claims.add((record.inv, record.ret, offset + 1, offset), record.event)


def _claim_lengths(
    answers: Iterable[TraceEvent], claims: _Claims, by_epoch: defaultdict[int, _Claims]
) -> None:
    """Least lengths into `claims`; both bounds into the claims of the answer's leader epoch."""
    for answer in answers:
        inv, ret, least = invoked_ns(answer), answer.mono_ns, _at_least(answer)
        claims.add((inv, ret, least, UNBOUNDED), answer)
        epoch = known(answer.leader_epoch, -1)
        if epoch >= 0:
            by_epoch[epoch].add((inv, ret, least, _at_most(answer)), answer)


def _at_least(answer: TraceEvent) -> int:
    """The committed length that `answer` proves."""
    length, values = known(answer.high_watermark, 0), answer.values
    if values and (answer.action == "Fetch" or answer.acks == -1):
        return max(length, known(answer.offset, 0) + len(values))
    return length


def _at_most(answer: TraceEvent) -> int:
    """The committed length that a reader's `answer` denies to be exceeded."""
    if is_out_of_range(answer):
        return known(answer.offset, 0) - 1
    if answer.action == "Produce":
        return UNBOUNDED
    empty = answer.action == "Fetch" and not answer.values
    nothing_at = known(answer.offset, 0) if empty else UNBOUNDED
    return known(answer.high_watermark, nothing_at)


def _check_order(claims: _Claims, evidence: Evidence) -> None:
    """C6."""
    inversion = find_violation(claims.bounds)
    if inversion is None:
        return
    later = claims.events[inversion.later]
    if inversion.earlier is None:
        evidence.violated("Offset 0, the start of the log, was called out of range.", later)
        return
    proven, denied = claims.bounds[inversion.earlier][2], claims.bounds[inversion.later][3]
    message = (
        f"The log was proven {proven} records long, and an operation invoked later was answered"
        f" as if it had {denied}; stale by {milliseconds(inversion.staleness)}."
    )
    evidence.violated(message, claims.events[inversion.earlier], later)


def _check_density(
    records: Sequence[LogRecord],
    contents: _Contents,
    claims: _Claims,
    evidence: Evidence,
) -> None:
    """C5: spares, by invocation, fill holes, by offset; the r-th hole takes the r-th spare."""
    length = max((lo for _, _, lo, _ in claims.bounds), default=0)
    if next(_holes(contents, length), None) is None:
        return
    spares = sorted(
        record.inv
        for record in records
        if record.standing is LogStanding.POSSIBLE and record.value not in contents.offset_of
    )
    proofs = _first_proofs(claims)
    for rank, hole in enumerate(_holes(contents, length)):
        proof = proofs[bisect_right(proofs, hole, key=_proven_length)]
        if rank >= len(spares) or spares[rank] > proof.ret:
            message = f"Offset {hole} lies below a proven length, but no record was written there."
            evidence.violated(message, proof.event)
            return


class _Proof(NamedTuple):
    length: int
    ret: int
    event: TraceEvent


def _first_proofs(claims: _Claims) -> list[_Proof]:
    """The operations that were first to prove a length or more; lengths and returns ascending."""
    first: list[_Proof] = []
    for (_, ret, length, _), event in sorted(
        zip(claims.bounds, claims.events, strict=True), key=_claimed_length, reverse=True
    ):
        if not first or ret < first[-1].ret:
            first.append(_Proof(length, ret, event))
    return first[::-1]


def _claimed_length(claim: tuple[tuple[int, int, int, int], TraceEvent]) -> int:
    return claim[0][2]


def _proven_length(proof: _Proof) -> int:
    return proof.length


def _holes(contents: _Contents, length: int) -> Iterator[int]:
    """Offsets below `length` without a value, ascending; whatever has one is below it."""
    expected = 0
    told = ((offset, offset + 1) for offset in sorted(contents.value_at))
    others = () if contents.left_out is None else contents.left_out.filled
    for start, end in merge(told, others):
        yield from range(expected, start)
        expected = max(expected, end)
    yield from range(expected, length)
