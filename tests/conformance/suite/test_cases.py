"""Cases judge what the catalogue demands."""

import sys
import tomllib
from collections import Counter

from fencepost.conformance.suite.library import CASES, all_cases, requirements

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
