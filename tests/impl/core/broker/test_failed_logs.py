"""A log that fails takes its replica offline, alone, and the controller lets others lead."""

from msgspec.structs import replace

from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.broker_reports import (
    LogsFailedRequest,
    LogsFailedResponse,
    PartitionId,
)
from fencepost.impl.core.types.effects import DeleteLog, Send, StartLog
from fencepost.impl.core.types.events import LogFailed
from fencepost.impl.core.types.messages import (
    FetchResponse,
    LeaderAndIsrResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    PartitionError,
    ProduceResponse,
)
from fencepost.spec.vocabulary import (
    NO_BROKER,
    Action,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    LeaderEpoch,
    PartitionIncarnation,
)
from fencepost.spec.znodes import TopicPartition, broker_path, leader_and_isr_path
from tests.impl.core.build import ME, T0, T1, command, order, state
from tests.impl.core.driver import Driver
from tests.impl.core.roles import (
    consumer_fetch,
    follower_fetch,
    following,
    leading,
    obey,
    produce,
    started,
)

RETRY_MS = 100
FAILED = LogFailed(topic_partition=T0)
STORAGE_ERROR = ErrorCode.STORAGE_ERROR


def reports(driver: Driver) -> list[Send]:
    """What was told of failed logs, each time."""
    return [send for send in driver.sent if isinstance(send.request, LogsFailedRequest)]


def take_in(driver: Driver, send: Send, controller_epoch: int) -> None:
    """A controller of that epoch has taken the report in."""
    epoch = ControllerEpoch(controller_epoch)
    driver.respond(send, LogsFailedResponse(controller_epoch=epoch))


# The broker


def test_an_offline_leader_serves_nobody_and_obeys_nothing(driver: Driver) -> None:
    leading(driver)
    driver.step(FAILED)

    offsets = ListOffsetsRequest(topic="t", partition=0)
    end = OffsetForLeaderEpochRequest(
        topic="t",
        partition=0,
        replica_id=BrokerId(2),
        current_leader_epoch=LeaderEpoch(1),
        leader_epoch=LeaderEpoch(1),
    )
    answers = (
        driver.deliver(produce("x"), ProduceResponse),
        driver.deliver(consumer_fetch(0), FetchResponse),
        driver.deliver(follower_fetch(2, 0), FetchResponse),
        driver.deliver(offsets, ListOffsetsResponse),
        driver.deliver(end, OffsetForLeaderEpochResponse),
    )
    assert {answer.error_code for answer in answers} == {STORAGE_ERROR}
    assert obey(driver, command(2, 5), command(1, 0, key=T1)) == [STORAGE_ERROR, ErrorCode.NONE]
    assert driver.replica(T0).role is Role.OFFLINE
    assert driver.replica(T1).role is Role.LEADER


def test_who_waits_on_a_log_that_fails_is_answered(driver: Driver) -> None:
    leading(driver)
    waiting = driver.ask(produce("x"))
    driver.deliver(follower_fetch(2, 1), FetchResponse)
    parked = driver.ask(follower_fetch(2, 1, wait_ms=500))

    driver.step(FAILED)

    answered = driver.reply(waiting, ProduceResponse)
    assert answered.error_code is ErrorCode.NOT_LEADER_AFTER_APPEND
    assert driver.reply(parked, FetchResponse).error_code is STORAGE_ERROR


def test_an_offline_leader_neither_commits_nor_changes_the_isr(driver: Driver) -> None:
    leading(driver)
    driver.ask(produce("x"))
    driver.step(FAILED)
    begun = len(driver.actions)

    driver.deliver(follower_fetch(2, 1), FetchResponse)
    driver.deliver(follower_fetch(3, 1), FetchResponse)
    for _ in range(5):
        driver.tick(1000)

    assert driver.actions[begun:] == []
    assert driver.state(T0) == state(1, 1, (1, 2, 3))


def test_an_offline_follower_does_not_fetch(driver: Driver) -> None:
    following(driver)
    pending = driver.sent[-1]
    driver.step(FAILED)
    begun = len(driver.sent)

    driver.fail(pending)
    driver.tick(RETRY_MS)

    assert [type(send.request) for send in driver.sent[begun:]] == [LogsFailedRequest]


def test_the_controller_is_told_until_it_has_taken_it_in(driver: Driver) -> None:
    leading(driver)
    obey(driver, command(1, 0, key=T1))
    driver.step(FAILED)
    driver.step(LogFailed(topic_partition=T1))
    driver.tick()
    driver.tick()

    (send,) = reports(driver)
    stat = driver.zookeeper.peek(broker_path(ME)).stat
    assert stat is not None
    assert send.to == 3
    assert send.request == LogsFailedRequest(
        broker_id=ME,
        broker_epoch=BrokerEpoch(stat.czxid),
        partitions=(PartitionId(topic="t", partition=0), PartitionId(topic="t", partition=1)),
    )
    driver.fail(send)
    driver.tick()
    assert len(reports(driver)) == 1
    driver.tick(RETRY_MS)
    driver.respond(reports(driver)[1], LogsFailedResponse(error_code=ErrorCode.NOT_CONTROLLER))
    driver.tick(RETRY_MS)
    take_in(driver, reports(driver)[2], controller_epoch=1)
    driver.tick(RETRY_MS)
    assert len(reports(driver)) == 3


def test_a_deposed_controller_that_takes_it_in_is_not_enough(driver: Driver) -> None:
    leading(driver)
    obey(driver, command(1, 2), epoch=2)
    driver.step(FAILED)
    driver.tick()

    take_in(driver, reports(driver)[0], controller_epoch=1)
    driver.tick(RETRY_MS)

    assert len(reports(driver)) == 2


def test_a_log_that_failed_at_the_start_is_offline_and_never_made_anew(driver: Driver) -> None:
    driver.step(FAILED)
    started(driver)
    driver.put_state(T0, state(2, 4, (1, 2, 3)))
    stat = driver.zookeeper.peek(leader_and_isr_path(T0)).stat
    assert stat is not None
    incarnation = PartitionIncarnation(stat.czxid)

    named = replace(command(2, 4), partition_incarnation=incarnation)
    response = driver.deliver(order(named), LeaderAndIsrResponse)

    assert [error.error_code for error in response.partitions] == [STORAGE_ERROR]
    assert not any(isinstance(effect, DeleteLog | StartLog) for effect in driver.effects)


# The controller


def managing(driver: Driver, *assignment: int) -> Driver:
    """The node holds the office; t/0 has its first leader, and all were told."""
    for broker_id in (2, 3):
        driver.register(broker_id)
    driver.start()
    driver.create_topic("t", assignment or (2, 3, 1))
    driver.acknowledge_commands()
    return driver


def report(driver: Driver, broker_id: int, epoch: BrokerEpoch | None = None) -> ErrorCode:
    """What the node answers to a report about t/0."""
    request = LogsFailedRequest(
        broker_id=BrokerId(broker_id),
        broker_epoch=epoch or driver.broker_epoch(broker_id),
        partitions=(PartitionId(topic="t", partition=0),),
    )
    return driver.deliver(request, LogsFailedResponse).error_code


def refuse(driver: Driver, broker_id: int) -> None:
    """The broker answers the newest command with what its log is worth."""
    error = PartitionError(topic="t", partition=0, error_code=STORAGE_ERROR)
    driver.respond(driver.commands(broker_id)[-1], LeaderAndIsrResponse(partitions=(error,)))


def test_a_reported_leader_is_replaced_by_a_member_of_the_isr(driver: Driver) -> None:
    managing(driver)

    assert report(driver, 2) is ErrorCode.NONE

    assert driver.state(T0) == state(3, 1, (1, 3))
    refuse(driver, 2)
    assert driver.state(T0) == state(3, 1, (1, 3))


def test_a_reported_follower_leaves_the_isr(driver: Driver) -> None:
    managing(driver)

    report(driver, 3)

    assert driver.state(T0) == state(2, 1, (1, 2))


def test_a_leader_that_answers_so_is_replaced_once(driver: Driver) -> None:
    for broker_id in (2, 3):
        driver.register(broker_id)
    driver.start()
    driver.create_topic("t", (2, 3, 1))

    refuse(driver, 2)
    assert driver.state(T0) == state(3, 1, (1, 3))
    refuse(driver, 2)

    assert driver.state(T0) == state(3, 1, (1, 3))
    assert len(driver.took(Action.ELECT_LEADER)) == 1


def test_the_last_member_of_the_isr_leads_again_when_it_comes_back(driver: Driver) -> None:
    managing(driver)
    driver.put_state(T0, state(2, 0, (2,)))

    report(driver, 2)
    assert driver.state(T0) == state(NO_BROKER, 1, (2,))
    refuse(driver, 2)
    assert driver.state(T0) == state(NO_BROKER, 1, (2,))

    driver.register(2)
    assert driver.state(T0) == state(2, 2, (2,))


def test_a_report_of_an_earlier_start_changes_nothing(driver: Driver) -> None:
    managing(driver)
    earlier = driver.broker_epoch(2)
    driver.register(2)
    before = driver.state(T0)

    assert report(driver, 2, earlier) is ErrorCode.BROKER_NOT_AVAILABLE
    assert driver.state(T0) == before


def test_who_is_no_controller_says_so(driver: Driver) -> None:
    started(driver)

    assert report(driver, 1) is ErrorCode.NOT_CONTROLLER


def test_a_new_partition_gets_no_offline_leader(driver: Driver) -> None:
    managing(driver)
    report(driver, 2)
    driver.node.controller.context.add_offline(BrokerId(2), [TopicPartition("u", 0)])

    driver.create_topic("u", (2, 3))

    assert driver.state(TopicPartition("u", 0)) == state(3, 0, (3,))
