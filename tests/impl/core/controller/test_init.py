"""INIT: the first request of a controller to a broker names all that the broker has (CMD-007)."""

import pytest
from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import INIT_WAIT_MS
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.effects import ReportWaiting
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, LeaderAndIsrResponse
from fencepost.impl.core.types.zookeeper import Create, Delete
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    Action,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
)
from fencepost.spec.znodes import TopicPartition, broker_path, leader_and_isr_path, topic_path
from tests.impl.core.build import ME, T0, T1, command, order, state
from tests.impl.core.driver import Driver
from tests.impl.core.roles import obey, started

OLD, NOW, NEXT = 10, 1000, 2000


def controlling(driver: Driver) -> Driver:
    """Broker 1 is controller; 2 and 3 are live; t/0 is on brokers 2, 3 and 1."""
    driver.register(2)
    driver.register(3)
    driver.create_topic("t", (2, 3, 1))
    driver.put_state(T0, state(2, 0, (1, 2, 3)))
    driver.start()
    driver.tick(INIT_WAIT_MS)
    return driver


def requests(driver: Driver, broker_id: int) -> list[LeaderAndIsrRequest]:
    sent = (send.request for send in driver.commands(broker_id))
    return [request for request in sent if isinstance(request, LeaderAndIsrRequest)]


def epoch_of(driver: Driver, broker_id: int) -> int:
    stat = driver.zookeeper.peek(broker_path(broker_id)).stat
    assert stat is not None
    return stat.czxid


# What the controller sends


def test_the_first_request_to_every_broker_is_whole() -> None:
    driver = controlling(Driver(Config(broker_id=ME)))

    for broker_id in (1, 2, 3):
        first = requests(driver, broker_id)[0]
        assert first.is_init
        assert first.max_broker_epoch == max(epoch_of(driver, one) for one in (1, 2, 3))
        assert [one.key for one in first.partitions] == [T0]
        assert first.kept == ()


def test_only_the_first_request_is_an_init() -> None:
    driver = controlling(Driver(Config(broker_id=ME)))
    driver.acknowledge_commands()
    driver.create_topic("u", (3, 2))
    driver.acknowledge_commands()

    assert [request.is_init for request in requests(driver, 3)] == [True, False]


def test_what_is_under_decision_is_kept_and_told_later() -> None:
    driver = Driver(Config(broker_id=ME))
    driver.register(2)
    driver.create_topic("t", (2, 1), (3, 2))
    driver.put_state(T0, state(2, 0, (1, 2)))
    driver.put_state(T1, state(3, 0, (2, 3)))
    driver.start()
    driver.tick(INIT_WAIT_MS)

    first = requests(driver, 2)[0]
    assert first.is_init
    assert {T0, T1} == {one.key for one in first.partitions} | {one.key for one in first.kept}


def test_an_init_without_answer_is_an_init_again() -> None:
    driver = controlling(Driver(Config(broker_id=ME)))
    driver.fail(driver.commands(3)[0])
    driver.tick(200)

    assert [request.is_init for request in requests(driver, 3)] == [True, True]


def test_a_broker_that_was_not_ready_gets_it_again() -> None:
    driver = controlling(Driver(Config(broker_id=ME)))
    error = ErrorCode.BROKER_NOT_AVAILABLE
    driver.respond(driver.commands(3)[0], LeaderAndIsrResponse(error_code=error))
    driver.tick(200)

    assert [request.is_init for request in requests(driver, 3)] == [True, True]


def test_a_broker_that_comes_back_gets_a_new_one() -> None:
    driver = controlling(Driver(Config(broker_id=ME)))
    driver.acknowledge_commands()
    driver.unregister(3)
    driver.register(3)
    driver.tick(INIT_WAIT_MS)

    last = next(request for request in reversed(requests(driver, 3)) if request.is_init)
    assert last.max_broker_epoch == epoch_of(driver, 3)
    assert len([request for request in requests(driver, 3) if request.is_init]) == 2


def test_a_broker_without_partitions_gets_one_too() -> None:
    driver = Driver(Config(broker_id=ME))
    driver.register(2)
    driver.start()
    driver.tick(INIT_WAIT_MS)

    assert [request.is_init for request in requests(driver, 2)] == [True]


@pytest.mark.parametrize("path", [topic_path("u"), leader_and_isr_path(T1)])
def test_while_something_is_unreadable_nothing_is_whole(path: str) -> None:
    """The broker may have a replica of it."""
    driver = Driver(Config(broker_id=ME))
    driver.register(2)
    driver.create_topic("t", (2, 1), (2, 1))
    if path == topic_path("u"):
        driver.write(Create(path=path, data=b"{"))
        driver.put_state(T1, state(2, 0, (1, 2)))
    else:
        driver.put_state(T1, b"{")
    driver.put_state(T0, state(2, 0, (1, 2)))
    driver.start()
    driver.tick(INIT_WAIT_MS)

    assert [request.is_init for request in requests(driver, 2)] == [False]


def test_the_stamp_is_no_younger_than_the_reading_of_the_topics() -> None:
    driver = controlling(Driver(Config(broker_id=ME)))
    topic = driver.zookeeper.peek(topic_path("t")).stat
    office = driver.zookeeper.peek("/controller").stat

    first = requests(driver, 3)[0]
    assert topic is not None
    assert office is not None
    assert topic.czxid < first.zxid == office.czxid


# What a broker deletes


def following() -> Driver:
    """Broker 1 follows in incarnation NOW of t/0; broker 3 is controller of epoch 1."""
    driver = started(Driver(Config(broker_id=ME)))
    assert obey(driver, command(2, 1, incarnation=NOW)) == [ErrorCode.NONE]
    return driver


def init(driver: Driver, *, epoch: int = 2, zxid: int = NOW, keys: tuple[int, ...] = ()) -> None:
    """An INIT of broker 3 that names these partitions of t."""
    kept = tuple(PartitionId(topic="t", partition=number) for number in keys)
    request = replace(
        order(epoch=epoch),
        is_init=True,
        broker_epoch=BrokerEpoch(epoch_of(driver, 1)),
        zxid=zxid,
        kept=kept,
    )
    driver.deliver(request, LeaderAndIsrResponse)


def has_replica(driver: Driver) -> bool:
    return driver.node.broker.replicas.get(T0) is not None


def test_what_an_init_omits_is_deleted() -> None:
    driver = following()
    init(driver)

    assert not has_replica(driver)
    assert driver.disk.recover() == {}
    (taken,) = driver.took(Action.OBEY_INIT)
    assert (taken.topic_partition, taken.partition_incarnation) == (T0, NOW)


def test_what_an_init_names_stays() -> None:
    driver = following()
    init(driver, keys=(0,))

    assert has_replica(driver)


def test_an_init_says_nothing_of_what_is_newer_than_its_reading() -> None:
    driver = following()
    init(driver, zxid=NOW - 1)

    assert has_replica(driver)


def test_an_init_of_an_older_controller_deletes_nothing() -> None:
    driver = following()
    init(driver, epoch=0)

    assert has_replica(driver)


def test_only_the_first_init_of_a_controller_deletes() -> None:
    """A later one may be a late one: a partition may have come in between (H19)."""
    driver = following()
    init(driver, keys=(0,))
    init(driver)

    assert has_replica(driver)


def test_the_first_init_after_another_registration_deletes() -> None:
    driver = following()
    init(driver, keys=(0,))
    driver.lose_session()
    driver.start()
    init(driver)

    assert not has_replica(driver)


def test_an_init_to_an_earlier_registration_deletes_nothing() -> None:
    driver = following()
    request = replace(order(epoch=2), is_init=True, broker_epoch=BrokerEpoch(1), zxid=NOW)
    driver.deliver(request, LeaderAndIsrResponse)

    assert has_replica(driver)


def test_a_broker_that_is_not_ready_obeys_no_init() -> None:
    driver = Driver(Config(broker_id=ME))
    request = LeaderAndIsrRequest(
        controller_id=BrokerId(3),
        controller_epoch=ControllerEpoch(1),
        partitions=(),
        is_init=True,
    )
    response = driver.deliver(request, LeaderAndIsrResponse)

    assert response.error_code is ErrorCode.BROKER_NOT_AVAILABLE


# Broker start


def restarted(driver: Driver) -> Driver:
    """Broker 1 starts again on its disk."""
    driver.lose_session()
    driver.start(recovered=True)
    return driver


def replica_of_topic(*replicas: int, isr: tuple[int, ...] = (1, 2)) -> Driver:
    """Broker 1 has a log of t/0 as ZooKeeper holds it."""
    driver = Driver(Config(broker_id=ME))
    driver.register(3)
    driver.make_controller(3)
    driver.create_topic("t", replicas)
    driver.put_state(T0, state(2, 0, isr))
    driver.start()
    stat = driver.zookeeper.peek(leader_and_isr_path(T0)).stat
    assert stat is not None
    assert obey(driver, command(2, 1, incarnation=stat.czxid)) == [ErrorCode.NONE]
    return driver


def drop_topic(driver: Driver) -> None:
    paths = (leader_and_isr_path(T0), f"{topic_path('t')}/0", topic_path("t"))
    driver.write(*(Delete(path=path, expected_version=ANY_VERSION) for path in paths))


def test_a_start_keeps_what_is_assigned() -> None:
    driver = restarted(replica_of_topic(1, 2))

    assert has_replica(driver)
    assert driver.took(Action.RECOVER_REPLICAS) == []


def test_a_start_keeps_what_only_the_isr_names() -> None:
    assert has_replica(restarted(replica_of_topic(2, 3)))


def test_a_start_drops_what_is_assigned_no_more() -> None:
    driver = restarted(replica_of_topic(2, 3, isr=(2, 3)))

    assert not has_replica(driver)
    assert driver.disk.recover() == {}
    (taken,) = driver.took(Action.RECOVER_REPLICAS)
    assert taken.topic_partition == T0


def test_a_start_drops_the_log_of_a_deleted_topic() -> None:
    driver = replica_of_topic(1, 2)
    drop_topic(driver)

    assert not has_replica(restarted(driver))


def test_a_start_drops_the_log_of_a_topic_that_was_created_again() -> None:
    driver = replica_of_topic(1, 2)
    drop_topic(driver)
    driver.create_topic("t", (1, 2))
    driver.put_state(T0, state(2, 0, (1, 2)))
    restarted(driver)

    assert driver.disk.recover() == {}
    assert len(driver.took(Action.RECOVER_REPLICAS)) == 1


def test_a_start_keeps_what_nobody_can_read() -> None:
    driver = replica_of_topic(1, 2)
    drop_topic(driver)
    driver.write(Create(path=topic_path("t"), data=b"{"))

    assert has_replica(restarted(driver))


def test_after_a_start_no_command_about_a_topic_that_was_gone_is_obeyed() -> None:
    driver = replica_of_topic(1, 2)
    stat = driver.zookeeper.peek(leader_and_isr_path(T0)).stat
    assert stat is not None
    drop_topic(driver)
    restarted(driver)

    late = command(2, 2, incarnation=stat.czxid)
    assert obey(driver, late) == [ErrorCode.UNKNOWN_TOPIC_ID]
    newer = command(2, 0, incarnation=NEXT, key=TopicPartition("u", 0))
    assert obey(driver, newer) == [ErrorCode.NONE]


def test_a_second_start_says_that_it_waits_for_the_first(driver: Driver) -> None:
    driver.register(1)
    driver.start()
    said = [effect for effect in driver.effects if isinstance(effect, ReportWaiting)]
    assert [effect.path for effect in said] == [broker_path(1)]

    driver.unregister(1)
    assert driver.node.registration.is_registered


def test_an_init_for_a_registration_that_is_not_known_yet_must_come_again(driver: Driver) -> None:
    """Its answer would tell the controller that what it omits is gone."""
    driver.start()
    early = replace(
        order(epoch=2),
        is_init=True,
        broker_epoch=BrokerEpoch(epoch_of(driver, 1) + 1),
        zxid=NOW,
    )

    answer = driver.deliver(early, LeaderAndIsrResponse)

    assert answer.error_code is ErrorCode.BROKER_NOT_AVAILABLE
