"""Two strangers conform to what one broker must do: a broker in Go, and a log in Python."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fencepost.ci import cli
from fencepost.conformance.verdict import Verdict
from tests.conformance.adapters.remote.plays import play, stranger

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


def judged(target: str, out: Path) -> int:
    """The exit code of the suite."""
    words = ["conform", "run", "--target", target, "--profile", "core-single", "--out", str(out)]
    return cli.run(words)


@pytest.mark.long
def test_a_broker_in_go_conforms(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code = judged(f"cmd:{program}", tmp_path / "out")

    assert f"cmd:{program} conforms to core-single" in capsys.readouterr().out
    assert exit_code == 0


def test_a_log_in_python_conforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = stranger("has_processes")

    exit_code = judged(target, tmp_path / "out")

    assert f"{target} conforms to core-single" in capsys.readouterr().out
    assert exit_code == 0


@pytest.mark.long
def test_what_needs_replicas_is_refused_in_its_words(program: Path, tmp_path: Path) -> None:
    result = play(f"cmd:{program}", "quiet", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert "INVALID_REPLICA_ASSIGNMENT" in result.why


def test_a_stranger_needs_few_lines() -> None:
    assert len((SOURCE / "main.go").read_text().splitlines()) <= LINES_MAX
