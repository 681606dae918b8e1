"""The same seed gives the same bytes: twice, and whatever order sets and dicts of strings take."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.conformance.whitebox.simulate import Subject
from fencepost.spec.trace import encode_all

ROOT = Path(__file__).resolve().parents[3]
TARGET = "python:fencepost.impl.sim.adapter"
CASES = [(11, 2, None), (12, 1, None), (13, 0, None), (14, 2, "no_step_down")]

PRINT_TRACE = """
import sys
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.spec.trace import encode_all
seed, level, mutant = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] or None
subject = Subject(target=sys.argv[4], level=level, mutant=mutant)
sys.stdout.buffer.writelines(encode_all(subject.simulate(seed)))
"""


def trace_here(seed: int, level: int, mutant: str | None) -> bytes:
    subject = Subject(target=TARGET, level=level, mutant=mutant)
    return b"".join(encode_all(subject.simulate(seed)))


def trace_elsewhere(seed: int, level: int, mutant: str | None, hash_seed: int) -> bytes:
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PRINT_TRACE, str(seed), str(level), mutant or "", TARGET]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


@pytest.mark.parametrize(("seed", "level", "mutant"), CASES)
def test_a_seed_gives_the_same_bytes_in_every_process(
    seed: int, level: int, mutant: str | None
) -> None:
    here = trace_here(seed, level, mutant)

    assert here.count(b"\n") > 100
    assert trace_here(seed, level, mutant) == here
    assert trace_elsewhere(seed, level, mutant, 1) == here
    assert trace_elsewhere(seed, level, mutant, 4_000_000_007) == here


def test_another_seed_gives_another_run() -> None:
    assert trace_here(11, 2, None) != trace_here(12, 2, None)


def test_the_bench_compares_whole_traces_of_two_processes() -> None:
    command = [sys.executable, "-m", "fencepost.ci.bench.determinism", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)

    assert "3 of 3 runs gave the same bytes twice" in done.stdout
