"""Falsehoods in the trace of a good run are seen; without a run nothing is claimed."""

from pathlib import Path

import msgspec
import pytest

from fencepost.ci.gate.scenario_outcomes import of_falsehoods
from fencepost.conformance.falsified import FALSEHOODS, Falsehood, falsified
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import write_trace
from tests.recorded import write_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """One good run, simulated."""
    write_run(tmp_path / "quiet", 1)
    return tmp_path


def test_each_falsehood_is_seen(runs: Path) -> None:
    found = falsified(runs)

    assert [one.name for one in found] == list(FALSEHOODS)
    assert {one.run for one in found} == {"quiet"}
    assert all("AcknowledgedDurable" in one.seen_by for one in found)
    assert of_falsehoods(found).verdict is Verdict.PASS


def test_a_run_without_acknowledged_records_is_none(runs: Path) -> None:
    events, _ = read_folder(runs / "quiet")
    unanswered = [
        msgspec.structs.replace(event, acks=1) if event.action == "Produce" else event
        for event in events
    ]
    for path in (runs / "quiet").glob("*.ndjson"):
        path.unlink()
    write_trace(runs / "quiet", unanswered)

    assert falsified(runs) == []
    assert falsified(runs / "nowhere") == []


def test_what_is_not_seen_fails_the_canary() -> None:
    outcome = of_falsehoods([Falsehood(name="an overwritten record", run="quiet", seen_by=())])

    assert outcome.verdict is Verdict.FAIL
    assert "not an overwritten record, so what else passed here shows nothing" in outcome.summary
