"""Stories played on an adapter program."""

import shlex
import sys
from pathlib import Path

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.whitebox.zoo.animals import target_of

ROOT = Path(__file__).resolve().parents[4]
HERE = "tests.conformance.adapters.remote"


def adapter(name: str, *arguments: str) -> str:
    """The target of the program in that module of this folder."""
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", f"{HERE}.{name}", *arguments]
    return f"cmd:{shlex.join(words)}"


def stranger(*habit: str) -> str:
    """The target of `stranger.py`."""
    return target_of("stranger", *habit)


def story(name: str) -> str:
    """The story of that file in this folder."""
    return str(Path(__file__).with_name(f"{name}.yaml"))


def play(target: str, story: str, folder: Path, *, brokers: int = 3) -> ScenarioResult:
    """Play a story of the library, or of a file, below the folder."""
    settings = ClusterSettings(implementation=implementation_of(target), brokers=brokers)
    scenario = find_story(story)
    return ScenarioRun(scenario=scenario, settings=settings, seed=1, folder=folder / "run").play()
