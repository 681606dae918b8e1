"""No append for acks=all begins under an ISR that is smaller than the run asks for."""

import pytest
from msgspec.structs import replace

from fencepost.conformance.checks.min_insync_replicas import check
from fencepost.conformance.checks.registry import CHECKS, run_check
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action, Invariant
from tests.conformance.checks.trace_builder import Trace


def led(least: int | None, isr: list[int]) -> Trace:
    """A run that asks for so many replicas in sync, with a leader that knows this ISR."""
    trace = Trace()
    told: dict[str, object] = {} if least is None else {"min_insync_replicas": least}
    trace.add("harness", Kind.RUN, "RunStarted", told)
    trace.broker(1, Action.BECOME_LEADER, leader=1, leader_epoch=1, isr=isr)
    return trace


def append(trace: Trace, value: str, acks: int = -1) -> None:
    trace.produce(value, acks=acks)
    trace.broker(1, Action.LEADER_APPEND, leader_epoch=1, offset=0, values=[value])


def test_an_append_under_too_small_an_isr_violates_it() -> None:
    trace = led(2, [1])
    append(trace, "a")

    (violation,) = check(trace.events).violations

    assert "appended a record of acks=all while its ISR was [1], and 2 replicas" in (
        violation.message
    )
    assert [event.action for event in violation.witness] == ["BecomeLeader", "LeaderAppend"]


def test_what_asked_for_the_append_is_the_produce() -> None:
    """A reader has the record too, and asks for no acks."""
    trace = led(2, [1])
    append(trace, "a")
    trace.fetch(0, "a", 1)

    assert len(check(trace.events).violations) == 1


def test_the_isr_of_the_last_write_counts() -> None:
    trace = led(2, [1, 2])
    append(trace, "a")
    trace.broker(1, Action.SHRINK_ISR, leader_epoch=1, isr=[1], maximal_isr=[1, 2])
    append(trace, "b")
    trace.broker(1, Action.ADOPT_ISR, leader_epoch=1, isr=[1], znode_version=1)
    append(trace, "c")

    result = check(trace.events)

    assert result.premise_count == 3
    assert [violation.witness[-1].values for violation in result.violations] == [["c"]]


@pytest.mark.parametrize("least", [None, 1])
def test_a_run_that_asks_for_the_leader_alone_decides_nothing(least: int | None) -> None:
    trace = led(least, [1])
    append(trace, "a")

    assert check(trace.events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize("acks", [0, 1])
def test_fewer_acks_ask_for_no_isr(acks: int) -> None:
    trace = led(2, [1])
    append(trace, "a", acks=acks)

    assert check(trace.events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize("is_told", [True, False])
def test_a_leader_of_which_no_isr_is_known_decides_nothing(*, is_told: bool) -> None:
    trace = led(2, [1])
    append(trace, "a")
    trace.events[1:2] = [replace(trace.events[1], isr=None)] if is_told else []

    assert check(trace.events).verdict is Verdict.VACUOUS


def test_what_is_set_for_the_run_counts_in_each_partition() -> None:
    trace = led(2, [1])
    append(trace, "a")
    trace.broker(2, Action.BECOME_LEADER, partition=1, leader=2, leader_epoch=1, isr=[2])
    trace.produce("b", partition=1)
    trace.broker(2, Action.LEADER_APPEND, partition=1, leader_epoch=1, offset=0, values=["b"])

    result = run_check(CHECKS[Invariant.MIN_INSYNC_REPLICAS], trace.events)

    assert [violation.partition for violation in result.violations] == [0, 1]
