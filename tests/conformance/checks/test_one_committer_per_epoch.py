"""Which broker commits in a leader epoch, and where the next one begins."""

import pytest

from fencepost.conformance.checks.one_committer_per_epoch import check
from fencepost.spec.vocabulary import Action, Outcome
from tests.conformance.checks.trace_builder import Fields, Trace


def messages(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def advance(trace: Trace, broker_id: int, epoch: int, high_watermark: int) -> None:
    told = {"leader_epoch": epoch, "high_watermark": high_watermark}
    trace.broker(broker_id, Action.ADVANCE_HIGH_WATERMARK, **told)


@pytest.mark.parametrize(
    ("outcome", "fields", "commits"),
    [
        (Outcome.OK, {"leader_epoch": 0}, 1),
        (Outcome.OK, {"leader_epoch": 1}, 1),
        (Outcome.OK, {"leader_epoch": -1}, 0),
        (Outcome.OK, {"leader_epoch": 0, "acks": 1}, 0),
        (Outcome.INDEFINITE, {"leader_epoch": 0}, 0),
        (None, {"leader_epoch": 0}, 0),
    ],
)
def test_acknowledgements_of_all_commit(
    outcome: Outcome | None, fields: Fields, commits: int
) -> None:
    trace = Trace()
    trace.produce("a", outcome, node="client-1", offset=0, **fields)
    trace.fetch(0, "a", 1)

    assert check(trace.events).premise_count == commits


@pytest.mark.parametrize(
    ("append", "answer", "commits"),
    [
        ({}, {}, 1),
        ({"offset": 1, "values": ["x", "a"], "record_epochs": [0, 2]}, {"offset": 2}, 1),
        ({"offset": 1}, {}, 0),
        ({"values": ["b"]}, {}, 0),
        ({"record_epochs": None}, {}, 0),
        ({}, {"broker_id": None}, 0),
        ({}, {"leader_epoch": 0}, 1),
        ({}, {"acks": 1}, 0),
    ],
)
def test_an_acknowledgement_without_an_epoch_is_of_the_one_that_appended(
    append: Fields, answer: Fields, commits: int
) -> None:
    trace = Trace()
    line: Fields = {"offset": 0, "values": ["a"], "record_epochs": [2], "leader_epoch": 2}
    trace.broker(1, Action.LEADER_APPEND, **{**line, **append})
    told: Fields = {"offset": 0, "leader_epoch": None, "broker_id": 3, **answer}
    trace.produce("a", Outcome.OK, node="client-1", **told)

    assert check(trace.events).premise_count == commits


def test_a_second_broker_that_commits_is_told_once() -> None:
    trace = Trace()
    advance(trace, 1, 0, 1)
    for high_watermark in (2, 3):
        advance(trace, 2, 0, high_watermark)
    advance(trace, 3, 1, 3)

    (violation,) = check(trace.events).violations

    assert violation.message == "Brokers 1 and 2 both committed in leader epoch 0."
    assert [event.high_watermark for event in violation.witness] == [1, 2]


@pytest.mark.parametrize(
    ("epoch", "begins", "expected"),
    [
        (1, 2, []),
        (1, 1, ["up to offset 2 in leader epoch 0, and epoch 1 began at 1 on broker 2."]),
        (1, None, []),
        (0, 1, []),
    ],
)
def test_a_later_epoch_begins_behind_what_earlier_ones_committed(
    epoch: int, begins: int | None, expected: list[str]
) -> None:
    trace = Trace()
    for high_watermark in (2, 1):
        advance(trace, 1, 0, high_watermark)
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=epoch, log_end_offset=begins)

    assert messages(trace) == [f"Broker 1 committed {one}" for one in expected]


def test_an_acknowledgement_commits_all_its_records() -> None:
    trace = Trace()
    trace.produce("abc", offset=4, leader_epoch=0, broker_id=1)
    for begins in (7, 6):
        trace.broker(2, Action.BECOME_LEADER, leader_epoch=begins, log_end_offset=begins)

    assert messages(trace) == [
        "Broker 1 committed up to offset 7 in leader epoch 0, and epoch 6 began at 6 on broker 2."
    ]
