"""Ctrl-C leaves what was judged so far, marked as interrupted: of chaos, of a soak, of seeds."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from junitparser import JUnitXml, TestSuite

from fencepost.ci.cli import run
from fencepost.ci.gate.outcomes import CUT_SHORT
from fencepost.ci.screens.console import Advance
from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import NEWEST_LEVEL
from tests.conformance.scenario_results import scenario_result

CHAOS = ["chaos", "--story", "quiet", "--story", "leader_kill", "--story", "clients"]
FILES = {"badge.json", "badge.svg", "junit.xml", "report.html", "results.tap", "stages.json"}


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> list[Verdict | None]:
    """How scenarios end, in turn; None is Ctrl-C."""
    endings: list[Verdict | None] = []
    turns = count()

    def play(one: ScenarioRun) -> ScenarioResult:
        one.folder.mkdir(parents=True)
        verdict = endings[next(turns)]
        if verdict is None:
            raise KeyboardInterrupt
        problem = Problem(verdict=verdict, sentence="Offset 3 is lost.")
        return scenario_result(
            one.scenario.name,
            verdict,
            level=3,
            seed=one.seed,
            problems=() if verdict is Verdict.PASS else (problem,),
            seconds=2.0,
            reproduce=one.reproduce,
        )

    monkeypatch.setattr(ScenarioRun, "play", play)
    return endings


def left(folder: Path, verdict: Verdict) -> dict[str, str]:
    """The verdict of each test case, after the files were seen to agree on the whole."""
    told: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    assert (told["exit_code"], told["verdict"]) == (130, verdict)
    assert told["stages"][0]["summary"].startswith(CUT_SHORT)
    assert {path.name for path in folder.iterdir()} >= FILES
    assert CUT_SHORT in (folder / "report.html").read_text()
    return {
        case.name: case.result[0].type if case.result else "PASS"
        for suite in cast(Iterable[TestSuite], JUnitXml.fromfile(str(folder / "junit.xml")))
        for case in suite
    }


def test_stories_that_were_judged_are_told_and_the_others_did_not_run(
    tmp_path: Path, endings: list[Verdict | None], capsys: pytest.CaptureFixture[str]
) -> None:
    endings[:] = [Verdict.PASS, None]
    out, summary = tmp_path / "run", tmp_path / "summary.md"

    assert run([*CHAOS, "--out", str(out), "--summary", str(summary)]) == 130

    assert left(out, Verdict.NOT_RUN) == {
        "scenario quiet": "PASS",
        "scenario leader_kill": "NOT_RUN",
        "scenario clients": "NOT_RUN",
    }
    assert "Exit code 130: interrupted." in summary.read_text()
    assert "1 of 1 scenario passed, 0 faults" in capsys.readouterr().err
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["reproduce"] == f"fencepost {' '.join(CHAOS)} --level {NEWEST_LEVEL}"


def test_a_violation_before_the_interruption_stays_one(
    tmp_path: Path, endings: list[Verdict | None]
) -> None:
    endings[:] = [Verdict.FAIL, None]

    assert run([*CHAOS, "--out", str(tmp_path / "run")]) == 130

    assert left(tmp_path / "run", Verdict.FAIL)["scenario quiet"] == "FAIL"


@pytest.mark.parametrize(
    ("ends", "verdict", "cases"),
    [
        ([None], Verdict.NOT_RUN, {"chaos": "NOT_RUN"}),
        (
            [Verdict.PASS, Verdict.FAIL, Verdict.PASS, None],
            Verdict.FAIL,
            {"scenario quiet": "PASS", "scenario quiet, round 2": "FAIL"},
        ),
    ],
)
def test_a_soak_tells_its_rounds(
    ends: Sequence[Verdict | None],
    verdict: Verdict,
    cases: dict[str, str],
    tmp_path: Path,
    endings: list[Verdict | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    endings[:] = ends
    out = tmp_path / "run"

    assert (
        run(["chaos", "--story", "quiet", "--soak", "1h", "--seed", "5", "--out", str(out)]) == 130
    )

    assert left(out, verdict) == cases
    assert f"continue with: fencepost chaos --resume {out}" in capsys.readouterr().out
    assert json.loads((out / "verdict.json").read_text())["reproduce"] == (
        f"fencepost chaos --soak 3600s --story quiet --level {NEWEST_LEVEL} --seed 5"
    )


def test_seeds_that_were_judged_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def until_the_fourth(_: str) -> Iterator[Advance]:
        def advance(done: int, _total: int, _text: str) -> None:
            if done == 4:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.setattr("fencepost.ci.commands.simulate.progress", until_the_fourth)
    out = tmp_path / "run"
    asked = ["simulate", "--seeds", "9", "--level", "0", "--workers", "1"]

    assert run([*asked, "--mutant", "no_step_down", "--out", str(out)]) == 130

    assert "4 seeds at level 0" in (told := capsys.readouterr().err)
    assert "5 seeds not judged" in told
    cases = left(out, Verdict(json.loads((out / "verdict.json").read_text())["verdict"]))
    assert set(cases.values()) <= {"PASS", "FAIL", "NOT_RUN"}
    assert "simulate --seeds 9 --seed 0" in (out / "verdict.json").read_text()
