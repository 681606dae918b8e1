"""Which broker coordinates, and how the first request has the internal topic created (FWD-006)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import level_2, level_5
from fencepost.impl.core.rules.configuration.redirection import coordinating_partition, hash_of
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from fencepost.impl.core.types.zookeeper import SetData
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    FIND_COORDINATOR,
    Action,
    BrokerId,
    ControllerEpoch,
    CoordinatorKind,
    ErrorCode,
)
from fencepost.spec.znodes import CONTROLLER_EPOCH, TopicPartition, parse_topic, topic_path
from tests.impl.core.build import state
from tests.impl.core.configuration.test_config_store import put
from tests.impl.core.driver import Driver
from tests.impl.core.roles import beside_controller, elect_other

ALICE = Asker("User:alice")
BROKER_2 = Asker("User:broker-2", BrokerId(2))
OFFSETS = "__consumer_offsets"
NOT_YET = ErrorCode.COORDINATOR_NOT_AVAILABLE
CONFIG = Config(
    broker_id=BrokerId(1),
    rules=level_5.RULES,
    internal_topic_partitions=2,
    internal_topic_replicas=2,
)
Drive = Callable[[Config], Driver]


@pytest.fixture
def follower(drive: Drive) -> Driver:
    """Broker 1 at level 5; broker 3 is controller in epoch 1."""
    return beside_controller(drive(CONFIG))


@pytest.fixture
def controller(drive: Drive) -> Driver:
    """Broker 1 at level 5 is controller in epoch 1; broker 2 is live."""
    driver = drive(CONFIG)
    driver.register(2)
    driver.start()
    assert driver.node.controller.is_active
    return driver


def find(driver: Driver, key: str = "a", kind: CoordinatorKind = CoordinatorKind.GROUP) -> int:
    return driver.ask(FindCoordinatorRequest(key=key, kind=kind), ALICE)


def told(driver: Driver, token: int) -> tuple[ErrorCode, int, str, int]:
    found = driver.reply(token, FindCoordinatorResponse)
    return found.error_code, found.broker_id, found.host, found.port


def creations(driver: Driver) -> list[Send]:
    return [one for one in driver.sent if isinstance(one.request, CreateTopicRequest)]


def create_offsets(driver: Driver) -> None:
    driver.create_topic(OFFSETS, (1, 3), (3, 1))


def assignment(driver: Driver, topic: str) -> dict[int, tuple[BrokerId, ...]]:
    path = topic_path(topic)
    return parse_topic(path, driver.zookeeper.peek(path).data)


@pytest.mark.parametrize(
    ("key", "expected"),
    [("", 0), ("a", 97), ("polygenelubricants", 2**31), ("\N{MOUSE FACE}", 1_772_432)],
)
def test_hash_is_that_of_java(key: str, expected: int) -> None:
    assert hash_of(key) == expected


def test_smallest_hash_has_a_partition_too() -> None:
    assert coordinating_partition("polygenelubricants", 50) == 0
    assert coordinating_partition("a", 50) == 97 % 50


def test_leader_of_the_keys_partition_is_told(follower: Driver) -> None:
    create_offsets(follower)
    follower.put_state(TopicPartition(OFFSETS, 1), state(3, 0, isr=(1, 3)))

    assert told(follower, find(follower, "a")) == (ErrorCode.NONE, 3, "127.0.0.1", 9003)
    assert told(follower, find(follower, "b"))[0] is NOT_YET
    assert creations(follower) == []


def test_leader_that_is_not_live_is_none(follower: Driver) -> None:
    create_offsets(follower)
    follower.put_state(TopicPartition(OFFSETS, 1), state(2, 0, isr=(2,)))

    assert told(follower, find(follower, "a"))[0] is NOT_YET


def test_first_request_asks_the_controller_for_the_topic_as_a_broker(follower: Driver) -> None:
    token = find(follower)
    (asked,) = creations(follower)

    assert not follower.is_answered(token)
    assert asked.to == 3
    assert isinstance(asked.request, CreateTopicRequest)
    assert asked.request.topic == OFFSETS
    assert (asked.request.partition_count, asked.request.replication_factor) == (2, 2)
    header = asked.request.header
    assert (header.principal, header.forwards) == ("User:broker-1", 1)
    (line,) = follower.took(Action.FORWARD_REQUEST)
    assert (line.peer, line.principal, line.method) == (3, "User:broker-1", FIND_COORDINATOR)


def test_with_the_mutation_quota_on_the_broker_asks_for_the_topic_as_well(drive: Drive) -> None:
    driver = drive(replace(CONFIG, has_mutation_quota=True))
    elect_other(driver, 3)
    driver.start()

    find(driver)

    assert [one.to for one in creations(driver)] == [3]


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS])
def test_created_topic_is_looked_at_before_the_answer(follower: Driver, code: ErrorCode) -> None:
    token = find(follower)
    (asked,) = creations(follower)
    create_offsets(follower)
    follower.put_state(TopicPartition(OFFSETS, 1), state(3, 0, isr=(1, 3)))

    follower.respond(asked, CreateTopicResponse(error_code=code))

    assert told(follower, token)[:2] == (ErrorCode.NONE, 3)


def test_refused_and_unanswered_creations_are_told_as_not_yet(follower: Driver) -> None:
    for number, end in enumerate(("refuse", "fail")):
        token = find(follower)
        asked = creations(follower)[number]
        if end == "refuse":
            response = CreateTopicResponse(error_code=ErrorCode.INVALID_REPLICA_ASSIGNMENT)
            follower.respond(asked, response)
        else:
            follower.fail(asked)
        assert told(follower, token)[0] is NOT_YET


def test_controller_creates_the_topic_behind_its_fence(controller: Driver) -> None:
    token = find(controller, kind=CoordinatorKind.TRANSACTION)

    assert told(controller, token)[0] in (ErrorCode.NONE, NOT_YET)
    assert assignment(controller, "__transaction_state") == {0: (1, 2), 1: (2, 1)}
    (line,) = controller.took(Action.CREATE_TOPIC)
    assert (line.principal, line.method) == ("User:broker-1", FIND_COORDINATOR)


def test_creation_by_its_name_is_told_as_that_of_the_client(
    follower: Driver, controller: Driver
) -> None:
    request = CreateTopicRequest(topic=OFFSETS, replication_factor=2)
    for driver, action in ((follower, Action.FORWARD_REQUEST), (controller, Action.CREATE_TOPIC)):
        driver.ask(request, ALICE)

        (line,) = driver.took(action)
        assert (line.principal, line.method) == ("User:alice", None)


def test_deposed_controller_creates_nothing_for_its_own_client(controller: Driver) -> None:
    depose_at_next_creation(controller)

    assert told(controller, find(controller))[0] is NOT_YET
    assert controller.zookeeper.peek(topic_path(OFFSETS)).stat is None
    assert len(controller.took(Action.RESIGN_CONTROLLER)) == 1


def depose_at_next_creation(driver: Driver) -> None:
    """Another controller is elected just before the topic is written."""

    def depose() -> None:
        later = SetData(path=CONTROLLER_EPOCH, data=b"2", expected_version=ANY_VERSION)
        driver.zookeeper.write(driver.outsider, (later,))

    driver.plan_write(topic_path(OFFSETS), None, depose)


def forwarded(number: int, epoch: int = 1) -> CreateTopicRequest:
    header = RequestHeader(
        api_version=CONTROLLER_VERSION,
        principal="User:broker-2",
        forwards=1,
        forwarder=BrokerId(2),
        number=number,
        controller_epoch=ControllerEpoch(epoch),
    )
    return CreateTopicRequest(topic=OFFSETS, partition_count=2, replication_factor=2, header=header)


def code_of(driver: Driver, request: CreateTopicRequest) -> ErrorCode:
    return driver.reply(driver.ask(request, BROKER_2), CreateTopicResponse).error_code


def test_forwarded_creation_is_done_once_and_told(controller: Driver) -> None:
    assert code_of(controller, forwarded(1)) is ErrorCode.NONE
    assert code_of(controller, forwarded(1)) is ErrorCode.REQUEST_TIMED_OUT
    assert code_of(controller, forwarded(2)) is ErrorCode.TOPIC_ALREADY_EXISTS

    (line,) = controller.took(Action.CREATE_TOPIC)
    assert (line.topic, line.principal) == (OFFSETS, "User:broker-2")
    assert line.forwarded_request == forwarded(1).header.request_id


def test_creation_for_another_controller_is_refused(controller: Driver) -> None:
    assert code_of(controller, forwarded(1, epoch=2)) is ErrorCode.NOT_CONTROLLER
    assert controller.took(Action.CREATE_TOPIC) == []


def test_deposed_controller_creates_nothing(controller: Driver) -> None:
    depose_at_next_creation(controller)

    assert code_of(controller, forwarded(1)) is ErrorCode.NOT_CONTROLLER
    assert controller.zookeeper.peek(topic_path(OFFSETS)).stat is None
    assert len(controller.took(Action.RESIGN_CONTROLLER)) == 1


def test_below_level_5_the_asked_broker_creates_the_topic(drive: Drive) -> None:
    driver = drive(
        Config(
            broker_id=BrokerId(1),
            rules=level_2.RULES,
            internal_topic_partitions=1,
            internal_topic_replicas=2,
        )
    )
    elect_other(driver, 3)
    driver.start()

    assert told(driver, find(driver))[0] is NOT_YET
    assert assignment(driver, OFFSETS) == {0: (1, 3)}
    assert creations(driver) == []


def test_quota_leaves_the_internal_topic_to_brokers(drive: Drive) -> None:
    driver = drive(replace(CONFIG, has_mutation_quota=True))
    driver.register(2)
    driver.start()
    put(driver, ConfigEntity(EntityKind.USER, ("",)), "0.001")

    for number, topic in enumerate(("u", "v", OFFSETS), start=1):
        request = structs.replace(forwarded(number), topic=topic)
        assert code_of(driver, request) is ErrorCode.NONE
    assert driver.took(Action.ADMIT_MUTATION) == []
