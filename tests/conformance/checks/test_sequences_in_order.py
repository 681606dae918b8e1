"""What an idempotent producer numbers is in the log once, in order and whole."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks.sequences_in_order import check
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, ErrorCode, Outcome
from tests.conformance.checks.trace_builder import Fields, Trace

REFUSED = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def send(
    trace: Trace, values: str, base: int, epoch: int = 0, error: str = "", **fields: object
) -> TraceEvent:
    """A batch of producer 7: acknowledged, or refused with this error."""
    outcome = Outcome.DEFINITE_ERROR if error else Outcome.OK
    answer: Fields = {"error_code": error} if error else {"offset": base}
    numbers: Fields = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": base}
    line = {"acks": -1, "values": list(values), "leader_epoch": 1, **numbers, **answer, **fields}
    return trace.operation("client-1", "Produce", outcome, **line)


def messages(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def test_batches_in_their_order_and_under_later_epochs_are_well() -> None:
    trace = Trace()
    send(trace, "ab", 0)
    send(trace, "c", 2)
    send(trace, "d", 0, epoch=1)
    trace.broker(2, Action.FOLLOWER_APPEND, offset=0, values=["a", "b", "c", "d"])
    trace.final_read("abcd")

    result = check(trace.events)

    assert (result.verdict, result.premise_count) == (Verdict.PASS, 8)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("cab", "Number 2 of producer 7 under epoch 0 follows number -1 under epoch -1."),
        ("abd", "Number 3 of producer 7 under epoch 0 follows number 1 under epoch 0."),
        ("abcc", "Number 2 of producer 7 under epoch 0 follows number 2 under epoch 0."),
        ("eab", "Number 0 of producer 7 under epoch 0 follows number 0 under epoch 1."),
        ("a", "A log has a batch of producer 7 without its last 1."),
        ("axb", "A log has a batch of producer 7 without its last 1."),
    ],
)
def test_another_order_in_the_log_violates_it(log: str, message: str) -> None:
    trace = Trace()
    trace.produce("x")
    for values, base, epoch in (("ab", 0, 0), ("c", 2, 0), ("d", 3, 0), ("e", 0, 1)):
        send(trace, values, base, epoch)
    trace.final_read(log)

    assert message in messages(trace)


def test_a_batch_that_is_appended_in_part_violates_it() -> None:
    trace = Trace()
    send(trace, "ab", 0)
    trace.broker(2, Action.FOLLOWER_APPEND, offset=0, values=["a"])
    trace.broker(2, Action.FOLLOWER_APPEND, offset=1, values=["b"])

    assert messages(trace) == ["Broker 2 appended a batch without its last 1."]


def test_a_leader_that_forgot_the_producer_violates_it() -> None:
    trace = Trace()
    send(trace, "ab", 0)
    send(trace, "c", 2, error=REFUSED)

    assert "OUT_OF_ORDER_SEQUENCE_NUMBER for number 2, though everything" in messages(trace)[0]


def after_an_open_batch(trace: Trace) -> None:
    send(trace, "c", 2, error=ErrorCode.REQUEST_TIMED_OUT)
    send(trace, "d", 3, error=REFUSED)


def with_what_is_given_up(trace: Trace) -> None:
    send(trace, "d", 3, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    send(trace, "c", 2, error=REFUSED)


def by_an_older_leader(trace: Trace) -> None:
    send(trace, "c", 2, error=REFUSED, leader_epoch=0)


def by_a_leader_without_epoch(trace: Trace) -> None:
    send(trace, "c", 2, error=REFUSED, leader_epoch=None)


def after_an_unclean_election(trace: Trace) -> None:
    trace.broker(1, Action.ELECT_LEADER, leader=2, leader_epoch=1, is_unclean=True)
    send(trace, "c", 2, error=REFUSED)


def under_another_epoch(trace: Trace) -> None:
    send(trace, "c", 2, epoch=1, error=REFUSED)


def by_another_incarnation(trace: Trace) -> None:
    trace.final_read("ab", partition_incarnation=5)
    send(trace, "c", 2, error=REFUSED, partition_incarnation=9)


@pytest.mark.parametrize(
    "refuse",
    [
        after_an_open_batch,
        with_what_is_given_up,
        by_an_older_leader,
        by_a_leader_without_epoch,
        after_an_unclean_election,
        by_another_incarnation,
        under_another_epoch,
    ],
)
def test_a_refusal_that_may_be_right_violates_nothing(refuse: Callable[[Trace], None]) -> None:
    trace = Trace()
    send(trace, "ab", 0, partition_incarnation=5)
    refuse(trace)

    assert messages(trace) == []


def test_without_an_idempotent_producer_there_is_nothing_to_decide() -> None:
    trace = Trace()
    trace.produce("a", offset=0)
    trace.final_read("a")

    assert check(trace.events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize("missing", ["producer_id", "producer_epoch", "base_sequence"])
def test_without_all_its_numbers_a_record_is_not_judged(missing: str) -> None:
    trace = Trace()
    send(trace, "b", 1, 0, "", **{missing: None})
    trace.final_read("b")

    assert check(trace.events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize(
    "others",
    [
        {"producer_id": 8},
        {"epoch": 1},
        {"base": 2},
        {"base": 3},
        {"ret": 99},
        {"values": "a"},
    ],
)
def test_only_an_acknowledgement_of_all_before_makes_a_refusal_wrong(others: Fields) -> None:
    trace = Trace()
    line: Fields = {"values": "ab", "base": 0, **others}
    send(trace, **line)  # type: ignore[arg-type]
    send(trace, "c", 2, error=REFUSED)

    assert messages(trace) == []


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ({"values": "d", "base": 3}, 0),
        ({"values": "d", "base": 3, "producer_id": 8}, 1),
        ({"values": "d", "base": 3, "epoch": 1}, 1),
        ({"values": "c", "base": 2}, 1),
        ({"values": "d", "base": 3, "ret": 51}, 1),
        ({"values": "d", "base": 3, "ret": 50}, 0),
    ],
)
def test_only_a_batch_that_failed_by_then_excuses_a_refusal(failed: Fields, expected: int) -> None:
    trace = Trace()
    send(trace, "ab", 0)
    send(trace, error=ErrorCode.REQUEST_TIMED_OUT, **failed)  # type: ignore[arg-type]
    trace.fetch(0, "ab", 2)
    send(trace, "c", 2, error=REFUSED, ret=50)

    assert len(messages(trace)) == expected


def test_what_is_shown_is_the_last_batch_before_and_the_refusal() -> None:
    trace = Trace()
    send(trace, "a", 0)
    last = send(trace, "b", 1)
    refused = send(trace, "c", 2, error=REFUSED)
    trace.produce("x", Outcome.DEFINITE_ERROR, error_code=REFUSED, leader_epoch=1)

    (violation,) = check(trace.events).violations

    assert violation.witness == (last, refused)


@pytest.mark.parametrize(
    ("epoch", "number", "expected"),
    [(1, 2, 0), (1, 0, 1), (2, 0, 0), (2, 2, 1), (0, 2, 1), (0, 0, 1)],
)
def test_a_later_epoch_begins_again(epoch: int, number: int, expected: int) -> None:
    """Before it are the numbers 0 and 1 of epoch 1."""
    trace = Trace()
    send(trace, "ab", 0, 1)
    send(trace, "c", number, epoch)
    trace.final_read("abc")

    assert len(messages(trace)) == expected


def test_what_a_log_does_not_tell_is_not_judged() -> None:
    """After a gap a producer may go on with any number, and from there in order."""
    trace = Trace()
    for number, values in enumerate("abcd"):
        send(trace, values, number)
    trace.broker(2, Action.FOLLOWER_APPEND, offset=0, values=["a", "x"])
    trace.broker(2, Action.FOLLOWER_APPEND, offset=0, values=["x", "a"])
    trace.broker(2, Action.FOLLOWER_APPEND, offset=4, values=["c", "d"])
    assert messages(trace) == []

    trace.broker(2, Action.FOLLOWER_APPEND, offset=6, values=["b"])
    assert messages(trace) == [
        "Number 1 of producer 7 under epoch 0 follows number 3 under epoch 0."
    ]


@pytest.mark.parametrize("log", ["abe", "ac", "ade"])
def test_batches_do_not_mix(log: str) -> None:
    trace = Trace()
    send(trace, "abc", 0)
    send(trace, "de", 3)
    trace.final_read(log)

    assert "A log has a batch of producer 7 without its last" in messages(trace)[0]
