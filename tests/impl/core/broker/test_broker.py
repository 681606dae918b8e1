"""The broker through the door of its node: commands, produces, fetches."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.effects import RefusalTold, Reply
from fencepost.impl.core.types.messages import (
    FetchResponse,
    LeaderAndIsrResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProduceRequest,
    ProduceResponse,
)
from fencepost.impl.core.types.zookeeper import SetData, Written
from fencepost.spec.vocabulary import (
    Action,
    BrokerId,
    ErrorCode,
    LeaderEpoch,
    Offset,
    ZnodeVersion,
)
from fencepost.spec.znodes import CONTROLLER_EPOCH
from tests.impl.core.build import ME, T0, T1, command, order, state
from tests.impl.core.driver import Driver, broker_ids
from tests.impl.core.roles import (
    consumer_fetch,
    follower_fetch,
    following,
    leading,
    obey,
    produce,
    replicate,
    started,
)

Drive = Callable[[Config], Driver]


# Commands


def test_before_the_start_is_over_no_command_is_obeyed(driver: Driver) -> None:
    response = driver.deliver(order(command(1, 0), epoch=1), LeaderAndIsrResponse)
    assert response.error_code is ErrorCode.BROKER_NOT_AVAILABLE
    assert (driver.node.broker.replicas.get(T0), driver.took(Action.BECOME_LEADER)) == (None, [])


def test_each_partition_is_obeyed_or_refused_alone(driver: Driver) -> None:
    leading(driver, epoch=4)

    errors = obey(driver, command(2, 3, key=T0), command(1, 0, key=T1))

    assert errors == [ErrorCode.STALE_LEADER_EPOCH, ErrorCode.NONE]
    assert driver.replica(T0).role is Role.LEADER
    assert driver.replica(T1).role is Role.LEADER


def test_a_stale_controller_epoch_is_refused_with_no_effect(driver: Driver) -> None:
    leading(driver)
    obey(driver, command(1, 2), epoch=5)
    before, begun = driver.replica(T0), len(driver.effects)

    request = order(command(2, 9), command(1, 9, key=T1), epoch=4)
    response = driver.deliver(request, LeaderAndIsrResponse)

    assert response == LeaderAndIsrResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    assert driver.replica(T0) is before
    assert driver.node.broker.replicas.get(T1) is None
    assert [type(one) for one in driver.effects[begun:]] == [RefusalTold, RefusalTold, Reply]
    assert driver.node.broker.controller_epoch == 5


def test_the_controller_epoch_read_in_zookeeper_already_refuses(driver: Driver) -> None:
    started(driver)
    driver.unregister(3)
    assert driver.node.broker.controller_epoch == 2

    response = driver.deliver(order(command(2, 0), epoch=1), LeaderAndIsrResponse)

    assert response.error_code is ErrorCode.STALE_CONTROLLER_EPOCH


def test_at_level_0_no_controller_epoch_is_compared(drive: Drive) -> None:
    driver = started(drive(Config(broker_id=ME, rules=LEVELS[0])))

    assert obey(driver, command(1, 0), epoch=5) == [ErrorCode.NONE]
    assert obey(driver, command(2, 1), epoch=0) == [ErrorCode.NONE]


def test_a_leader_that_only_waits_says_that_it_may_not_lead(driver: Driver) -> None:
    driver.create_topic("t", (1, 2, 3))
    driver.put_state(T0, state(1, 4, (1, 2, 3)))
    driver.register(3)
    driver.make_controller(3)
    driver.start()

    assert obey(driver, command(1, 4)) == [ErrorCode.REPLICA_NOT_AVAILABLE]
    assert driver.replica(T0).role is Role.WAITING
    assert obey(driver, command(1, 5)) == [ErrorCode.NONE]


# Produce


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (
            ProduceRequest(topic="t", partition=7, values=("v",)),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        (ProduceRequest(topic="t", partition=0, values=()), ErrorCode.INVALID_REQUEST),
        (produce(acks=2), ErrorCode.INVALID_REQUEST),
        (produce(acks=-2), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_produce_that_cannot_be_is_refused(
    driver: Driver, request_: ProduceRequest, error: ErrorCode
) -> None:
    leading(driver)

    response = driver.deliver(request_, ProduceResponse)

    assert response.error_code is error
    assert driver.took(Action.LEADER_APPEND) == []


def test_who_does_not_lead_takes_no_produce(driver: Driver) -> None:
    following(driver)

    response = driver.deliver(produce(acks=1), ProduceResponse)

    assert response.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert driver.replica(T0).log_end_offset == 0


def test_too_small_an_isr_refuses_acks_all_before_appending(drive: Drive) -> None:
    driver = leading(drive(Config(broker_id=ME, min_insync_replicas=2)), isr=(1,))

    refused = driver.deliver(produce("a"), ProduceResponse)
    taken = driver.deliver(produce("b", acks=1), ProduceResponse)

    assert refused.error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert (taken.error_code, taken.base_offset) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("acks", [0, 1])
def test_without_acks_all_the_leaders_log_is_enough(driver: Driver, acks: int) -> None:
    leading(driver)

    response = driver.deliver(produce("a", "b", acks=acks), ProduceResponse)

    assert (response.error_code, response.base_offset) == (ErrorCode.NONE, 0)
    assert response.leader_epoch == 1
    assert driver.replica(T0).high_watermark == 0


def test_acks_all_waits_for_every_member_of_the_isr(driver: Driver) -> None:
    leading(driver)
    token = driver.ask(produce("a", "b"))

    replicate(driver, 2)
    assert not driver.is_answered(token)
    replicate(driver, 3)

    response = driver.reply(token, ProduceResponse)
    assert (response.error_code, response.base_offset) == (ErrorCode.NONE, 0)
    assert driver.replica(T0).high_watermark == 2


def test_a_partly_committed_batch_is_not_acknowledged(driver: Driver) -> None:
    leading(driver, isr=(1, 2))
    token = driver.ask(produce("a", "b"))

    driver.deliver(follower_fetch(2, 1), FetchResponse)

    assert driver.replica(T0).high_watermark == 1
    assert not driver.is_answered(token)


def test_a_leader_alone_acknowledges_at_once(driver: Driver) -> None:
    leading(driver, isr=(1,))

    first = driver.deliver(produce("a"), ProduceResponse)
    second = driver.deliver(produce("b"), ProduceResponse)

    assert [first.base_offset, second.base_offset] == [0, 1]
    assert driver.replica(T0).high_watermark == 2


def test_a_produce_that_waits_too_long_times_out_and_stays_in_the_log(driver: Driver) -> None:
    leading(driver)
    token = driver.ask(produce("a", timeout_ms=500))

    driver.tick(499)
    assert not driver.is_answered(token)
    driver.tick(1)

    response = driver.reply(token, ProduceResponse)
    assert response.error_code is ErrorCode.REQUEST_TIMED_OUT
    assert response.error_code.is_indefinite
    replicate(driver, 2, 3)
    assert driver.replica(T0).high_watermark == 1


def test_stepping_down_ends_produces_that_may_have_been_replicated(driver: Driver) -> None:
    leading(driver)
    token = driver.ask(produce("a"))

    obey(driver, command(2, 2))

    response = driver.reply(token, ProduceResponse)
    assert response.error_code is ErrorCode.NOT_LEADER_AFTER_APPEND
    assert response.error_code.is_indefinite


def test_leading_on_in_a_new_epoch_keeps_produces_waiting(driver: Driver) -> None:
    leading(driver)
    token = driver.ask(produce("a"))

    obey(driver, command(1, 2, isr=(1, 2), version=2))
    assert not driver.is_answered(token)
    replicate(driver, 2, epoch=2)

    response = driver.reply(token, ProduceResponse)
    assert (response.error_code, response.base_offset) == (ErrorCode.NONE, 0)


def test_a_new_epoch_with_an_isr_of_one_commits_what_waited(driver: Driver) -> None:
    leading(driver)
    token = driver.ask(produce("a"))

    obey(driver, command(1, 2, isr=(1,), version=2))

    assert driver.reply(token, ProduceResponse).error_code is ErrorCode.NONE


# Consumers


def test_consumers_read_only_what_is_committed(driver: Driver) -> None:
    leading(driver, isr=(1, 2))
    driver.ask(produce("a", "b", "c"))
    driver.deliver(follower_fetch(2, 2), FetchResponse)

    response = driver.deliver(consumer_fetch(0), FetchResponse)

    assert [record.value for record in response.records] == ["a", "b"]
    assert (response.high_watermark, response.log_end_offset) == (2, 3)


@pytest.mark.parametrize("offset", [2, 3])
def test_between_high_watermark_and_log_end_the_answer_is_empty(
    driver: Driver, offset: int
) -> None:
    leading(driver, isr=(1, 2))
    driver.ask(produce("a", "b", "c"))
    driver.deliver(follower_fetch(2, 2), FetchResponse)

    response = driver.deliver(consumer_fetch(offset), FetchResponse)

    assert (response.error_code, response.records) == (ErrorCode.NONE, ())


@pytest.mark.parametrize("offset", [-1, 4])
def test_outside_the_log_an_offset_is_out_of_range(driver: Driver, offset: int) -> None:
    leading(driver)
    driver.ask(produce("a", "b", "c"))

    for request in (consumer_fetch(offset), follower_fetch(2, offset)):
        response = driver.deliver(request, FetchResponse)
        assert response.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
        assert response.log_end_offset == 3


def test_a_fetch_takes_no_more_than_it_asks_for(driver: Driver) -> None:
    leading(driver, isr=(1,))
    driver.deliver(produce("a", "b", "c"), ProduceResponse)

    response = driver.deliver(consumer_fetch(1, max_records=1), FetchResponse)

    assert [record.value for record in response.records] == ["b"]


@pytest.mark.parametrize("wait_ms", [0, 300])
def test_who_does_not_lead_serves_no_fetch(driver: Driver, wait_ms: int) -> None:
    following(driver)

    response = driver.deliver(consumer_fetch(0, wait_ms=wait_ms), FetchResponse)

    assert response.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert response.high_watermark == -1


def test_an_unknown_partition_has_its_own_error(driver: Driver) -> None:
    started(driver)

    fetch = driver.deliver(consumer_fetch(0), FetchResponse)
    listed = driver.deliver(ListOffsetsRequest(topic="t", partition=0), ListOffsetsResponse)

    assert fetch.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert listed.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leader_tells_how_far_its_log_goes(driver: Driver) -> None:
    leading(driver)
    driver.ask(produce("a", "b"))

    listed = driver.deliver(ListOffsetsRequest(topic="t", partition=0), ListOffsetsResponse)

    assert (listed.high_watermark, listed.log_end_offset) == (0, 2)
    obey(driver, command(2, 2))
    listed = driver.deliver(ListOffsetsRequest(topic="t", partition=0), ListOffsetsResponse)
    assert listed.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


# Followers


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (4, ErrorCode.NONE),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_fetches_of_followers_are_fenced_by_leader_epoch(
    driver: Driver, epoch: int, error: ErrorCode
) -> None:
    leading(driver, epoch=4)

    response = driver.deliver(follower_fetch(2, 0, epoch=epoch), FetchResponse)

    assert response.error_code is error
    assert (BrokerId(2) in driver.replica(T0).followers) is (error is ErrorCode.NONE)


def test_below_level_2_fetches_are_not_fenced(drive: Drive) -> None:
    driver = leading(
        drive(Config(broker_id=ME, rules=LEVELS[1])),
        epoch=4,
    )

    response = driver.deliver(follower_fetch(2, 0, epoch=-1), FetchResponse)

    assert response.error_code is ErrorCode.NONE


@pytest.mark.parametrize(
    ("current", "asked", "error", "answer"),
    [
        (3, 1, ErrorCode.FENCED_LEADER_EPOCH, (-1, -1)),
        (5, 1, ErrorCode.UNKNOWN_LEADER_EPOCH, (-1, -1)),
        (4, 4, ErrorCode.NONE, (4, 2)),
        (4, 3, ErrorCode.NONE, (-1, 0)),
    ],
)
def test_the_end_of_an_epoch_is_told_to_followers_of_this_epoch(
    driver: Driver, current: int, asked: int, error: ErrorCode, answer: tuple[int, int]
) -> None:
    leading(driver, epoch=4)
    driver.ask(produce("a", "b"))
    request = OffsetForLeaderEpochRequest(
        topic="t",
        partition=0,
        replica_id=BrokerId(2),
        current_leader_epoch=LeaderEpoch(current),
        leader_epoch=LeaderEpoch(asked),
    )

    response = driver.deliver(request, OffsetForLeaderEpochResponse)

    assert response.error_code is error
    assert (response.leader_epoch, response.end_offset) == answer


# Parked fetches


def test_a_fetch_at_the_log_end_is_parked_until_records_come(driver: Driver) -> None:
    leading(driver)
    driver.deliver(follower_fetch(2, 0), FetchResponse)
    token = driver.ask(follower_fetch(2, 0, wait_ms=300))
    assert not driver.is_answered(token)

    driver.ask(produce("a"))

    assert len(driver.reply(token, FetchResponse).records) == 1


def test_a_parked_fetch_is_answered_when_the_high_watermark_moves(driver: Driver) -> None:
    leading(driver, isr=(1, 2, 3))
    driver.ask(produce("a"))
    replicate(driver, 2)
    token = driver.ask(follower_fetch(2, 1, wait_ms=300))
    assert not driver.is_answered(token)

    replicate(driver, 3)

    assert driver.reply(token, FetchResponse).high_watermark == 1


def test_a_follower_that_was_not_told_the_high_watermark_is_not_parked(driver: Driver) -> None:
    leading(driver, isr=(1, 2))
    driver.ask(produce("a"))

    response = driver.deliver(follower_fetch(2, 1, wait_ms=300), FetchResponse)

    assert response.high_watermark == 1


def test_a_parked_fetch_ends_empty_at_its_deadline(driver: Driver) -> None:
    leading(driver)
    token = driver.ask(consumer_fetch(0, wait_ms=300))

    driver.tick(299)
    assert not driver.is_answered(token)
    driver.tick(1)

    response = driver.reply(token, FetchResponse)
    assert (response.error_code, response.records) == (ErrorCode.NONE, ())


def test_a_consumer_is_parked_until_records_are_committed(driver: Driver) -> None:
    leading(driver, isr=(1, 2))
    driver.ask(produce("a"))
    token = driver.ask(consumer_fetch(0, wait_ms=300))
    assert not driver.is_answered(token)

    replicate(driver, 2)

    assert [record.value for record in driver.reply(token, FetchResponse).records] == ["a"]


def test_stepping_down_ends_parked_fetches(driver: Driver) -> None:
    leading(driver)
    driver.deliver(follower_fetch(2, 0), FetchResponse)
    token = driver.ask(follower_fetch(2, 0, wait_ms=300))

    obey(driver, command(2, 2))

    assert driver.reply(token, FetchResponse).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_parked_in_an_earlier_epoch_is_fenced(driver: Driver) -> None:
    leading(driver)
    driver.deliver(follower_fetch(2, 0), FetchResponse)
    token = driver.ask(follower_fetch(2, 0, wait_ms=300))

    obey(driver, command(1, 2, version=2))

    assert driver.reply(token, FetchResponse).error_code is ErrorCode.FENCED_LEADER_EPOCH
    assert dict(driver.replica(T0).followers) == {}


# Time


def test_high_watermarks_are_checkpointed_and_survive_a_restart(driver: Driver) -> None:
    leading(driver, isr=(1,))
    driver.deliver(produce("a", "b"), ProduceResponse)
    driver.tick(500)
    driver.lose_session()
    driver.start(recovered=True)

    replica = driver.replica(T0)

    assert (replica.role, replica.high_watermark, replica.log_end_offset) == (Role.WAITING, 2, 2)
    assert replica.epoch_starts == ((LeaderEpoch(1), Offset(0)),)


def test_a_session_that_ends_changes_no_replica(driver: Driver) -> None:
    leading(driver)
    before = driver.replica(T0)

    driver.lose_session()

    assert driver.replica(T0) is before
    assert driver.replica(T0).isr == broker_ids(1, 2, 3)


def test_the_controller_epoch_is_learnt_at_the_start(driver: Driver) -> None:
    driver.register(3)
    driver.make_controller(3)
    raised = SetData(path=CONTROLLER_EPOCH, data=b"41", expected_version=ZnodeVersion(0))
    assert isinstance(driver.write(raised), Written)

    driver.start()

    assert driver.node.broker.controller_epoch == 41
    assert driver.node.controller_election.active_controller_id == 3
