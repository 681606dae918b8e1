"""What a broker obeys or refuses was sent to it."""

import pytest

from fencepost.conformance.checks.obeyed_as_sent import check
from fencepost.spec.trace import BY_HAND, Kind
from fencepost.spec.vocabulary import Action, ErrorCode, RefusalKind
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
        f"{action} of broker 1 is about a request of controller epoch 2 that was not sent to it so."
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


@pytest.mark.parametrize(("error", "expected"), [("STALE_LEADER_EPOCH", 0), ("NONE", 1)])
@pytest.mark.parametrize("action", [RefusalKind.REFUSE_COMMAND, RefusalKind.REFUSE_STOP])
def test_what_is_refused_was_not_obeyed(action: RefusalKind, error: str, expected: int) -> None:
    trace = Trace()
    trace.broker(2, action, **STOP, error_code=error)

    assert len(check(trace.events).violations) == expected


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


@pytest.mark.parametrize(("epoch", "expected"), [(90, 0), (91, 1)])
def test_a_command_from_level_4_on_names_the_last_incarnation(epoch: int, expected: int) -> None:
    trace = Trace()
    line = {**COMMAND, "broker_epoch": None}
    trace.broker(3, Action.SEND_LEADER_AND_ISR, **line, max_broker_epoch=90, peer="broker-2")
    trace.broker(2, Action.BECOME_LEADER, **line, max_broker_epoch=epoch)

    assert len(check(trace.events).violations) == expected


METADATA: dict[str, object] = {
    "topic": None,
    "partition": None,
    "controller_epoch": 2,
    "metadata_version": 5,
    "max_broker_epoch": 90,
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, (1, 0)),
        ({"controller_epoch": 3}, (1, 1)),
        ({"metadata_version": 6}, (1, 1)),
        ({"max_broker_epoch": 91}, (1, 1)),
        ({"topic": "orders", "partition": 0, "metadata_version": 6}, (0, 0)),
    ],
)
def test_metadata_are_told_as_they_were_sent(
    changed: dict[str, object], expected: tuple[int, int]
) -> None:
    trace = Trace()
    trace.broker(3, Action.SEND_UPDATE_METADATA, **METADATA, peer="broker-2")
    trace.broker(2, Action.UPDATE_METADATA, **{**METADATA, **changed})
    trace.broker(2, Action.BECOME_LEADER, **COMMAND)
    result = check(trace.events)

    assert (result.premise_count, len(result.violations)) == expected


@pytest.mark.parametrize(
    ("request_name", "broker_id", "expected"),
    [("1/9/1", 3, (1, 0)), ("1/9/2", 3, (1, 1)), ("1/9/1", 1, (1, 1)), (None, 3, (0, 0))],
)
def test_what_is_done_as_forwarded_was_forwarded_to_its_broker(
    request_name: str | None, broker_id: int, expected: tuple[int, int]
) -> None:
    trace = Trace()
    trace.broker(1, Action.FORWARD_REQUEST, forwarded_request="1/9/1", peer="broker-3")
    trace.broker(broker_id, Action.APPLY_MUTATION, forwarded_request=request_name)
    result = check(trace.events)

    assert (result.premise_count, len(result.violations)) == expected


def test_what_is_sent_by_hand_was_sent() -> None:
    trace = Trace()
    trace.broker(3, Action.SEND_LEADER_AND_ISR, **{**COMMAND, "peer": "broker-1"})
    by_hand = {**COMMAND, "peer": "broker-2", "topic": PARTITION.topic, "partition": 0}
    trace.add("harness", Kind.RUN, BY_HAND, by_hand)
    trace.broker(2, Action.BECOME_LEADER, **COMMAND)
    trace.broker(2, Action.STOP_REPLICA, **COMMAND)

    assert check(trace.events).violations == ()
    assert check(trace.events).premise_count == 2


def test_where_no_controller_tells_what_it_sends_nothing_is_judged() -> None:
    trace = Trace()
    trace.broker(2, Action.BECOME_LEADER, **COMMAND)

    assert check(trace.events).premise_count == 0


@pytest.mark.parametrize(
    ("peer", "is_right"), [("broker-3", True), ("broker-2", False), ("", False)]
)
def test_a_refused_fetch_is_of_a_follower(peer: str, *, is_right: bool) -> None:
    trace = Trace()
    error = ErrorCode.FENCED_LEADER_EPOCH
    trace.broker(2, RefusalKind.REFUSE_FETCH, peer=peer, leader_epoch=1, error_code=error)

    violations = [one.message for one in check(trace.events).violations]
    assert violations == (
        [] if is_right else ["Broker 2 tells that it refused a fetch of no follower."]
    )


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (ErrorCode.FENCED_LEADER_EPOCH, 0),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, 0),
        (ErrorCode.STALE_BROKER_EPOCH, 1),
        (None, 1),
    ],
)
def test_a_refused_fetch_is_of_another_leader_epoch(error: ErrorCode | None, count: int) -> None:
    trace = Trace()
    trace.broker(2, RefusalKind.REFUSE_FETCH, peer="broker-3", leader_epoch=1, error_code=error)

    assert len(check(trace.events).violations) == count


@pytest.mark.parametrize(
    ("stopped", "told", "is_right"),
    [(2, 3, True), (2, 2, False), (2, 1, False), (-1, 9, False)],
)
def test_what_a_controller_has_told_to_stop_it_does_not_tell_of(
    stopped: int, told: int, *, is_right: bool
) -> None:
    trace = Trace()
    place = {"controller_epoch": 2, "partition_incarnation": 7, "peer": "broker-2"}
    trace.broker(3, Action.SEND_STOP_REPLICA, leader_epoch=stopped, **place)
    trace.broker(3, Action.SEND_LEADER_AND_ISR, leader_epoch=told, **place)
    other = {**place, "partition_incarnation": 8}
    trace.broker(3, Action.SEND_LEADER_AND_ISR, leader_epoch=0, **other)

    violations = [one.message for one in check(trace.events).violations]
    told_so = f"broker-2 of orders/0 in leader epoch {told}, which it has told it to stop."
    assert violations == ([] if is_right else [f"The controller tells {told_so}"])
