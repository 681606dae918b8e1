"""Partition changes: elections, moves, and partitions that come and go, step by step."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import level_4
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    Action,
    BrokerEpoch,
    BrokerId,
    ElectionKind,
    ErrorCode,
)
from fencepost.spec.znodes import (
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    ReplicasDocument,
    TopicPartition,
    broker_path,
    document_bytes,
    leader_and_isr_path,
    partition_path,
    request_path,
    topic_path,
)
from tests.impl.core.build import ME, T0, T1, state
from tests.impl.core.controller.test_controller import told
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.moving import (
    PARTITION_CHANGE_MS,
    acknowledge,
    elect,
    exists,
    governed,
    grow,
    join_isr,
    listed,
    reassign,
    shrink,
    stops,
    topic,
)

Drive = Callable[[Config], Driver]
MOVE = request_path(PARTITIONS_REASSIGNED, T0)
RETRY_MS = 100
LAG_MS = 2001


def rewrite(driver: Driver, data: bytes) -> None:
    driver.write(SetData(path=MOVE, data=data, expected_version=ANY_VERSION))


# Elections


def test_the_preferred_replica_leads_when_it_is_asked_for(driver: Driver) -> None:
    governed(driver, (2, 3))
    driver.put_state(T0, state(3, 1, (2, 3)))

    assert elect(driver, ElectionKind.PREFERRED) is ErrorCode.NONE

    assert driver.state(T0) == state(2, 2, (2, 3))
    assert not exists(driver, request_path(LEADER_ELECTION, T0))
    acknowledge(driver)
    assert told(driver, 3)[-1] == (2, 2)


def test_a_member_that_joined_as_an_earlier_incarnation_is_not_elected(driver: Driver) -> None:
    """A leader has let it in by a late fetch, and the controller has yet to read that (BEP-006)."""
    governed(driver, (2, 3))
    stats = [driver.zookeeper.peek(broker_path(BrokerId(one))).stat for one in (2, 3)]
    second, third = (BrokerEpoch(stat.czxid) for stat in stats if stat is not None)
    late = {BrokerId(2): BrokerEpoch(second - 1), BrokerId(3): third}
    driver.put_state(T0, replace(state(3, 1, (2, 3)), isr_broker_epochs=late))

    assert elect(driver, ElectionKind.PREFERRED) is ErrorCode.NONE
    assert driver.state(T0) == state(3, 2, (3,))
    assert driver.took(Action.ELECT_LEADER)[-1].isr == frozenset({3})

    driver.tick(RETRY_MS)
    assert not exists(driver, request_path(LEADER_ELECTION, T0))
    assert driver.state(T0) == state(3, 2, (3,))


@pytest.mark.parametrize(
    ("leader", "isr", "error"),
    [
        (2, (2, 3), ErrorCode.ELECTION_NOT_NEEDED),
        (3, (3,), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ],
)
def test_a_preferred_election_that_cannot_be_is_refused(
    driver: Driver, leader: int, isr: tuple[int, ...], error: ErrorCode
) -> None:
    governed(driver, (2, 3))
    driver.put_state(T0, state(leader, 1, isr))

    assert elect(driver, ElectionKind.PREFERRED) is error
    assert driver.took(Action.ELECT_LEADER) == []


def test_a_preferred_election_that_came_too_late_is_dropped(driver: Driver) -> None:
    governed(driver, (2, 3))
    driver.put_state(T0, state(3, 1, (2, 3)))
    driver.plan_read(topic_path("t"), None)
    driver.plan_read(topic_path("t"), None, first=lambda: join_isr(driver, T0, 3))

    elect(driver, ElectionKind.PREFERRED)

    assert driver.state(T0) == state(3, 1, (3,))
    assert not exists(driver, request_path(LEADER_ELECTION, T0))


def test_an_election_whose_answer_was_lost_is_told_all_the_same(driver: Driver) -> None:
    """The request went with it: nothing else leads to the partition any more."""
    governed(driver, (2, 3))
    driver.put_state(T0, state(3, 1, (2, 3)))
    driver.plan_write(leader_and_isr_path(T0), Fate.LOSE_REPLY)

    elect(driver, ElectionKind.PREFERRED)

    assert driver.state(T0) == state(2, 2, (2, 3))
    assert not exists(driver, request_path(LEADER_ELECTION, T0))
    acknowledge(driver)
    assert told(driver, 3)[-1] == (2, 2)


def test_an_unclean_election_may_be_asked_for_once(driver: Driver) -> None:
    governed(driver, (2, 3))
    driver.put_state(T0, state(2, 1, (2,)))
    assert elect(driver, ElectionKind.UNCLEAN) is ErrorCode.ELECTION_NOT_NEEDED
    driver.unregister(2)
    assert driver.state(T0) == state(NO_BROKER, 2, (2,))

    assert elect(driver, ElectionKind.UNCLEAN) is ErrorCode.NONE

    assert driver.state(T0) == state(3, 3, (3,))
    assert [taken.is_unclean for taken in driver.took(Action.ELECT_LEADER)] == [None, True]
    driver.unregister(3)
    assert driver.state(T0) == state(NO_BROKER, 4, (3,))


def test_an_unclean_election_takes_a_member_that_is_back(driver: Driver) -> None:
    governed(driver, (2, 3))
    driver.put_state(T0, state(2, 1, (2,)))
    driver.unregister(2)
    driver.plan_read(topic_path("t"), None)  # the administrator's broker; then the controller
    driver.plan_read(leader_and_isr_path(T0), None, first=lambda: driver.register(2))

    elect(driver, ElectionKind.UNCLEAN)

    last = driver.took(Action.ELECT_LEADER)[-1]
    assert driver.state(T0).leader == 2
    assert (last.is_loss_possible, last.is_unclean) == (True, True)


# Reassignment


def test_a_partition_moves_step_by_step(driver: Driver) -> None:
    governed(driver, (2, 3))

    assert reassign(driver, 4, 1) is ErrorCode.NONE

    assert topic(driver).partitions["0"] == [2, 3, 4, 1]
    assert topic(driver).adding == {"0": [1, 4]}
    assert driver.state(T0) == state(2, 1, (2, 3))
    acknowledge(driver)
    assert told(driver, 4) == told(driver, 1)[-1:] == [(2, 1)]

    join_isr(driver, T0, 2, 3, 4)
    assert driver.state(T0).leader_epoch == 1, "it waits for all of the target"
    join_isr(driver, T0, 1, 2, 3, 4)

    assert topic(driver).partitions["0"] == [4, 1]
    assert topic(driver).removing == {"0": [2, 3]}
    assert driver.state(T0) == state(4, 2, (1, 4))
    assert exists(driver, MOVE), "the old replicas are not stopped yet"
    acknowledge(driver)
    assert [stop.leader_epoch for stop in stops(driver, 2) + stops(driver, 3)] == [2, 2]
    assert topic(driver).removing is msgspec.UNSET
    assert not exists(driver, MOVE)
    assert listed(driver) == ()


def test_each_step_is_one_multi_that_checks_the_request(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 3, 4)
    join_isr(driver, T0, 2, 3, 4)

    steps = [w.ops for w in driver.writes if any(op.path == topic_path("t") for op in w.ops)]
    for ops in steps:
        paths = [op.path for op in ops[3:]]
        assert paths == [MOVE, topic_path("t"), leader_and_isr_path(T0)]
    assert len(steps) == 2


def test_a_partition_that_only_gains_a_replica_comes_to_an_end(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 2, 3, 4)
    assert topic(driver).adding == {"0": [4]}

    join_isr(driver, T0, 2, 3, 4)

    assert topic(driver).partitions["0"] == [2, 3, 4]
    assert topic(driver).adding is msgspec.UNSET
    assert not exists(driver, MOVE)


def test_a_partition_may_lose_a_replica_or_change_their_order(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 3, 2)
    assert topic(driver).partitions["0"] == [3, 2]
    assert driver.state(T0) == state(2, 0, (2, 3)), "only the order changes"

    reassign(driver, 3)
    acknowledge(driver)

    assert driver.state(T0) == state(3, 1, (3,))
    assert len(stops(driver, 2)) == 1
    assert not exists(driver, MOVE)


def test_a_move_that_is_cancelled_goes_back(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 4)
    join_isr(driver, T0, 2, 3)
    assert [(one.replicas, one.adding) for one in listed(driver)] == [((4,), (4,))]

    assert reassign(driver) is ErrorCode.NONE

    assert topic(driver).partitions["0"] == [2, 3]
    assert driver.state(T0) == state(2, 2, (2, 3))
    acknowledge(driver)
    assert [stop.leader_epoch for stop in stops(driver, 4)] == [2]
    assert topic(driver).removing is msgspec.UNSET
    assert reassign(driver) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert [a.action for a in driver.took(Action.CANCEL_REASSIGNMENT)] == ["CancelReassignment"]


def test_a_changed_target_gives_up_what_the_first_one_added(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 4)

    reassign(driver, 1)

    assert topic(driver).partitions["0"] == [2, 3, 1]
    assert topic(driver).adding == {"0": [1]}
    assert topic(driver).removing == {"0": [4]}


def test_a_request_that_changes_meanwhile_makes_the_step_fail(driver: Driver) -> None:
    governed(driver, (2, 3))
    other = document_bytes(ReplicasDocument(replicas=[1, 2, 3]))
    driver.plan_write(topic_path("t"), None, first=lambda: rewrite(driver, other))

    reassign(driver, 4)
    driver.tick(RETRY_MS)

    assert topic(driver).adding == {"0": [1]}
    assert topic(driver).removing is msgspec.UNSET


def test_a_target_that_never_catches_up_holds_up_nobody_else(driver: Driver) -> None:
    governed(driver, (2, 3), (2, 3))
    reassign(driver, 4)
    reassign(driver, 1, 3, key=T1)

    join_isr(driver, T1, 1, 2, 3)
    acknowledge(driver)

    assert topic(driver).partitions == {"0": [2, 3, 4], "1": [1, 3]}
    assert exists(driver, MOVE)
    assert not exists(driver, request_path(PARTITIONS_REASSIGNED, T1))


def test_a_dead_old_replica_does_not_hold_up_the_switch_nor_its_stop_the_end(
    driver: Driver,
) -> None:
    governed(driver, (2, 3))
    driver.unregister(3)
    assert driver.state(T0) == state(2, 1, (2,))

    reassign(driver, 2, 4)
    join_isr(driver, T0, 2, 4)

    assert driver.state(T0) == state(2, 3, (2, 4))
    assert topic(driver).partitions["0"] == [2, 4]
    assert not exists(driver, MOVE)


def test_a_broker_that_goes_before_it_is_stopped_does_not_hold_up_the_end(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 2)
    assert topic(driver).removing == {"0": [3]}

    driver.unregister(3)

    assert topic(driver).removing is msgspec.UNSET
    assert not exists(driver, MOVE)


def test_a_leader_that_is_dead_is_replaced_before_the_partition_moves_on(driver: Driver) -> None:
    governed(driver, (2, 3))
    reassign(driver, 4)
    join_isr(driver, T0, 2, 3, 4)  # switched: broker 4 leads alone
    driver.unregister(4)
    assert driver.state(T0) == state(NO_BROKER, 3, (4,))

    reassign(driver, 1)
    assert topic(driver).adding == {"0": [1]}
    driver.register(4)
    driver.tick(RETRY_MS)

    assert driver.state(T0).leader == 4


def test_requests_are_found_by_the_timer_alone(driver: Driver) -> None:
    governed(driver, (2, 3))
    driver.plan_listing(PARTITIONS_REASSIGNED, Fate.LOSE_REPLY)
    data = document_bytes(ReplicasDocument(replicas=[3]))
    driver.write(Create(path=MOVE.rpartition("/")[0], data=b""), Create(path=MOVE, data=data))

    driver.tick(PARTITION_CHANGE_MS)

    assert topic(driver).partitions["0"] == [3]


def test_a_target_of_nonsense_is_reported_and_left_alone(driver: Driver) -> None:
    governed(driver, (2, 3))
    driver.write(Create(path=MOVE.rpartition("/")[0], data=b""), Create(path=MOVE, data=b"{}"))

    assert driver.malformed == [MOVE]
    assert driver.state(T0) == state(2, 0, (2, 3))


def test_a_request_for_nothing_goes(driver: Driver) -> None:
    governed(driver, (2, 3))
    for key in (T1, TopicPartition("unknown", 0)):
        path = request_path(PARTITIONS_REASSIGNED, key)
        data = document_bytes(ReplicasDocument(replicas=[2]))
        driver.write(Create(path=path.rpartition("/")[0], data=b""), Create(path=path, data=data))
        driver.tick(PARTITION_CHANGE_MS)
        assert not exists(driver, path)


@pytest.mark.parametrize("replicas", [(2, 2), (2, 9), ()])
def test_a_move_that_cannot_be_is_refused(driver: Driver, replicas: tuple[int, ...]) -> None:
    governed(driver, (2, 3))
    wanted = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    wanted = wanted if replicas else ErrorCode.NO_REASSIGNMENT_IN_PROGRESS

    assert reassign(driver, *replicas) is wanted
    assert reassign(driver, 2, key=T1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Partitions


def test_partitions_are_added_with_leaders(driver: Driver) -> None:
    governed(driver, (2, 3))

    assert grow(driver, 3, (3, 4), (4, 2)) is ErrorCode.NONE

    assert topic(driver).partitions == {"0": [2, 3], "1": [3, 4], "2": [4, 2]}
    assert driver.state(T1) == state(3, 0, (3, 4))
    assert not exists(driver, request_path(PARTITIONS_ADD, T1))
    assert len(driver.took(Action.REQUEST_PARTITIONS)) == 2
    acknowledge(driver)
    assert (3, 0) in told(driver, 4, T1)


def test_brokers_are_chosen_in_turn(driver: Driver) -> None:
    governed(driver, (2, 3))

    grow(driver, 3)

    assert topic(driver).partitions == {"0": [2, 3], "1": [2, 3], "2": [3, 4]}


@pytest.mark.parametrize(
    ("count", "assignment", "error"),
    [
        (1, (), ErrorCode.INVALID_PARTITIONS),
        (20_000, (), ErrorCode.INVALID_PARTITIONS),
        (2, ((2,), (3,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (2, ((2, 9),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (2, ((),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_partitions_that_cannot_be_are_refused(
    driver: Driver, count: int, assignment: tuple[tuple[int, ...], ...], error: ErrorCode
) -> None:
    governed(driver, (2, 3))

    assert grow(driver, count, *assignment) is error
    assert topic(driver).partitions == {"0": [2, 3]}


def test_a_partition_without_a_live_replica_waits_and_its_request_with_it(driver: Driver) -> None:
    governed(driver, (2, 3))
    data = document_bytes(ReplicasDocument(replicas=[9]))
    path = request_path(PARTITIONS_ADD, T1)
    driver.write(Create(path=path.rpartition("/")[0], data=b""), Create(path=path, data=data))
    assert topic(driver).partitions["1"] == [9]
    assert exists(driver, path)

    driver.register(9)

    assert driver.state(T1) == state(9, 0, (9,))
    assert not exists(driver, path)


def test_a_partition_is_removed_from_topic_and_state_then_from_its_brokers(driver: Driver) -> None:
    governed(driver, (2, 3), (3, 4))

    assert shrink(driver, 1) is ErrorCode.NONE

    assert topic(driver).partitions == {"0": [2, 3]}
    assert not exists(driver, leader_and_isr_path(T1))
    assert exists(driver, request_path(PARTITIONS_REMOVE, T1)), "its brokers are still told"
    (ops,) = [w.ops for w in driver.writes if any(isinstance(op, Delete) for op in w.ops)]
    state_path = leader_and_isr_path(T1)
    assert [op.path for op in ops[4:]] == [topic_path("t"), state_path, partition_path(T1)]
    acknowledge(driver)
    assert len(stops(driver, 3)) == len(stops(driver, 4)) == 1
    assert not exists(driver, request_path(PARTITIONS_REMOVE, T1))
    assert topic(driver).removing is msgspec.UNSET


def test_a_partition_may_come_again(driver: Driver) -> None:
    governed(driver, (2, 3), (3, 4))
    shrink(driver, 1)
    acknowledge(driver)

    grow(driver, 2, (4, 2))

    assert driver.state(T1) == state(4, 0, (2, 4))


@pytest.mark.parametrize("partitions", [(), (0, 1), (7,)])
def test_a_removal_that_cannot_be_is_refused(driver: Driver, partitions: tuple[int, ...]) -> None:
    governed(driver, (2, 3), (3, 4))

    assert shrink(driver, *partitions) is ErrorCode.INVALID_PARTITIONS
    assert len(topic(driver).partitions) == 2


def test_a_partition_that_moves_may_be_removed(driver: Driver) -> None:
    governed(driver, (2, 3), (3, 4))
    reassign(driver, 1, key=T1)

    shrink(driver, 1)
    acknowledge(driver)
    driver.tick(PARTITION_CHANGE_MS)

    assert [len(stops(driver, broker_id)) for broker_id in (1, 3, 4)] == [1, 1, 1]
    assert topic(driver).adding is msgspec.UNSET
    assert not exists(driver, request_path(PARTITIONS_REASSIGNED, T1))


# The administrator's broker without ZooKeeper


def test_without_zookeeper_nothing_is_promised(drive: Drive) -> None:
    driver = governed(drive(Config(broker_id=ME, rules=level_4.RULES)), (2, 3))
    driver.lose_session()

    assert elect(driver, ElectionKind.PREFERRED) is ErrorCode.BROKER_NOT_AVAILABLE
    assert reassign(driver, 2) is ErrorCode.BROKER_NOT_AVAILABLE
    assert grow(driver, 2) is ErrorCode.BROKER_NOT_AVAILABLE
    assert shrink(driver, 0) is ErrorCode.BROKER_NOT_AVAILABLE
    assert listed(driver) == ()
