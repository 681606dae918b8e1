"""Every case can be played and leads to requirements; patterns select what they say."""

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.suite.axes import permutations
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.library import (
    all_cases,
    find_case,
    requirements,
    selected,
    suite_file,
)
from fencepost.fault_injection.stories.story_file import story_from_document

CASES = all_cases()


def a_case(case_id: str, says: str = "", covers: tuple[str, ...] = (), **cluster: int) -> SuiteCase:
    document = {"schema": 1, "id": "one", "says": says, "covers": list(covers), "cluster": cluster}
    path = CASES[0].path
    return SuiteCase(case_id=case_id, path=path, story=story_from_document(document))


A_FEW = (
    a_case("isr/shrinks", "A dead follower leaves.", ("ISR-001",)),
    a_case("isr/grows[acks=1]", "It comes back.", ("ISR-002", "REPL-005")),
    a_case("topics/created", "A topic is there.", ("TOP-001",), brokers=1),
)


@pytest.mark.parametrize("path", sorted({case.path for case in CASES}), ids=lambda p: p.stem)
def test_a_file_of_a_case_is_a_story_that_chaos_plays(path: str) -> None:
    assert find_story(str(path)).story.requirements


def test_cases_have_ids_of_their_own_and_known_requirements() -> None:
    ids = [case.case_id for case in CASES]

    assert len(ids) == len(set(ids))
    assert {name for case in CASES for name in case.requirements} <= requirements().keys()
    assert set(suite_file().axes) <= {one.partition("[")[0] for one in ids}
    assert all(suite_file().profile["full"].has(case) for case in CASES)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("isr", ["isr/shrinks", "isr/grows[acks=1]"]),
        ("isr/*", ["isr/shrinks", "isr/grows[acks=1]"]),
        ("isr/grows", ["isr/grows[acks=1]"]),
        ("isr/grows[acks=1]", ["isr/grows[acks=1]"]),
        ("REPL-005", ["isr/grows[acks=1]"]),
        ("ISR", ["isr/shrinks", "isr/grows[acks=1]"]),
        ("follower", ["isr/shrinks"]),
        ("*/created", ["topics/created"]),
    ],
)
def test_a_pattern_is_an_id_an_area_a_requirement_or_a_word(pattern: str, found: list[str]) -> None:
    assert [case.case_id for case in selected(A_FEW, select=[pattern])] == found


def test_a_profile_has_what_its_clusters_and_capabilities_allow() -> None:
    assert [one.case_id for one in selected(A_FEW, profile="core-single")] == ["topics/created"]
    assert len(selected(A_FEW, profile="core")) == 3
    assert len(selected(A_FEW, profile="core", skip=["isr"])) == 1


def test_what_looks_at_the_controller_needs_one_among_the_brokers() -> None:
    core, brokers = (
        {case.case_id for case in selected(CASES, profile=one)} for one in ("core", "core-brokers")
    )

    left_out = core - brokers
    assert brokers < core
    assert {"controller/dead_controller_is_replaced", "zookeeper/layout_of_state"} <= left_out
    assert "topics/recreated_topic_is_empty" not in left_out
    assert not {one for one in left_out if one.startswith(("durability/", "isr/", "elections/"))}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"select": ["isrr"]}, "'isrr' selects nothing; did you mean isr"),
        ({"skip": ["zz"]}, "'zz' selects nothing; fencepost conform list shows the cases"),
        ({"profile": "cor"}, "unknown profile 'cor'; did you mean core"),
        ({"profile": "core-single", "select": ["isr"]}, "'isr' selects nothing in profile core-"),
        ({"select": ["isr"], "skip": ["isr*"]}, "nothing is selected"),
    ],
)
def test_what_selects_nothing_is_refused(asked: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(ChoiceError, match=sentence.replace("*", r"\*")):
        selected(A_FEW, **asked)  # type: ignore[arg-type]


def test_axes_make_a_case_for_every_combination() -> None:
    steps = [
        {"create_topic": "t", "replicas": [1, 2, 3]},
        {"produce": "t/0", "records": ["a"], "expected": "ok offset=0"},
    ]
    story = story_from_document({"schema": 1, "id": "one", "steps": steps})

    made = dict(permutations(story, {"acks": ("all", 1), "replicas": (1, 3)}))

    assert list(made) == [
        "[acks=all,replicas=1]",
        "[acks=all,replicas=3]",
        "[acks=1,replicas=1]",
        "[acks=1,replicas=3]",
    ]
    created, produced = made["[acks=1,replicas=1]"].steps
    assert (created.replicas, produced.acks) == ((1,), 1)  # type: ignore[attr-defined]
    assert list(permutations(story, {})) == [("", story)]


def test_an_unknown_case_is_told_what_is_near() -> None:
    with pytest.raises(ChoiceError, match="unknown case 'topics/created_and_red'; did you mean"):
        find_case("topics/created_and_red")
