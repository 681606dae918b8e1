"""A broker that was restarted is not taken for the one before."""

import json

import pytest

from fencepost.conformance.checks.registry import is_promised
from fencepost.conformance.checks.stale_incarnation_harmless import check
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action, ErrorCode, Invariant, RefusalKind
from tests.conformance.checks.trace_builder import ZNODE, Fields, Trace

OLD, NEW = 10, 30
"""Epochs of broker 2, of which the first ends at 20."""


def run() -> Trace:
    """Broker 1 is registered as 9, broker 2 as 10 and later as 30."""
    trace = Trace()
    for action, broker_id, zxid in (
        ("Create", 1, 9),
        ("Create", 2, OLD),
        ("Delete", 2, 20),
        ("Create", 2, NEW),
    ):
        trace.zookeeper(action, f"/brokers/ids/{broker_id}", "{}", session=broker_id, zxid=zxid)
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=OLD)
    return trace


def state(leader: int, epoch: int, isr: dict[int, int | None]) -> str:
    """The document of a state with members that joined under these epochs."""
    document = {
        "version": 1,
        "leader": leader,
        "leader_epoch": epoch,
        "isr": sorted(isr),
        "controller_epoch": 1,
        "isr_broker_epochs": [isr[one] or 0 for one in sorted(isr)],
    }
    return json.dumps(document)


def stored(trace: Trace, *documents: str, since: int = 40) -> Trace:
    """The first of the documents at zxid 12, the others from `since` on."""
    for version, data in enumerate(documents):
        zxid = since + version if version else 12
        action = "SetData" if version else "Create"
        trace.zookeeper(action, ZNODE, data, session=1, zxid=zxid, version=version)
    return trace


def found(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


@pytest.mark.parametrize("action", [Action.BECOME_LEADER, Action.BECOME_FOLLOWER, "StopReplica"])
def test_a_command_for_an_earlier_incarnation_is_not_obeyed(action: str) -> None:
    trace = run()
    trace.broker(2, action, broker_epoch=OLD, leader_epoch=0)
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=NEW)
    trace.broker(2, action, broker_epoch=NEW, leader_epoch=1)
    assert found(trace) == []

    trace.broker(2, action, broker_epoch=OLD, leader_epoch=2)

    assert found(trace) == [
        "Broker 2 obeyed a command for its incarnation 10 when it was registered as 30."
    ]


def refuse(trace: Trace, broker_epoch: int, error_code: ErrorCode) -> None:
    line: Fields = {"broker_id": 2, "broker_epoch": broker_epoch, "error_code": error_code.value}
    trace.add("broker-2", Kind.REFUSAL, RefusalKind.REFUSE_COMMAND, line)


def test_only_a_command_for_an_earlier_incarnation_is_refused_as_stale() -> None:
    trace = run()
    refuse(trace, OLD - 1, ErrorCode.STALE_BROKER_EPOCH)
    refuse(trace, NEW, ErrorCode.BROKER_NOT_AVAILABLE)
    assert found(trace) == []

    refuse(trace, NEW, ErrorCode.STALE_BROKER_EPOCH)

    assert found(trace) == [
        "Broker 2 refused as stale a command for its incarnation 30 when it was registered as 10."
    ]


def test_a_member_stays_the_incarnation_that_joined() -> None:
    first = state(1, 0, {1: 9, 2: OLD})

    assert found(stored(run(), first, state(1, 1, {1: 9}))) == []
    assert found(stored(run(), first, state(1, 1, {1: 9}), state(1, 1, {1: 9, 2: NEW}))) == []
    assert found(stored(run(), first, state(1, 1, {1: 9, 2: NEW}))) == [
        "orders/0 at zxid 41: broker 2 joined the ISR as 10 and is named as 30."
    ]


def test_a_broker_joins_under_an_epoch_that_it_was_given() -> None:
    alone = state(1, 0, {1: 9})

    assert found(stored(run(), alone, state(1, 0, {1: 9, 2: NEW}))) == []
    assert found(stored(run(), alone, state(1, 0, {1: 9, 2: 31}))) == [
        "orders/0 at zxid 41: broker 2 joined as 31, and was registered as [10, 30]."
    ]
    assert found(stored(run(), alone, state(1, 0, {1: 9, 2: None}))) == [
        "orders/0 at zxid 41: broker 2 joined the ISR without a broker epoch."
    ]


def test_a_returned_leader_is_elected_as_one_that_may_have_lost_records() -> None:
    documents = state(2, 0, {2: OLD}), state(2, 1, {2: NEW})
    assert len(found(stored(run(), *documents))) == 1

    told = run()
    decided = {"controller_epoch": 1, "leader_epoch": 1, "leader": 2, "is_loss_possible": True}
    told.broker(1, Action.ELECT_LEADER, **decided)

    assert found(stored(told, *documents)) == []


def test_a_leader_that_was_gone_all_the_time_is_not_elected_as_steady() -> None:
    documents = state(1, 0, {1: 9, 2: OLD}), state(1, 1, {1: 9, 2: OLD}), state(2, 2, {2: OLD})

    assert found(stored(run(), *documents)) == [
        "orders/0 at zxid 42: leader 2 is named as 10, and was registered as [30]."
    ]


def test_a_broker_does_not_lead_by_a_decision_about_its_incarnation_before() -> None:
    trace = stored(run(), state(2, 0, {2: OLD}))
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0, broker_epoch=OLD)
    assert found(trace) == []

    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=NEW)
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0, broker_epoch=NEW)

    assert found(trace) == [
        "Broker 2 leads as 30, and leader epoch 0 was decided for its incarnation 10."
    ]


def test_without_epochs_there_is_nothing_to_decide() -> None:
    trace = run()
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0)

    assert check(trace.events).premise_count == 0


def test_lower_levels_give_it_nothing_to_decide_and_it_is_not_missed_there() -> None:
    invariant = Invariant.STALE_INCARNATION_HARMLESS

    assert [is_promised(invariant, level) for level in (2, 3, None)] == [False, True, True]
    assert is_promised(Invariant.LEADER_COMPLETE, 0)


def test_a_leader_that_has_registered_anew_may_shrink_the_isr_before_its_controller_looks() -> None:
    """Found as a variation of `composite_version_race`: no election was wrong."""
    first, shrunk = state(2, 0, {1: 9, 2: OLD}), state(2, 0, {2: OLD})

    assert found(stored(run(), first, shrunk, state(2, 1, {2: OLD}))) == []
