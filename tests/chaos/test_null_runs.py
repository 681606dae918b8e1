"""Runs without a fault find nothing; with a wrong rule they do, so that nothing means something."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.null_runs import play_null_runs
from fencepost.conformance.whitebox.mutants import breaking

pytestmark = pytest.mark.chaos


def test_runs_without_a_fault_raise_no_alarm(tmp_path: Path) -> None:
    found = play_null_runs(3, settings=ClusterSettings(), seed=1, out=tmp_path / "null")

    assert found.runs == 3
    assert (found.alarms, found.undecided) == ((), ())
    assert found.result.acknowledged >= 3 * 60


def test_wrong_rule_raises_an_alarm_without_a_fault(tmp_path: Path) -> None:
    mutant = "last_replica_is_preferred"

    settings = ClusterSettings(implementation=breaking(mutant))
    found = play_null_runs(1, settings=settings, seed=1, out=tmp_path / "null")

    assert any(alarm.startswith("OnlyAuthorisedWrites: ") for alarm in found.alarms)
