"""In which order the controller decides when there is much to decide."""

import pytest

from fencepost.impl.core.controller.leader_election import LATER_MS
from fencepost.spec.vocabulary import Action
from tests.impl.core.build import T0, T1
from tests.impl.core.driver import Driver


@pytest.mark.parametrize("are_told", [True, False])
def test_of_many_partitions_those_without_a_leader_are_decided_first(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, are_told: bool
) -> None:
    monkeypatch.setattr("fencepost.impl.core.controller.leader_election.READS_MAX", 1)
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
