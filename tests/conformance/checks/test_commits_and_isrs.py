"""What counts as a commit, as an answer of one leader, and as an ISR that a leader has."""

import pytest

from fencepost.conformance.checks import (
    high_watermark_monotonic,
    leader_in_isr,
    one_committer_per_epoch,
    one_leader_per_epoch,
)
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action, Outcome
from tests.conformance.checks.test_replica_checks import append, replica
from tests.conformance.checks.trace_builder import ZNODE, Fields, Trace, document


@pytest.mark.parametrize(
    ("answer", "premise", "expected"),
    [
        ({}, 2, 1),
        ({"acks": 1}, 1, 0),
        ({"outcome": Outcome.DEFINITE_ERROR}, 1, 0),
        ({"leader_epoch": 0}, 2, 0),
        ({"leader_epoch": None}, 2, 1),
        ({"leader_epoch": -1}, 2, 1),
        ({"leader_epoch": None, "broker_id": None}, 1, 0),
        ({"leader_epoch": None, "values": ["z"]}, 1, 0),
        ({"leader_epoch": None, "offset": 7}, 1, 0),
    ],
)
def test_an_acknowledgement_is_of_the_epoch_that_it_or_a_log_names(
    answer: Fields, premise: int, expected: int
) -> None:
    trace = Trace()
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 1, 1)
    append(trace, 3, 0, "ab", 0)
    line: Fields = {"acks": -1, "values": ["a"], "offset": 0, "broker_id": 2, "leader_epoch": 1}
    outcome = Outcome(str(answer.pop("outcome", Outcome.OK)))
    trace.operation("client-1", "Produce", outcome, **{**line, **answer})
    result = one_committer_per_epoch.check(trace.events)

    assert (result.premise_count, len(result.violations)) == (premise, expected)


def test_two_committers_of_an_epoch_are_told_once() -> None:
    trace = Trace()
    for broker_id, end in ((1, 1), (2, 1), (2, 2), (3, 1)):
        replica(trace, Action.ADVANCE_HIGH_WATERMARK, broker_id, 0, end, end)
    found = one_committer_per_epoch.check(trace.events).violations

    assert [violation.message for violation in found] == [
        "Brokers 1 and 2 both committed in leader epoch 0.",
        "Brokers 1 and 3 both committed in leader epoch 0.",
    ]


def test_a_leader_that_does_not_tell_where_it_begins_contradicts_no_commit() -> None:
    trace = Trace()
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 1, 1)
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=2)

    assert one_committer_per_epoch.check(trace.events).violations == ()


def test_a_document_without_a_leader_names_none() -> None:
    trace = Trace()
    trace.zookeeper("Create", ZNODE, document(-1, 1, [1]), session=9, zxid=1)
    trace.zookeeper("SetData", ZNODE, document(1, 1, [1]), session=9, zxid=2, version=1)

    assert one_leader_per_epoch.check(trace.events).violations == ()


def test_a_follower_may_lag_and_a_line_without_a_high_watermark_says_nothing() -> None:
    trace = Trace()
    for high_watermark in (2, 1):
        append(trace, 2, 0, "ab", high_watermark)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 2, 2)
    trace.broker(1, Action.LEADER_APPEND, leader_epoch=1, log_end_offset=3)
    assert high_watermark_monotonic.check(trace.events).violations == ()

    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 1, 3)

    assert len(high_watermark_monotonic.check(trace.events).violations) == 1


def test_answers_are_compared_with_the_highest_that_came_before() -> None:
    trace = Trace()
    trace.broker(1, Action.BECOME_LEADER, leader_epoch=1)
    one, *_ = (trace.fetch(0, "", end, broker_id=1) for end in (1, 3, 3, 2, 2))
    found = high_watermark_monotonic.check(trace.events).violations

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

    assert high_watermark_monotonic.check(trace.events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize(
    ("action", "isr"),
    [("ServeFetch", [2]), (Action.BECOME_LEADER, None), (Action.FENCE_LEADER, [2])],
)
def test_lines_that_do_not_tell_what_a_leader_has_decide_nothing(
    action: str, isr: list[int] | None
) -> None:
    trace = Trace()
    trace.broker(1, action, leader=1, isr=isr, maximal_isr=[1])

    assert leader_in_isr.check(trace.events).verdict is Verdict.VACUOUS


def test_a_commit_that_does_not_tell_what_it_needs_is_not_judged() -> None:
    trace = Trace()
    trace.broker(1, Action.ADVANCE_HIGH_WATERMARK, isr=[1])

    assert leader_in_isr.check(trace.events).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("expected_version", "action", "version", "isr", "expected"),
    [
        (0, Action.ADOPT_ISR, 1, [1, 2], 0),
        (0, Action.ADOPT_ISR, 1, [1, 3], 0),
        (0, Action.ADOPT_ISR, 2, [1, 3], 1),
        (0, Action.ADOPT_ISR, 1, [1, 2, 3], 1),
        (0, Action.ADOPT_ISR, 0, [1, 2, 3], 1),
        (1, Action.ADOPT_ISR, 1, [1, 3], 1),
        (0, Action.BECOME_LEADER, 0, [1, 2, 3], 0),
        (None, Action.ADOPT_ISR, 0, [1, 2, 3], 0),
    ],
)
def test_a_leader_adopts_what_it_asked_for_or_what_was_written_later(
    expected_version: int | None, action: str, version: int, isr: list[int], expected: int
) -> None:
    """ZooKeeper held 1, 2 and 3 at first, then 1 and 3; None: it had not asked."""
    trace = Trace()
    for number, held in enumerate(([1, 2, 3], [1, 3])):
        step = "SetData" if number else "Create"
        trace.zookeeper(step, ZNODE, document(1, 0, held), session=9, zxid=number, version=number)
    if expected_version is not None:
        asked = {"isr": [1, 2], "maximal_isr": [1, 2, 3], "expected_version": expected_version}
        trace.broker(1, Action.SHRINK_ISR, **asked)
    trace.broker(1, action, leader=1, isr=isr, znode_version=version)

    assert len(leader_in_isr.check(trace.events).violations) == expected
