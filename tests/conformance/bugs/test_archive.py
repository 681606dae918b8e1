"""Every bug of the archive can be looked for, and is what the specs call a hazard."""

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.bugs.archive import bugs, find_bug
from fencepost.conformance.runs.run_settings import settings_for
from fencepost.conformance.scenarios.step_play import require_playable
from fencepost.spec.hazards import load_hazards


@pytest.mark.parametrize("name", bugs())
def test_a_bug_has_a_story_that_its_targets_can_play(name: str) -> None:
    bug = bugs()[name]
    scenario = bug.scenario()

    require_playable(scenario.story)
    assert bug.found_by
    assert bool(bug.shows_on) is not bool(bug.tried)
    assert {*bug.measured} == {*bug.shows_on, *bug.absent_on}
    for target in (*bug.shows_on, *bug.absent_on):
        implementation = implementation_of(target)
        assert scenario.needs <= implementation.capabilities
        settings_for(scenario, ClusterSettings(implementation=implementation))
        assert bug.expected_on(target) is (target in bug.shows_on)


def test_a_hazard_that_a_bug_names_is_one_of_the_specs() -> None:
    known = {hazard.id for hazard in load_hazards()}

    assert {bug.hazard for bug in bugs().values()} - {""} <= known


def test_a_bug_is_found_by_its_alias() -> None:
    assert find_bug("kafka-1211") is bugs()["KIP-101"]
    with pytest.raises(ChoiceError, match="unknown bug 'KIP-102'; did you mean"):
        find_bug("KIP-102")
