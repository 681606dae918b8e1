"""Cases judge what the catalogue demands."""

import sys
import tomllib
from collections import Counter

from fencepost.conformance.suite.library import CASES, all_cases, requirements
from fencepost.fault_injection.stories.steps.story_step import FaultStep, WaitForStep

WITHOUT_CASE = tomllib.loads((CASES / "no_case.toml").read_text("utf-8"))
"""Requirement -> why no case judges it."""


def test_every_requirement_has_a_case_or_a_reason() -> None:
    covered = {name for case in all_cases() for name in case.requirements}

    assert covered | WITHOUT_CASE.keys() == requirements().keys()
    assert not covered & WITHOUT_CASE.keys()
    assert all(WITHOUT_CASE.values())
    lines = [f"{len(covered)} requirements with a case, {len(WITHOUT_CASE)} without, for:"]
    lines += [f"{n:3} {why}" for why, n in Counter(WITHOUT_CASE.values()).most_common()]
    sys.stdout.write("\n".join([*lines, ""]))


def test_a_case_says_one_sentence_and_waits_for_what_it_can_see() -> None:
    for case in all_cases():
        assert case.story.says.endswith("."), case.case_id
        assert case.story.story_id == case.case_id.partition("[")[0].partition("/")[2]
        assert case.requirements, case.case_id


def test_a_fault_that_is_waited_for_has_a_name_of_its_own() -> None:
    """Cases on one cluster share its lines."""
    waited = {
        step.wait_for["action"]
        for case in all_cases()
        for step in case.story.steps
        if isinstance(step, WaitForStep) and "action" in step.wait_for
    }
    named = [
        (step.id, case.path)
        for case in all_cases()
        for step in case.story.steps
        if isinstance(step, FaultStep) and step.id in waited
    ]

    assert len(set(named)) == len(waited)
