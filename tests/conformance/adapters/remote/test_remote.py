"""A program that speaks JSON lines is judged as the same implementation in process is."""

import shlex
import sys
from pathlib import Path

import pytest

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant

ROOT = Path(__file__).resolve().parents[4]
TOY = "tests.conformance.adapters.remote.toy_adapter"


def target(*habit: str) -> str:
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", TOY, *habit]
    return f"cmd:{shlex.join(words)}"


def play(name: str, folder: Path, *habit: str) -> ScenarioResult:
    settings = ClusterSettings(implementation=implementation_of(target(*habit)))
    run = ScenarioRun(scenario=SCENARIOS[name], settings=settings, seed=1, folder=folder / name)
    return run.play()


@pytest.mark.parametrize("name", ["quiet", "leader_kill", "controller_kill"])
def test_a_toy_behind_json_lines_passes_as_it_does_in_process(name: str, tmp_path: Path) -> None:
    result = play(name, tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 100
    assert [one.verdict for one in result.problems] == [Verdict.NOT_OBSERVABLE] * 2


def test_its_twin_that_acknowledges_before_replication_loses_a_record(tmp_path: Path) -> None:
    result = play("leader_kill", tmp_path, "acknowledges_early")

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert Invariant.ACKNOWLEDGED_DURABLE in violated
    assert f"--target {shlex.quote(target('acknowledges_early'))}" in result.reproduce
