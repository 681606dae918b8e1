"""`fencepost diff`, and the baseline of a gate: what is new, fixed, gone or slower."""

import json
from pathlib import Path
from typing import Any

import pytest

from fencepost.ci.cli import run
from fencepost.ci.gate.gate import run_gate
from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.stages import write_report
from fencepost.ci.gate.verdict_files import GateRun, GateStage
from fencepost.conformance.verdict import Verdict, worst
from fencepost.spec.tlc.models import Tier


def scenario(name: str, verdict: str, seconds: float = 1.0, message: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "verdict": verdict,
        "seconds": seconds,
        "message": message,
        "reproduce": f"fencepost chaos --story {name}",
    }


def stage(*scenarios: dict[str, Any]) -> GateStage:
    verdict = worst(Verdict(one["verdict"]) for one in scenarios)
    outcome = StageOutcome(verdict=verdict, summary="ran", detail={"scenarios": list(scenarios)})
    return GateStage(name="chaos", run=lambda _: outcome)


def gate(folder: Path, *stages: GateStage, tier: Tier = Tier.QUICK, **more: Any) -> Path:  # noqa: ANN401
    folder.mkdir()
    given = GateRun(
        folder=folder, run_id="r", tier=tier, level=3, seed=0, zookeeper="embedded", **more
    )
    run_gate(given, stages, lambda _: None)
    return folder


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return gate(
        tmp_path / "before",
        stage(
            scenario("kept", "PASS"),
            scenario("breaks", "PASS"),
            scenario("mended", "FAIL"),
            scenario("lost", "PASS"),
            scenario("slow", "PASS", seconds=10.0),
            scenario("ill", "FAIL"),
        ),
    )


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return gate(
        tmp_path / "after",
        stage(
            scenario("kept", "PASS", seconds=2.0),
            scenario("breaks", "FAIL", message="</script> Offset 3 \x1b differs."),
            scenario("mended", "PASS"),
            scenario("lost", "NOT_RUN"),
            scenario("slow", "PASS", seconds=30.0),
            scenario("ill", "FAIL"),
            scenario("fresh", "PASS"),
        ),
    )


def test_what_is_new_comes_first_with_its_command_and_decides(
    before: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", str(before), str(after)]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "new: chaos: scenario breaks: PASS → FAIL: </script> Offset 3 \\x1b differs. — "
        "fencepost chaos --story breaks",
        "fixed: chaos: scenario mended: FAIL → PASS",
        "gone: chaos: scenario lost: PASS → NOT_RUN — fencepost chaos --story lost",
        "slower: chaos: scenario slow: 10.0 s → 30.0 s",
        "1 new, 1 still broken, 1 fixed, 1 gone and 1 slower; 1 case as before",
    ]


def test_what_was_broken_before_is_no_news(before: Path, after: Path) -> None:
    assert run(["diff", str(after), str(after)]) == 0
    assert run(["diff", str(before), str(before)]) == 0


def test_the_same_for_machines_and_as_a_page(
    before: Path, after: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "diff.html"

    assert run(["diff", str(before), str(after), "--json", "--page", str(page)]) == 1

    found = json.loads(capsys.readouterr().out)
    assert [(one["change"], one["name"]) for one in found["changes"]] == [
        ("new", "scenario breaks"),
        ("still broken", "scenario ill"),
        ("fixed", "scenario mended"),
        ("gone", "scenario lost"),
        ("slower", "scenario slow"),
    ]
    html = page.read_text()
    assert "</script> Offset" not in html
    assert "&lt;/script&gt; Offset 3" in html
    assert "fencepost chaos --story breaks" in html


def test_runs_that_were_asked_for_different_things_say_so(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = gate(tmp_path / "other", stage(scenario("kept", "PASS")), tier=Tier.NIGHTLY)

    run(["diff", str(before), str(other)])

    assert "tier was quick and is nightly" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "code", "told"),
    [
        (None, 4, "there is no such folder"),
        ({}, 4, "it holds no stages.json and no results.jsonl"),
        ({"stages.json": "[{"}, 3, "stages.json is not what a run leaves"),
        ({"stages.json": '[{"stage": "x", "verdict": "FINE"}]'}, 3, "is the folder whole?"),
        ({"stages.json": '[{"stage": "x", "verdict": "PASS"}]', "verdict.json": "x"}, 3, "no JSON"),
    ],
)
def test_what_is_no_run_is_told_in_one_sentence(
    files: dict[str, str] | None,
    code: int,
    told: str,
    before: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "odd"
    if files is not None:
        folder.mkdir()
    for name, text in (files or {}).items():
        (folder / name).write_text(text)

    assert run(["diff", str(before), str(folder)]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_the_report_of_a_gate_tells_what_differs_from_its_baseline(
    before: Path, tmp_path: Path
) -> None:
    broken = stage(scenario("breaks", "FAIL", message="Offset 3 differs."))
    report = GateStage(name="report", run=write_report, in_report=False)

    now = gate(tmp_path / "now", broken, report, baseline=before)

    html = (now / "report.html").read_text()
    assert 'id="baseline"' in html
    assert "1 new and 5 gone" in html
    assert json.loads((now / "baseline.json").read_text())["changes"][0]["change"] == "new"


def test_a_baseline_that_is_no_run_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    assert run(["gate", "--baseline", str(tmp_path), "--out", str(out)]) == 4

    assert "is not a run folder" in capsys.readouterr().err
    assert not out.exists()
