"""The controller through its node: what it decides, writes, tells, and when it stops."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.types.messages import LeaderAndIsrResponse, PartitionError
from fencepost.impl.core.types.zookeeper import Check, Create, Delete, SetData, WriteOp, Written
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    Action,
    ErrorCode,
    ProtocolLevel,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    TopicPartition,
    leader_and_isr_path,
    topic_path,
)
from tests.impl.core.build import ME, T0, T1, order, state
from tests.impl.core.driver import Driver, Fate, broker_ids
from tests.impl.core.roles import controller_requests

Drive = Callable[[Config], Driver]
PATH, PATH_1 = leader_and_isr_path(T0), leader_and_isr_path(T1)
RETRY_MS = 100


def is_controller(driver: Driver) -> bool:
    return driver.node.controller.is_active


def elected(driver: Driver, *live: int) -> Driver:
    """The node is controller; brokers 2 and 3 (or `live`) are registered beside it."""
    for broker_id in live or (2, 3):
        driver.register(broker_id)
    driver.start()
    assert is_controller(driver)
    return driver


def managing(driver: Driver) -> Driver:
    """As `elected`, and t/0 on brokers 2, 3, 1 is led by broker 2; all were told."""
    elected(driver)
    driver.create_topic("t", (2, 3, 1))
    driver.acknowledge_commands()
    assert driver.state(T0) == state(2, 0, (1, 2, 3))
    return driver


def state_writes(driver: Driver, path: str = PATH) -> list[tuple[WriteOp, ...]]:
    """Every multi that writes a partition's state."""
    return [e.ops for e in driver.writes if any(op.path == path for op in e.ops)]


def told(driver: Driver, broker_id: int, key: TopicPartition = T0) -> list[tuple[int, int]]:
    """(leader, leader epoch) of a partition as a broker was told, each time."""
    return [
        (command.leader, command.leader_epoch)
        for request in controller_requests(driver, broker_id)
        for command in request.partitions
        if command.key == key
    ]


# New topics


def test_a_new_topic_gets_its_first_leaders_by_creation_only(driver: Driver) -> None:
    managing(driver)

    (ops,) = state_writes(driver)
    assert [type(op) for op in ops] == [Check, Check, Check, Create, Create]
    assert {told(driver, broker_id)[0] for broker_id in (1, 2, 3)} == {(2, 0)}
    (decided,) = driver.took(Action.INIT_LEADER)
    assert decided.expected_version == -1


def test_a_decision_is_told_only_after_zookeeper_holds_it(driver: Driver) -> None:
    managing(driver)
    driver.plan_write(PATH, Fate.HOLD)
    driver.unregister(2)
    assert told(driver, 3) == [(2, 0)]

    driver.release()

    assert told(driver, 3) == [(2, 0), (3, 1)]
    taken = [a.action for a in driver.actions]
    published = [i for i, a in enumerate(taken) if a is Action.PUBLISH_DECISION]
    told_again = [i for i, a in enumerate(taken) if a is Action.SEND_LEADER_AND_ISR]
    assert published[-1] < told_again[-1]


def test_a_topic_without_live_replicas_waits_for_one(driver: Driver) -> None:
    elected(driver)
    driver.create_topic("t", (8, 9))
    assert state_writes(driver) == []

    driver.register(9)

    assert driver.state(T0) == state(9, 0, (9,))


def test_topics_that_appear_one_after_the_other_are_all_seen(driver: Driver) -> None:
    elected(driver)

    for name in ("a", "b", "c"):
        driver.create_topic(name, (1, 2))

    for name in ("a", "b", "c"):
        assert driver.state(TopicPartition(name, 0)) == state(1, 0, (1, 2))


# Broker changes


def test_a_dead_leader_is_followed_under_the_next_epoch(driver: Driver) -> None:
    managing(driver)

    driver.unregister(2)

    assert driver.state(T0) == state(3, 1, (1, 3))
    write = state_writes(driver)[-1][-1]
    assert isinstance(write, SetData)
    assert write.expected_version == 0
    driver.acknowledge_commands()
    assert told(driver, 1)[-1] == told(driver, 3)[-1] == (3, 1)
    assert told(driver, 2) == [(2, 0)]


def test_a_broker_that_comes_back_is_told_the_state(driver: Driver) -> None:
    managing(driver)
    driver.unregister(3)

    driver.register(3)

    assert told(driver, 3)[-1] == (2, 1)
    assert driver.state(T0) == state(2, 1, (1, 2))


def test_without_live_members_a_partition_is_offline_until_one_comes_back(driver: Driver) -> None:
    managing(driver)
    driver.put_state(T0, state(2, 0, (2,)))

    driver.unregister(2)
    assert driver.state(T0) == state(NO_BROKER, 1, (2,))
    driver.register(2)

    assert driver.state(T0) == state(2, 2, (2,))


def test_unclean_election_is_a_matter_of_config(drive: Drive) -> None:
    driver = managing(drive(Config(broker_id=ME, unclean_leader_election=True)))
    driver.put_state(T0, state(2, 0, (2,)))

    driver.unregister(2)

    assert driver.state(T0) == state(3, 1, (3,))


def test_a_broker_that_may_not_lead_as_told_gets_a_new_epoch(driver: Driver) -> None:
    managing(driver)
    driver.unregister(3)
    driver.register(3)
    driver.put_state(T0, state(3, 5, (3,)))
    driver.unregister(2)
    send = driver.commands(3)[-1]
    error = PartitionError(topic="t", partition=0, error_code=ErrorCode.REPLICA_NOT_AVAILABLE)
    driver.respond(send, LeaderAndIsrResponse())
    send = driver.commands(3)[-1]

    driver.respond(send, LeaderAndIsrResponse(partitions=(error,)))

    assert driver.state(T0) == state(3, 6, (3,))
    assert told(driver, 3)[-1] == (3, 6)


# Failover


def test_a_successor_sends_on_what_was_published_but_never_told(driver: Driver) -> None:
    driver.create_topic("t", (2, 3, 1), (3, 2))
    driver.put_state(T0, state(2, 7, (1, 2, 3)))

    elected(driver)

    assert state_writes(driver) == []
    assert told(driver, 2) == told(driver, 3) == [(2, 7)]
    assert driver.state(T1) == state(3, 0, (2, 3))


def test_a_successor_leaves_offline_partitions_to_election(driver: Driver) -> None:
    driver.create_topic("t", (2, 3))
    driver.put_state(T0, state(NO_BROKER, 7, (9,)))

    elected(driver)

    assert driver.state(T0) == state(NO_BROKER, 7, (9,))
    assert driver.took(Action.INIT_LEADER) == []


@pytest.mark.parametrize("path", [TOPICS, BROKER_IDS])
def test_a_failover_that_the_connection_interrupts_begins_again(driver: Driver, path: str) -> None:
    driver.create_topic("t", (2, 3, 1))
    driver.put_state(T0, state(9, 7, (1, 2, 3)))
    for broker_id in (2, 3):
        driver.register(broker_id)
    driver.plan_write(CONTROLLER, None, lambda: driver.plan_listing(path, Fate.LOSE_REPLY))
    driver.start()
    assert driver.state(T0) == state(9, 7, (1, 2, 3))

    driver.tick(RETRY_MS)

    assert driver.state(T0) == state(2, 8, (1, 2, 3))


def test_states_that_could_not_be_read_are_read_again(driver: Driver) -> None:
    managing(driver)
    driver.plan_read(PATH, Fate.LOSE_REPLY)
    driver.unregister(2)
    assert driver.state(T0) == state(2, 0, (1, 2, 3))

    driver.tick(RETRY_MS)

    assert driver.state(T0) == state(3, 1, (1, 3))


# Writes


@pytest.mark.parametrize("level", ProtocolLevel)
def test_writes_are_fenced_from_level_1_on(drive: Drive, level: ProtocolLevel) -> None:
    driver = elected(drive(Config(broker_id=ME, rules=LEVELS[level])))
    driver.create_topic("t", (2, 3, 1))
    driver.unregister(2)

    fences = [[op for op in ops if isinstance(op, Check)] for ops in state_writes(driver)]

    assert len(fences) == 2
    expected = [
        Check(path=CONTROLLER_EPOCH, expected_version=ZnodeVersion(0)),
        Check(path=CONTROLLER, expected_version=ZnodeVersion(1)),
        Check(path=f"{CONTROLLER_EPOCH}/1", expected_version=ANY_VERSION),
    ]
    assert fences == ([[], []] if level is ProtocolLevel.DRAFT_V3 else [expected, expected])


def test_another_version_is_read_and_decided_upon_again(driver: Driver) -> None:
    managing(driver)
    driver.plan_write(PATH, None, lambda: driver.put_state(T0, state(2, 0, (2, 1))))

    driver.unregister(2)

    assert driver.state(T0) == state(1, 1, (1,))
    assert len(state_writes(driver)) == 3
    assert told(driver, 1) == [(2, 0), (1, 1)]


@pytest.mark.parametrize("fate", [Fate.LOSE_REPLY, Fate.LOSE_REQUEST])
def test_a_lost_reply_is_cleared_up_by_reading_back(driver: Driver, fate: Fate) -> None:
    managing(driver)
    driver.plan_write(PATH, fate)

    driver.unregister(2)

    assert driver.state(T0) == state(3, 1, (1, 3))
    assert len(driver.took(Action.PUBLISH_DECISION)) == 2
    assert len(state_writes(driver)) == (2 if fate is Fate.LOSE_REPLY else 3)
    driver.acknowledge_commands()
    assert told(driver, 1)[-1] == (3, 1)


def test_a_lost_reply_to_a_creation_is_cleared_up_too(driver: Driver) -> None:
    elected(driver)
    driver.plan_write(PATH, Fate.LOSE_REPLY)

    driver.create_topic("t", (2, 3, 1))

    assert len(state_writes(driver)) == 1
    assert len(driver.took(Action.PUBLISH_DECISION)) == 1
    assert told(driver, 2) == [(2, 0)]


def test_a_conflict_on_one_partition_does_not_delay_another(driver: Driver) -> None:
    elected(driver)
    driver.create_topic("t", (2, 3), (2, 3))
    driver.acknowledge_commands()
    driver.plan_write(PATH, None, lambda: driver.put_state(T0, state(2, 0, (2, 3))))
    driver.plan_read(PATH, None)  # after the first death
    driver.plan_read(PATH, Fate.HOLD)  # after the conflict

    driver.unregister(2)

    assert driver.state(T0) == state(2, 0, (2, 3))
    assert driver.state(T1) == state(3, 1, (3,))
    assert told(driver, 3, T1)[-1] == (3, 1)
    driver.release()
    assert driver.state(T0) == state(3, 1, (3,))


def test_what_changes_while_a_write_is_in_flight_is_decided_after_it(driver: Driver) -> None:
    managing(driver)
    driver.plan_write(PATH, Fate.HOLD)
    driver.unregister(2)
    driver.unregister(3)
    assert len(state_writes(driver)) == 2

    driver.release()

    assert driver.state(T0) == state(1, 2, (1,))


def test_a_topic_deleted_under_its_decision_is_left_alone(driver: Driver) -> None:
    elected(driver)
    topic = Delete(path=topic_path("t"), expected_version=ANY_VERSION)
    driver.plan_write(PATH, None, lambda: delete(driver, topic))

    driver.create_topic("t", (2, 3))

    assert len(state_writes(driver)) == 1
    assert told(driver, 2) == []
    assert is_controller(driver)


def delete(driver: Driver, op: Delete) -> None:
    assert isinstance(driver.write(op), Written)


# The end of a generation


def test_a_deposed_controllers_write_is_refused_and_it_resigns(driver: Driver) -> None:
    managing(driver)

    def raise_epoch() -> None:
        driver.write(SetData(path=CONTROLLER_EPOCH, data=b"6", expected_version=ANY_VERSION))

    driver.plan_write(leader_and_isr_path(T0), None, raise_epoch)

    driver.unregister(2)

    assert len(driver.took(Action.RESIGN_CONTROLLER)) == 1
    assert is_controller(driver), "it still owns /controller, and is controller under a new epoch"
    assert driver.node.controller.controller_epoch == 7
    assert driver.state(T0).leader_epoch == 1


def test_a_broker_that_knows_a_newer_controller_makes_this_one_resign(driver: Driver) -> None:
    managing(driver)
    driver.unregister(2)
    send = driver.commands(3)[-1]

    stale = LeaderAndIsrResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    driver.respond(send, stale)

    assert not is_controller(driver)


def test_an_old_answer_makes_nobody_resign(driver: Driver) -> None:
    managing(driver)
    old = driver.commands(3)[0]

    stale = LeaderAndIsrResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    driver.respond(old, stale)

    assert is_controller(driver)


def test_after_resigning_nothing_of_the_term_has_effect(driver: Driver) -> None:
    managing(driver)
    driver.plan_write(PATH, Fate.HOLD)
    driver.unregister(2)
    driver.deliver(order(epoch=9), LeaderAndIsrResponse)
    assert not is_controller(driver)
    sent, begun = len(driver.sent), len(driver.writes)

    driver.release()
    driver.unregister(3)
    driver.tick(10_000)

    assert driver.sent[sent:] == []
    assert driver.writes[begun:] == []


# Commands


def test_a_command_is_sent_again_until_it_is_acknowledged(driver: Driver) -> None:
    managing(driver)
    driver.unregister(2)
    for _ in range(3):
        driver.fail(driver.commands(3)[-1])
        driver.tick(RETRY_MS)
    assert told(driver, 3) == [(2, 0), *[(3, 1)] * 4]

    driver.respond(driver.commands(3)[-1], LeaderAndIsrResponse())
    driver.tick(10_000)

    assert len(told(driver, 3)) == 5


def test_between_two_attempts_is_a_pause(driver: Driver) -> None:
    managing(driver)
    driver.unregister(2)
    driver.fail(driver.commands(3)[-1])

    driver.tick(RETRY_MS - 1)
    assert len(told(driver, 3)) == 2
    driver.tick(1)

    assert len(told(driver, 3)) == 3


def test_a_broker_that_is_not_ready_is_told_again(driver: Driver) -> None:
    managing(driver)
    driver.unregister(2)

    error = ErrorCode.BROKER_NOT_AVAILABLE
    driver.respond(driver.commands(3)[-1], LeaderAndIsrResponse(error_code=error))
    driver.tick(RETRY_MS)

    assert told(driver, 3)[-2:] == [(3, 1), (3, 1)]


def test_one_request_per_broker_is_out_and_the_newest_state_goes_next(driver: Driver) -> None:
    elected(driver)
    driver.create_topic("t", (2, 3, 1))
    assert len(driver.commands(3)) == 1
    driver.unregister(2)
    driver.unregister(1)
    assert len(driver.commands(3)) == 1

    driver.respond(driver.commands(3)[-1], LeaderAndIsrResponse())

    assert told(driver, 3) == [(2, 0), (3, 1)]


def test_brokers_are_served_independently(driver: Driver) -> None:
    managing(driver)
    driver.unregister(2)
    driver.fail(driver.commands(3)[-1])

    assert told(driver, 1)[-1] == (3, 1)
    assert driver.commands(1)[-1].request_id != driver.commands(3)[-1].request_id


# Malformed znodes


@pytest.mark.parametrize(
    "data", [b"", b"no", b'{"partitions":{"x":[1]}}', b'{"partitions":{"0":[1,1]}}']
)
def test_a_malformed_topic_is_skipped_and_reported(driver: Driver, data: bytes) -> None:
    elected(driver)
    driver.write(Create(path=topic_path("bad"), data=data))
    driver.create_topic("t", (1, 2))

    assert driver.state(T0) == state(1, 0, (1, 2))
    assert set(driver.malformed) == {topic_path("bad")}


def test_a_malformed_state_is_skipped_and_reported_and_others_go_on(driver: Driver) -> None:
    driver.create_topic("t", (2, 3), (9, 3))
    driver.put_state(T0, b"[]")
    driver.put_state(T1, state(9, 4, (9, 3)))

    elected(driver)

    assert PATH in driver.malformed
    assert state_writes(driver) == []
    assert driver.state(T1) == state(3, 5, (3,))
    assert told(driver, 3, T0) == []


def test_what_is_no_broker_id_is_no_broker(driver: Driver) -> None:
    driver.write(Create(path=f"{BROKER_IDS}/elsewhere", data=b""))

    elected(driver)

    assert driver.live_seen() == broker_ids(1, 2, 3)
