"""A replica acts as it was told to, and in that leader epoch."""

import pytest

from fencepost.conformance.checks.acts_in_its_role import check
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action
from tests.conformance.checks.trace_builder import PARTITION, Trace


def told(trace: Trace, action: str, epoch: int, broker_id: int = 1) -> None:
    trace.broker(broker_id, action, leader=1, leader_epoch=epoch, isr=[1, 2])


def does(trace: Trace, action: str, epoch: int, **fields: object) -> None:
    trace.broker(1, action, leader_epoch=epoch, **fields)


def found(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def test_a_leader_and_a_follower_that_do_as_they_were_told_are_right() -> None:
    trace = Trace()
    told(trace, Action.BECOME_FOLLOWER, 3)
    does(trace, Action.FOLLOWER_APPEND, 3)
    told(trace, Action.BECOME_LEADER, 4)
    does(trace, Action.LEADER_APPEND, 4)
    does(trace, Action.SERVE_FETCH, 4, peer="broker-2", offset=0)
    does(trace, Action.SHRINK_ISR, 4, isr=[1])
    does(trace, Action.FENCE_LEADER, 4)
    does(trace, Action.LEADER_APPEND, 4)
    told(trace, Action.BECOME_LEADER, 5)
    does(trace, Action.ADVANCE_HIGH_WATERMARK, 5)

    assert found(trace) == []
    assert check(trace.events).premise_count == 7


def test_a_run_without_appends_decides_nothing() -> None:
    trace = Trace()
    told(trace, Action.BECOME_LEADER, 4)

    assert check(trace.events).premise_count == 0


def test_a_new_leader_has_stopped_fetching() -> None:
    trace = Trace()
    told(trace, Action.BECOME_FOLLOWER, 3)
    told(trace, Action.BECOME_LEADER, 4)
    does(trace, Action.FOLLOWER_APPEND, 4)

    assert found(trace) == [
        "FollowerAppend of broker 1 in leader epoch 4 needs BecomeFollower,"
        " and BecomeLeader came last in leader epoch 4."
    ]


@pytest.mark.parametrize(
    ("last", "epoch"),
    [
        (Action.BECOME_FOLLOWER, 4),
        (Action.BECOME_LEADER, 3),
        (Action.STOP_REPLICA, 4),
        (Action.OBEY_INIT, 4),
    ],
)
def test_only_a_leader_of_that_epoch_serves(last: str, epoch: int) -> None:
    trace = Trace()
    told(trace, Action.BECOME_LEADER, 4)
    told(trace, last, epoch)
    does(trace, Action.SERVE_FETCH, 4, peer="broker-2", offset=0)

    (message,) = found(trace)
    assert f"and {last} came last" in message


def test_a_replica_with_a_failed_log_does_nothing() -> None:
    trace = Trace()
    told(trace, Action.BECOME_LEADER, 4)
    failed = {"broker_id": 1, "topic": PARTITION.topic, "partition": PARTITION.partition}
    trace.add("broker-1", Kind.RUN, "LogFailed", failed)
    does(trace, Action.ADVANCE_HIGH_WATERMARK, 4)

    (message,) = found(trace)
    assert message.endswith("and LogFailed came last.")


def test_what_another_start_or_another_broker_was_told_is_no_role() -> None:
    trace = Trace()
    told(trace, Action.BECOME_LEADER, 4)
    told(trace, Action.BECOME_LEADER, 4, broker_id=2)
    does(trace, Action.LEADER_APPEND, 4, incarnation=2)

    assert found(trace) == [
        "LeaderAppend of broker 1 in leader epoch 4 needs BecomeLeader, and it was told nothing."
    ]


@pytest.mark.parametrize(
    "action",
    [Action.ADVANCE_HIGH_WATERMARK, Action.SHRINK_ISR, Action.EXPAND_ISR, Action.ADOPT_ISR],
)
def test_a_fenced_leader_commits_nothing_and_keeps_its_isr(action: str) -> None:
    trace = Trace()
    told(trace, Action.BECOME_LEADER, 4)
    does(trace, Action.FENCE_LEADER, 4)
    does(trace, action, 4)

    assert found(trace) == [
        f"{action} of broker 1 in leader epoch 4 comes after it found another state in ZooKeeper"
        " than its own."
    ]
