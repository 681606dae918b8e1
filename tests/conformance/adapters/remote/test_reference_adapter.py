"""The reference is judged behind JSON lines as it is on its own, by the same checks."""

from pathlib import Path

import pytest

from fencepost.conformance.verdict import Verdict
from tests.conformance.adapters.remote.plays import adapter, play

pytestmark = pytest.mark.zookeeper
REFERENCE = adapter("reference_adapter")


@pytest.mark.parametrize("story", ["leader_pause", "reassignment"])
def test_the_reference_passes_and_nothing_is_unobservable(story: str, tmp_path: Path) -> None:
    result = play(REFERENCE, story, tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not result.problems
