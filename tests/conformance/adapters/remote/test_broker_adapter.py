"""The reference is judged behind JSON lines as it is on its own, by the same checks."""

from pathlib import Path

import pytest

from fencepost.conformance.verdict import Verdict
from tests.conformance.adapters.remote.plays import adapter, play, story

pytestmark = pytest.mark.zookeeper


def test_the_reference_passes_and_nothing_is_unobservable(tmp_path: Path) -> None:
    result = play(adapter("broker_adapter"), story("moved_and_paused"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not result.problems
