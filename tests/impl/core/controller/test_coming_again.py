"""Partitions and topics that come again under their old names: what must not outlive the first."""

import pytest

from fencepost.impl.core.types.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)
from fencepost.impl.core.types.topic_messages import DeleteTopicRequest, DeleteTopicResponse
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData
from fencepost.spec.vocabulary import ANY_VERSION, Action
from fencepost.spec.znodes import (
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    leader_and_isr_path,
    partition_path,
    request_path,
    topic_path,
)
from tests.impl.core.build import ME, T0, T1, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.moving import (
    acknowledge,
    exists,
    governed,
    grow,
    join_isr,
    reassign,
    shrink,
    stops,
    topic,
)
from tests.impl.core.roles import all_deleted

MOVE = request_path(PARTITIONS_REASSIGNED, T0)
LAG_MS = 2001


def obey_itself(driver: Driver) -> None:
    """The node has got the last commands that it sent to itself."""
    own = [s.request for s in driver.sent if s.to == ME]
    for request in own[-2:]:
        if isinstance(request, LeaderAndIsrRequest):
            driver.deliver(request, LeaderAndIsrResponse)
        elif isinstance(request, StopReplicaRequest):
            driver.deliver(request, StopReplicaResponse)


def test_a_partition_that_comes_again_is_stopped_again_when_it_goes_again(driver: Driver) -> None:
    governed(driver, (2, 3), (3, 4))
    shrink(driver, 1)
    acknowledge(driver)
    grow(driver, 2, (3, 4))
    acknowledge(driver)

    shrink(driver, 1)
    acknowledge(driver)

    first, second = stops(driver, 3)
    assert len(stops(driver, 4)) == 2
    assert second.partition_incarnation > first.partition_incarnation
    assert not exists(driver, request_path(PARTITIONS_REMOVE, T1))


def test_who_leaves_a_partition_is_told_though_its_topic_goes_first(driver: Driver) -> None:
    """The controller has written the removal, and finds no topic when it looks for replicas."""
    governed(driver, (2, 3), (3, 4))
    driver.plan_read(topic_path("t"), None)  # the administrator's broker
    driver.plan_read(topic_path("t"), None)  # the controller, before it writes
    driver.plan_read(topic_path("t"), None, first=lambda: all_deleted(driver))

    shrink(driver, 1)
    acknowledge(driver)

    assert driver.took(Action.REMOVE_PARTITIONS)
    for broker_id in (3, 4):
        assert 1 in [stop.partition for stop in stops(driver, broker_id)]


def test_who_leaves_by_a_move_is_told_though_the_topic_goes_first(driver: Driver) -> None:
    """As above: the topic does not name the old replica any more, and its leader left it out."""
    governed(driver, (2, 3))
    driver.plan_read(topic_path("t"), None)  # the administrator's broker
    driver.plan_read(topic_path("t"), None)  # the controller, before it writes
    driver.plan_read(topic_path("t"), None, first=lambda: all_deleted(driver))

    reassign(driver, 2)
    acknowledge(driver)

    assert driver.took(Action.ADVANCE_REASSIGNMENT)[-1].assigned_replicas == (2,)
    assert {broker_id for broker_id in (2, 3, 4) if stops(driver, broker_id)} == {2, 3}


def test_a_broker_that_leaves_a_partition_twice_is_told_twice(driver: Driver) -> None:
    governed(driver, (2, 3))
    for target in ((2,), (2, 3), (2,)):
        reassign(driver, *target)
        acknowledge(driver)
        join_isr(driver, T0, *target)
        acknowledge(driver)

    first, second = stops(driver, 3)
    assert second.leader_epoch > first.leader_epoch
    assert topic(driver).partitions["0"] == [2]


@pytest.mark.parametrize("removals", [1, 2])
def test_a_leader_of_a_removed_partition_changes_nothing_of_the_next_one(
    driver: Driver, removals: int
) -> None:
    """Topic id, leader, epoch and znode version are the same again; the folder's version is not."""
    governed(driver, (2, 3), (1, 3))
    obey_itself(driver)
    assert driver.replica(T1).is_leader
    path = leader_and_isr_path(T1)
    data = driver.zookeeper.peek(path).data
    for _ in range(removals):
        driver.write(Delete(path=path, expected_version=ANY_VERSION))
        driver.write(SetData(path=partition_path(T1), data=b"", expected_version=ANY_VERSION))
        driver.write(Create(path=path, data=data))

    driver.tick(LAG_MS)

    assert driver.state(T1) == state(1, 0, (1, 3))
    assert driver.replica(T1).is_fenced


def test_a_leader_of_a_partition_that_came_again_changes_its_isr(driver: Driver) -> None:
    governed(driver, (2, 3), (1, 3))
    for _ in range(2):
        shrink(driver, 1)
        acknowledge(driver)
        grow(driver, 2, (1, 3))
        acknowledge(driver)
    obey_itself(driver)
    assert driver.replica(T1).is_leader

    driver.tick(LAG_MS)
    driver.tick(LAG_MS)

    assert driver.state(T1) == state(1, 0, (1,))
    folder = driver.zookeeper.peek(partition_path(T1))
    assert folder.stat is not None
    assert folder.stat.version == 2


def test_a_view_of_a_deleted_topic_teaches_nothing_of_the_next_one(driver: Driver) -> None:
    """Its states are still being read when the topic goes; the next one has the same partitions."""
    governed(driver, (2, 3))
    reassign(driver, 4)
    driver.plan_read(leader_and_isr_path(T0), Fate.HOLD)
    driver.write(Delete(path=MOVE, expected_version=ANY_VERSION))
    driver.deliver(DeleteTopicRequest(topic="t"), DeleteTopicResponse)
    driver.release()
    assert T0 not in driver.node.controller.context.assignments

    driver.create_topic("t", (3, 2))

    assert driver.state(T0) == state(3, 0, (2, 3))


def test_a_folder_that_went_with_its_topic_is_made_anew(driver: Driver) -> None:
    """A partition that comes again finds its folder; one of the next topic does not."""
    governed(driver, (2, 3), (3, 4))
    shrink(driver, 1)
    acknowledge(driver)
    grow(driver, 2, (3, 4))
    shrink(driver, 1)
    acknowledge(driver)
    driver.deliver(DeleteTopicRequest(topic="t"), DeleteTopicResponse)

    driver.create_topic("t", (2, 3), (3, 4))

    assert driver.state(T1) == state(3, 0, (3, 4))
