"""`fencepost conform` by its exit codes and sentences; no cluster is started."""

import json
import re
import sys
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import Problem, Scenario, ScenarioResult
from fencepost.conformance.suite import play as suite_play
from fencepost.conformance.suite.comparison import DIFFERS
from fencepost.conformance.suite.library import all_cases
from fencepost.conformance.suite.records import RESULTS, read_run
from fencepost.conformance.verdict import Verdict
from tests.conformance.scenario_results import scenario_result


def test_list_shows_every_case_with_its_requirements(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conform", "list", "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)["cases"]
    assert [row["id"] for row in rows] == [case.case_id for case in all_cases()]
    assert all(row["requirements"] and row["says"] for row in rows)


@pytest.mark.parametrize("name", ["ISR-001", "core", all_cases()[0].case_id])
def test_explain_tells_of_a_case_a_requirement_and_a_profile(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conform", "explain", name]) == 0
    assert capsys.readouterr().out.startswith(name)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "--select", "nonsense"], "'nonsense' selects nothing"),
        (["run", "--profile", "nonsense"], "unknown profile 'nonsense'"),
        (["run", "-t", "kafka:9.9.9", "--select", "isr"], "kafka:9.9.9"),
        (["run", "--resume", "/nowhere"], "/nowhere/results.jsonl: No such file"),
        (["run", "--resume", "/nowhere", "--seed", "1"], "give it alone"),
        (["run", "--resume", "/nowhere", "--max-fail", "1"], "give it alone"),
        (["validate", "/nowhere"], "/nowhere/results.jsonl: No such file"),
        (["rerun", "/nowhere"], "/nowhere/results.jsonl: No such file"),
        (["explain", "isr/nothing"], "unknown case 'isr/nothing'"),
        (["explain", "ISR-999"], "unknown id 'ISR-999'"),
    ],
)
def test_a_wrong_command_line_is_one_sentence_and_exit_code_4(
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["conform", *words]) == 4

    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
    assert not (tmp_path / "reports").exists()


def test_probe_describes_the_targets_that_run_takes(capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("reference", "py:tests.conformance.toy:Toy"):
        assert run(["conform", "probe", "-t", target]) == 0

    told = capsys.readouterr().out
    assert "reference at level 0, 1, 2, 3, 4, 5\n" in told
    assert "toy at level 2\n" in told


def test_a_verb_that_an_adapter_lacks_is_told_once_with_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my-adapter"
    assert run(["conform", "new-adapter", str(folder), "--lang", "python"]) == 0
    target = f"cmd:{sys.executable} {folder / 'adapter.py'}"
    capsys.readouterr()

    code = run(["conform", "run", "-t", target, "--select", "single", "--out", str(tmp_path / "r")])

    told = capsys.readouterr().out.splitlines()
    (lacks,) = [line for line in told if "does not support cluster_create" in line]
    assert code == 3
    assert lacks.startswith(f"ERROR {target} single/")
    assert re.search(r" and \d+ more: ", lacks)
    assert told[told.index(lacks) + 2] == f"next: fencepost conform probe -t '{target}'"


def test_an_implementation_without_capabilities_decides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = "py:tests.conformance.toy:Toy"
    case = "durability/clean_elections_keep_records"
    words = ["conform", "run", "-t", toy, "--select", case, "--out", str(tmp_path / "run")]

    assert run(words) == 2

    assert "toy does not declare what the run needs" in capsys.readouterr().out
    folder, expected = str(tmp_path / "run"), tmp_path / "toy.toml"
    assert run(["conform", "report", folder]) == 2
    assert run(["conform", "rerun", folder]) == 4
    assert "nothing failed in" in capsys.readouterr().err
    assert run(["conform", "diff", folder, folder]) == 0
    assert run(["conform", "expect", "update", folder, str(expected)]) == 4
    expected.write_text(
        f'[[expect]]\npattern = "{case}"\nverdict = "UNSUPPORTED"\nreason = "a toy"\n'
    )
    assert run(["conform", "expect", "show", folder, str(expected)]) == 0
    assert "conforms" not in (tmp_path / "run" / "report.html").read_text()


class StubRun:
    """Takes the place of a run on processes: the mutant fails each case."""

    def __init__(
        self, scenario: Scenario, settings: ClusterSettings, folder: Path, **_: object
    ) -> None:
        self.scenario, self.folder = scenario, folder
        self.is_broken = bool(settings.implementation.broken_rule)

    def play(self) -> ScenarioResult:
        self.folder.mkdir(parents=True)
        verdict = Verdict.FAIL if self.is_broken else Verdict.PASS
        return scenario_result(
            "one",
            verdict,
            requirements=self.scenario.story.requirements,
            expected=verdict,
            problems=(Problem(verdict=verdict, sentence="so"),),
        )


def test_rerun_plays_what_failed_where_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite_play, "ScenarioRun", StubRun)
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    case, other = (one.case_id for one in all_cases()[:2])
    words = ["-t", "reference", "-t", "reference:shrink_nobody", "--select", case, "--seed", "7"]

    assert run(["conform", "run", *words, "--out", first]) == 1
    assert run(["conform", "rerun", first, "--out", second, "--confirm", "2"]) == 1

    header = read_run(Path(second)).header
    assert header.targets == ("reference:shrink_nobody",)
    assert (header.cases, header.select) == ((case,), (case,))
    assert (header.seed, header.confirm) == (7, 2)
    assert run(["conform", "diff", first, second]) == 0
    assert run(["conform", "validate", first]) == 0
    worse = str(tmp_path / "worse")
    assert run(["conform", "run", "-t", "reference", "--select", other, "--out", worse]) == 0
    assert run(["conform", "diff", first, worse]) == DIFFERS == 16
    assert f"{case}: PASS → not asked for" in capsys.readouterr().out
    (Path(first) / RESULTS).write_text((Path(second) / RESULTS).read_text())
    assert run(["conform", "validate", first]) == 3
    assert f"{RESULTS} has changed" in capsys.readouterr().out
