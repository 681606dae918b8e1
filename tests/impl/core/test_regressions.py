"""What was once wrong in the core: each test shows one bug that stays away."""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.controller.partition_rules import PARTITIONS_MAX
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.messages import ProduceResponse
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    ReplicaList,
)
from fencepost.impl.core.types.zookeeper import Create, SetData, Znode
from fencepost.spec.vocabulary import ANY_VERSION, Action, BrokerId, ErrorCode, SessionId
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    TopicPartition,
    leader_and_isr_path,
    topic_path,
)
from tests.impl.core.build import ME, T0, T1, command, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import leading, obey, produce


@pytest.fixture
def driver() -> Driver:
    return Driver(Config(broker_id=ME))


def test_a_topic_that_appears_during_the_failover_gets_its_leader(driver: Driver) -> None:
    driver.create_topic("a", (1,))

    def plan() -> None:  # after winning: the controller's own read of topic "a"
        driver.plan_read(topic_path("a"), None, lambda: driver.create_topic("b", (1,)))

    driver.plan_write(CONTROLLER, None, plan)
    driver.start()
    driver.tick(10_000)

    assert driver.state(TopicPartition("a", 0)).leader == 1
    assert driver.zookeeper.peek(leader_and_isr_path(TopicPartition("b", 0))).stat is not None


def test_a_topic_that_appears_after_that_is_seen_again(driver: Driver) -> None:
    driver.create_topic("a", (1,))

    def plan() -> None:
        driver.plan_read(topic_path("a"), None, lambda: driver.create_topic("b", (1,)))

    driver.plan_write(CONTROLLER, None, plan)
    driver.start()

    driver.tick(10_000)
    driver.create_topic("c", (1,))

    assert driver.zookeeper.peek(leader_and_isr_path(TopicPartition("c", 0))).stat is not None


def test_a_partition_znode_without_a_state_is_no_endless_loop(driver: Driver) -> None:
    driver.create_topic("t", (1,))
    driver.write(Create(path="/brokers/topics/t/0", data=b""))

    driver.start()

    assert driver.node.controller.is_active


def test_a_given_assignment_has_the_same_limit_of_partitions(driver: Driver) -> None:
    driver.start()
    driver.plan_write(topic_path("t"), None, lambda: pytest.fail("the znode is written"))
    lists = (ReplicaList(replicas=(BrokerId(1),)),) * (PARTITIONS_MAX + 1)

    response = driver.deliver(CreateTopicRequest(topic="t", assignment=lists), CreateTopicResponse)

    assert response.error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_controller_deposed_by_an_edited_epoch_leaves_the_office_to_somebody(
    driver: Driver,
) -> None:
    driver.register(2)
    driver.start()
    driver.create_topic("t", (2, 1))
    raised = SetData(path=CONTROLLER_EPOCH, data=b"7", expected_version=ANY_VERSION)
    driver.write(raised)
    driver.unregister(2)  # its write is refused by the fence: it resigns, but keeps `/controller`
    driver.tick(10_000)

    assert driver.node.controller.is_active
    assert driver.state(T0).leader == 1


def test_a_skipped_partition_comes_back_when_its_znode_is_repaired(driver: Driver) -> None:
    driver.create_topic("t", (9, 1), (9, 1))
    driver.put_state(T0, b"?")
    driver.put_state(T1, state(9, 3, (1, 9)))
    driver.start()
    assert driver.state(T1) == state(1, 4, (1,))

    driver.put_state(T0, state(9, 3, (1, 9)))
    driver.register(5)  # any change
    driver.create_topic("u", (1,))
    driver.tick(10_000)

    assert driver.state(T0) == state(1, 4, (1,))


def test_a_holder_that_goes_while_it_is_read_is_not_believed(driver: Driver) -> None:
    driver.register(2)
    driver.make_controller(2)
    read = driver.zookeeper.read
    gone: list[str] = []

    def read_slowly(session_id: SessionId, path: str, *, watch: bool = False) -> Znode:
        if path == CONTROLLER_EPOCH and watch and not gone:
            gone.append(path)  # between the two reads of one pipeline
            driver.unregister(2)
        return read(session_id, path, watch=watch)

    driver.zookeeper.read = read_slowly  # type: ignore[method-assign]
    driver.start()
    driver.tick(1_000)

    assert gone
    assert driver.node.controller.is_active


def test_a_decision_that_is_settled_late_is_traced_as_published(driver: Driver) -> None:
    driver.register(2)
    driver.register(3)
    driver.start()
    driver.create_topic("t", (2, 3, 1))
    driver.acknowledge_commands()
    path = leader_and_isr_path(T0)
    published = len(driver.took(Action.PUBLISH_DECISION))
    driver.plan_write(path, Fate.LOSE_REPLY, lambda: driver.plan_read(path, Fate.LOSE_REQUEST))

    driver.unregister(2)
    driver.tick(1_000)

    assert len(driver.took(Action.PUBLISH_DECISION)) == published + 1
    assert driver.state(T0).leader == 3


def test_a_follower_that_read_a_newer_isr_than_it_is_told_says_so(driver: Driver) -> None:
    """Its leader changed the ISR between the controller's reading and its own."""
    driver.create_topic("t", (1, 2, 3))
    driver.put_state(T0, state(2, 4, (2,)))
    driver.put_state(T0, state(2, 4, (2, 3)))
    driver.register(3)
    driver.make_controller(3)
    driver.start()

    older = command(2, 4, version=0)
    assert obey(driver, older) == [ErrorCode.REPLICA_NOT_AVAILABLE]
    assert driver.replica(T0).role is Role.WAITING
    assert obey(driver, command(2, 4, version=1)) == [ErrorCode.NONE]
    assert obey(driver, older) == [ErrorCode.STALE_LEADER_EPOCH]


def test_who_leads_again_after_another_promises_nothing_of_its_old_epoch(driver: Driver) -> None:
    """Nobody in epoch 2 had the record: the old leader may not acknowledge it under epoch 1."""
    leading(driver)
    token = driver.ask(produce("a"))

    obey(driver, command(1, 3, isr=(1,), version=3))

    response = driver.reply(token, ProduceResponse)
    assert response.error_code is ErrorCode.NOT_LEADER_AFTER_APPEND
