"""What any broker below level 5 answers from ZooKeeper: topics that it makes, the routing view."""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import level_4
from fencepost.impl.core.rules.controller.partition_rules import PARTITIONS_MAX
from fencepost.impl.core.types.messages import BrokerEndpoint, MetadataRequest, MetadataResponse
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    ReplicaList,
)
from fencepost.impl.core.types.zookeeper import Create
from fencepost.spec.vocabulary import Action, BrokerId, ErrorCode
from fencepost.spec.znodes import BROKER_IDS, TOPICS, parse_topic, topic_path
from tests.impl.core.build import ME, T0, T1, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import beside_controller


@pytest.fixture
def driver() -> Driver:
    """Broker 1 at the last level at which any broker writes topics."""
    return Driver(Config(broker_id=ME, rules=level_4.RULES))


def ready(driver: Driver) -> Driver:
    """Brokers 1, 2 and 3 are live; broker 3 is controller and does nothing."""
    driver.register(2)
    return beside_controller(driver)


def assigned(*replicas: tuple[int, ...]) -> CreateTopicRequest:
    lists = (ReplicaList(replicas=tuple(map(BrokerId, listed))) for listed in replicas)
    return CreateTopicRequest(topic="t", assignment=tuple(lists))


def assignment(driver: Driver, topic: str = "t") -> dict[int, tuple[BrokerId, ...]]:
    path = topic_path(topic)
    return parse_topic(path, driver.zookeeper.peek(path).data)


@pytest.mark.parametrize("topic", ["t", "a.b_c-D9", "x" * 249, "..."])
def test_a_topic_is_spread_over_the_live_brokers(driver: Driver, topic: str) -> None:
    ready(driver)
    request = CreateTopicRequest(topic=topic, partition_count=4, replication_factor=2)

    response = driver.deliver(request, CreateTopicResponse)

    assert response.error_code is ErrorCode.NONE
    assert assignment(driver, topic) == {0: (1, 2), 1: (2, 3), 2: (3, 1), 3: (1, 2)}
    assert len(driver.took(Action.CREATE_TOPIC)) == 1


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "a b", "x" * 250, "ü", "a\n"])
def test_a_name_that_is_none_gets_a_reason_and_no_znode(driver: Driver, topic: str) -> None:
    ready(driver)

    response = driver.deliver(CreateTopicRequest(topic=topic), CreateTopicResponse)

    assert response.error_code is ErrorCode.INVALID_TOPIC
    assert repr(topic) in response.message
    assert driver.zookeeper.children(TOPICS) == ()


@pytest.mark.parametrize(
    ("partitions", "factor"), [(0, 1), (-1, 1), (PARTITIONS_MAX + 1, 1), (1, 0), (1, 4)]
)
def test_counts_that_cannot_be_met_get_a_reason(
    driver: Driver, partitions: int, factor: int
) -> None:
    ready(driver)
    request = CreateTopicRequest(topic="t", partition_count=partitions, replication_factor=factor)

    response = driver.deliver(request, CreateTopicResponse)

    assert response.error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert str(partitions if factor == 1 else factor) in response.message
    assert driver.zookeeper.children(TOPICS) == ()


def test_a_given_assignment_is_taken_as_it_is(driver: Driver) -> None:
    ready(driver)

    response = driver.deliver(assigned((3, 1), (2,)), CreateTopicResponse)

    assert response.error_code is ErrorCode.NONE
    assert assignment(driver) == {0: (3, 1), 1: (2,)}


@pytest.mark.parametrize("second", [(), (2, 2), (9,), (1, 4), (-1,)])
def test_replica_lists_with_repeated_unknown_or_dead_brokers_are_refused(
    driver: Driver, second: tuple[int, ...]
) -> None:
    ready(driver)

    response = driver.deliver(assigned((1, 2), second), CreateTopicResponse)

    assert response.error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "partition 1" in response.message
    assert driver.zookeeper.children(TOPICS) == ()


def test_a_topic_is_created_once(driver: Driver) -> None:
    ready(driver)
    driver.create_topic("t", (1,))

    response = driver.deliver(assigned((2,)), CreateTopicResponse)

    assert response.error_code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert assignment(driver) == {0: (1,)}


@pytest.mark.parametrize("fate", [Fate.LOSE_REPLY, Fate.LOSE_REQUEST])
def test_a_lost_reply_makes_the_creation_indefinite(driver: Driver, fate: Fate) -> None:
    ready(driver)
    driver.plan_write(topic_path("t"), fate)

    response = driver.deliver(assigned((1,)), CreateTopicResponse)

    assert response.error_code is ErrorCode.REQUEST_TIMED_OUT
    assert response.error_code.is_indefinite


def test_without_a_connection_nothing_is_created(driver: Driver) -> None:
    ready(driver)
    driver.plan_listing(BROKER_IDS, Fate.LOSE_REQUEST)

    response = driver.deliver(assigned((1,)), CreateTopicResponse)

    assert response.error_code is ErrorCode.BROKER_NOT_AVAILABLE


def test_the_routing_view_is_what_zookeeper_publishes(driver: Driver) -> None:
    ready(driver)
    driver.create_topic("t", (1, 2), (2, 3))
    driver.put_state(T0, state(2, 5, (1, 2)))

    view = driver.deliver(MetadataRequest(), MetadataResponse)

    assert (view.controller_id, view.controller_epoch, view.broker_id) == (3, 1, 1)
    assert [broker.broker_id for broker in view.brokers] == [1, 2, 3]
    assert BrokerEndpoint(broker_id=BrokerId(2), host="127.0.0.1", port=9002) in view.brokers
    (partition,) = view.partitions
    assert partition.key == T0
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 5, (1, 2))
    assert (partition.znode_version, partition.assigned_replicas) == (0, (1, 2))


def test_the_routing_view_leaves_out_what_is_malformed(driver: Driver) -> None:
    ready(driver)
    driver.create_topic("t", (1, 2), (2, 3))
    driver.put_state(T0, b"?")
    driver.put_state(T1, state(2, 5, (2,)))
    driver.write(Create(path=topic_path("bad"), data=b"?"))
    driver.write(Create(path=f"{BROKER_IDS}/7", data=b"?"))

    view = driver.deliver(MetadataRequest(), MetadataResponse)

    assert [partition.key for partition in view.partitions] == [T1]
    assert [broker.broker_id for broker in view.brokers] == [1, 2, 3]


@pytest.mark.parametrize("path", [BROKER_IDS, "/controller", "/brokers/topics/t/0/leaderAndISR"])
def test_a_routing_view_that_cannot_be_read_is_an_error(driver: Driver, path: str) -> None:
    ready(driver)
    driver.create_topic("t", (1, 2))
    if path == BROKER_IDS:
        driver.plan_listing(path, Fate.LOSE_REQUEST)
    else:
        driver.plan_read(path, Fate.LOSE_REQUEST)

    view = driver.deliver(MetadataRequest(), MetadataResponse)

    assert view.error_code is ErrorCode.BROKER_NOT_AVAILABLE
    assert view.partitions == ()


def test_requests_that_come_during_a_reading_share_the_next_one(driver: Driver) -> None:
    ready(driver)
    driver.create_topic("t", (1, 2))
    driver.put_state(T0, state(1, 0, (1, 2)))
    driver.plan_listing(BROKER_IDS, Fate.HOLD)
    first = driver.ask(MetadataRequest())
    driver.plan_listing(BROKER_IDS, Fate.HOLD)
    later = [driver.ask(MetadataRequest()) for _ in range(3)]

    driver.release()

    assert [driver.is_answered(token) for token in (first, *later)] == [True, *[False] * 3]
    driver.put_state(T0, state(2, 5, (1, 2)))
    driver.release()
    views = [driver.reply(token, MetadataResponse) for token in later]
    assert [view.partitions[0].leader_epoch for view in views] == [5, 5, 5]


def test_a_broker_that_still_starts_has_no_routing_view(driver: Driver) -> None:
    driver.register(1)  # an older registration, which is waited out
    driver.start()
    early = driver.deliver(MetadataRequest(), MetadataResponse)

    driver.unregister(1)

    assert early.error_code is ErrorCode.BROKER_NOT_AVAILABLE
    assert driver.deliver(MetadataRequest(), MetadataResponse).broker_id == 1
