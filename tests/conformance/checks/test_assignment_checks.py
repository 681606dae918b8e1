"""Members of the ISR are assigned, and a broker that gives a replica up is not."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks import delete_only_if_unassigned, isr_subset_assigned
from fencepost.conformance.verdict import Verdict
from tests.conformance.checks.trace_builder import PARTITION, ZNODE, Trace, document

TOPIC = f"/brokers/topics/{PARTITION.topic}"
FIRST = 2
"""The zxid at which the state is created."""


def assigned(*replicas: int) -> str:
    return f'{{"version":1,"partitions":{{"0":{list(replicas)}}}}}'


def serving() -> Trace:
    """The partition is on brokers 1 and 2, led by 1."""
    trace = Trace()
    trace.zookeeper("Create", TOPIC, assigned(1, 2), session=1, zxid=1)
    trace.zookeeper("Create", ZNODE, document(1, 0, [1, 2]), session=1, zxid=FIRST)
    return trace


def switch(trace: Trace, *, with_topic: bool = True) -> None:
    """The partition is on broker 3 alone, by a decision of epoch 1."""
    if with_topic:
        trace.zookeeper("SetData", TOPIC, assigned(3), session=1, zxid=5, version=1)
    trace.zookeeper("SetData", ZNODE, document(3, 1, [3]), session=1, zxid=5, version=1)


def obey(trace: Trace, broker_id: int, epoch: int) -> None:
    trace.broker(broker_id, "BecomeFollower", leader=1, leader_epoch=epoch, isr=[1, 2])


def stop(trace: Trace, broker_id: int, epoch: int, incarnation: int = FIRST) -> None:
    told = {"leader_epoch": epoch, "partition_incarnation": incarnation}
    trace.broker(broker_id, "StopReplica", controller_epoch=1, **told)


def test_members_that_are_assigned_are_fine_in_each_transaction() -> None:
    trace = serving()
    switch(trace)

    result = isr_subset_assigned.check(trace.events)
    assert (result.verdict, result.premise_count) == (Verdict.PASS, 2)


def test_a_member_that_is_not_assigned_is_caught() -> None:
    trace = serving()
    switch(trace, with_topic=False)

    (violation,) = isr_subset_assigned.check(trace.events).violations
    assert "has [3] in its ISR, and is assigned to [1, 2]" in violation.message


def test_an_assignment_that_leaves_a_member_out_is_caught() -> None:
    trace = serving()
    trace.zookeeper("SetData", TOPIC, assigned(2), session=1, zxid=5, version=1)

    (violation,) = isr_subset_assigned.check(trace.events).violations
    assert "has [1]" in violation.message


def test_a_partition_that_its_topic_does_not_name_is_not_judged() -> None:
    trace = serving()
    trace.zookeeper("Delete", TOPIC, "", session=1, zxid=5)

    assert isr_subset_assigned.check(trace.events).verdict is Verdict.PASS


def test_lines_about_something_else_assign_nothing() -> None:
    trace = serving()
    trace.zookeeper("SetData", f"/config/topics/{PARTITION.topic}", "{}", session=1, zxid=3)
    trace.zookeeper("Create", "/brokers/topics/payments", assigned(7), session=1, zxid=4)
    assert isr_subset_assigned.check(trace.events).premise_count == 1

    switch(trace, with_topic=False)

    assert len(isr_subset_assigned.check(trace.events).violations) == 1


def test_a_state_that_is_gone_has_no_members() -> None:
    trace = serving()
    trace.zookeeper("Delete", ZNODE, "", session=1, zxid=5)

    assert isr_subset_assigned.check(trace.events).premise_count == 1


def test_of_a_partition_that_its_topic_does_not_name_all_may_be_given_up() -> None:
    trace = Trace()
    trace.zookeeper("Create", ZNODE, document(1, 0, [1, 2]), session=1, zxid=FIRST)
    stop(trace, 2, 0)

    assert delete_only_if_unassigned.check(trace.events).violations == ()


@pytest.mark.parametrize("obeyed", [0, 1])
def test_who_is_assigned_no_more_may_give_up(obeyed: int) -> None:
    trace = serving()
    obey(trace, 2, obeyed)
    switch(trace)
    stop(trace, 2, 1)

    result = delete_only_if_unassigned.check(trace.events)
    assert (result.verdict, result.premise_count) == (Verdict.PASS, 1)


def test_an_incarnation_that_was_deleted_may_be_given_up() -> None:
    trace = serving()
    trace.zookeeper("Delete", ZNODE, "", session=1, zxid=6)
    obey(trace, 2, 0)
    trace.zookeeper("Create", ZNODE, document(1, 0, [1, 2]), session=1, zxid=7)
    stop(trace, 2, -1)

    assert delete_only_if_unassigned.check(trace.events).verdict is Verdict.PASS


def test_a_stop_of_a_later_incarnation_takes_what_is_older() -> None:
    """Broker 2 has the state before, at epoch 3, when epoch 1 of the next one moves it away."""
    trace = serving()
    trace.zookeeper("SetData", ZNODE, document(1, 1, [1, 2]), session=1, zxid=3, version=1)
    obey(trace, 2, 3)
    trace.zookeeper("Delete", ZNODE, "", session=1, zxid=6)
    trace.zookeeper("Create", ZNODE, document(1, 0, [1, 2]), session=1, zxid=7)
    trace.zookeeper("SetData", TOPIC, assigned(3), session=1, zxid=8, version=1)
    trace.zookeeper("SetData", ZNODE, document(3, 1, [3]), session=1, zxid=8, version=1)
    stop(trace, 2, 1)

    assert delete_only_if_unassigned.check(trace.events).verdict is Verdict.PASS


def still_assigned(trace: Trace) -> None:
    switch(trace, with_topic=False)
    stop(trace, 2, 1)


def still_assigned_at_first(trace: Trace) -> None:
    stop(trace, 2, 0)


def assigned_here_and_not_elsewhere(trace: Trace) -> None:
    both = '{"version":1,"partitions":{"0":[1,2],"1":[3]}}'
    trace.zookeeper("SetData", TOPIC, both, session=1, zxid=4, version=1)
    switch(trace, with_topic=False)
    other = ZNODE.replace("/0/", "/1/")
    trace.zookeeper("Create", other, document(3, 1, [3]), session=1, zxid=6)
    stop(trace, 2, 1)


def created_again(trace: Trace, epoch: int, *replicas: int) -> None:
    switch(trace, with_topic=False)
    trace.zookeeper("Delete", ZNODE, "", session=1, zxid=6)
    trace.zookeeper("SetData", TOPIC, assigned(*replicas), session=1, zxid=7, version=2)
    state = document(replicas[0], epoch, [*replicas])
    trace.zookeeper("Create", ZNODE, state, session=1, zxid=7)
    stop(trace, 2, 1)


def moved_by_another_epoch_of_a_later_incarnation(trace: Trace) -> None:
    created_again(trace, 0, 3)


def assigned_by_this_epoch_of_a_later_incarnation(trace: Trace) -> None:
    created_again(trace, 1, 1, 2)


def without_an_epoch(trace: Trace) -> None:
    trace.broker(2, "StopReplica", partition_incarnation=FIRST)


def older_than_what_it_obeyed(trace: Trace) -> None:
    switch(trace)
    obey(trace, 2, 3)
    stop(trace, 2, 1)


def nobody_deleted_it(trace: Trace) -> None:
    stop(trace, 2, -1)


@pytest.mark.parametrize(
    ("story", "reason"),
    [
        (still_assigned, "which leader epoch 1 assigns to [1, 2]"),
        (still_assigned_at_first, "which leader epoch 0 assigns to [1, 2]"),
        (assigned_here_and_not_elsewhere, "which leader epoch 1 assigns to [1, 2]"),
        (moved_by_another_epoch_of_a_later_incarnation, "epoch 1 assigns to [1, 2]"),
        (assigned_by_this_epoch_of_a_later_incarnation, "epoch 1 assigns to [1, 2]"),
        (without_an_epoch, "which was not deleted"),
        (older_than_what_it_obeyed, "after it had obeyed epoch 3"),
        (nobody_deleted_it, "which was not deleted"),
    ],
)
def test_a_replica_that_is_wanted_is_not_given_up(
    story: Callable[[Trace], None], reason: str
) -> None:
    trace = serving()
    story(trace)

    (violation,) = delete_only_if_unassigned.check(trace.events).violations
    assert reason in violation.message
