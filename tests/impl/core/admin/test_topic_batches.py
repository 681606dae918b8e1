"""Many topics in one request: few multis, and each topic ends as if it had been asked for alone."""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from fencepost.impl.core.types.zookeeper import Create, Delete
from fencepost.spec.vocabulary import Action, ErrorCode
from fencepost.spec.znodes import TOPICS, TopicPartition, parse_topic_id, topic_id_path, topic_path
from tests.impl.core.build import ME
from tests.impl.core.driver import Driver, Fate

MANY = 400


def controlling() -> Driver:
    """Broker 1 is controller; broker 2 is live."""
    driver = Driver(Config(broker_id=ME))
    driver.register(2)
    driver.start()
    driver.acknowledge_commands()
    return driver


def named(number: int) -> str:
    return f"t{number:03d}"


def create(driver: Driver, *requests: CreateTopicRequest) -> list[ErrorCode]:
    response = driver.deliver(CreateTopicsRequest(topics=requests), CreateTopicsResponse)
    assert response.error_code is ErrorCode.NONE
    assert [one.topic for one in response.topics] == [one.topic for one in requests]
    return [one.error_code for one in response.topics]


def create_named(driver: Driver, *topics: str) -> list[ErrorCode]:
    return create(driver, *(CreateTopicRequest(topic=topic) for topic in topics))


def delete(driver: Driver, *topics: str) -> list[ErrorCode]:
    response = driver.deliver(DeleteTopicsRequest(topics=topics), DeleteTopicsResponse)
    assert [one.topic for one in response.topics] == list(topics)
    return [one.error_code for one in response.topics]


def multis(driver: Driver, kind: type[Create | Delete]) -> int:
    """How many multis had such an operation on a topic."""
    return sum(
        any(isinstance(op, kind) and op.path.count("/") == 3 for op in write.ops)
        for write in driver.writes
    )


def test_many_topics_are_few_multis_each_way() -> None:
    driver = controlling()
    topics = [named(number) for number in range(MANY)]

    assert create_named(driver, *topics) == [ErrorCode.NONE] * MANY
    assert len(driver.zookeeper.children(TOPICS)) == MANY
    assert multis(driver, Create) < MANY / 50
    assert [taken.topic for taken in driver.took(Action.CREATE_TOPIC)] == topics
    driver.acknowledge_commands()
    assert driver.state(TopicPartition(topics[-1], 0)).leader == ME

    assert delete(driver, *topics) == [ErrorCode.NONE] * MANY
    assert driver.zookeeper.children(TOPICS) == ()
    assert multis(driver, Delete) < MANY / 10
    assert len(driver.took(Action.DELETE_TOPIC)) == MANY


def test_a_topic_that_is_refused_takes_no_other_with_it() -> None:
    driver = controlling()
    driver.create_topic("old", (1,))

    wanted = [
        CreateTopicRequest(topic="a"),
        CreateTopicRequest(topic="old"),
        CreateTopicRequest(topic="b/c"),
        CreateTopicRequest(topic="d", replication_factor=3),
        CreateTopicRequest(topic="a"),
        CreateTopicRequest(topic="e", partition_count=2),
    ]

    assert create(driver, *wanted) == [
        ErrorCode.NONE,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.NONE,
    ]
    assert driver.zookeeper.children(TOPICS) == ("a", "e", "old")


def test_a_topic_that_changed_since_it_was_read_is_deleted_alone() -> None:
    driver = controlling()
    create_named(driver, "a", "b", "c")
    driver.acknowledge_commands()
    driver.create_topic("without-id", (1,))

    def grow() -> None:
        driver.write(Create(path=f"{topic_path('b')}/7", data=b""))

    driver.plan_write(topic_path("b"), None, grow)

    assert delete(driver, "a", "b", "c", "without-id", "none") == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert driver.zookeeper.children(TOPICS) == ()


def test_another_incarnation_than_the_one_that_was_read_is_not_deleted() -> None:
    driver = controlling()
    create_named(driver, "a", "b")
    driver.acknowledge_commands()

    def come_again() -> None:
        assert delete(driver, "a") == [ErrorCode.NONE]
        assert create_named(driver, "a") == [ErrorCode.NONE]

    token = hold_deletion(driver, "a", "b")
    come_again()
    driver.release()

    answer = driver.reply(token, DeleteTopicsResponse)
    assert [one.error_code for one in answer.topics] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    assert driver.zookeeper.children(TOPICS) == ("a",)


def hold_deletion(driver: Driver, *topics: str) -> int:
    """The topics were read; the write that deletes them is on its way."""
    path = topic_path(topics[0])
    topic_id = parse_topic_id(path, driver.zookeeper.peek(path).data)
    driver.plan_write(topic_id_path(topics[0], topic_id), Fate.HOLD)
    return driver.ask(DeleteTopicsRequest(topics=topics))


@pytest.mark.parametrize("fate", [Fate.LOSE_REPLY, Fate.LOSE_REQUEST])
def test_a_lost_reply_makes_all_topics_of_the_multi_indefinite(fate: Fate) -> None:
    driver = controlling()
    driver.plan_write(topic_path("a"), fate)

    assert create_named(driver, "a", "b") == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert len(driver.zookeeper.children(TOPICS)) == (2 if fate is Fate.LOSE_REPLY else 0)


def test_no_topics_are_answered_at_once() -> None:
    driver = controlling()

    assert create(driver) == []
    assert delete(driver) == []
