"""The checks on LeaderAndISR znodes and controllers, with ZooKeeper's own lines as the truth."""

from collections.abc import Callable

import pytest

from conformance.checks import (
    leader_in_isr,
    linearizable_znode,
    one_controller_per_epoch,
    only_authorised_writes,
    stale_controller_harmless,
)
from conformance.checks.registry import CheckFunction
from conformance.verdict import Verdict
from spec.trace import TraceEvent
from spec.vocabulary import Outcome
from tests.conformance.checks.trace_builder import ZNODE, Trace, document

Write = Callable[[Trace], object]

FIRST = document(1, 0, [1, 2, 3])
SHRUNK = document(1, 0, [1, 2])
ELECTED = document(2, 1, [2, 3], controller_epoch=2)


def session(broker_id: int) -> int:
    return 100 + broker_id


def register(trace: Trace) -> None:
    for broker_id in (1, 2, 3):
        trace.broker(
            broker_id, "RegisterBroker", topic=None, partition=None, session_id=session(broker_id)
        )


def elect(trace: Trace, broker_id: int, epoch: int, zxid: int) -> None:
    """`broker_id` wins `/controller` and raises the epoch, in one transaction."""
    own = session(broker_id)
    trace.zookeeper("Create", "/controller", "{}", session=own, zxid=zxid)
    action = "Create" if epoch == 1 else "SetData"
    trace.zookeeper(
        action, "/controller_epoch", str(epoch), session=own, zxid=zxid, version=epoch - 1
    )
    trace.broker(
        broker_id,
        "ElectController",
        topic=None,
        partition=None,
        controller_id=broker_id,
        controller_epoch=epoch,
        session_id=own,
    )


def store(trace: Trace, broker_id: int, data: str, version: int, zxid: int) -> TraceEvent:
    action = "SetData" if version else "Create"
    return trace.zookeeper(
        action, ZNODE, data, session=session(broker_id), zxid=zxid, version=version
    )


def write(
    trace: Trace,
    broker_id: int,
    data: str,
    expected_version: int,
    outcome: Outcome | None = Outcome.OK,
    **answer: object,
) -> TraceEvent:
    node = f"broker-{broker_id}"
    asked = {"path": ZNODE, "data": data, "expected_version": expected_version}
    line = {"session_id": session(broker_id), **asked, **answer}
    return trace.operation(node, "WriteLeaderAndIsr", outcome, **line)


def read(trace: Trace, broker_id: int, data: str, version: int, **stamps: object) -> TraceEvent:
    node = f"broker-{broker_id}"
    answer = {"path": ZNODE, "data": data, "znode_version": version}
    line = {"session_id": session(broker_id), **answer, **stamps}
    return trace.operation(node, "ReadLeaderAndIsr", Outcome.OK, **line)


def obey(trace: Trace, broker_id: int, action: str, epochs: tuple[int, int, int]) -> TraceEvent:
    """`epochs`: controller epoch, leader epoch, znode version of the command."""
    controller_epoch, leader_epoch, version = epochs
    leader = 2 if leader_epoch else 1
    return trace.broker(
        broker_id,
        action,
        controller_epoch=controller_epoch,
        leader_epoch=leader_epoch,
        znode_version=version,
        leader=leader,
        isr=[1, 2, 3],
    )


def quiet_failover(trace: Trace) -> None:
    """Broker 3 is controller, 1 leads and shrinks, then 2 becomes controller and leader."""
    register(trace)
    elect(trace, 3, 1, zxid=1)
    write(trace, 3, FIRST, -1, znode_version=0, zxid=2)
    store(trace, 3, FIRST, 0, zxid=2)
    obey(trace, 1, "BecomeLeader", (1, 0, 0))
    read(trace, 1, FIRST, 0)
    write(trace, 1, SHRUNK, 0, Outcome.INDEFINITE)
    store(trace, 1, SHRUNK, 1, zxid=3)
    elect(trace, 2, 2, zxid=4)
    write(trace, 3, ELECTED, 0, Outcome.DEFINITE_ERROR, error_code="BAD_VERSION")
    write(trace, 2, ELECTED, 1, znode_version=2, zxid=5)
    store(trace, 2, ELECTED, 2, zxid=5)
    obey(trace, 1, "BecomeFollower", (2, 1, 2))


ALL = [
    leader_in_isr.check,
    linearizable_znode.check,
    one_controller_per_epoch.check,
    only_authorised_writes.check,
    stale_controller_harmless.check,
]


@pytest.mark.parametrize("check", ALL)
def test_a_clean_failover_passes(check: CheckFunction) -> None:
    trace = Trace()
    quiet_failover(trace)
    result = check(trace.events)

    assert result.verdict is Verdict.PASS, result


@pytest.mark.parametrize("check", ALL)
def test_without_znodes_it_is_vacuous(check: CheckFunction) -> None:
    trace = Trace()
    register(trace)

    assert check(trace.events).verdict is Verdict.VACUOUS


# LinearizableZnode: each function continues a trace in which version 0 was created.


def unconditional(trace: Trace) -> None:
    write(trace, 1, SHRUNK, -1, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def unconditional_and_unanswered(trace: Trace) -> None:
    write(trace, 1, SHRUNK, -1, None)
    store(trace, 1, SHRUNK, 1, zxid=3)


def wrong_expectation(trace: Trace) -> None:
    write(trace, 2, SHRUNK, 0, Outcome.INDEFINITE)
    store(trace, 2, SHRUNK, 1, zxid=3)
    write(trace, 1, FIRST, 0, znode_version=2, zxid=4)
    store(trace, 1, FIRST, 2, zxid=4)


def version_gap(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 1, znode_version=2, zxid=3)
    store(trace, 1, SHRUNK, 2, zxid=3)


def written_before_it_was_created(trace: Trace) -> None:
    trace.events.clear()
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)
    store(trace, 1, SHRUNK, 0, zxid=4)


def acknowledged_but_not_stored(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)


def stored_otherwise(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    write(trace, 1, FIRST, 0, None)
    store(trace, 1, FIRST, 1, zxid=3)


def acknowledged_twice(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def refused_but_stored(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, Outcome.DEFINITE_ERROR, error_code="BAD_VERSION")
    store(trace, 1, SHRUNK, 1, zxid=3)


def stored_by_nobody(trace: Trace) -> None:
    store(trace, 1, SHRUNK, 1, zxid=3)


def read_of_data_that_was_never_there(trace: Trace) -> None:
    read(trace, 1, SHRUNK, 0)


def read_before_it_was_written(trace: Trace) -> None:
    read(trace, 1, SHRUNK, 1)
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def session_reads_the_past(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)
    read(trace, 1, FIRST, 0)


def command_that_was_never_published(trace: Trace) -> None:
    obey(trace, 1, "BecomeFollower", (1, 1, 0))


@pytest.mark.parametrize(
    ("write_on", "message"),
    [
        (command_that_was_never_published, "which ZooKeeper never held"),
        (unconditional, "became version 1 was unconditional"),
        (unconditional_and_unanswered, "unknown outcome that expected -1"),
        (wrong_expectation, "became version 2 expected version 0"),
        (version_gap, "stored version 2 after version 0"),
        (written_before_it_was_created, "does not exist"),
        (acknowledged_but_not_stored, "ZooKeeper did not store it so"),
        (stored_otherwise, "ZooKeeper did not store it so"),
        (acknowledged_twice, "acknowledged to two writes"),
        (refused_but_stored, "answered as refused"),
        (stored_by_nobody, "by no write in the trace"),
        (read_of_data_that_was_never_there, "data that it never had"),
        (read_before_it_was_written, "Version 1 was proven"),
        (session_reads_the_past, "as if the version were at most 0"),
    ],
)
def test_each_condition_of_the_register_is_caught(write_on: Write, message: str) -> None:
    trace = Trace()
    write(trace, 3, FIRST, -1, znode_version=0, zxid=2)
    store(trace, 3, FIRST, 0, zxid=2)
    write_on(trace)
    result = linearizable_znode.check(trace.events)

    assert result.verdict is Verdict.FAIL
    assert message in " ".join(violation.message for violation in result.violations)


def test_another_session_may_read_the_past() -> None:
    trace = Trace()
    quiet_failover(trace)
    read(trace, 3, FIRST, 0)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_a_znode_created_again_is_another_register() -> None:
    trace = Trace()
    quiet_failover(trace)
    trace.zookeeper("Delete", ZNODE, "", session=session(2), zxid=6)
    write(trace, 2, FIRST, -1, znode_version=0, zxid=7)
    store(trace, 2, FIRST, 0, zxid=7)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_without_zookeepers_record_the_register_is_inconclusive() -> None:
    trace = Trace()
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)

    assert linearizable_znode.check(trace.events).verdict is Verdict.INCONCLUSIVE
    assert only_authorised_writes.check(trace.events).verdict is Verdict.INCONCLUSIVE


def test_without_zookeepers_record_two_writers_of_a_version_are_caught() -> None:
    trace = Trace()
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    write(trace, 2, SHRUNK, 0, znode_version=1, zxid=3)

    assert linearizable_znode.check(trace.events).verdict is Verdict.FAIL


# The other checks: each function continues a trace in which 3 is controller and 1 leads.


def neither_controller_nor_leader(trace: Trace) -> None:
    store(trace, 2, SHRUNK, 1, zxid=3)


def deposed_controller(trace: Trace) -> None:
    elect(trace, 2, 2, zxid=3)
    store(trace, 3, document(2, 1, [2, 3]), 1, zxid=4)


def decision_signed_with_an_old_epoch(trace: Trace) -> None:
    elect(trace, 2, 2, zxid=3)
    store(trace, 2, document(2, 1, [2, 3]), 1, zxid=4)


def leader_changes_the_leader(trace: Trace) -> None:
    store(trace, 1, document(2, 1, [1, 2]), 1, zxid=3)


def leader_raises_its_epoch(trace: Trace) -> None:
    store(trace, 1, document(1, 1, [1, 2]), 1, zxid=3)


def leader_epoch_not_raised(trace: Trace) -> None:
    store(trace, 3, document(2, 0, [2, 3]), 1, zxid=3)


def leader_epoch_skipped(trace: Trace) -> None:
    store(trace, 3, document(2, 2, [2, 3]), 1, zxid=3)


def leader_from_outside_the_isr(trace: Trace) -> None:
    store(trace, 3, document(4, 1, [4]), 1, zxid=3)


def unknown_session(trace: Trace) -> None:
    trace.zookeeper("SetData", ZNODE, SHRUNK, session=7, zxid=3, version=1)


def leader_outside_the_isr(trace: Trace) -> None:
    store(trace, 3, document(2, 1, [3]), 1, zxid=3)


def malformed_document(trace: Trace) -> None:
    store(trace, 3, "nonsense", 1, zxid=3)


def empty_isr(trace: Trace) -> None:
    store(trace, 3, document(-1, 1, []), 1, zxid=3)


def leader_that_asks_to_leave(trace: Trace) -> None:
    trace.broker(1, "ShrinkIsr", isr=[2], maximal_isr=[1, 2, 3], expected_version=0)


def commit_without_a_member(trace: Trace) -> None:
    trace.broker(1, "AdvanceHighWatermark", isr=[1, 2], maximal_isr=[1])


def command_of_an_older_controller(trace: Trace) -> None:
    obey(trace, 1, "BecomeFollower", (2, 1, 1))
    trace.broker(
        1, "BecomeLeader", partition=1, controller_epoch=1, leader_epoch=0, znode_version=0
    )


def command_of_a_controller_known_to_be_deposed(trace: Trace) -> None:
    trace.broker(1, "LearnController", controller_id=2, controller_epoch=2)
    obey(trace, 1, "BecomeFollower", (1, 0, 0))


def command_of_the_same_leader_epoch(trace: Trace) -> None:
    obey(trace, 1, "BecomeLeader", (1, 0, 0))
    obey(trace, 1, "BecomeFollower", (1, 0, 0))


def two_controllers_of_one_epoch(trace: Trace) -> None:
    trace.broker(2, "ElectController", controller_id=2, controller_epoch=1, session_id=session(2))


def epoch_skipped(trace: Trace) -> None:
    elect(trace, 2, 3, zxid=3)


def elected_without_raising_the_epoch(trace: Trace) -> None:
    trace.zookeeper("Create", "/controller", "{}", session=session(2), zxid=3)


@pytest.mark.parametrize(
    ("check", "write_on", "message"),
    [
        (only_authorised_writes.check, neither_controller_nor_leader, "neither the controller nor"),
        (only_authorised_writes.check, deposed_controller, "broker 3 was neither the controller"),
        (only_authorised_writes.check, decision_signed_with_an_old_epoch, "2 signed as 1"),
        (only_authorised_writes.check, leader_changes_the_leader, "more than the ISR"),
        (only_authorised_writes.check, leader_raises_its_epoch, "more than the ISR"),
        (only_authorised_writes.check, leader_epoch_not_raised, "0 to 0 instead of one up"),
        (only_authorised_writes.check, leader_epoch_skipped, "0 to 2 instead of one up"),
        (
            only_authorised_writes.check,
            leader_from_outside_the_isr,
            "made ISR [4] of ISR [1, 2, 3]",
        ),
        (only_authorised_writes.check, unknown_session, "session 7 belongs to no broker"),
        (only_authorised_writes.check, leader_outside_the_isr, "leader 2 is not in ISR [3]"),
        (only_authorised_writes.check, malformed_document, "the document is malformed"),
        (leader_in_isr.check, leader_outside_the_isr, "leader 2 outside its ISR [3]"),
        (leader_in_isr.check, leader_that_asks_to_leave, "leader 1 outside its ISR [2]"),
        (leader_in_isr.check, empty_isr, "an empty ISR"),
        (leader_in_isr.check, commit_without_a_member, "asks for [1] only"),
        (stale_controller_harmless.check, deposed_controller, "decision of controller epoch 1"),
        (
            stale_controller_harmless.check,
            decision_signed_with_an_old_epoch,
            "already held epoch 2",
        ),
        (
            stale_controller_harmless.check,
            command_of_an_older_controller,
            "epoch 1 when it knew epoch 2",
        ),
        (
            stale_controller_harmless.check,
            command_of_a_controller_known_to_be_deposed,
            "epoch 1 when it knew epoch 2",
        ),
        (stale_controller_harmless.check, command_of_the_same_leader_epoch, "after leader epoch 0"),
        (one_controller_per_epoch.check, two_controllers_of_one_epoch, "brokers 2 and 3"),
        (one_controller_per_epoch.check, epoch_skipped, "went from 1 to 3"),
        (one_controller_per_epoch.check, elected_without_raising_the_epoch, "without raising"),
    ],
)
def test_each_condition_is_caught(check: CheckFunction, write_on: Write, message: str) -> None:
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    store(trace, 3, FIRST, 0, zxid=2)
    assert not check(trace.events).violations
    write_on(trace)
    result = check(trace.events)

    assert result.verdict is Verdict.FAIL
    assert len(result.violations) == 1
    assert message in result.violations[0].message


def test_the_first_controller_epoch_is_one() -> None:
    trace = Trace()
    trace.zookeeper("Create", "/controller_epoch", "5", session=session(1), zxid=1)
    result = one_controller_per_epoch.check(trace.events)

    assert "5 instead of 1" in result.violations[0].message


def test_a_deposed_controller_may_go_on_as_leader() -> None:
    trace = Trace()
    register(trace)
    elect(trace, 1, 1, zxid=1)
    store(trace, 1, FIRST, 0, zxid=2)
    elect(trace, 2, 2, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=4)

    assert only_authorised_writes.check(trace.events).verdict is Verdict.PASS
    assert stale_controller_harmless.check(trace.events).verdict is Verdict.PASS


def test_a_partition_without_leader_keeps_its_isr() -> None:
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    store(trace, 3, FIRST, 0, zxid=2)
    store(trace, 3, document(-1, 1, [1]), 1, zxid=3)

    assert only_authorised_writes.check(trace.events).verdict is Verdict.PASS
    assert leader_in_isr.check(trace.events).verdict is Verdict.PASS


def test_a_broker_that_restarted_has_forgotten_older_commands() -> None:
    trace = Trace()
    obey(trace, 1, "BecomeLeader", (2, 1, 1))
    trace.broker(
        1,
        "BecomeFollower",
        incarnation=2,
        controller_epoch=1,
        leader_epoch=1,
        znode_version=1,
    )

    assert stale_controller_harmless.check(trace.events).verdict is Verdict.PASS


# Level 0: no controller epoch anywhere.


def elect_at_level_0(trace: Trace, broker_id: int) -> None:
    trace.broker(
        broker_id,
        "ElectController",
        controller_id=broker_id,
        controller_epoch=0,
        session_id=session(broker_id),
    )


def test_at_level_0_the_owner_of_the_znode_is_the_controller() -> None:
    trace = Trace()
    register(trace)
    trace.zookeeper("Create", "/controller", "{}", session=session(3), zxid=1)
    elect_at_level_0(trace, 3)
    store(trace, 3, document(1, 0, [1, 2], 0), 0, zxid=2)
    trace.zookeeper("CloseSession", "", "", session=session(3), zxid=3)
    trace.zookeeper("Create", "/controller", "{}", session=session(2), zxid=4)
    elect_at_level_0(trace, 2)
    store(trace, 2, document(2, 1, [2], 0), 1, zxid=5)

    assert one_controller_per_epoch.check(trace.events).verdict is Verdict.PASS
    assert only_authorised_writes.check(trace.events).verdict is Verdict.PASS


@pytest.mark.parametrize("end", ["CloseSession", "Delete"])
def test_at_level_0_a_former_owner_has_no_standing(end: str) -> None:
    trace = Trace()
    register(trace)
    trace.zookeeper("Create", "/controller", "{}", session=session(3), zxid=1)
    trace.zookeeper(end, "/controller", "", session=session(3), zxid=2)
    store(trace, 3, document(1, 0, [1, 2], 0), 0, zxid=3)

    assert only_authorised_writes.check(trace.events).verdict is Verdict.FAIL


def test_at_level_0_an_election_rests_on_the_znode() -> None:
    trace = Trace()
    trace.zookeeper("Create", "/controller", "{}", session=session(3), zxid=1)
    elect_at_level_0(trace, 3)
    elect_at_level_0(trace, 2)
    result = one_controller_per_epoch.check(trace.events)

    assert [violation.node for violation in result.violations] == ["broker-2"]
