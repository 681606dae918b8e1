from collections.abc import Callable

import pytest

from fencepost.conformance.checks.acknowledged_durable import check
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Outcome
from tests.conformance.checks.trace_builder import Trace


def test_acknowledged_records_in_the_final_read_pass() -> None:
    trace = Trace()
    trace.produce("ab", offset=0)
    trace.fetch(0, "a", 1)
    trace.fetch(0, "a", 2, node="client-final")
    trace.fetch(1, "b", 2, node="client-final")
    result = check(trace.events)

    assert result.verdict is Verdict.PASS
    assert result.premise_count == 2


def test_nothing_acknowledged_is_vacuous() -> None:
    trace = Trace()
    trace.produce("a", offset=0, acks=1)
    trace.produce("b", Outcome.INDEFINITE)
    trace.final_read("")

    assert check(trace.events).verdict is Verdict.VACUOUS


def lost(trace: Trace) -> None:
    trace.final_read("a")


def changed(trace: Trace) -> None:
    trace.final_read("ac")


def read_otherwise_later(trace: Trace) -> None:
    trace.fetch(1, "c", 2)
    trace.final_read("ab")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lost, "is lost: the final log ends at 1"),
        (changed, "is lost: the final read finds c there"),
        (read_otherwise_later, "then read as c"),
    ],
)
def test_a_record_that_is_gone_is_caught(write: Callable[[Trace], None], message: str) -> None:
    trace = Trace()
    written = trace.produce("ab", offset=0)
    write(trace)
    result = check(trace.events)

    assert [violation.message for violation in result.violations if message in violation.message]
    assert result.violations[0].witness[0] is written


def no_final_read(trace: Trace) -> None:
    trace.fetch(0, "ab", 2)


def final_read_that_stops_early(trace: Trace) -> None:
    trace.final_read("a", high_watermark=2)


def final_read_that_starts_late(trace: Trace) -> None:
    trace.fetch(1, "b", 2, node="client-final")


def final_high_watermark_that_lags(trace: Trace) -> None:
    trace.final_read("a", log_end_offset=2)


@pytest.mark.parametrize(
    "write",
    [
        no_final_read,
        final_read_that_stops_early,
        final_read_that_starts_late,
        final_high_watermark_that_lags,
    ],
)
def test_without_a_complete_final_read_nothing_is_decided(write: Callable[[Trace], None]) -> None:
    trace = Trace()
    trace.produce("ab", offset=0)
    write(trace)

    assert check(trace.events).verdict is Verdict.INCONCLUSIVE


def test_the_last_complete_pass_counts() -> None:
    trace = Trace()
    trace.produce("ab", offset=0)
    trace.final_read("a")
    trace.final_read("ab")

    assert check(trace.events).verdict is Verdict.PASS


def test_an_acknowledgement_beside_the_final_read_may_be_missed() -> None:
    trace = Trace()
    trace.produce("a", offset=0, inv=1, ret=9)
    trace.final_read("", inv=5, ret=7)

    assert check(trace.events).verdict is Verdict.PASS


@pytest.mark.parametrize(("asked_at", "expected"), [(4, 0), (5, 0), (6, 1)])
def test_what_was_asked_for_before_the_acknowledgement_says_nothing(
    asked_at: int, expected: int
) -> None:
    """Equal stamps are concurrent."""
    trace = Trace()
    trace.produce("a", offset=0, inv=1, ret=5)
    trace.fetch(0, "b", 1, inv=asked_at, ret=9)
    trace.final_read("c", inv=asked_at, ret=10)

    assert len(check(trace.events).violations) == 3 * expected


def test_an_acknowledgement_is_no_read() -> None:
    trace = Trace()
    trace.produce("b", offset=0, inv=3, ret=4)
    trace.produce("a", offset=0, inv=1, ret=2)

    assert check(trace.events).violations == ()
