"""The same player performs the steps of one story on processes and in the simulator."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.story_play import play_file

STORY = Path(__file__).parent / "single_steps.yaml"


@pytest.mark.chaos
def test_a_story_prints_the_same_on_processes_as_in_the_simulator(tmp_path: Path) -> None:
    simulated = play_file(STORY)
    result = run(find_story(str(STORY)), settings=ClusterSettings(), seed=1, folder=tmp_path / "r")

    kinds = [report.action.fault.kind for report in result.faults]
    assert simulated.holds
    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert kinds == ["proc.pause", "proc.kill", "zk.expire", "proc.kill"]
