"""A broker in Go without replication passes what one broker can be asked."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fencepost.conformance.verdict import Verdict
from tests.conformance.adapters.remote.plays import play

SOURCE = Path(__file__).with_name("go")
LINES_MAX = 400


@pytest.fixture(scope="module", name="program")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built here and now."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not on this machine: install it to run the broker in Go")
    program = tmp_path_factory.mktemp("go") / "toybroker"
    subprocess.run([go, "build", "-o", program, "."], cwd=SOURCE, check=True, timeout=300)
    return program


def test_one_broker_keeps_what_it_acknowledged(program: Path, tmp_path: Path) -> None:
    result = play(f"cmd:{program}", str(SOURCE / "one_broker.yaml"), tmp_path, brokers=1)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 100


def test_what_needs_replicas_is_refused_in_its_words(program: Path, tmp_path: Path) -> None:
    result = play(f"cmd:{program}", "quiet", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert "INVALID_REPLICA_ASSIGNMENT" in result.why


def test_a_stranger_needs_few_lines() -> None:
    assert len((SOURCE / "main.go").read_text().splitlines()) <= LINES_MAX
