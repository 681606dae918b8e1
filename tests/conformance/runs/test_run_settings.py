"""Which of several sources decides a setting of a run."""

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.run_settings import settings_for, settings_of
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.fault_injection.stories.story import Story

ASKED = {"level": None, "mutant": "", "network": None, "zookeeper": "ensemble"}
RAN = {"level": 1, "mutant": "no_step_down", "zookeeper": "embedded", "scenario": "quiet"}


def test_the_command_line_comes_before_the_run_and_that_before_the_usual() -> None:
    usual = ClusterSettings(level=0, brokers=5, network="namespaces")

    settings = settings_of(ASKED, RAN, usual=usual)

    assert (settings.zookeeper, settings.level, settings.network) == ("ensemble", 1, "namespaces")
    assert (settings.brokers, settings.implementation.broken_rule) == (5, "no_step_down")


def test_what_says_nothing_leaves_the_usual() -> None:
    assert settings_of({}, {"level": None, "command": ""}) == ClusterSettings()


def test_an_implementation_that_is_asked_for_leaves_the_rule_that_the_run_broke() -> None:
    settings = settings_of({"command": "other broker"}, RAN | {"implementation": "reference"})

    assert settings.implementation.target == "other broker"
    assert settings.implementation.broken_rule == ""


def test_a_rule_is_broken_in_the_reference_alone() -> None:
    asked, ran = {"mutant": "no_step_down"}, {"implementation": "command", "command": "other"}

    assert settings_of(asked, RAN).implementation.broken_rule == "no_step_down"
    with pytest.raises(ChoiceError, match="the run is one of other, which has no mutants"):
        settings_of(asked, ran)


def test_a_level_that_there_is_not_is_refused() -> None:
    with pytest.raises(ChoiceError, match="level x is none"):
        settings_of({"level": "x"})


@pytest.mark.parametrize(
    ("asked", "zookeeper"), [("embedded", "ensemble"), ("host:2181/a", "host:2181/a")]
)
def test_a_story_has_the_cluster_that_it_says_and_the_zookeeper_that_was_asked_for(
    asked: str, zookeeper: str
) -> None:
    story = Story(cluster={"brokers": 2, "zookeeper": "ensemble"})

    settings = settings_for(Scenario(story=story), ClusterSettings(brokers=4, zookeeper=asked))

    assert (settings.brokers, settings.zookeeper) == (2, zookeeper)


@pytest.mark.parametrize(
    ("asked", "zookeeper"), [("host:2181/a", "ensemble"), ("containers", "containers")]
)
def test_servers_that_are_hurt_are_our_own(asked: str, zookeeper: str) -> None:
    hurting = SCENARIOS["zookeeper_failover"]

    assert settings_for(hurting, ClusterSettings(zookeeper=asked)).zookeeper == zookeeper
