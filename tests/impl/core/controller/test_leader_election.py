"""In which order the controller decides when there is much to decide."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.leader_election import LATER_MS
from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.spec.vocabulary import Action, BrokerId
from fencepost.spec.znodes import TopicPartition
from tests.impl.core.build import T0, T1, state
from tests.impl.core.driver import Driver


@pytest.mark.parametrize("are_told", [True, False])
def test_of_many_partitions_those_without_a_leader_are_decided_first(
    drive: Callable[[Config], Driver], are_told: bool
) -> None:
    driver = drive(Config(broker_id=BrokerId(1), reads_max=1))
    driver.register(2)
    driver.register(3)
    driver.start()
    driver.create_topic("t", (3, 2, 1), (2, 3, 1))
    driver.acknowledge_commands()

    driver.unregister(2)
    assert [one.topic_partition for one in driver.took(Action.ELECT_LEADER)] == [T1]

    driver.tick()
    assert len(driver.took(Action.ELECT_LEADER)) == 1

    if are_told:
        driver.acknowledge_commands()
    driver.tick(0 if are_told else LATER_MS)
    assert [one.topic_partition for one in driver.took(Action.ELECT_LEADER)] == [T1, T0]


@pytest.mark.long
def test_ten_thousand_partitions_fail_over_in_few_trips_to_zookeeper(
    drive: Callable[[Config], Driver],
) -> None:
    """At V3's four milliseconds each, one after the other, within two seconds (FAIL-009)."""
    driver = drive(Config(broker_id=BrokerId(1)))
    driver.register(2)
    driver.register(3)
    driver.start()
    for number in range(10):
        driver.create_topic(f"t{number}", *[(2, 3)] * 1000)
    begun = len(driver.effects)

    driver.unregister(2)

    asked = (ReadZnodes, ListChildren, WriteZnodes)
    trips = sum(isinstance(effect, asked) for effect in driver.effects[begun:])
    last = TopicPartition("t9", 999)
    assert driver.state(last) == state(3, 1, (3,))
    assert len(driver.took(Action.ELECT_LEADER)) == 10_000
    assert trips * 4 <= 2000, f"{trips} trips"
