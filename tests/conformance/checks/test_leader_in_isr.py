"""Which ISR a leader works with, and what it adopts."""

import pytest

from fencepost.conformance.checks.leader_in_isr import check
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action
from tests.conformance.checks.trace_builder import ZNODE, Trace, document


@pytest.mark.parametrize(
    ("action", "isr"),
    [("ServeFetch", [2]), (Action.BECOME_LEADER, None), (Action.FENCE_LEADER, [2])],
)
def test_lines_that_do_not_tell_what_a_leader_has_decide_nothing(
    action: str, isr: list[int] | None
) -> None:
    trace = Trace()
    trace.broker(1, action, leader=1, isr=isr, maximal_isr=[1])

    assert check(trace.events).verdict is Verdict.VACUOUS


def test_a_commit_that_does_not_tell_what_it_needs_is_not_judged() -> None:
    trace = Trace()
    trace.broker(1, Action.ADVANCE_HIGH_WATERMARK, isr=[1])

    assert check(trace.events).verdict is Verdict.PASS


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

    assert len(check(trace.events).violations) == expected
