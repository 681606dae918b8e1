"""`fencepost conform` by its exit codes and sentences; no cluster is started."""

import json
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.suite.library import all_cases


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
    assert run(["conform", "diff", folder, folder]) == 0
    assert run(["conform", "expect", "update", folder, str(expected)]) == 4
    expected.write_text(
        f'[[expect]]\npattern = "{case}"\nverdict = "UNSUPPORTED"\nreason = "a toy"\n'
    )
    assert run(["conform", "expect", "show", folder, str(expected)]) == 0
    assert "conforms" not in (tmp_path / "run" / "report.html").read_text()
