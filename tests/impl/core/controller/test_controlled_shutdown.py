"""How a broker leaves: others lead first, and an obsolete request moves nothing (BEP-005)."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import level_2
from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    PartitionId,
)
from fencepost.impl.core.types.effects import Send, ShutDown
from fencepost.impl.core.types.events import ShutdownAsked
from fencepost.impl.core.types.messages import FetchRequest
from fencepost.spec.vocabulary import BrokerEpoch, BrokerId, ErrorCode
from fencepost.spec.znodes import TopicPartition
from tests.impl.core.build import T0, command, state
from tests.impl.core.controller.test_controller import managing
from tests.impl.core.driver import Driver
from tests.impl.core.moving import governed, grow
from tests.impl.core.roles import following, leading, obey

REMAINING = (PartitionId(topic="t", partition=0),)


def ask(driver: Driver, broker_id: int, later: int = 0) -> ControlledShutdownResponse:
    """What the controller answers to a broker that wants to end."""
    request = ControlledShutdownRequest(
        broker_id=BrokerId(broker_id),
        broker_epoch=BrokerEpoch(driver.broker_epoch(broker_id) + later),
    )
    return driver.deliver(request, ControlledShutdownResponse)


def questions(driver: Driver) -> list[Send]:
    """What the broker has asked the controller, each time."""
    return [send for send in driver.sent if isinstance(send.request, ControlledShutdownRequest)]


def ends(driver: Driver) -> list[tuple[object, ...]]:
    """What was left to be led when the broker ended; nothing while it goes on."""
    return [e.remaining_partitions for e in driver.effects if isinstance(e, ShutDown)]


# The controller


def test_others_lead_what_a_broker_led_that_is_to_end(driver: Driver) -> None:
    managing(driver)

    assert ask(driver, 2) == ControlledShutdownResponse(remaining_partitions=REMAINING)

    assert driver.state(T0) == state(3, 1, (1, 3))
    assert ask(driver, 2) == ControlledShutdownResponse()


def test_a_follower_that_is_to_end_leaves_the_isr(driver: Driver) -> None:
    managing(driver)

    assert ask(driver, 3) == ControlledShutdownResponse()

    assert driver.state(T0) == state(2, 1, (1, 2))


def test_what_only_one_could_lead_does_not_keep_it(driver: Driver) -> None:
    managing(driver)
    ask(driver, 2)
    ask(driver, 3)
    assert driver.state(T0) == state(1, 2, (1,))

    assert ask(driver, 1) == ControlledShutdownResponse()

    assert driver.state(T0) == state(1, 2, (1,))


def test_a_request_of_an_earlier_registration_moves_nothing(driver: Driver) -> None:
    managing(driver)

    assert ask(driver, 2, later=-1).error_code is ErrorCode.STALE_BROKER_EPOCH
    assert ask(driver, 2, later=1).error_code is ErrorCode.BROKER_NOT_AVAILABLE

    assert driver.state(T0) == state(2, 0, (1, 2, 3))


def test_the_next_start_does_not_shut_down(driver: Driver) -> None:
    managing(driver)
    ask(driver, 2)
    driver.register(2)
    driver.create_topic("u", (2, 3, 1))
    driver.acknowledge_commands()

    assert driver.state(TopicPartition("u", 0)) == state(2, 0, (1, 2, 3))


def test_partitions_are_added_while_a_broker_is_to_end(driver: Driver) -> None:
    governed(driver)
    ask(driver, 2)

    assert grow(driver, 2, (2, 3)) is ErrorCode.NONE

    assert driver.state(TopicPartition("t", 1)) == state(3, 0, (3,))


def test_a_broker_that_is_no_controller_says_so(driver: Driver) -> None:
    following(driver)

    assert ask(driver, 3).error_code is ErrorCode.NOT_CONTROLLER


# The broker


def test_a_broker_ends_when_nothing_remains(driver: Driver) -> None:
    leading(driver)
    driver.step(ShutdownAsked())
    driver.tick()
    [first] = questions(driver)
    assert first.to == 3
    assert first.request == ControlledShutdownRequest(
        broker_id=BrokerId(1), broker_epoch=driver.broker_epoch(1)
    )

    driver.respond(first, ControlledShutdownResponse(remaining_partitions=REMAINING))
    assert ends(driver) == []
    driver.tick(100)
    driver.respond(questions(driver)[1], ControlledShutdownResponse())

    assert ends(driver) == [()]


def test_a_broker_asks_again_whoever_is_controller(driver: Driver) -> None:
    leading(driver)
    driver.step(ShutdownAsked())
    driver.tick()
    driver.fail(questions(driver)[0])
    driver.tick(100)
    refused = ControlledShutdownResponse(error_code=ErrorCode.NOT_CONTROLLER)
    driver.respond(questions(driver)[1], refused)
    driver.tick(100)

    assert len(questions(driver)) == 3
    assert ends(driver) == []


def test_a_broker_does_not_wait_for_ever(driver: Driver) -> None:
    leading(driver)
    driver.step(ShutdownAsked())
    driver.tick()
    driver.respond(questions(driver)[0], ControlledShutdownResponse(remaining_partitions=REMAINING))

    driver.tick(3000)

    assert ends(driver) == [(T0,)]


def test_asked_again_a_broker_ends_at_once(driver: Driver) -> None:
    leading(driver)
    driver.step(ShutdownAsked())
    driver.step(ShutdownAsked())
    driver.step(ShutdownAsked())

    assert ends(driver) == [()]


def test_a_broker_without_a_session_ends_at_once(driver: Driver) -> None:
    leading(driver)
    driver.lose_session()
    driver.step(ShutdownAsked())

    assert ends(driver) == [()]


def test_below_level_3_a_broker_ends_at_once(drive: Callable[[Config], Driver]) -> None:
    driver = drive(Config(broker_id=BrokerId(1), rules=level_2.RULES))
    leading(driver)
    driver.step(ShutdownAsked())

    assert ends(driver) == [()]
    assert questions(driver) == []


@pytest.mark.parametrize(("isr", "fetches"), [((2, 3), 0), ((1, 2), 1)])
def test_a_broker_that_is_to_end_fetches_where_it_is_not_left_out(
    driver: Driver, isr: tuple[int, ...], fetches: int
) -> None:
    leading(driver)
    driver.step(ShutdownAsked())
    driver.tick()

    assert obey(driver, command(2, 2, isr=isr)) == [ErrorCode.NONE]
    driver.tick(100)

    sent = [send for send in driver.sent if isinstance(send.request, FetchRequest)]
    assert len(sent) == fetches
