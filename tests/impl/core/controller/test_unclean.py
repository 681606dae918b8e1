"""Elections outside the ISR: only when it is gone as read after the state, and on the record."""

from collections.abc import Callable

from fencepost.impl.core.config import Config
from fencepost.spec.vocabulary import NO_BROKER, Action
from fencepost.spec.znodes import BROKER_IDS
from tests.impl.core.build import ME, T0, T1, state
from tests.impl.core.controller.test_controller import managing
from tests.impl.core.driver import Driver, Fate

Drive = Callable[[Config], Driver]
RETRY_MS = 100


def alone(drive: Drive, *, unclean: bool = True) -> Driver:
    """The node is controller; broker 2 is the whole ISR of t/0, and leads it."""
    driver = managing(drive(Config(broker_id=ME, unclean_leader_election=unclean)))
    driver.put_state(T0, state(2, 0, (2,)))
    return driver


def flags(driver: Driver) -> list[bool | None]:
    return [taken.is_unclean for taken in driver.took(Action.ELECT_LEADER)]


def test_the_election_is_recorded_as_possible_loss(drive: Drive) -> None:
    driver = alone(drive)

    driver.unregister(2)

    assert driver.state(T0) == state(3, 1, (3,))
    assert flags(driver) == [True]


def test_without_the_policy_the_partition_waits(drive: Drive) -> None:
    driver = alone(drive, unclean=False)

    driver.unregister(2)

    assert driver.state(T0) == state(NO_BROKER, 1, (2,))
    assert flags(driver) == [None]


def test_an_election_inside_the_isr_is_not_recorded(drive: Drive) -> None:
    driver = managing(drive(Config(broker_id=ME, unclean_leader_election=True)))

    driver.unregister(2)

    assert driver.state(T0) == state(3, 1, (1, 3))
    assert flags(driver) == [None]


def test_a_member_that_is_back_by_then_leads(drive: Drive) -> None:
    driver = alone(drive)
    driver.plan_listing(BROKER_IDS, None)
    driver.plan_listing(BROKER_IDS, None, first=lambda: driver.register(2))

    driver.unregister(2)

    assert driver.state(T0) == state(2, 1, (2,))
    (taken,) = driver.took(Action.ELECT_LEADER)
    assert taken.is_loss_possible


def test_a_reading_that_failed_is_repeated(drive: Drive) -> None:
    driver = alone(drive)
    driver.plan_listing(BROKER_IDS, None)
    driver.plan_listing(BROKER_IDS, Fate.LOSE_REPLY)

    driver.unregister(2)
    assert driver.state(T0) == state(2, 0, (2,))
    driver.tick(RETRY_MS)

    assert driver.state(T0) == state(3, 1, (3,))


def test_what_is_read_for_one_partition_is_news_for_the_others(drive: Drive) -> None:
    driver = alone(drive)
    driver.put_state(T1, state(3, 0, (3, 1)))
    driver.create_topic("u", (3, 1))
    driver.plan_listing(BROKER_IDS, None)
    driver.plan_listing(BROKER_IDS, None, first=lambda: driver.unregister(3))

    driver.unregister(2)

    assert driver.state(T0) == state(1, 1, (1,))
    other = next(key for key in driver.node.controller.context.states if key.topic == "u")
    assert driver.state(other) == state(1, 1, (1,))


def test_a_controller_that_resigned_meanwhile_decides_nothing(drive: Drive) -> None:
    driver = alone(drive)
    driver.plan_listing(BROKER_IDS, None)
    driver.plan_listing(BROKER_IDS, Fate.HOLD)
    driver.unregister(2)

    driver.lose_session()
    driver.release()

    assert driver.took(Action.ELECT_LEADER) == []
