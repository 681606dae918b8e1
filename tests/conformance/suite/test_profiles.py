"""Profiles beside what each release of Kafka declares; no broker is started."""

import pytest

from fencepost.conformance.adapters.capabilities import refusal
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.kafka.modes import kafka_of
from fencepost.conformance.adapters.kafka.releases import releases
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.checks.observations import lacks
from fencepost.conformance.runs.run_settings import settings_for
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.suite.expectations import SCENARIO, read_expectations
from fencepost.conformance.suite.library import ROOM, all_cases, requirements, suite_file
from fencepost.spec.vocabulary import Invariant

PROFILES = suite_file().profile
CASES = {name: [case for case in all_cases() if one.has(case)] for name, one in PROFILES.items()}
TARGETS = [
    f"kafka:{version}@{protocol}"
    for version, release in releases().items()
    for protocol in (release.protocol, *release.protocols)
]
OFFERED = {
    "zookeeper": {
        "core-single",
        "core",
        "core-brokers",
        "replication",
        "reassignment",
        "control-replicas",
        "control",
    },
    "kraft": {"core-brokers"},
}
HIDDEN = {
    "zookeeper": {"ISR-004"},
    "kraft": {"FAIL-005", "ISR-004"},
}
"""What no case can show on an unmodified release, for no check of it can be decided there."""


def mode_of(target: str) -> str:
    return releases()[target.removeprefix("kafka:").partition("@")[0]].mode


def offered_by(implementation: Implementation) -> set[str]:
    return {name for name, one in PROFILES.items() if one.needs <= implementation.capabilities}


def test_a_profile_has_cases_and_names_areas_that_there_are() -> None:
    areas = {case.area for case in all_cases()}

    for name, profile in PROFILES.items():
        assert CASES[name], name
        assert set(profile.areas) <= areas, name
        assert max(case.brokers for case in CASES[name]) <= profile.brokers, name


@pytest.mark.parametrize("target", TARGETS)
def test_a_release_has_its_profiles_and_skips_no_case_of_them(target: str) -> None:
    kafka = kafka_of(target)

    assert offered_by(kafka) == OFFERED[mode_of(target)]
    for name in offered_by(kafka):
        for case in CASES[name]:
            assert not refusal(kafka, case.needs), (name, case.case_id)
            settings = settings_for(case.scenario, ClusterSettings(implementation=kafka))
            assert not refusal(kafka, case.scenario.on(settings, 0).needs), (name, case.case_id)


@pytest.mark.parametrize("target", TARGETS)
def test_all_but_these_requirements_can_be_shown_on_a_release(target: str) -> None:
    kafka, catalogue = kafka_of(target), requirements()

    covered = {
        requirement
        for profile in offered_by(kafka)
        for case in CASES[profile]
        for requirement in case.requirements
    }
    unseen = {
        name
        for name in covered
        if (checks := catalogue[name].checks)
        and all(lacks(Invariant(check), kafka.observes) for check in checks)
    }
    assert unseen <= HIDDEN[mode_of(target)]


def test_the_reference_offers_all_profiles_but_those_with_commands_it_does_not_take() -> None:
    assert set(PROFILES) - offered_by(REFERENCE) == {
        name for name, one in PROFILES.items() if Capability.UPDATE_METADATA in one.needs
    }


SCENARIO_IDS = {SCENARIO + name for name in SCENARIOS}
"""Every release in ZooKeeper mode can be hurt as the library does; what it lacks is told there."""


def test_what_is_expected_of_kafka_is_in_a_profile_of_a_release() -> None:
    entries = read_expectations(ROOM.parent / "adapters" / "kafka" / "expectations.toml")

    for entry in entries:
        named = [one for one in TARGETS if entry.is_about(kafka_of(one).name, entry.pattern)]
        assert named, entry.target
        for target in named:
            ids = {c.case_id for name in offered_by(kafka_of(target)) for c in CASES[name]}
            assert entry.pattern in ids | SCENARIO_IDS, (target, entry.pattern)


def test_an_answer_is_definite_on_kafka_only_where_nothing_was_appended() -> None:
    found = kafka_of("kafka:3.9.1").definite_errors

    assert "NOT_ENOUGH_REPLICAS" in found
    assert not {"NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"} & found
    assert "NOT_LEADER_OR_FOLLOWER" in REFERENCE.definite_errors
    assert "REQUEST_TIMED_OUT" not in REFERENCE.definite_errors
