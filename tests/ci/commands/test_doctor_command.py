"""The doctor finds the reference well, and says of others what is missing first."""

import json
import sys
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.doctor import LAST, STEPS

pytestmark = pytest.mark.zookeeper

Captured = pytest.CaptureFixture[str]
NAMES = [*(step.name for step in STEPS), LAST]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the doctor keeps of a failed examination goes with the test."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def examined(target: str, capsys: Captured) -> tuple[int, list[dict[str, str]]]:
    """The exit code, and the steps."""
    code = run(["doctor", "--target", target, "--json"])
    return code, json.loads(capsys.readouterr().out)["steps"]


@pytest.mark.long
def test_the_reference_is_well(capsys: Captured) -> None:
    code, steps = examined("reference", capsys)

    assert (code, [step["step"] for step in steps]) == (0, NAMES)
    assert all(step["is_well"] and step["seen"] and not step["do"] for step in steps)
    seen = {step["step"]: step["seen"] for step in steps}
    assert seen["elects?"].startswith("controller ")
    assert "was killed; broker" in seen["fails over?"]
    assert "none is violated" in seen[LAST]


def test_an_adapter_that_only_echoes_fails_the_first_step(capsys: Captured) -> None:
    code, (step,) = examined("cmd:cat", capsys)

    assert code == 3
    assert step["step"] == NAMES[0]
    assert "which is no answer" in step["seen"]
    assert "fencepost conform probe -t cmd:cat shows" in step["do"]


def test_brokers_that_end_at_once_do_not_register(capsys: Captured) -> None:
    code, steps = examined("false", capsys)

    assert code == 3
    assert [step["step"] for step in steps] == NAMES[:3]
    assert "ended by itself before a registration of each broker" in steps[-1]["seen"]
    assert "/brokers/ids/ID" in steps[-1]["do"]


def test_the_skeleton_of_an_adapter_is_told_its_next_verb(capsys: Captured, tmp_path: Path) -> None:
    folder = tmp_path / "my-adapter"
    assert run(["conform", "new-adapter", str(folder), "--lang", "python"]) == 0
    capsys.readouterr()
    code, steps = examined(f"cmd:{sys.executable} {folder / 'adapter.py'}", capsys)

    assert code == 3
    assert [step["step"] for step in steps] == NAMES[:3]
    assert "it lacks cluster_create, " in steps[0]["seen"]
    assert "does not support cluster_create" in steps[-1]["seen"]
    assert "conform probe" in steps[-1]["do"]


@pytest.mark.long
def test_a_wrong_rule_is_seen_in_the_trace(capsys: Captured) -> None:
    """It breaks no step before: each is as with the right rule, but for the epoch in the trace."""
    code, steps = examined("reference:absent_epoch_is_one", capsys)

    assert code == 3
    assert steps[-1]["step"] == LAST
    assert steps[-1]["seen"].startswith("FAIL: violated: ")
    assert "fencepost check --trace" in steps[-1]["do"]


def test_a_person_reads_what_was_seen_and_what_to_do(capsys: Captured) -> None:
    assert run(["doctor", "-t", "false"]) == 3

    told = capsys.readouterr()
    assert "ok    is it what it says?" in told.out
    assert "FAIL  registers?" in told.out
    assert "      do: each broker has to create" in told.out
    assert "logs and traces: " in told.err


@pytest.mark.parametrize("target", ["reference:absent_mutant", "cmd:absent-adapter"])
def test_a_target_that_is_none_is_a_mistake(target: str, capsys: Captured) -> None:
    assert run(["doctor", "-t", target]) == 4

    assert "absent" in capsys.readouterr().err
