"""Real releases of Kafka: they serve, survive a kill, and have the bugs of their time.

`pytest -m kafka`, which needs the jars of these releases, or a network and Maven to fetch them.
"""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.bugs.archive import Bug, bugs
from fencepost.conformance.runs.chaos import run_all
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.scenarios import find
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.spec.vocabulary import Invariant

pytestmark = pytest.mark.kafka

OLDEST, NEWEST, IN_KRAFT = "kafka:0.10.2.2", "kafka:3.9.1", "kafka:4.4.0"
DECIDED = {
    Invariant.LINEARIZABLE_LOG,
    Invariant.ACKNOWLEDGED_DURABLE,
    Invariant.LOG_MATCHING,
    Invariant.ONE_LEADER_PER_EPOCH,
    Invariant.LEADER_IN_ISR,
    Invariant.LINEARIZABLE_ZNODE,
    Invariant.ONLY_AUTHORISED_WRITES,
    Invariant.STALE_CONTROLLER_HARMLESS,
    Invariant.ONE_CONTROLLER_PER_EPOCH,
    Invariant.ISR_SUBSET_ASSIGNED,
    Invariant.DELETE_ONLY_IF_UNASSIGNED,
}
"""Checks that a short run decides."""


def played(scenario: Scenario, target: str, folder: Path) -> ScenarioResult:
    settings = ClusterSettings(implementation=implementation_of(target))
    (result,) = run_all([scenario], settings=settings, seed=1, out=folder)
    return result


@pytest.mark.parametrize(
    ("target", "story", "idle"),
    [
        # The first controller is elected before its epoch is raised.
        (OLDEST, "leader_kill", {Invariant.ONE_CONTROLLER_PER_EPOCH}),
        (NEWEST, "leader_kill", set()),
        (IN_KRAFT, "quiet", set()),
        (IN_KRAFT, "leader_kill", set()),
        (IN_KRAFT, "leader_pause", set()),
    ],
)
def test_nothing_is_lost_and_nothing_is_left_undecided(
    target: str, story: str, idle: set[Invariant], tmp_path: Path
) -> None:
    result = played(find(story), target, tmp_path)

    assert result.verdict is Verdict.PASS, result.problems
    decided = {check.invariant for check in result.checks if check.premise_count}
    assert decided >= DECIDED - idle


def test_topics_change_while_the_controller_is_deposed(tmp_path: Path) -> None:
    result = played(find("administration"), NEWEST, tmp_path)

    assert result.verdict is Verdict.PASS, result.problems


def test_a_deletion_waits_for_a_replica_that_is_down(tmp_path: Path) -> None:
    at_once = played(find("topic_recreated"), NEWEST, tmp_path / "at_once")
    late = played(find("topic_deleted_late"), NEWEST, tmp_path / "late")

    assert at_once.verdict is Verdict.UNSUPPORTED
    assert late.verdict is Verdict.PASS, late.problems


@pytest.mark.parametrize("target", [NEWEST, IN_KRAFT])
def test_faults_are_drawn_of_those_that_the_release_offers(target: str, tmp_path: Path) -> None:
    result = played(find("random"), target, tmp_path)

    assert result.verdict is Verdict.PASS, result.problems
    assert any(report.is_effective for report in result.faults)


@pytest.mark.parametrize("target", [OLDEST, NEWEST])
def test_requests_between_brokers_are_hurt_on_their_way(target: str, tmp_path: Path) -> None:
    story = Path(__file__).with_name("requests.yaml")
    result = played(Scenario(story=read_story(story)), target, tmp_path)

    assert result.verdict is Verdict.PASS, result.problems


CASES = [
    pytest.param(bug, target, id=f"{bug.id} on {target}")
    for bug in bugs().values()
    for target in (*bug.shows_on, *bug.absent_on)
]


@pytest.mark.parametrize(("bug", "target"), CASES)
def test_a_bug_shows_where_it_must_and_nowhere_else(bug: Bug, target: str, tmp_path: Path) -> None:
    result = played(bug.scenario(), target, tmp_path)

    # What an election outside the ISR lost is no loss: a required check may have nothing to decide.
    decided = {check.invariant for check in result.checks if check.premise_count}
    of_the_bug = set(bug.violates)
    is_vacuous = result.verdict is Verdict.VACUOUS
    is_decided = is_vacuous and bool(of_the_bug) and of_the_bug <= decided
    assert is_decided or result.verdict in (Verdict.PASS, Verdict.FAIL), result.problems
    assert bool(bug.shown_in(result)) is bug.expected_on(target), result.problems
