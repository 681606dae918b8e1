"""Where a high watermark may move, by the lines of brokers and by what clients are answered."""

import pytest

from fencepost.conformance.checks.high_watermark_monotonic import check
from fencepost.conformance.checks.trace_dialect import KAFKA_2_7
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action, Outcome
from tests.conformance.checks.test_replica_checks import append, replica
from tests.conformance.checks.trace_builder import Fields, Trace


def test_a_restart_may_read_back_an_older_high_watermark() -> None:
    trace = Trace()
    append(trace, 1, 0, "ab", 2)
    trace.broker(1, "LogRecovered", incarnation=2, log_end_offset=2, high_watermark=1)
    append(trace, 1, 2, "c", 2)

    assert check(trace.events).verdict is Verdict.PASS


def test_answers_at_the_same_time_have_no_order() -> None:
    trace = Trace()
    trace.broker(1, "BecomeLeader", leader_epoch=1)
    trace.fetch(0, "ab", 2, broker_id=1, inv=10, ret=20)
    trace.fetch(0, "a", 1, broker_id=1, inv=20, ret=30)

    assert check(trace.events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize(("epoch", "incarnation"), [(2, 1), (1, 2)])
def test_answers_of_a_broker_that_led_twice_are_of_no_epoch(epoch: int, incarnation: int) -> None:
    trace = Trace()
    trace.broker(1, "BecomeLeader", leader_epoch=1)
    trace.fetch(0, "ab", 2, broker_id=1, leader_epoch=None)
    trace.broker(1, "BecomeLeader", leader_epoch=epoch, incarnation=incarnation)
    trace.fetch(0, "a", 1, broker_id=1, leader_epoch=None)

    assert check(trace.events).verdict is Verdict.VACUOUS


def test_a_dialect_whose_lines_have_no_order_is_judged_by_answers_alone() -> None:
    trace = Trace()
    trace.broker(1, "BecomeLeader", leader_epoch=1)
    trace.broker(1, "AdvanceHighWatermark", leader_epoch=1, high_watermark=2)
    trace.broker(1, "AdvanceHighWatermark", leader_epoch=1, high_watermark=1)

    assert check(trace.events).violations
    result = check(trace.events, KAFKA_2_7)
    assert result.verdict is Verdict.VACUOUS
    trace.fetch(0, "ab", 2, broker_id=1)
    trace.fetch(0, "ab", 2, broker_id=1)
    assert check(trace.events, KAFKA_2_7).verdict is Verdict.PASS


def test_a_follower_may_lag_and_a_line_without_a_high_watermark_says_nothing() -> None:
    trace = Trace()
    for high_watermark in (2, 1):
        append(trace, 2, 0, "ab", high_watermark)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 2, 2)
    trace.broker(1, Action.LEADER_APPEND, leader_epoch=1, log_end_offset=3)
    assert check(trace.events).violations == ()

    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 1, 3)

    assert len(check(trace.events).violations) == 1


def test_answers_are_compared_with_the_highest_that_came_before() -> None:
    trace = Trace()
    trace.broker(1, Action.BECOME_LEADER, leader_epoch=1)
    one, *_ = (trace.fetch(0, "", end, broker_id=1) for end in (1, 3, 3, 2, 2))
    found = check(trace.events).violations

    assert [violation.message[-12:] for violation in found] == ["from 3 to 2."] * 2
    assert {violation.witness[0].mono_ns for violation in found} == {one.mono_ns + 2}


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (Outcome.OK, {"leader_epoch": 5}),
        (Outcome.DEFINITE_ERROR, {"leader_epoch": 1}),
        (Outcome.OK, {"leader_epoch": 1, "high_watermark": None}),
        (Outcome.OK, {"leader_epoch": 5, "log_end_offset": 0}),
    ],
)
def test_answers_of_other_epochs_and_errors_are_of_no_leader(
    outcome: Outcome, answer: Fields
) -> None:
    trace = Trace()
    trace.broker(1, Action.BECOME_LEADER, leader_epoch=1)
    trace.fetch(0, "ab", 2, broker_id=1)
    line = {"broker_id": 1, "high_watermark": 1, **answer}
    trace.operation("client-2", "ListOffsets", outcome, **line)

    assert check(trace.events).verdict is Verdict.VACUOUS
