"""The step `check` of story files, and simulators that play none."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.registry import VACUOUS, judge
from fencepost.conformance.whitebox.story_play import play_file
from tests.conformance.fake_simulator import LOSING_SEED, simulate


def test_check_names_what_is_violated() -> None:
    assert judge(simulate(LOSING_SEED, level=0, mutant=None)) == [
        "violated: AcknowledgedDurable",
        "violated: LinearizableLog",
    ]
    assert judge(simulate(1, level=0, mutant=None)) == []


def test_a_run_in_which_nothing_could_be_decided_is_not_ok() -> None:
    assert judge([]) == [VACUOUS]


def test_a_simulator_without_play_is_told(tmp_path: Path) -> None:
    path = tmp_path / "story.yaml"
    path.write_text("schema: 1\nid: short\nsteps: [check]\n")

    with pytest.raises(ChoiceError, match=r"plays no story files: it has no play\(\)"):
        play_file(path, target="python:tests.conformance.fake_simulator")
