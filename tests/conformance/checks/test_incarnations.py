"""A partition that was deleted and created again is another one, and is judged as strictly."""

from collections.abc import Callable

import pytest
from msgspec import structs

from fencepost.conformance.checks import delete_only_if_unassigned
from fencepost.conformance.checks.incarnations import is_over, split_by_incarnation, split_history
from fencepost.conformance.checks.log_history import read_history
from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action, Invariant, Outcome
from tests.conformance.checks.trace_builder import ZNODE, Trace, document

FIRST, SECOND = 10, 20


def violated(trace: Trace) -> set[Invariant]:
    return {r.invariant for r in run_checks(trace.events) if r.verdict is Verdict.FAIL}


def lead(trace: Trace, broker_id: int, incarnation: int, *, epoch: int = 0, end: int = 0) -> None:
    role = {"leader": broker_id, "leader_epoch": epoch, "isr": [broker_id], "znode_version": 0}
    trace.broker(
        broker_id,
        Action.BECOME_LEADER,
        **role,
        partition_incarnation=incarnation,
        controller_epoch=1,
        high_watermark=0,
        log_end_offset=end,
    )


def commit(trace: Trace, broker_id: int, incarnation: int, value: str, offset: int) -> None:
    end = offset + 1
    told = {"leader_epoch": 0, "partition_incarnation": incarnation, "log_end_offset": end}
    record = {"offset": offset, "values": [value], "record_epochs": [0]}
    trace.broker(broker_id, Action.LEADER_APPEND, **told, **record, high_watermark=offset)
    isr = {"isr": [broker_id], "maximal_isr": [broker_id]}
    trace.broker(broker_id, Action.ADVANCE_HIGH_WATERMARK, **told, **isr, high_watermark=end)
    named = incarnation
    trace.produce(
        value, offset=offset, leader_epoch=0, broker_id=broker_id, partition_incarnation=named
    )


def read(trace: Trace, values: str, incarnation: int, *, node: str = "client-2") -> None:
    told = {"leader_epoch": 0, "partition_incarnation": incarnation}
    trace.fetch(0, values, len(values), node=node, **told)


def created_again() -> Trace:
    """Broker 1 commits `a`, `b`; after a deletion broker 2 leads the next one and commits `c`."""
    trace = Trace()
    lead(trace, 1, FIRST)
    commit(trace, 1, FIRST, "a", 0)
    commit(trace, 1, FIRST, "b", 1)
    read(trace, "ab", FIRST)
    lead(trace, 2, SECOND)
    commit(trace, 2, SECOND, "c", 0)
    read(trace, "c", SECOND)
    return trace


def test_a_partition_that_was_created_again_has_another_log() -> None:
    trace = created_again()
    read(trace, "c", SECOND, node="client-final")

    assert violated(trace) == set()


def test_without_names_all_is_taken_for_one_partition() -> None:
    """The checks do not guess: an implementation that names no incarnation has but one."""
    trace = created_again()
    read(trace, "c", SECOND, node="client-final")
    trace.events = [structs.replace(event, partition_incarnation=None) for event in trace.events]

    assert violated(trace) == {
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LINEARIZABLE_LOG,
        Invariant.LOG_MATCHING,
        Invariant.ONE_COMMITTER_PER_EPOCH,
        Invariant.ONE_LEADER_PER_EPOCH,
    }


def test_a_record_of_the_second_incarnation_is_not_lost() -> None:
    trace = created_again()
    read(trace, "", SECOND, node="client-final")

    assert violated(trace) == {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}


def two_leaders(trace: Trace) -> None:
    lead(trace, 3, SECOND)


def a_leader_without_the_record(trace: Trace) -> None:
    lead(trace, 3, SECOND, epoch=1)


def two_committers(trace: Trace) -> None:
    commit(trace, 3, SECOND, "d", 1)


def another_record_there(trace: Trace) -> None:
    told = {"leader_epoch": 0, "partition_incarnation": SECOND}
    record = {"offset": 0, "values": ["d"], "record_epochs": [0]}
    trace.broker(3, Action.FOLLOWER_APPEND, **told, **record, high_watermark=1, log_end_offset=1)


def a_lower_high_watermark(trace: Trace) -> None:
    told = {"leader_epoch": 0, "partition_incarnation": SECOND, "log_end_offset": 1}
    isr = {"isr": [2], "maximal_isr": [2]}
    trace.broker(2, Action.ADVANCE_HIGH_WATERMARK, **told, **isr, high_watermark=0)


def obeyed_the_first_again(trace: Trace) -> None:
    lead(trace, 2, FIRST, epoch=7)


@pytest.mark.parametrize(
    ("story", "invariant"),
    [
        (two_leaders, Invariant.ONE_LEADER_PER_EPOCH),
        (a_leader_without_the_record, Invariant.LEADER_COMPLETE),
        (a_leader_without_the_record, Invariant.ONE_COMMITTER_PER_EPOCH),
        (two_committers, Invariant.ONE_COMMITTER_PER_EPOCH),
        (another_record_there, Invariant.LOG_MATCHING),
        (a_lower_high_watermark, Invariant.HIGH_WATERMARK_MONOTONIC),
        (obeyed_the_first_again, Invariant.STALE_CONTROLLER_HARMLESS),
    ],
)
def test_the_second_incarnation_is_judged_as_strictly(
    story: Callable[[Trace], None], invariant: Invariant
) -> None:
    trace = created_again()
    story(trace)

    assert invariant in violated(trace)


def test_a_record_of_the_first_is_never_in_the_second() -> None:
    trace = created_again()
    read(trace, "cb", SECOND)

    assert violated(trace) == {Invariant.LINEARIZABLE_LOG}


def test_a_request_that_was_sent_again_may_be_in_both() -> None:
    """An idempotent producer sends its request until it is answered; a log knows its own only."""
    trace = created_again()
    trace.produce(
        "d", offset=2, leader_epoch=0, broker_id=1, producer_id=5, partition_incarnation=FIRST
    )
    read(trace, "abd", FIRST)
    read(trace, "cd", SECOND)

    assert violated(trace) == set()


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (Outcome.INDEFINITE, {}),
        (None, {}),
        (Outcome.OK, {"acks": 1}),
        (Outcome.INDEFINITE, {"partition_incarnation": FIRST + SECOND}),
    ],
)
@pytest.mark.parametrize("incarnation", [FIRST, SECOND])
def test_a_produce_of_unknown_effect_may_be_in_either(
    outcome: Outcome | None, answer: dict[str, int], incarnation: int
) -> None:
    trace = created_again()
    trace.produce("d", outcome, node="client-1", **answer)
    read(trace, {FIRST: "abd", SECOND: "cd"}[incarnation], incarnation)

    assert violated(trace) == set()


def test_a_refused_produce_is_in_neither() -> None:
    trace = created_again()
    trace.produce("d", Outcome.DEFINITE_ERROR)
    read(trace, "cd", SECOND)

    assert violated(trace) == {Invariant.LINEARIZABLE_LOG}


def states(trace: Trace, *, gone: bool) -> None:
    """ZooKeeper's lines of a state that is created, deleted and created; perhaps deleted again."""
    trace.zookeeper("Create", ZNODE, document(1, 0, [1]), session=1, zxid=FIRST)
    trace.zookeeper("Delete", ZNODE, "", session=1, zxid=FIRST + 1)
    trace.zookeeper("Create", ZNODE, document(2, 0, [2]), session=1, zxid=SECOND)
    if gone:
        trace.zookeeper("Delete", ZNODE, "", session=1, zxid=SECOND + 1)


def acknowledged_durable(trace: Trace) -> tuple[Verdict, int]:
    (result,) = (
        r for r in run_checks(trace.events) if r.invariant is Invariant.ACKNOWLEDGED_DURABLE
    )
    return result.verdict, result.premise_count


def test_a_partition_that_is_there_at_the_end_must_be_read() -> None:
    trace = created_again()
    states(trace, gone=False)

    assert acknowledged_durable(trace) == (Verdict.INCONCLUSIVE, 1)


def test_one_that_is_gone_at_the_end_cannot_be_read() -> None:
    trace = created_again()
    states(trace, gone=True)

    assert acknowledged_durable(trace) == (Verdict.VACUOUS, 0)


def test_lines_of_zookeeper_belong_to_what_was_created_last() -> None:
    trace = Trace()
    states(trace, gone=True)

    parts = {
        number: [event.zxid for event in part]
        for number, part in split_by_incarnation(trace.events)
    }
    assert parts == {0: [], FIRST: [FIRST, FIRST + 1], SECOND: [SECOND, SECOND + 1]}


def test_a_line_that_names_no_incarnation_is_about_each_only_where_it_excuses() -> None:
    trace = Trace()
    for action, incarnation in (
        (Action.ELECT_LEADER, None),
        (Action.ELECT_LEADER, FIRST),
        (Action.BECOME_LEADER, None),
        (Action.BECOME_LEADER, SECOND),
    ):
        trace.broker(1, action, partition_incarnation=incarnation, is_unclean=True)

    parts = {number: [e.seq for e in part] for number, part in split_by_incarnation(trace.events)}
    assert parts == {0: [0, 2], FIRST: [0, 1], SECOND: [0, 3]}


@pytest.mark.parametrize(
    ("lines", "incarnation", "expected"),
    [
        ((("Create", FIRST),), FIRST, False),
        ((("Create", FIRST), ("SetData", FIRST + 5)), FIRST, False),
        ((("Create", FIRST), ("Delete", FIRST + 5)), FIRST, True),
        ((("Create", FIRST), ("Delete", FIRST + 5)), 0, True),
        ((("Create", FIRST), ("Delete", FIRST + 5), ("Create", SECOND)), FIRST, True),
        ((("Create", FIRST), ("Delete", FIRST + 5), ("Create", SECOND)), SECOND, False),
        ((("Create", FIRST),), 0, False),
        ((), FIRST, False),
    ],
)
def test_an_incarnation_is_over_once_it_is_deleted(
    lines: tuple[tuple[str, int], ...], incarnation: int, *, expected: bool
) -> None:
    trace = Trace()
    for action, zxid in lines:
        trace.zookeeper(action, ZNODE, "", session=1, zxid=zxid)

    assert is_over(incarnation, trace.events) is expected


def test_what_names_no_incarnation_is_of_the_only_one() -> None:
    trace = Trace()
    trace.fetch(0, "", 0, partition_incarnation=FIRST)
    trace.fetch(0, "", 0)
    history = read_history(trace.events)

    assert list(split_history(history)) == [(FIRST, history)]


def test_an_election_that_names_no_incarnation_excuses_each() -> None:
    trace = created_again()
    decision = {"leader": 3, "leader_epoch": 1, "isr": [3], "is_unclean": True}
    trace.broker(3, Action.ELECT_LEADER, **decision, controller_epoch=1)
    a_leader_without_the_record(trace)
    answer = {"leader_epoch": 1, "partition_incarnation": SECOND}
    trace.fetch(0, "", 0, node="client-final", **answer)

    assert violated(trace) == set()


def test_a_stop_of_the_second_is_not_compared_with_what_was_obeyed_of_the_first() -> None:
    trace = Trace()
    lead(trace, 1, FIRST, epoch=5)
    stop = {"leader_epoch": 1, "partition_incarnation": SECOND, "controller_epoch": 1}
    trace.broker(1, Action.STOP_REPLICA, **stop)

    assert delete_only_if_unassigned.check(trace.events).violations == ()
