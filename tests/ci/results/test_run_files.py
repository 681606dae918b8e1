"""`chaos` and `simulate` leave the same files as the gate."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from fencepost.ci.cli import run
from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.verdict_files import RunHead, StageRecord
from fencepost.ci.results.run_files import write_run
from fencepost.conformance.verdict import Verdict

SCHEMA = json.loads((Path(__file__).parents[3] / "ci" / "verdict.schema.json").read_text())


def left(folder: Path) -> dict[str, str]:
    """The names of the test cases in the files of a run, with the verdict of each in its TAP."""
    verdict = json.loads((folder / "verdict.json").read_text())
    jsonschema.validate(verdict, SCHEMA)
    suites = ET.parse(folder / "junit.xml").getroot()  # noqa: S314 - we wrote it
    names = [str(case.get("name")) for case in suites.iter("testcase")]
    tap = (folder / "results.tap").read_text().splitlines()
    points = [line.strip() for line in tap if line.startswith("    ") and " - " in line]
    assert [point.partition(" - ")[2] for point in points] == names
    return dict(zip(names, (point.partition(" ")[0] for point in points), strict=True))


def test_simulated_seeds_leave_verdict_junit_tap_and_report(tmp_path: Path) -> None:
    out = tmp_path / "run"

    assert run(["simulate", "--seeds", "2", "--seed", "5", "--level", "3", "--out", str(out)]) == 0

    found = left(out)
    assert found["check LogMatching at level 3"] == "ok"
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["reproduce"] == "fencepost simulate --seeds 2 --seed 5 --level 3"
    assert (verdict["command"], verdict["verdict"], verdict["exit_code"]) == ("simulate", "PASS", 0)
    page = (out / "report.html").read_text()
    assert "Every check held" in page
    assert "fencepost report RUN does it" in page


@pytest.mark.long
def test_a_mutant_in_simulated_seeds_fails_by_its_first_violation(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["simulate", "--seed", "7", "--mutant", "no_step_down", "--out", str(out)]

    assert run(words) == 1

    suites = ET.parse(out / "junit.xml").getroot()  # noqa: S314 - we wrote it
    failures = [str(one.text) for one in suites.iter("failure")]
    assert failures
    assert all("again: fencepost simulate --seed 7 --level" in text for text in failures)
    assert json.loads((out / "verdict.json").read_text())["exit_code"] == 1
    page = (out / "report.html").read_text()
    assert "were not analysed" not in page
    assert page.count("<svg") > 1


@pytest.mark.long
@pytest.mark.zookeeper
def test_a_story_on_processes_leaves_verdict_junit_tap_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"

    assert run(["chaos", "--story", "quiet", "--seed", "4", "--out", str(out)]) == 0

    assert left(out) == {"scenario quiet": "ok"}
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["command"] == "chaos"
    assert verdict["reproduce"] == "fencepost chaos --story quiet --seed 4 --level 5"
    assert "quiet" in (out / "report.html").read_text()
    assert f"report {out / 'report.html'}" in capsys.readouterr().out


def test_an_interrupted_analysis_of_a_failed_run_leaves_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fencepost.reports.analysis.analyse.analyse", interrupted)
    (tmp_path / "trace-broker-1.ndjson").write_text("{}\n")
    head = RunHead(
        folder=tmp_path,
        run_id="r",
        command="chaos",
        level=5,
        seed=0,
        reproduce="fencepost chaos --level 5",
    )
    record = StageRecord.of("chaos", 1.0, StageOutcome(verdict=Verdict.FAIL, summary="s"))

    with pytest.raises(KeyboardInterrupt):
        write_run(head, record)

    assert left(tmp_path) == {"chaos": "not"}
    assert (tmp_path / "report.html").exists()
