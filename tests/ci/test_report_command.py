"""A stored run that is not whole: the report is written, says so, and the exit code is 3."""

import json
from pathlib import Path

import msgspec
import pytest

from ci.cli import run
from conformance.simulate import Subject, write_trace
from tests.conformance import fake_simulator

pytestmark = pytest.mark.spark

HARNESS = "trace-harness.ndjson"


def test_a_violation_is_named_with_the_command_of_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = fake_simulator.simulate(fake_simulator.LOSING_SEED, level=0, mutant=None)
    detail = json.dumps({"level": 0, "seed": 7, "reproduce": "fencepost chaos --seed 7"})
    write_trace(
        tmp_path / "chaos" / "kill",
        [msgspec.structs.replace(events[0], detail=detail), *events[1:]],
    )

    assert run(["report", str(tmp_path)]) == 1

    lines = capsys.readouterr().out.splitlines()
    named = [line for line in lines if "AcknowledgedDurable: " in line]
    assert len(named) == 1
    assert named[0].endswith(" — fencepost chaos --seed 7")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The traces of one simulated run."""
    subject = Subject(target="python:impl.sim.adapter", level=2)
    write_trace(tmp_path / "simulate" / "seed-5", subject.simulate(5))
    return tmp_path


def test_a_run_that_is_cut_off_and_corrupt_is_incomplete(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored / "simulate" / "seed-5"
    whole = (folder / HARNESS).read_bytes()
    (folder / HARNESS).write_bytes(whole[:-20])
    with next(folder.glob("trace-broker-*.ndjson")).open("ab") as file:
        file.write(b'{"foreign": true}\nnot JSON at all\n\x00\xff\n')

    assert run(["report", str(stored), "--json"]) == 3

    out, err = capsys.readouterr()
    complaints = [line for line in err.splitlines() if line.startswith("fencepost: ")]
    assert "Traceback" not in err
    assert len(complaints) == 3
    assert "lacks its RunEnded: it was cut off" in complaints[0]
    assert "3 lines of simulate/seed-5/trace-broker-" in complaints[1]
    assert "cannot be read, the first at line" in complaints[1]
    assert "ends in the middle of a line" in complaints[2]
    assert json.loads(out)["figures"]["traces"] == "INCONCLUSIVE"
    assert (stored / "report.html").stat().st_size > 1000
