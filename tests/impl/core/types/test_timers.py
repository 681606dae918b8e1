"""Which partitions a tick looks at: changed ones and due ones, and no others."""

from fencepost.impl.core.types.timers import Timers, earliest
from tests.impl.core.build import T0, T1
from tests.impl.core.driver import Driver
from tests.impl.core.roles import following


def test_what_changed_is_looked_at_until_it_was() -> None:
    timers = Timers()
    timers.touch(T1)
    timers.touch(T0)

    assert timers.take(0) == [T0, T1]
    timers.set(T0, None)

    assert timers.take(0) == [T1]


def test_an_alarm_goes_off_when_its_time_has_come() -> None:
    timers = Timers()
    timers.set(T0, 30)
    timers.set(T1, 20)

    assert timers.take(19) == []
    assert timers.take(20) == [T1]
    assert timers.take(30) == [T0]
    assert timers.take(99) == []


def test_a_later_time_does_not_move_an_alarm_and_an_earlier_one_does() -> None:
    timers = Timers()
    timers.set(T0, 20)
    timers.set(T0, 30)
    assert timers.take(20) == [T0]

    timers.set(T0, 30)
    timers.set(T0, 25)
    assert timers.take(25) == [T0]
    assert timers.take(30) == []


def test_a_partition_that_is_gone_is_not_looked_at() -> None:
    timers = Timers()
    timers.touch(T0)
    timers.set(T1, 10)

    timers.drop(T0)
    timers.drop(T1)

    assert timers.take(10) == []


def test_the_earliest_of_the_known_times() -> None:
    assert earliest(None, 7, 3) == 3
    assert earliest(None, None) is None


def test_a_partition_at_rest_costs_a_tick_nothing(driver: Driver) -> None:
    following(driver)
    driver.tick()
    replicas = driver.node.broker.replicas

    assert replicas.partitions()
    assert replicas.take_due() == []
