"""The report of a release's run finds what its scenario found, and how long its failover took.

`pytest -m kafka`.
"""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all
from fencepost.conformance.scenarios import find
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.analyse import analyse

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("target", ["kafka:0.10.2.2", "kafka:3.9.1"])
def test_a_failover_is_measured_and_nothing_is_held_against_lines_that_are_read_apart(
    target: str, tmp_path: Path
) -> None:
    settings = ClusterSettings(implementation=implementation_of(target))
    (played,) = run_all([find("leader_kill")], settings=settings, seed=1, out=tmp_path)

    found = analyse(tmp_path)

    (folder,) = found.folders
    assert (played.verdict, [c.invariant for c in folder.failed]) == (Verdict.PASS, [])
    assert found.verdicts == dict.fromkeys(("checks", "traces", "failover"), Verdict.PASS)
    assert found.failover.complete >= 1
