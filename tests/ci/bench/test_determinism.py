"""The bench of determinism sees whole traces, each of a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
def test_the_bench_compares_whole_traces_of_two_processes() -> None:
    command = [sys.executable, "-m", "fencepost.ci.bench.determinism", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)

    assert "3 of 3 runs gave the same bytes twice" in done.stdout
