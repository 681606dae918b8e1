"""`fencepost explain`: every name that there is has an explanation, and the last verdict on it."""

import json
from pathlib import Path
from typing import Any

import pytest

from fencepost.ci.cli import run
from fencepost.ci.gate.verdict_files import StageRecord, write_stages
from fencepost.ci.screens.explanations import NameKind, explanations, names
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.verdict import Verdict


def test_every_name_has_an_explanation_with_a_text_and_a_source() -> None:
    for kind, known in names().items():
        assert known, kind
        for name in known:
            found = [one for one in explanations(name) if one.kind is kind]
            assert [one.name for one in found] == [name]
            assert found[0].title, name
            assert any(found[0].links.values()) or any(found[0].told.values()), name


def test_links_lead_to_names_that_have_an_explanation() -> None:
    known = {kind: frozenset(found) for kind, found in names().items()}
    lost = {
        (name, kind, link)
        for own in names().values()
        for name in own
        for one in explanations(name)
        for kind in (NameKind.REQUIREMENT, NameKind.HAZARD, NameKind.MODEL, NameKind.FAULT)
        for link in one.links.get(kind, ())
        if link not in known[kind]
    }

    assert lost == set()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["explain", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The folder of a run that found something."""
    mutants = [
        {"mutant": "no_step_down", "family": "isr", "caught": True, "caught_by": ["LogMatching"]},
        {"mutant": "shrink_nobody", "family": "isr", "caught": False, "seeds_tried": 9},
    ]
    checks = [{"name": "LogMatching", "verdict": "FAIL", "message": "Offset 3 differs."}]
    write_stages(
        tmp_path,
        [
            StageRecord(stage="simulate", verdict=Verdict.FAIL, detail={"mutants": mutants}),
            StageRecord(stage="analyse", verdict=Verdict.FAIL, detail={"checks": checks}),
        ],
    )
    return tmp_path


@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    [
        ("LogMatching", "FAIL", "Offset 3 differs."),
        ("REPL-005", "FAIL", "Offset 3 differs."),
        ("no_step_down", "PASS", "no_step_down: caught by LogMatching"),
        ("shrink_nobody", "FAIL", "shrink_nobody: not caught within 9 seeds"),
    ],
)
def test_the_last_verdict_is_told_with_its_sentence(
    name: str, verdict: str, message: str, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (last, *_) = told(capsys, name, "--run", str(stored))["found"][0]["last_verdicts"]

    assert (last["verdict"], last["message"]) == (verdict, message)


def test_without_a_run_there_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    found = told(capsys, "LogMatching")

    assert (found["run"], found["found"][0]["last_verdicts"]) == (None, [])


def test_a_name_of_several_things_tells_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "no_step_down")["found"]

    assert [one["kind"] for one in found] == ["mutant", "model"]


def test_a_bug_is_found_by_its_other_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "kafka-1211")["found"][0]["name"] == "KIP-101"


def test_people_are_told_the_same(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "logmatching", "--run", str(stored)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("check LogMatching: Replicas agree")
    assert (
        f"  last verdict: FAIL, analyse: check LogMatching: Offset 3 differs. ({stored})" in lines
    )
    assert "  source: conformance/checks/log_matching.py" in lines

    assert run(["explain", "clock.drift", "--run", str(stored)]) == 0
    assert f"  last verdict: none in {stored}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["no_step_dow"], 4, "nothing is called 'no_step_dow'; did you mean no_step_down"),
        (["zzz"], 4, "fencepost explain --list names all"),
        ([], 4, "explain needs an id"),
        (["earthquakes", "--list"], 4, "choose one of requirement, check, liveness, mutant"),
        (["LogMatching", "--run", "nowhere"], 4, "nowhere is not a run folder"),
    ],
)
def test_what_is_not_there_is_told_in_one_sentence(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", *words]) == code

    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_all_names_are_listed_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run(["explain", "hazard", "--list", "--json"]) == 0

    assert "fault\tproc.pause" in lines
    assert len(lines) == sum(map(len, names().values()))
    assert list(json.loads(capsys.readouterr().out)) == ["hazard"]


def test_stories_are_listed_where_they_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["chaos", "--list", "--json"]) == 0

    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["stories"]}
    assert list(rows) == list(SCENARIOS)
    assert rows["leader_pause"]["faults"] == ["proc.pause"]
