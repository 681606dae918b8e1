"""Stories played on an adapter program."""

import shlex
import sys
from pathlib import Path

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios.find_story import find_story

ROOT = Path(__file__).resolve().parents[4]
TOY = "tests.conformance.adapters.remote.toy_adapter"


def toy(*habit: str) -> str:
    """The target of `toy_adapter.py`."""
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", TOY, *habit]
    return f"cmd:{shlex.join(words)}"


def play(target: str, story: str, folder: Path, *, brokers: int = 3) -> ScenarioResult:
    """Play a story of the library, or of a file, below the folder."""
    settings = ClusterSettings(implementation=implementation_of(target), brokers=brokers)
    scenario = find_story(story)
    return ScenarioRun(scenario=scenario, settings=settings, seed=1, folder=folder / "run").play()
