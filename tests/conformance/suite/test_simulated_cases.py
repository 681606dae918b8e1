"""The cases in the simulator: each passes, and fails every mutant that its file says it kills."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fencepost.conformance.checks.registry import judge
from fencepost.conformance.checks.unclean_elections import judge_elections
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.library import all_cases, requirements
from fencepost.conformance.whitebox.zoo.animals import liars_of
from fencepost.fault_injection.stories.steps.story_step import (
    CheckStep,
    HealAllStep,
    ReadStep,
    StoryStep,
)
from fencepost.fault_injection.stories.story_file import to_yaml
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.mutants.mutants import MUTANTS, SUITE_MUTANTS
from fencepost.impl.sim.stories.play import play
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NEWEST_LEVEL

ON_PROCESSES_ONLY = {
    "durability/clean_elections_keep_records": "it heals a fault that the simulator has healed",
    "isr/commit_goes_on_without_the_lagging": "a simulated client waits for less than 8 s",
}
CASES = {
    case.case_id: case
    for case in all_cases()
    if case.story.kills and case.case_id not in ON_PROCESSES_ONLY
}
PAIRS = [(name, mutant) for name, case in CASES.items() for mutant in case.story.kills]
END = (HealAllStep(heal_all=None), ReadStep(read=None), CheckStep(check=None))


def judged(events: Sequence[TraceEvent]) -> list[str]:
    """What the checks find, and elections that were unclean."""
    return [*judge(events), *map(str, judge_elections(events)[1])]


def differences(
    case: SuiteCase, mutant: str = "", end: tuple[StoryStep, ...] = END
) -> list[object]:
    """The steps that went otherwise than the case says, or why it could not be played on."""
    broken = {"mutant": mutant} if mutant else {}
    cluster = {**case.story.cluster, "level": int(NEWEST_LEVEL), **broken}
    story = replace(case.story, cluster=cluster, steps=(*case.story.steps, *end))
    try:
        steps = play(to_yaml(story), judged).steps
    except (AssertionError, StoryError) as error:
        return [error]
    return [one for one in steps if one.printed != one.expected]


@pytest.mark.parametrize("name", CASES)
def test_a_case_passes_on_the_reference(name: str) -> None:
    assert differences(CASES[name]) == []


@pytest.mark.parametrize(("name", "mutant"), PAIRS)
def test_a_case_fails_what_it_says_it_kills(name: str, mutant: str) -> None:
    """By its steps, or else by what the checks find at its end."""
    assert differences(CASES[name], mutant, end=()) or differences(CASES[name], mutant)


def test_what_a_case_kills_breaks_one_of_its_requirements() -> None:
    strays = [
        (case.case_id, mutant)
        for case in all_cases()
        for mutant in case.story.kills
        if not any(mutant in requirements()[one].mutants for one in case.requirements)
    ]

    assert strays == []


def test_every_case_kills_something() -> None:
    spared = [
        case.case_id for case in all_cases() if not case.story.kills and not liars_of(case.case_id)
    ]

    assert spared == []


def test_every_mutant_of_the_suite_is_killed_by_a_case() -> None:
    named = {mutant for case in all_cases() for mutant in case.story.kills}

    assert named <= {*MUTANTS, *SUITE_MUTANTS}
    assert {*SUITE_MUTANTS} <= named
