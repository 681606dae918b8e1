"""What an election outside the ISR may lose when it says so, and what it may not."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fencepost.conformance.checks import only_authorised_writes
from fencepost.conformance.checks.generations import generations, is_flagged, may_have_lost
from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action, Invariant, Outcome
from tests.conformance.checks.trace_builder import Trace, document
from tests.conformance.checks.znode_stories import elect, register, session, store

LOSSES = {
    Invariant.ACKNOWLEDGED_DURABLE,
    Invariant.LEADER_COMPLETE,
    Invariant.LINEARIZABLE_LOG,
    Invariant.LOG_MATCHING,
    Invariant.ONE_COMMITTER_PER_EPOCH,
}


def violated(trace: Trace) -> set[Invariant]:
    return {r.invariant for r in run_checks(trace.events) if r.verdict is Verdict.FAIL}


def decide(trace: Trace, leader: int, epoch: int, *, unclean: bool) -> None:
    flag = {"is_unclean": True} if unclean else {}
    trace.broker(
        3,
        Action.ELECT_LEADER,
        leader=leader,
        leader_epoch=epoch,
        isr=[leader],
        controller_epoch=1,
        **flag,
    )


def lead(trace: Trace, broker_id: int, epoch: int, end: int) -> None:
    role = {"leader": broker_id, "leader_epoch": epoch, "isr": [broker_id]}
    trace.broker(broker_id, Action.BECOME_LEADER, **role, high_watermark=0, log_end_offset=end)


def commit(trace: Trace, broker_id: int, epoch: int, value: str, offset: int) -> None:
    end = offset + 1
    told = {"leader_epoch": epoch, "log_end_offset": end}
    record = {"offset": offset, "values": [value], "record_epochs": [epoch]}
    trace.broker(broker_id, Action.LEADER_APPEND, **told, **record, high_watermark=offset)
    isr = {"isr": [broker_id], "maximal_isr": [broker_id]}
    trace.broker(broker_id, Action.ADVANCE_HIGH_WATERMARK, **told, **isr, high_watermark=end)
    trace.produce(value, offset=offset, leader_epoch=epoch, broker_id=broker_id)
    trace.fetch(0, value, end, leader_epoch=epoch) if not offset else None


def lost_record(*, unclean: bool, second_epoch: int = 2) -> Trace:
    """Broker 1 commits `a`; broker 2, with an empty log, is elected and commits `b` there."""
    trace = Trace()
    lead(trace, 1, 1, 0)
    commit(trace, 1, 1, "a", 0)
    decide(trace, 2, 2, unclean=unclean)
    lead(trace, 2, second_epoch, 0)
    commit(trace, 2, second_epoch, "b", 0)
    trace.final_read("b", leader_epoch=second_epoch)
    return trace


def test_without_a_flag_the_loss_is_a_violation_of_every_check_that_sees_it() -> None:
    assert violated(lost_record(unclean=False)) == LOSSES


def test_with_a_flag_what_was_committed_before_may_be_lost() -> None:
    trace = lost_record(unclean=True)

    assert violated(trace) == set()
    assert generations(trace.events).begins == (2,)


def test_a_record_of_the_new_generation_may_not_be_lost() -> None:
    trace = lost_record(unclean=True)
    trace.final_read("", leader_epoch=2)

    assert Invariant.ACKNOWLEDGED_DURABLE in violated(trace)


def test_a_flag_of_a_later_epoch_excuses_nothing_before_it() -> None:
    trace = Trace()
    lead(trace, 1, 1, 0)
    commit(trace, 1, 1, "a", 0)
    lead(trace, 2, 2, 0)
    decide(trace, 3, 3, unclean=True)

    assert violated(trace) == {Invariant.LEADER_COMPLETE, Invariant.ONE_COMMITTER_PER_EPOCH}


def test_a_zombie_of_the_old_generation_may_still_answer_from_it() -> None:
    trace = lost_record(unclean=True)
    trace.fetch(0, "a", 1, leader_epoch=1)

    assert violated(trace) == set()


def test_a_follower_of_the_new_generation_may_not_keep_what_the_old_one_committed() -> None:
    """It goes on behind a record that its leader never had (H6)."""
    trace = lost_record(unclean=True)
    commit(trace, 2, 2, "c", 1)
    record = {"offset": 1, "values": ["c"], "record_epochs": [2]}
    told = {"leader_epoch": 2, "high_watermark": 1, "log_end_offset": 2}
    trace.broker(1, Action.FOLLOWER_APPEND, **told, **record)

    assert Invariant.LOG_MATCHING in violated(trace)


def test_a_new_follower_still_has_what_it_had() -> None:
    """It gives up the old generation when it has asked its leader."""
    trace = lost_record(unclean=True)
    role = {"leader": 2, "leader_epoch": 2, "isr": [2]}
    trace.broker(1, Action.BECOME_FOLLOWER, **role, high_watermark=1, log_end_offset=1)

    assert violated(trace) == set()


# The write itself


def stored(trace: Trace, *, first: str = document(1, 0, [1])) -> None:
    """Broker 3 is controller; the state is `first`, then broker 2 leads alone."""
    register(trace)
    elect(trace, 3, 1, zxid=5)
    store(trace, 3, first, 0, zxid=6)


def unflagged(trace: Trace) -> None:
    stored(trace)


def flagged_for_another_epoch(trace: Trace) -> None:
    stored(trace)
    decide(trace, 2, 2, unclean=True)


def flagged_while_the_isr_is_there(trace: Trace) -> None:
    registered(trace, 1, 4)
    stored(trace)
    decide(trace, 2, 1, unclean=True)


def registered(trace: Trace, broker_id: int, zxid: int) -> None:
    path = f"/brokers/ids/{broker_id}"
    trace.zookeeper("Create", path, "{}", session=session(broker_id), zxid=zxid)


@pytest.mark.parametrize(
    ("story", "reason"),
    [
        (unflagged, "made ISR [2] of ISR [1]"),
        (flagged_for_another_epoch, "made ISR [2] of ISR [1]"),
        (flagged_while_the_isr_is_there, "outside ISR [1], of which [1] is there"),
    ],
)
def test_an_election_outside_the_isr_must_be_flagged_and_needed(
    story: Callable[[Trace], None], reason: str
) -> None:
    trace = Trace()
    story(trace)
    store(trace, 3, document(2, 1, [2]), 1, zxid=9)

    (violation,) = only_authorised_writes.check(trace.events).violations
    assert reason in violation.message


@pytest.mark.parametrize("isr", [[1, 2], [1]])
def test_an_election_within_the_isr_is_not_unclean(isr: list[int]) -> None:
    trace = Trace()
    stored(trace, first=document(1, 0, [1, 2]))
    decide(trace, 1, 1, unclean=True)
    store(trace, 3, document(1, 1, isr), 1, zxid=9)

    (violation,) = only_authorised_writes.check(trace.events).violations
    assert violation.message.endswith(f"is unclean, it says, and ISR {isr} is not.")


def test_a_flagged_election_is_allowed_when_the_isr_was_gone() -> None:
    trace = Trace()
    registered(trace, 1, 4)
    stored(trace)
    trace.zookeeper("Delete", "/brokers/ids/1", "", session=session(1), zxid=7)
    decide(trace, 2, 1, unclean=True)
    store(trace, 3, document(2, 1, [2]), 1, zxid=9)
    registered(trace, 1, 10)

    assert only_authorised_writes.check(trace.events).verdict is Verdict.PASS


def test_a_refused_produce_needs_no_generation() -> None:
    trace = lost_record(unclean=True)
    trace.produce("c", Outcome.DEFINITE_ERROR)

    assert violated(trace) == set()


# A member that was away


def away(trace: Trace, *, comes_back: bool, isr: tuple[int, ...] = (1,)) -> None:
    """Broker 1 leads alone for a second epoch; a third says that it may have lost records."""
    registered(trace, 1, 4)
    stored(trace)
    store(trace, 3, document(1, 1, [1]), 1, zxid=7)
    if comes_back:
        trace.zookeeper("Delete", "/brokers/ids/1", "", session=session(1), zxid=8)
        registered(trace, 1, 9)
    told = {"leader": 1, "leader_epoch": 2, "isr": [*isr], "controller_epoch": 1}
    trace.broker(3, Action.ELECT_LEADER, **told, is_loss_possible=True)
    store(trace, 3, document(1, 2, [*isr]), 2, zxid=10)


def test_records_may_be_lost_with_a_member_that_was_away() -> None:
    trace = Trace()
    away(trace, comes_back=True)

    assert only_authorised_writes.check(trace.events).violations == ()


def test_that_records_may_be_lost_needs_a_reason() -> None:
    trace = Trace()
    away(trace, comes_back=False)

    (violation,) = only_authorised_writes.check(trace.events).violations
    assert "may have lost records, it says, and [1] was never away" in violation.message


@pytest.mark.parametrize(("joined", "expected"), [(3, 0), (4, 1)])
def test_a_member_is_there_as_the_one_that_joined(joined: int, expected: int) -> None:
    """The leader was registered anew before its controller looked, and wrote the ISR since."""
    trace = Trace()
    registered(trace, 1, 4)
    states = [
        document(1, epoch, [1]).removesuffix("}") + f', "isr_broker_epochs": [{joined}]}}'
        for epoch in (0, 1, 2)
    ]
    stored(trace, first=states[0])
    store(trace, 3, states[1], 1, zxid=7)
    told = {"leader": 1, "leader_epoch": 2, "isr": [1], "controller_epoch": 1}
    trace.broker(3, Action.ELECT_LEADER, **told, is_loss_possible=True)
    store(trace, 3, states[2], 2, zxid=10)

    found = only_authorised_writes.check(trace.events).violations
    assert sum("never away" in violation.message for violation in found) == expected


@pytest.mark.parametrize(("incarnation", "epoch", "expected"), [(2, 1, 0), (2, 0, 1), (1, 1, 1)])
def test_a_member_that_began_with_the_state_obeys_nothing_of_it(
    incarnation: int, epoch: int, expected: int
) -> None:
    trace = Trace()
    away(trace, comes_back=False)
    trace.broker(1, Action.REGISTER_BROKER, incarnation=incarnation)
    trace.operation(
        "broker-1",
        "ReadLeaderAndIsr",
        data=document(1, epoch, [1]),
        incarnation=incarnation,
        broker_id=1,
    )

    assert len(only_authorised_writes.check(trace.events).violations) == expected


def test_a_member_that_was_away_leads_alone() -> None:
    trace = Trace()
    away(trace, comes_back=True, isr=(1, 2))

    (violation,) = only_authorised_writes.check(trace.events).violations
    assert "leader 1 was away, and ISR [1, 2] is not it alone" in violation.message


def test_what_may_be_lost_excuses_nothing_unless_it_is_allowed() -> None:
    trace = lost_record(unclean=False)
    flagged = [
        replace(event, is_loss_possible=True) if event.action == Action.ELECT_LEADER else event
        for event in trace.events
    ]

    assert generations(flagged).begins == ()


def test_only_an_election_may_have_lost_records() -> None:
    trace = Trace()
    flags = {"is_loss_possible": True, "is_unclean": True}
    lines = [trace.broker(1, action, **flags) for action in ("ElectLeader", "BecomeLeader")]

    assert [may_have_lost(event) for event in lines] == [True, False]
    assert [is_flagged(event) for event in lines] == [True, False]


@pytest.mark.parametrize(
    ("named", "incarnation", "begins"),
    [(None, 5, (3,)), (0, 5, (3,)), (5, 5, (3,)), (7, 5, ()), (7, 0, (3,))],
)
def test_an_election_begins_a_generation_of_what_it_names(
    named: int | None, incarnation: int, begins: tuple[int, ...]
) -> None:
    trace = Trace()
    told = {"leader_epoch": 3, "is_unclean": True, "partition_incarnation": named}
    trace.broker(1, "ElectLeader", **told)
    logs = generations(trace.events, incarnation)

    assert logs.begins == begins
    assert [logs.of(epoch) for epoch in (None, 2, 3)] == [0, 0, len(begins)]
