"""Metadata from the controller to every broker, and from there to clients (level 4, UMD-002)."""

import pytest
from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.messages import (
    ControlRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LiveEndpoint,
    MetadataRequest,
    MetadataResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from fencepost.spec.vocabulary import BrokerEpoch, BrokerId, ControllerEpoch, ErrorCode
from fencepost.spec.znodes import leader_and_isr_path
from tests.impl.core.build import T0, command
from tests.impl.core.controller.test_controller import managing
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import started

ONE, THREE = BrokerId(1), BrokerId(3)
SOON = BrokerEpoch(1 << 40)
"""No smaller than any epoch of these tests."""


@pytest.fixture
def driver() -> Driver:
    return Driver(Config(broker_id=ONE, rules=LEVELS[4]), takes_metadata=False)


def body(
    version: int, leader: int = 2, *, epoch: int = 1, full: bool = True
) -> UpdateMetadataRequest:
    live = (ONE, THREE)
    return UpdateMetadataRequest(
        controller_id=THREE,
        controller_epoch=ControllerEpoch(epoch),
        max_broker_epoch=SOON,
        metadata_version=version,
        is_full=full,
        brokers=tuple(
            LiveEndpoint(broker_id=one, host="h", port=one, broker_epoch=SOON) for one in live
        ),
        partitions=(command(leader, version),),
    )


def told(driver: Driver, request: UpdateMetadataRequest) -> ErrorCode:
    return driver.deliver(request, UpdateMetadataResponse).error_code


def leaders(driver: Driver) -> list[BrokerId]:
    answer = driver.deliver(MetadataRequest(), MetadataResponse)
    return [one.leader for one in answer.partitions]


def sent(driver: Driver, broker_id: int) -> list[Send]:
    return [
        send
        for send in driver.sent
        if send.to == broker_id and isinstance(send.request, UpdateMetadataRequest)
    ]


# The broker


def test_clients_are_told_what_the_controller_told_and_before_that_what_zookeeper_holds(
    driver: Driver,
) -> None:
    started(driver)
    before = leaders(driver)

    assert told(driver, body(1)) is ErrorCode.NONE
    answer = driver.deliver(MetadataRequest(), MetadataResponse)
    assert before == []
    assert (answer.controller_id, [one.broker_id for one in answer.brokers]) == (3, [1, 3])
    assert [(one.leader, one.offline_replicas) for one in answer.partitions] == [(2, (2,))]


@pytest.mark.parametrize(
    ("second", "error", "expected"),
    [
        (body(2, leader=3, full=False), ErrorCode.NONE, 3),
        (body(3, leader=3, full=False), ErrorCode.BROKER_NOT_AVAILABLE, 2),
        (body(1, leader=3), ErrorCode.NONE, 2),
        (body(1, leader=3, epoch=2), ErrorCode.NONE, 3),
        (body(1, leader=3, epoch=2, full=False), ErrorCode.BROKER_NOT_AVAILABLE, 0),
        (body(9, leader=3, epoch=0), ErrorCode.STALE_CONTROLLER_EPOCH, 2),
        (
            replace(body(9, leader=3), max_broker_epoch=BrokerEpoch(1)),
            ErrorCode.STALE_BROKER_EPOCH,
            2,
        ),
    ],
)
def test_a_change_is_taken_in_order_and_a_stale_one_is_not(
    driver: Driver, second: UpdateMetadataRequest, error: ErrorCode, expected: int
) -> None:
    started(driver)
    told(driver, body(1))

    assert told(driver, second) is error
    assert leaders(driver) == ([expected] if expected else [])


def test_what_an_earlier_controller_told_is_no_answer_under_one_that_tells_nothing(
    driver: Driver,
) -> None:
    """One that speaks a level below 4, while brokers are upgraded (UMD-003)."""
    started(driver)
    told(driver, body(1))
    driver.deliver(
        LeaderAndIsrRequest(
            controller_id=BrokerId(2),
            controller_epoch=ControllerEpoch(2),
            partitions=(),
            max_broker_epoch=SOON,
        ),
        LeaderAndIsrResponse,
    )

    assert leaders(driver) == []


def test_what_a_body_deletes_or_leaves_out_is_not_told(driver: Driver) -> None:
    started(driver)
    told(driver, body(1))

    told(driver, replace(body(2), partitions=()))
    assert leaders(driver) == []


# The controller


def test_all_brokers_are_told_by_one_body_before_their_roles(driver: Driver) -> None:
    managing(driver)
    first = sent(driver, 2)[0].request
    driver.respond(sent(driver, 2)[-1], UpdateMetadataResponse())

    assert sent(driver, 3)[0].request is first
    assert driver.commands(2)


def settle(driver: Driver) -> None:
    """Brokers answer all that they are sent, until nothing is."""
    answered: set[int] = set()
    for send in driver.sent:  # grows: an answer sets the next request free
        if send.request_id in answered or not isinstance(send.request, ControlRequest):
            continue
        answered.add(send.request_id)
        is_metadata = isinstance(send.request, UpdateMetadataRequest)
        driver.respond(send, UpdateMetadataResponse() if is_metadata else LeaderAndIsrResponse())


def test_that_a_broker_is_gone_is_told_after_the_roles_that_it_leaves(driver: Driver) -> None:
    """No leader waits for what clients are told."""
    managing(driver)
    settle(driver)
    before = len(driver.sent)
    driver.plan_read(leader_and_isr_path(T0), Fate.HOLD)
    driver.unregister(2)
    while_deciding = driver.sent[before:]
    driver.release()
    decided = [type(one.request) for one in driver.sent[before:] if one.to == THREE]
    settle(driver)

    assert while_deciding == []
    assert decided == [LeaderAndIsrRequest]
    last = sent(driver, THREE)[-1].request
    assert isinstance(last, UpdateMetadataRequest)
    assert [one.broker_id for one in last.brokers] == [1, 3]
    assert [one.leader for one in last.partitions] == [3]


def test_a_body_without_an_answer_is_sent_again_and_a_refused_one_as_a_whole(
    driver: Driver,
) -> None:
    managing(driver)
    lost = sent(driver, 2)[-1]
    driver.fail(lost)
    driver.tick(1000)
    again = sent(driver, 2)[-1]
    driver.respond(again, UpdateMetadataResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE))
    driver.tick(1000)

    whole = sent(driver, 2)[-1].request
    assert again.request is lost.request
    assert isinstance(whole, UpdateMetadataRequest)
    assert whole.is_full
