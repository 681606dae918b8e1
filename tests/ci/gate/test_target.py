"""A gate of another implementation: what it has a part in is played, and the rest is skipped."""

import json
from pathlib import Path

import jsonschema
import pytest

from fencepost.ci.cli import run as fencepost
from fencepost.ci.gate.tiers import EFFORT, Effort
from fencepost.spec.tlc.models import Tier

SCHEMA = json.loads((Path(__file__).parents[3] / "ci" / "verdict.schema.json").read_text())
TOY = "py:tests.conformance.toy:Toy"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    effort = Effort(
        seeds=1, upgrade_seeds=0, mutant_seeds_max=1, replayed_seeds=1, scenarios=("quiet",)
    )
    monkeypatch.setitem(EFFORT, Tier.QUICK, effort)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_a_gate_of_a_target_plays_and_judges_it_and_says_what_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"

    code = fencepost(["gate", "--target", TOY, "--out", str(out), "--json"])

    verdict = json.loads(capsys.readouterr().out)
    jsonschema.validate(verdict, SCHEMA)
    stages = {stage["stage"]: stage for stage in verdict["stages"]}
    skipped = [name for name, stage in stages.items() if stage["summary"].startswith("SKIPPED: ")]
    assert skipped[:3] == ["spec", "proofs", "simulate"]
    assert {stages[name]["verdict"] for name in skipped} == {"UNSUPPORTED"}
    assert stages["chaos"]["verdict"] == "PASS", stages
    assert stages["canary"]["verdict"] == "PASS", stages
    assert stages["canary"]["summary"].startswith("in the trace of quiet the checks found an over")
    assert stages["analyse"]["figures"]["runs"] == 1
    assert (verdict["target"], verdict["level"], verdict["exit_code"]) == (TOY, 2, code)
    assert f"--target {TOY}" in verdict["reproduce"]


def test_a_target_that_cannot_be_is_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"

    assert fencepost(["gate", "--target", "py:tests.nothing:Toy", "--out", str(out)]) == 4

    assert "tests.nothing" in capsys.readouterr().err
    assert not out.exists()
