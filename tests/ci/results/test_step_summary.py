"""The summary of a run in Markdown, and where it goes."""

from pathlib import Path

import pytest

from fencepost.ci.cli import run as fencepost
from fencepost.ci.gate.verdict_files import RunHead, StageRecord
from fencepost.ci.results.step_summary import leave_summary, summary_of
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier


def head(**changes: str) -> RunHead:
    return RunHead(
        folder=Path(),
        run_id="r",
        command="gate",
        level=3,
        seed=7,
        reproduce="fencepost gate --tier quick --level 3 --seed 7",
        tier=Tier.QUICK,
        **changes,
    )


def record(*scenarios: tuple[str, str, str], verdict: Verdict = Verdict.FAIL) -> StageRecord:
    rows = [
        {"name": name, "verdict": ended, "message": message, "reproduce": f"fencepost x {name}"}
        for name, ended, message in scenarios
    ]
    return StageRecord(
        stage="chaos", verdict=verdict, seconds=61.0, summary="a | b", detail={"scenarios": rows}
    )


def test_it_tells_verdict_stages_and_what_broke_with_its_command() -> None:
    text = summary_of(
        head(target="cmd:./mine", shard="2/4"),
        [record(("kill", "FAIL", "Offset 3 differs."), ("quiet", "PASS", ""))],
    )

    lines = text.splitlines()
    assert lines[0] == "## ❌ Fencepost gate of `cmd:./mine`: FAIL"
    assert lines[2] == (
        "Exit code 1: a violation was found. Level 3, seed 7, tier quick, share 2/4."
    )
    assert "| chaos | ❌ FAIL | 1 of 2 | 61.0 s | a \\| b |" in lines
    assert "- **chaos: scenario kill** FAIL: Offset 3 differs." in lines
    assert "      fencepost x kill" in lines
    assert lines[-1] == "Again: `fencepost gate --tier quick --level 3 --seed 7`"


def test_nothing_of_a_trace_becomes_markup() -> None:
    text = summary_of(head(), [record(("a", "FAIL", "</td><script>`x`|\n# [b](c) \x1b"))])

    assert "<script>" not in text
    assert "\\`x\\`\\| \\# \\[b\\](c)" in text
    assert "\x1b" not in text


def test_a_long_list_is_cut_and_says_so() -> None:
    text = summary_of(head(), [record(*((f"s{n}", "FAIL", "x" * 999) for n in range(50)))])

    assert "and 30 more cases" in text
    assert len(text) < 20_000


def test_a_run_that_is_fine_breaks_nothing() -> None:
    text = summary_of(head(), [record(("quiet", "PASS", ""), verdict=Verdict.PASS)])

    assert "What broke" not in text
    assert text.startswith("## ✅ ")


def test_it_goes_to_the_file_and_to_the_end_of_that_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, own = tmp_path / "server.md", tmp_path / "own.md"
    server.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(server))

    leave_summary(own, head(), [record(("kill", "FAIL", "x"))])

    assert server.read_text() == "before\n" + own.read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["chaos", "--summary", "{folder}"], "is a folder; name a file with --summary"),
        (["gate", "--summary", "{folder}/none/a.md"], "cannot be written: No such file"),
        (["chaos", "--shrink", "x", "--summary", "{folder}/a.md"], "leave it out here"),
    ],
)
def test_a_summary_that_cannot_be_is_told_before_anything_starts(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fencepost([word.format(folder=tmp_path) for word in words]) == 4

    assert told in capsys.readouterr().err
