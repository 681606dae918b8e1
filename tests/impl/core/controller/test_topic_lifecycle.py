"""Topics that are created, deleted and created again: znodes, commands, and what may overtake what.

Broker 1 is controller and administrator; brokers 2 and 3 are played by the test.
"""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import level_4, level_5
from fencepost.impl.core.rules.controller.topic_tree import TOGETHER_MAX
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    StopReplicaRequest,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ReplicaList,
)
from fencepost.impl.core.types.zookeeper import Check, Create, Delete
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    Action,
    BrokerId,
    ErrorCode,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
)
from fencepost.spec.znodes import (
    TOPICS,
    TopicPartition,
    leader_and_isr_path,
    parse_topic_id,
    topic_id_path,
    topic_ids_path,
    topic_path,
)
from tests.impl.core.build import ME, T0, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import all_deleted, everything, produce

PATH = topic_path("t")
RETRY_MS = 100


def controlling(rules: Rules = level_5.RULES) -> Driver:
    """Broker 1 is controller; brokers 2 and 3 are live."""
    driver = Driver(Config(broker_id=ME, rules=rules))
    driver.register(2)
    driver.register(3)
    driver.start()
    driver.acknowledge_commands()
    return driver


def create(driver: Driver, partitions: int = 1, *, leader: int = 1) -> ErrorCode:
    replicas = tuple(BrokerId(leader + i - 3 if leader + i > 3 else leader + i) for i in range(3))
    request = CreateTopicRequest(
        topic="t", assignment=(ReplicaList(replicas=replicas),) * partitions
    )
    return driver.deliver(request, CreateTopicResponse).error_code


def delete(driver: Driver, topic: str = "t") -> DeleteTopicResponse:
    return driver.deliver(DeleteTopicRequest(topic=topic), DeleteTopicResponse)


def topic_id(driver: Driver) -> str:
    return parse_topic_id(PATH, driver.zookeeper.peek(PATH).data)


def commands(driver: Driver, broker_id: int) -> list[PartitionState | PartitionStop]:
    """All that the broker was told, in order."""
    return [
        one
        for send in driver.sent
        if send.to == broker_id
        and isinstance(send.request, LeaderAndIsrRequest | StopReplicaRequest)
        for one in send.request.partitions
    ]


# Ids


def test_a_topic_and_its_id_are_created_in_one_transaction() -> None:
    driver = controlling()

    assert create(driver) is ErrorCode.NONE
    topic = driver.zookeeper.peek(PATH)
    named = driver.zookeeper.peek(topic_id_path("t", topic_id(driver)))
    assert topic.stat is not None
    assert named.stat is not None
    assert named.stat.czxid == topic.stat.czxid
    assert driver.state(T0).topic_id == topic_id(driver)


def test_a_topic_that_is_created_again_has_another_id() -> None:
    driver = controlling()
    create(driver)
    first = topic_id(driver)
    delete(driver)

    assert create(driver) is ErrorCode.NONE
    assert topic_id(driver) != first


def test_every_write_of_a_state_checks_the_id() -> None:
    driver = controlling()
    create(driver)
    driver.unregister(3)
    driver.tick(5_000)

    check = Check(path=topic_id_path("t", topic_id(driver)), expected_version=ANY_VERSION)
    writes = [w.ops for w in driver.writes if leader_and_isr_path(T0) in {op.path for op in w.ops}]
    assert len(writes) >= 2
    assert all(check in ops for ops in writes)


def test_commands_carry_the_incarnation() -> None:
    driver = controlling()
    create(driver)

    stat = driver.zookeeper.peek(leader_and_isr_path(T0)).stat
    (command,) = commands(driver, 2)
    assert isinstance(command, PartitionState)
    assert stat is not None
    assert command.partition_incarnation == stat.czxid
    assert command.topic_id == topic_id(driver)


# Deletion


def test_of_a_deleted_topic_no_znode_is_left() -> None:
    driver = controlling()
    create(driver, 3)

    assert delete(driver).error_code is ErrorCode.NONE
    assert everything(driver) == []
    (taken,) = driver.took(Action.DELETE_TOPIC)
    assert taken.topic == "t"


def test_a_topic_that_is_not_there_cannot_be_deleted() -> None:
    response = delete(controlling(), "nowhere")

    assert response.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "nowhere" in response.message


@pytest.mark.parametrize("data", [b"{", b'{"version":1,"partitions":{"0":[2]}}'])
def test_a_topic_without_an_id_can_be_deleted(data: bytes) -> None:
    driver = controlling()
    driver.write(Create(path=PATH, data=data), Create(path=f"{PATH}/7", data=b""))

    assert delete(driver).error_code is ErrorCode.NONE
    assert everything(driver) == []


def test_all_replicas_of_a_deleted_topic_are_stopped() -> None:
    driver = controlling()
    create(driver, 2)
    driver.acknowledge_commands()
    incarnation = driver.node.controller.context.incarnation(T0)
    delete(driver)
    driver.acknowledge_commands()

    for broker_id in (2, 3):
        stops = [c for c in commands(driver, broker_id) if isinstance(c, PartitionStop)]
        assert [(stop.partition, stop.delete) for stop in stops] == [(0, True), (1, True)]
        assert stops[0].partition_incarnation == incarnation
    assert driver.took(Action.DETECT_TOPIC_CHANGE)[-1].zxid is None


def test_replicas_are_stopped_though_their_state_was_missed_before_their_topic() -> None:
    """A broker comes and goes: the controller reads states that a deletion has just taken."""
    driver = controlling()
    create(driver)
    driver.acknowledge_commands()
    incarnation = driver.node.controller.context.incarnation(T0)
    driver.plan_listing(TOPICS, Fate.HOLD)
    driver.plan_read(leader_and_isr_path(T0), None, first=lambda: all_deleted(driver))
    driver.unregister(3)
    driver.release()
    driver.acknowledge_commands()

    stops = [c for c in commands(driver, 2) if isinstance(c, PartitionStop)]
    assert [stop.partition_incarnation for stop in stops] == [incarnation]


def test_a_deletion_is_answered_about_the_incarnation_that_it_found() -> None:
    """Another client deletes and creates in between: the next topic is not deleted."""
    driver = controlling()
    create(driver)

    def again() -> None:
        all_deleted(driver)
        driver.create_topic("t", (2, 3))

    driver.plan_write(PATH, None, first=again)
    response = delete(driver)

    assert response.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert driver.zookeeper.peek(PATH).stat is not None


def test_a_partition_that_comes_meanwhile_makes_the_deletion_look_again() -> None:
    driver = controlling()
    driver.plan_write(leader_and_isr_path(T0), Fate.HOLD)
    create(driver)
    driver.plan_write(PATH, None, first=driver.release)

    assert delete(driver).error_code is ErrorCode.NONE
    assert everything(driver) == []


def test_a_deletion_whose_reply_is_lost_is_indefinite() -> None:
    driver = controlling()
    create(driver)
    driver.plan_write(PATH, Fate.LOSE_REPLY)

    assert delete(driver).error_code.is_indefinite


def test_a_decision_about_a_deleted_topic_is_not_written() -> None:
    """A late write must not bring anything back (H33)."""
    driver = controlling()
    driver.plan_write(leader_and_isr_path(T0), Fate.HOLD)
    create(driver)
    delete(driver)
    driver.release()

    assert everything(driver) == []
    assert driver.node.controller.context.topics == {}


def test_a_decision_about_a_deleted_topic_is_made_anew_for_the_next_one() -> None:
    driver = controlling()
    driver.plan_write(leader_and_isr_path(T0), Fate.HOLD)
    create(driver)
    delete(driver)
    create(driver, leader=2)
    driver.release()

    assert driver.state(T0).leader == 2
    assert driver.state(T0).topic_id == topic_id(driver)


# Deletion and creation between two looks


def test_a_topic_that_was_deleted_and_created_between_two_looks_is_two_topics() -> None:
    driver = controlling()
    create(driver)
    driver.acknowledge_commands()
    old = driver.node.controller.context.incarnation(T0)
    driver.plan_listing(TOPICS, Fate.HOLD)
    delete(driver)
    create(driver, leader=2)
    driver.release()
    driver.acknowledge_commands()

    stop, start = commands(driver, 3)[-2:]
    assert isinstance(stop, PartitionStop)
    assert isinstance(start, PartitionState)
    assert stop.partition_incarnation == old
    assert start.partition_incarnation > old
    assert start.leader == 2


def test_a_connection_that_fails_while_topics_are_read_loses_no_change() -> None:
    driver = controlling()
    create(driver)
    driver.acknowledge_commands()
    driver.plan_listing(TOPICS, Fate.LOSE_REQUEST)
    delete(driver)
    assert "t" in driver.node.controller.context.topics

    driver.tick(RETRY_MS)
    assert driver.node.controller.context.topics == {}
    assert isinstance(commands(driver, 2)[-1], PartitionStop)


def test_a_write_that_fails_by_the_id_is_no_conflict_of_versions() -> None:
    """A leader of the deleted topic finds the next one at the version that it knows (H12).

    It deletes the topic itself, after its office: at level 4 it may.
    """
    driver = controlling(level_4.RULES)
    create(driver)
    send = driver.commands(1)[-1]
    assert isinstance(send.request, LeaderAndIsrRequest)
    old = send.request
    driver.ask(old)
    assert driver.replica(T0).is_leader
    driver.node.controller.resign()
    delete(driver)
    driver.create_topic("t", (2, 3, 1))
    data = state(1, old.partitions[0].leader_epoch, (1, 2, 3)).document()
    driver.write(
        Create(path=f"{PATH}/0", data=b""), Create(path=leader_and_isr_path(T0), data=data)
    )
    driver.tick(5_000)

    assert driver.replica(T0).is_fenced
    assert driver.state(T0).isr == {1, 2, 3}


def test_a_follower_of_another_incarnation_gets_no_records() -> None:
    driver = controlling()
    create(driver)
    driver.ask(driver.commands(1)[-1].request)
    driver.ask(produce("a"))
    request = FetchRequest(
        topic="t",
        partition=0,
        replica_id=BrokerId(2),
        leader_epoch=LeaderEpoch(0),
        fetch_offset=Offset(0),
        partition_incarnation=PartitionIncarnation(1),
    )

    assert driver.deliver(request, FetchResponse).error_code is ErrorCode.UNKNOWN_TOPIC_ID


# A deletion of many partitions

MANY = 2 * TOGETHER_MAX


def test_a_large_topic_is_deleted_in_steps_by_the_controller() -> None:
    driver = controlling()
    create(driver, MANY)
    driver.acknowledge_commands()

    assert delete(driver).error_code is ErrorCode.NONE
    driver.acknowledge_commands()
    assert everything(driver) == []
    deletions = [write.ops for write in driver.writes if isinstance(write.ops[-1], Delete)]
    assert max(map(len, deletions)) < 2 * TOGETHER_MAX + 10
    stops = [c for c in commands(driver, 2) if isinstance(c, PartitionStop)]
    assert len(stops) == MANY


@pytest.mark.parametrize("step", [1, 2])
def test_a_large_deletion_that_the_controller_did_not_end_goes_on(step: int) -> None:
    driver = controlling()
    create(driver, MANY)
    driver.acknowledge_commands()
    last = TopicPartition("t", MANY - 1)
    path = leader_and_isr_path(T0) if step == 1 else leader_and_isr_path(last)
    driver.plan_write(path, Fate.LOSE_REQUEST)

    assert delete(driver).error_code is ErrorCode.NONE
    assert driver.zookeeper.peek(PATH).stat is not None
    assert create(driver) is ErrorCode.TOPIC_ALREADY_EXISTS

    driver.tick(RETRY_MS)
    assert everything(driver) == []
    assert create(driver) is ErrorCode.NONE
    assert driver.zookeeper.children(topic_ids_path("t")) == (topic_id(driver),)
