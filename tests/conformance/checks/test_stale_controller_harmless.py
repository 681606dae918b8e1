"""An old controller epoch has no effect on brokers, and writes nothing."""

import pytest

from fencepost.conformance.checks.stale_controller_harmless import check
from fencepost.spec.vocabulary import NO_EPOCH, Action
from tests.conformance.checks.trace_builder import PARTITION, Trace, document
from tests.conformance.checks.znode_stories import FIRST, SHRUNK, elect, obey, session, store


def messages(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def elected(*brokers: int) -> Trace:
    """They raise the epoch one after the other, with zxids 1, 2 and so on; then 3 creates."""
    trace = Trace()
    for epoch, broker_id in enumerate(brokers, start=1):
        elect(trace, broker_id, epoch, zxid=epoch)
    store(trace, brokers[-1], document(1, 0, [1, 2, 3], len(brokers)), 0, zxid=9)
    return trace


def test_an_epoch_that_was_read_or_obeyed_binds_the_commands_that_follow() -> None:
    trace = Trace()
    trace.broker(1, Action.LEARN_CONTROLLER, controller_epoch=2)
    obey(trace, 1, "BecomeFollower", (1, 0, 0))
    trace.broker(1, Action.SEND_INIT, controller_epoch=1)
    obey(trace, 1, "BecomeFollower", (2, 1, 1))

    found = check(trace.events).violations

    assert [violation.message for violation in found] == [
        "Broker 1 obeyed controller epoch 1 when it knew epoch 2.",
        "Broker 1 sent a command of controller epoch 1 when it knew epoch 2.",
    ]
    assert [event.action for event in found[0].witness] == ["LearnController", "BecomeFollower"]


def test_what_a_broker_sends_teaches_it_nothing() -> None:
    trace = Trace()
    trace.broker(1, Action.SEND_INIT, controller_epoch=2)
    obey(trace, 1, "BecomeFollower", (1, 0, 0))

    assert messages(trace) == []


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ({"action": "StopReplica", "leader_epoch": NO_EPOCH}, 0),
        ({"action": "StopReplica", "leader_epoch": 0}, 1),
        ({"action": "AdvanceHighWatermark", "leader_epoch": NO_EPOCH}, 1),
        ({"action": "StopReplica", "leader_epoch": NO_EPOCH, "partition": 1}, 1),
    ],
)
def test_only_who_gave_the_partition_up_may_begin_again(
    between: dict[str, object], expected: int
) -> None:
    trace = Trace()
    obey(trace, 1, "BecomeLeader", (1, 0, 0))
    trace.broker(1, str(between.pop("action")), **between)
    obey(trace, 1, "BecomeLeader", (1, 0, 0))

    assert len(messages(trace)) == expected


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((0, 1, 5), (0, 2, 4), ""),
        ((0, 1, 5), (0, 1, 6), ""),
        ((7, 1, 5), (8, 0, 0), ""),
        (
            (7, 1, 5),
            (7, 0, 6),
            "leader epoch 0 (znode version 6) of incarnation 7"
            " after leader epoch 1 (znode version 5) of incarnation 7",
        ),
        (
            (0, 1, 5),
            (0, 1, 4),
            "leader epoch 1 (znode version 4) after leader epoch 1 (znode version 5)",
        ),
    ],
)
def test_versions_of_commands_rise(
    first: tuple[int, int, int], second: tuple[int, int, int], message: str
) -> None:
    trace = Trace()
    for incarnation, epoch, version in (first, second):
        told = {"leader_epoch": epoch, "znode_version": version}
        trace.broker(1, "BecomeFollower", partition_incarnation=incarnation, **told)

    assert messages(trace) == ([f"Broker 1 obeyed {message}."] if message else [])


def test_who_was_deposed_decides_nothing_under_the_epoch_of_another() -> None:
    """What it raises later does not count."""
    trace = elected(3, 2)
    store(trace, 3, document(2, 1, [2], 2), 1, zxid=10)
    elect(trace, 3, 3, zxid=11)

    (violation,) = check(trace.events).violations

    assert violation.message == (
        f"A decision of controller epoch 1 about {PARTITION} was written when ZooKeeper already"
        " held epoch 2."
    )
    assert [(event.session_id, event.zxid) for event in violation.witness] == [
        (session(2), 2),
        (session(3), 10),
    ]


def test_who_is_elected_in_the_transaction_decides_in_it() -> None:
    trace = elected(3, 2)
    store(trace, 3, document(2, 1, [2], 3), 1, zxid=10)
    elect(trace, 3, 3, zxid=10)
    assert len(messages(trace)) == 0

    store(trace, 2, document(1, 2, [1], 3), 2, zxid=12)
    assert len(messages(trace)) == 1


@pytest.mark.parametrize(
    ("author", "data", "expected"),
    [
        (3, document(1, 0, [1], 1), 0),
        (1, document(1, 1, [1], 2), 0),
        (1, document(1, 1, [1], 1), 1),
        (1, document(2, 0, [1], 1), 1),
        (2, "nonsense", 0),
    ],
    ids=["an ISR", "of no controller", "old epoch", "another leader", "nonsense"],
)
def test_decisions_alone_are_judged(author: int, data: str, expected: int) -> None:
    trace = elected(3, 2)
    store(trace, author, data, 1, zxid=10)

    assert len(messages(trace)) == expected


def test_at_level_0_there_are_no_epochs_to_judge() -> None:
    trace = Trace()
    store(trace, 3, FIRST, 0, zxid=1)
    store(trace, 1, SHRUNK, 1, zxid=2)

    assert check(trace.events).premise_count == 0
