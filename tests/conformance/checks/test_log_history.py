"""What clients asked of a log, and what they were answered."""

import pytest

from fencepost.conformance.checks.log_history import (
    LogStanding,
    final_read,
    invoked_ns,
    is_out_of_range,
    known,
    read_history,
)
from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.spec.trace import FINAL_READER
from fencepost.spec.vocabulary import ErrorCode, Outcome
from tests.conformance.checks.trace_builder import Fields, Trace

BEYOND = ErrorCode.OFFSET_OUT_OF_RANGE.value
OK, REFUSED = Outcome.OK, Outcome.DEFINITE_ERROR


@pytest.mark.parametrize(
    ("outcome", "answer", "standing"),
    [
        (OK, {"offset": 0}, LogStanding.ACKNOWLEDGED),
        (OK, {"offset": 0, "acks": 1}, LogStanding.POSSIBLE),
        (OK, {"offset": -1}, LogStanding.POSSIBLE),
        (OK, {}, LogStanding.POSSIBLE),
        (Outcome.INDEFINITE, {"offset": 0}, LogStanding.POSSIBLE),
        (None, {"offset": 0}, LogStanding.POSSIBLE),
        (REFUSED, {"offset": 0}, LogStanding.REFUSED),
    ],
)
def test_the_answer_tells_the_standing_of_each_record(
    outcome: Outcome | None, answer: Fields, standing: LogStanding
) -> None:
    trace = Trace()
    event = trace.produce("ab", outcome, node="client-1", inv=3, ret=8, **answer)

    history = read_history(trace.events)

    is_there = standing is LogStanding.ACKNOWLEDGED
    offsets, ret = ([0, 1], 8) if is_there else ([-1, -1], UNBOUNDED)
    assert [(record.value, record.offset) for record in history.records] == [
        *zip("ab", offsets, strict=True)
    ]
    told = [(record.standing, record.inv, record.ret, record.event) for record in history.records]
    assert told == [(standing, 3, ret, event)] * 2
    assert history.answers == ((event,) if outcome is OK else ())


@pytest.mark.parametrize(
    ("action", "outcome", "error", "speaks"),
    [
        ("Fetch", OK, "", True),
        ("ListOffsets", OK, "", True),
        ("ReadLeaderAndIsr", OK, "", False),
        ("Fetch", REFUSED, BEYOND, True),
        ("ListOffsets", REFUSED, BEYOND, False),
        ("Fetch", REFUSED, "NOT_LEADER_OR_FOLLOWER", False),
        ("Fetch", Outcome.INDEFINITE, "", False),
        ("Fetch", None, "", False),
    ],
)
def test_what_says_something_of_the_log_is_an_answer(
    action: str, outcome: Outcome | None, error: str, speaks: bool
) -> None:
    trace = Trace()
    event = trace.operation("client-2", action, outcome, error_code=error or None)

    assert read_history(trace.events).answers == ((event,) if speaks else ())
    assert is_out_of_range(event) == (action == "Fetch" and error == BEYOND)


@pytest.mark.parametrize(("number", "expected"), [(None, 5), (-1, 5), (0, 0), (7, 7)])
def test_minus_one_is_not_known(number: int | None, expected: int) -> None:
    assert known(number, 5) == expected


def test_an_answer_without_it_was_invoked_as_it_came() -> None:
    trace = Trace()
    invocation = trace.fetch(0, "", 0, inv=3, ret=8)

    assert [invoked_ns(event) for event in trace.events] == [3, 3]
    assert invocation.mono_ns == 8


def last(trace: Trace, offset: int, values: str, high_watermark: int | None) -> None:
    told: Fields = {"offset": offset, "values": list(values), "high_watermark": high_watermark}
    trace.operation(FINAL_READER, "Fetch", OK, **told)


@pytest.mark.parametrize(
    ("fetches", "values"),
    [
        ([(0, "ab", 2)], "ab"),
        ([(0, "ab", None)], None),
        ([(0, "ab", 3)], None),
        ([(0, "a", 2), (1, "b", 2)], "ab"),
        ([(0, "a", 1), (5, "x", 1)], "a"),
        ([(1, "b", 1)], None),
        ([(0, "ab", 2), (0, "a", 1)], "a"),
        ([], None),
    ],
)
def test_the_final_read_is_the_last_pass_without_a_gap(
    fetches: list[tuple[int, str, int | None]], values: str | None
) -> None:
    trace = Trace()
    trace.fetch(0, "other", 5)
    for fetch in fetches:
        last(trace, *fetch)

    read = final_read(read_history(trace.events).answers)

    assert (read and "".join(read.values)) == values


def test_what_is_out_of_range_begins_no_pass() -> None:
    trace = Trace()
    last(trace, 0, "ab", 2)
    trace.operation(FINAL_READER, "Fetch", REFUSED, offset=0, error_code=BEYOND)

    read = final_read(read_history(trace.events).answers)

    assert read is not None
    assert (read.values, read.log_end_offset, read.last) == (("a", "b"), 2, trace.events[1])


@pytest.mark.parametrize(("listed", "expected"), [(5, 5), (1, 2), (-1, 2)])
def test_listed_offsets_tell_where_the_log_ends(listed: int, expected: int) -> None:
    trace = Trace()
    trace.operation(FINAL_READER, "ListOffsets", OK, log_end_offset=listed)
    last(trace, 0, "ab", 2)

    read = final_read(read_history(trace.events).answers)

    assert read is not None
    assert read.log_end_offset == expected
