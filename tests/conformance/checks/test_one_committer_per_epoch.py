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
    ("append", "answer", "commits", "expected"),
    [
        ({}, {}, 2, 1),
        ({}, {"broker_id": 1}, 2, 0),
        ({}, {"acks": 1}, 1, 0),
        ({}, {"outcome": Outcome.DEFINITE_ERROR}, 1, 0),
        ({}, {"outcome": Outcome.INDEFINITE}, 1, 0),
        ({}, {"outcome": None}, 1, 0),
        ({}, {"leader_epoch": 0}, 2, 0),
        ({}, {"leader_epoch": -1}, 2, 1),
        ({}, {"leader_epoch": None}, 2, 1),
        ({}, {"leader_epoch": None, "acks": 1}, 1, 0),
        ({}, {"leader_epoch": None, "broker_id": None}, 1, 0),
        ({}, {"leader_epoch": None, "offset": 1}, 1, 0),
        ({}, {"leader_epoch": None, "offset": 7}, 1, 0),
        ({"offset": 1, "values": ["x", "a"], "record_epochs": [0, 1]}, {"offset": 2}, 2, 1),
        (
            {"offset": 1, "values": ["x", "a"], "record_epochs": [0, 1]},
            {"offset": 2, "leader_epoch": None},
            2,
            1,
        ),
        ({"offset": 1}, {"leader_epoch": None}, 1, 0),
        ({"offset": None}, {"leader_epoch": None}, 1, 0),
        ({"values": ["b"]}, {"leader_epoch": None}, 1, 0),
        ({"record_epochs": None}, {"leader_epoch": None}, 1, 0),
    ],
)
def test_an_acknowledgement_is_of_the_epoch_that_it_or_a_log_names(
    append: Fields, answer: Fields, commits: int, expected: int
) -> None:
    trace = Trace()
    advance(trace, 1, 1, 1)
    records: Fields = {"offset": 0, "values": ["a", "b"], "record_epochs": [1, 1]}
    trace.broker(3, Action.FOLLOWER_APPEND, **{**records, "leader_epoch": 1, **append})
    line: Fields = {"offset": 0, "broker_id": 2, "leader_epoch": 1, **answer}
    outcome = line.pop("outcome", Outcome.OK)
    told = Outcome(str(outcome)) if outcome else None
    trace.produce("a", told, node="client-1", **line)
    trace.fetch(0, "a", 1)
    result = check(trace.events)

    assert (result.premise_count, len(result.violations)) == (commits, expected)


def test_two_committers_of_an_epoch_are_told_once() -> None:
    trace = Trace()
    for broker_id, epoch, end in ((1, 0, 1), (2, 0, 2), (2, 0, 3), (3, 0, 1), (3, 1, 3)):
        advance(trace, broker_id, epoch, end)
    found = check(trace.events).violations

    assert [violation.message for violation in found] == [
        "Brokers 1 and 2 both committed in leader epoch 0.",
        "Brokers 1 and 3 both committed in leader epoch 0.",
    ]
    assert [[event.high_watermark for event in one.witness] for one in found] == [[1, 2], [1, 1]]


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
