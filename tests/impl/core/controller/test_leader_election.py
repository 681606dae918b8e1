"""In which order the controller decides when there is much to decide."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.leader_election import LATER_MS
from fencepost.spec.vocabulary import Action, BrokerId
from tests.impl.core.build import T0, T1
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
