"""The checks on authors, controllers and commands."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks import (
    leader_in_isr,
    linearizable_znode,
    one_controller_per_epoch,
    only_authorised_writes,
    stale_controller_harmless,
)
from fencepost.conformance.checks.registry import CHECKS, CheckFunction, run_check
from fencepost.conformance.checks.trace_dialect import (
    KAFKA_0_10,
    KAFKA_4_1,
    SPEC,
    TraceDialect,
)
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant, Outcome
from fencepost.spec.znodes import PRODUCER_IDS, ProducerIdBlockDocument, document_bytes
from tests.conformance.checks.trace_builder import ZNODE, Trace, document
from tests.conformance.checks.znode_stories import (
    FIRST,
    SHRUNK,
    elect,
    obey,
    quiet_failover,
    register,
    session,
    store,
)

Write = Callable[[Trace], object]

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


# Each function continues a trace in which 3 is controller and 1 leads.


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


def stranger_that_changes_something(trace: Trace) -> None:
    rewrite(trace, SHRUNK)


def stranger_that_does_not_tell(trace: Trace) -> None:
    trace.zookeeper("SetData", ZNODE, FIRST, session=7, zxid=3, version=1)


def rewrite(trace: Trace, data: str) -> None:
    """The harness stores `data` as version 1, and tells of it."""
    asked = {"path": ZNODE, "data": data, "expected_version": 0, "session_id": 7}
    trace.operation("harness", "WriteLeaderAndIsr", Outcome.OK, znode_version=1, zxid=3, **asked)
    trace.zookeeper("SetData", ZNODE, data, session=7, zxid=3, version=1)


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


def commit_without_a_member_that_is_asked_in(trace: Trace) -> None:
    trace.broker(1, "ExpandIsr", isr=[1, 2], maximal_isr=[1, 2], expected_version=0)
    trace.broker(1, "AdvanceHighWatermark", isr=[1], maximal_isr=[1])


def leader_that_adopts_another_isr_than_it_asked_for(trace: Trace) -> None:
    trace.broker(1, "ShrinkIsr", isr=[1, 2], maximal_isr=[1, 2, 3], expected_version=0)
    trace.broker(1, "AdoptIsr", isr=[1, 2, 3], maximal_isr=[1, 2, 3], znode_version=0)


def command_of_an_older_controller(trace: Trace) -> None:
    obey(trace, 1, "BecomeFollower", (2, 1, 1))
    trace.broker(
        1, "BecomeLeader", partition=1, controller_epoch=1, leader_epoch=0, znode_version=0
    )


def command_of_a_controller_known_to_be_deposed(trace: Trace) -> None:
    trace.broker(1, "LearnController", controller_id=2, controller_epoch=2)
    obey(trace, 1, "BecomeFollower", (1, 0, 0))


def command_sent_after_one_of_a_newer_epoch_was_obeyed(trace: Trace) -> None:
    obey(trace, 3, "BecomeFollower", (2, 1, 1))
    trace.broker(3, "SendLeaderAndIsr", controller_epoch=1, leader_epoch=0, znode_version=0)


def command_of_the_same_leader_epoch(trace: Trace) -> None:
    obey(trace, 1, "BecomeLeader", (1, 0, 0))
    obey(trace, 1, "BecomeFollower", (1, 0, 0))


def two_controllers_of_one_epoch(trace: Trace) -> None:
    trace.broker(2, "ElectController", controller_id=2, controller_epoch=1, session_id=session(2))


def two_sessions_of_one_epoch(trace: Trace) -> None:
    trace.broker(3, "ElectController", controller_id=3, controller_epoch=1, session_id=77)


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
        (only_authorised_writes.check, stranger_that_changes_something, "7 belongs to no broker"),
        (only_authorised_writes.check, stranger_that_does_not_tell, "7 belongs to no broker"),
        (only_authorised_writes.check, leader_outside_the_isr, "leader 2 is not in ISR [3]"),
        (only_authorised_writes.check, malformed_document, "the document is malformed"),
        (leader_in_isr.check, leader_outside_the_isr, "leader 2 outside its ISR [3]"),
        (leader_in_isr.check, leader_that_asks_to_leave, "leader 1 outside its ISR [2]"),
        (leader_in_isr.check, empty_isr, "an empty ISR"),
        (leader_in_isr.check, commit_without_a_member, "asks for [1] only"),
        (
            leader_in_isr.check,
            leader_that_adopts_another_isr_than_it_asked_for,
            "adopts [1, 2, 3], while it asked for [1, 2]",
        ),
        (leader_in_isr.check, commit_without_a_member_that_is_asked_in, "while it needs [1, 2]"),
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
        (
            stale_controller_harmless.check,
            command_sent_after_one_of_a_newer_epoch_was_obeyed,
            "sent a command of controller epoch 1",
        ),
        (stale_controller_harmless.check, command_of_the_same_leader_epoch, "after leader epoch 0"),
        (one_controller_per_epoch.check, two_controllers_of_one_epoch, "brokers 2 and 3"),
        (one_controller_per_epoch.check, two_sessions_of_one_epoch, "under two sessions in"),
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


@pytest.mark.parametrize(("assigned", "expected"), [("1,2,3", 0), ("4,1", 0), ("2,1,3", 1)])
def test_the_first_assigned_member_of_the_isr_leads_first(assigned: str, expected: int) -> None:
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    document_of_topic = f'{{"version":1,"partitions":{{"0":[{assigned}]}}}}'
    topic = ZNODE.removesuffix("/0/leaderAndISR")
    trace.zookeeper("Create", topic, document_of_topic, session=session(3), zxid=2)
    store(trace, 3, FIRST, 0, zxid=3)
    violations = only_authorised_writes.check(trace.events).violations

    assert len(violations) == expected


@pytest.mark.parametrize(("epoch", "expected"), [(2, 0), (1, 1), (3, 1)])
def test_a_broker_resigns_the_epoch_of_its_election(epoch: int, expected: int) -> None:
    trace = Trace()
    for elected in (1, 2):
        elect(trace, 1, elected, zxid=elected)
    trace.broker(1, "ResignController", controller_epoch=epoch)
    violations = one_controller_per_epoch.check(trace.events).violations

    assert len(violations) == expected


@pytest.mark.parametrize(("begins", "expected"), [(1001, 0), (3001, 0), (1000, 1), (1, 1)])
def test_a_producer_id_is_in_one_block(begins: int, expected: int) -> None:
    trace = Trace()
    for zxid, first in ((1, 1), (2, begins)):
        block = ProducerIdBlockDocument(broker=zxid, block_start=first, block_end=first + 999)
        data = document_bytes(block).decode()
        trace.zookeeper("SetData", PRODUCER_IDS, data, session=session(zxid), zxid=zxid)
    trace.zookeeper("SetData", PRODUCER_IDS, "?", session=session(1), zxid=3)
    data = document_bytes(ProducerIdBlockDocument(broker=1, block_start=1, block_end=9)).decode()
    for zxid in (4, 5):
        trace.zookeeper("SetData", "/elsewhere", data, session=session(1), zxid=zxid)
    violations = only_authorised_writes.check(trace.events).violations

    assert len(violations) == expected


@pytest.mark.parametrize(
    ("by_hand", "elected", "expected"),
    [("8", "9", 0), ("8", "8", 1), ("8", "4", 1), ("2", "5", 0), ("2", "3", 1), ("0", "1", 1)],
)
def test_no_epoch_that_there_was_follows_one_written_by_hand(
    by_hand: str, elected: str, expected: int
) -> None:
    trace = Trace()
    register(trace)
    for epoch in (1, 2, 3):
        elect(trace, 1, epoch, zxid=epoch)
    trace.zookeeper("SetData", "/controller_epoch", by_hand, session=99, zxid=4)
    trace.zookeeper("SetData", "/controller_epoch", elected, session=session(1), zxid=5)
    violations = one_controller_per_epoch.check(trace.events).violations

    assert len(violations) == expected


def test_the_first_controller_epoch_is_one() -> None:
    trace = Trace()
    trace.zookeeper("Create", "/controller_epoch", "5", session=session(1), zxid=1)
    result = one_controller_per_epoch.check(trace.events)

    assert "5 instead of 1" in result.violations[0].message


def rises_by_two(trace: Trace) -> None:
    for zxid, epoch in enumerate(("1", "3")):
        trace.zookeeper("SetData", "/controller_epoch", epoch, session=7, zxid=zxid)


def raised_to_nonsense(trace: Trace) -> None:
    register(trace)
    elect(trace, 3, 1, zxid=1)
    trace.zookeeper("Create", "/controller", "{}", session=session(2), zxid=3)
    trace.zookeeper("Create", "/controller_epoch", "0", session=session(2), zxid=3)


def deleted_by_its_owner(trace: Trace) -> None:
    register(trace)
    elect(trace, 3, 1, zxid=1)
    for zxid, path in ((3, "/controller"), (4, "/controller_epoch")):
        trace.zookeeper("Delete", path, "", session=session(3), zxid=zxid)


def created_by_hand(trace: Trace) -> None:
    register(trace)
    elect(trace, 3, 1, zxid=1)
    trace.zookeeper("Create", "/controller", "{}", session=99, zxid=3)


def elected_below_an_epoch_that_was_taken_back(trace: Trace) -> None:
    register(trace)
    elect(trace, 1, 1, zxid=1)
    for zxid, (epoch, author) in enumerate((("8", 99), ("2", 99), ("4", session(1))), start=2):
        trace.zookeeper("SetData", "/controller_epoch", epoch, session=author, zxid=zxid)


def resigned_without_an_election(trace: Trace) -> None:
    trace.broker(1, "ResignController", controller_epoch=1)


def elected_without_any_line_of_zookeeper(trace: Trace) -> None:
    elect_at_level_0(trace, 3)


def elected_under_no_epoch(trace: Trace) -> None:
    trace.broker(3, "ElectController", controller_id=3, session_id=session(3))


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (rises_by_two, ["from 1 to 3."]),
        (raised_to_nonsense, ["from 1 to 0.", "at zxid 3 without raising the epoch."]),
        (deleted_by_its_owner, []),
        (created_by_hand, []),
        (elected_below_an_epoch_that_was_taken_back, []),
        (resigned_without_an_election, []),
        (elected_without_any_line_of_zookeeper, []),
        (elected_under_no_epoch, []),
    ],
)
def test_an_epoch_has_one_controller_and_rises_with_it(story: Write, expected: list[str]) -> None:
    trace = Trace()
    story(trace)
    found = one_controller_per_epoch.check(trace.events).violations

    assert len(found) == len(expected)
    assert all(map(str.endswith, (violation.message for violation in found), expected))


@pytest.mark.parametrize(("dialect", "expected"), [(SPEC, 1), (KAFKA_0_10, 1), (KAFKA_4_1, 0)])
def test_where_epochs_may_skip_the_first_may_be_any(dialect: TraceDialect, expected: int) -> None:
    trace = Trace()
    register(trace)
    elect(trace, 3, 5, zxid=1)
    trace.broker(2, "ElectController", controller_id=2, controller_epoch=6, session_id=session(2))
    check = CHECKS[Invariant.ONE_CONTROLLER_PER_EPOCH]
    found = run_check(check, trace.events, dialect)

    assert (found.premise_count, len(found.violations)) == (2, expected)


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


def test_a_harness_that_tells_of_it_may_write_what_is_there() -> None:
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    store(trace, 3, FIRST, 0, zxid=2)
    rewrite(trace, FIRST)

    assert only_authorised_writes.check(trace.events).verdict is Verdict.PASS
