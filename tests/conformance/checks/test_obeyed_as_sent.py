"""What a broker obeys or refuses was sent to it."""

import pytest

from fencepost.conformance.checks.obeyed_as_sent import check
from fencepost.spec.trace import BY_HAND, Kind
from fencepost.spec.vocabulary import Action, RefusalKind
from tests.conformance.checks.trace_builder import PARTITION, Trace

COMMAND: dict[str, object] = {
    "controller_epoch": 2,
    "partition_incarnation": 7,
    "leader": 1,
    "leader_epoch": 3,
    "isr": (1, 2),
    "znode_version": 4,
    "broker_epoch": 90,
}
STOP = {key: COMMAND[key] for key in ("controller_epoch", "leader_epoch", "broker_epoch")}


def found(action: str, sent: Action, told: dict[str, object], broker: int = 2) -> list[str]:
    """Controller 3 sends broker 2 the command; that broker tells the line."""
    trace = Trace()
    trace.broker(3, sent, **{**COMMAND, "peer": "broker-2"})
    trace.broker(broker, action, **told)
    return [violation.message for violation in check(trace.events).violations]


@pytest.mark.parametrize(
    "action", [Action.BECOME_LEADER, Action.BECOME_FOLLOWER, RefusalKind.REFUSE_COMMAND]
)
def test_a_command_is_told_as_it_was_sent(action: str) -> None:
    assert found(action, Action.SEND_LEADER_AND_ISR, COMMAND) == []
    assert found(action, Action.SEND_LEADER_AND_ISR, COMMAND, broker=1) == [
        f"{action} of broker 1 is about a command of controller epoch 2 that was not sent to it so."
    ]


@pytest.mark.parametrize("changed", sorted(COMMAND))
def test_every_field_of_a_command_was_sent(changed: str) -> None:
    other: object = (1,) if changed == "isr" else 99
    told = {**COMMAND, changed: other}

    assert len(found(Action.BECOME_LEADER, Action.SEND_LEADER_AND_ISR, told)) == 1


@pytest.mark.parametrize("action", [Action.STOP_REPLICA, RefusalKind.REFUSE_STOP])
def test_a_stop_is_told_as_it_was_sent(action: str) -> None:
    assert found(action, Action.SEND_STOP_REPLICA, STOP) == []
    for changed in STOP:
        assert len(found(action, Action.SEND_STOP_REPLICA, {**STOP, changed: 99})) == 1


def test_a_state_is_no_stop_and_a_stop_no_state() -> None:
    assert len(found(Action.STOP_REPLICA, Action.SEND_LEADER_AND_ISR, STOP)) == 1
    assert len(found(Action.BECOME_LEADER, Action.SEND_STOP_REPLICA, COMMAND)) == 1


def test_a_command_below_level_3_names_no_incarnation() -> None:
    trace = Trace()
    trace.broker(
        3, Action.SEND_LEADER_AND_ISR, **{**COMMAND, "peer": "broker-2", "broker_epoch": None}
    )
    trace.broker(2, Action.BECOME_LEADER, **COMMAND)

    assert check(trace.events).violations == ()


def test_what_is_sent_by_hand_was_sent() -> None:
    trace = Trace()
    trace.broker(3, Action.SEND_LEADER_AND_ISR, **{**COMMAND, "peer": "broker-1"})
    by_hand = {**COMMAND, "peer": "broker-2", "topic": PARTITION.topic, "partition": 0}
    trace.add("harness", Kind.RUN, BY_HAND, by_hand)
    trace.broker(2, Action.BECOME_LEADER, **COMMAND)

    assert check(trace.events).violations == ()
    assert check(trace.events).premise_count == 1


def test_where_no_controller_tells_what_it_sends_nothing_is_judged() -> None:
    trace = Trace()
    trace.broker(2, Action.BECOME_LEADER, **COMMAND)

    assert check(trace.events).premise_count == 0
