"""Brokers tell clients what is published, never what is older, and know brokers before roles."""

import pytest

from fencepost.conformance.checks.metadata_in_order import check
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action
from tests.conformance.checks.trace_builder import ZNODE, Trace, document


def published() -> Trace:
    """Broker 1 leads in leader epoch 0 and then broker 2, as ZooKeeper holds it."""
    trace = Trace()
    for broker_id, zxid in ((1, 5), (2, 6), (3, 7), (3, 8)):
        trace.zookeeper("Create", f"/brokers/ids/{broker_id}", "", session=1, zxid=zxid)
    trace.zookeeper("Create", ZNODE, document(1, 0, [1, 2]), session=1, zxid=10)
    trace.zookeeper("SetData", ZNODE, document(2, 1, [2]), session=1, zxid=11, version=1)
    return trace


def brokers(trace: Trace, epoch: int = 1, last: int = 7) -> None:
    """Broker 3 is told which brokers there are, of which the last is registered as this."""
    live = {"live_brokers": [1, 2, 3], "broker_epochs": [5, 6, last], "topic": None}
    trace.broker(3, Action.UPDATE_METADATA, controller_epoch=epoch, partition=None, **live)


def told(trace: Trace, leader: int, leader_epoch: int, isr: list[int]) -> None:
    """Broker 3 takes this state, of the version of that number."""
    trace.broker(
        3,
        Action.UPDATE_METADATA,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=isr,
        znode_version=leader_epoch,
        partition_incarnation=10,
        controller_epoch=1,
    )


def follow(trace: Trace, controller_epoch: int = 1) -> None:
    trace.broker(3, Action.BECOME_FOLLOWER, leader_epoch=1, controller_epoch=controller_epoch)


def found(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def test_what_is_published_is_taken_in_order_before_a_role() -> None:
    trace = published()
    brokers(trace)
    told(trace, 1, 0, [1, 2])
    told(trace, 2, 1, [2])
    told(trace, 2, 1, [2])
    follow(trace)

    assert found(trace) == []
    assert check(trace.events).premise_count == 5


@pytest.mark.parametrize(
    ("second", "is_later"),
    [((1, 5), True), ((2, 1), True), ((1, 4), False), ((1, 3), False), ((0, 9), False)],
)
def test_no_body_is_taken_twice_or_late(second: tuple[int, int], *, is_later: bool) -> None:
    trace = published()
    for epoch, number in ((1, 4), second):
        trace.broker(
            3,
            Action.UPDATE_METADATA,
            controller_epoch=epoch,
            metadata_version=number,
            partition=None,
            topic=None,
        )
    epoch, number = second
    late = f"Broker 3 took body {number} of controller epoch {epoch} after body 4 of epoch 1."

    assert found(trace) == ([] if is_later else [late])


@pytest.mark.parametrize(("epoch", "expected"), [(7, 0), (8, 0), (6, 1), (9, 1)])
def test_a_broker_is_told_as_one_of_its_registrations(epoch: int, expected: int) -> None:
    trace = published()
    brokers(trace, last=epoch)

    assert (
        found(trace)
        == ["Broker 3 was told of brokers [3], which ZooKeeper never held so."] * expected
    )


def test_metadata_do_not_go_back() -> None:
    trace = published()
    told(trace, 2, 1, [2])
    told(trace, 1, 0, [1, 2])

    assert found(trace) == ["Broker 3 tells of orders/0 version 0 after 1."]


@pytest.mark.parametrize(
    ("leader", "version", "isr"),
    [(2, 1, [1, 2]), (1, 1, [2]), (2, 2, [2]), (2, 3, [2])],
)
def test_what_no_znode_held_is_not_told(leader: int, version: int, isr: list[int]) -> None:
    trace = published()
    trace.zookeeper("SetData", ZNODE, "?", session=1, zxid=12, version=2)
    told(trace, leader, version, isr)

    assert found(trace) == [
        f"Broker 3 tells of orders/0 version {version}, which ZooKeeper never held so."
    ]


def test_no_role_comes_from_a_controller_that_has_told_of_no_brokers() -> None:
    trace = published()
    brokers(trace)
    follow(trace, controller_epoch=2)

    (message,) = found(trace)
    assert message.startswith("Broker 3 took a role in orders/0 from the controller of epoch 2")


def test_no_role_comes_before_all_metadata() -> None:
    trace = published()
    follow(trace)
    brokers(trace)

    assert len(found(trace)) == 1


def test_below_level_4_there_is_nothing_to_decide() -> None:
    trace = published()
    follow(trace)

    assert check(trace.events).premise_count == 0


def test_what_is_taken_of_a_partition_is_of_the_body_that_was_taken() -> None:
    trace = published()
    body = {"controller_epoch": 1, "metadata_version": 4}
    trace.broker(3, Action.UPDATE_METADATA, partition=None, topic=None, **body)
    state = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "znode_version": 0}
    for number in (4, 5):
        told = {**state, **body, "metadata_version": number, "partition_incarnation": 10}
        trace.broker(3, Action.UPDATE_METADATA, **told)

    (message,) = found(trace)
    assert "took a state of orders/0 with body 5 of controller epoch 1" in message


def test_without_the_record_of_zookeeper_nothing_is_compared_with_it() -> None:
    trace = Trace()
    brokers(trace)
    told(trace, 1, 0, [1, 2])

    result = check(trace.events)

    assert (result.verdict, result.violations) == (Verdict.VACUOUS, ())
