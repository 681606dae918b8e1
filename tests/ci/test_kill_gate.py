"""SIGKILL in the middle of chaos: what the harness started is gone before anybody can notice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.recorded import write_run

ROOT = Path(__file__).resolve().parents[2]
MARK = "FENCEPOST_TEST_KILL"
"""Tells the processes of one test from those of everybody else."""

RUN = "FENCEPOST_RUN_ID"
PROCESSES = 4
"""A ZooKeeper and three brokers."""

STARTED_DEADLINE_S = 240.0
"""In a gate, specs and simulations come before the first broker."""

GONE_DEADLINE_S = 3.0
POLL_S = 0.02

pytestmark = pytest.mark.chaos
ProcessesOf = Callable[[str, str], set[int]]


@pytest.fixture
def harness(tmp_path: Path) -> "Iterator[Harness]":
    started = Harness(tmp_path)
    try:
        yield started
    finally:
        started.end()


class Harness:
    """A `fencepost` command in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder.name + str(os.getpid())
        self.folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> None:
        with (self.folder / "output").open("wb") as output:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "ci", *arguments],
                cwd=self.folder,
                env={**os.environ, MARK: self.mark, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=output,
            )

    def signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        assert self._child.poll() is None, self.output()
        self._child.send_signal(number)

    def wait(self, deadline_s: float) -> int:
        assert self._child is not None
        return self._child.wait(deadline_s)

    def end(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")


def until(holds: Callable[[], bool], deadline_s: float) -> bool:
    deadline = time.monotonic() + deadline_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(POLL_S)
    return True


CHAOS = ("chaos", "--scenario", "leader_pause", "--out", "run")
GATE = ("gate", "--out", "run")
CHECK = ("check",)
REPLAY = ("check", "--trace", "runs")
SIMULATE = ("simulate", "--seeds", "100000")


@pytest.mark.parametrize("arguments", [CHAOS, GATE], ids=["chaos", "gate"])
def test_a_killed_harness_leaves_no_broker_and_no_zookeeper(
    harness: Harness, processes_of: ProcessesOf, arguments: Sequence[str]
) -> None:
    def ours() -> set[int]:
        return processes_of(MARK, harness.mark) & processes_of(RUN, "")

    harness.start(*arguments)
    assert until(lambda: len(ours()) >= PROCESSES, STARTED_DEADLINE_S), harness.output()

    harness.signal(signal.SIGKILL)

    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S), ours()


@pytest.mark.parametrize("arguments", [CHECK, SIMULATE], ids=["check", "simulate"])
def test_a_killed_command_leaves_no_worker(
    harness: Harness, processes_of: ProcessesOf, arguments: Sequence[str]
) -> None:
    def working() -> bool:
        return len(processes_of(MARK, harness.mark)) > 1

    harness.start(*arguments)
    assert until(working, STARTED_DEADLINE_S), harness.output()

    harness.signal(signal.SIGKILL)

    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)


@pytest.mark.parametrize("arguments", [CHAOS, CHECK, REPLAY], ids=["chaos", "check", "replay"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_an_interrupted_command_stops_what_it_started(
    harness: Harness, processes_of: ProcessesOf, arguments: Sequence[str], number: signal.Signals
) -> None:
    enough = PROCESSES + 1 if arguments is CHAOS else 2
    if arguments is REPLAY:
        for seed in range(5):
            write_run(harness.folder / "runs" / f"seed-{seed}", seed)

    harness.start(*arguments)
    assert until(lambda: len(processes_of(MARK, harness.mark)) >= enough, STARTED_DEADLINE_S), (
        harness.output()
    )

    harness.signal(number)

    assert harness.wait(30.0) == 130, harness.output()
    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)
    assert "Traceback" not in harness.output()
