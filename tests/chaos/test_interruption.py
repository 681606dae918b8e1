"""Ctrl-C in the middle of a fault: it is healed, the trace ends, and nothing is left running."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fencepost.conformance.runs.run_folder import read_folder
from fencepost.spec.trace import Kind, Phase, TraceEvent

pytestmark = pytest.mark.chaos

SCRIPT = """
import sys
from pathlib import Path
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all, selected

run_all(selected(["leader_pause"]), settings=ClusterSettings(), out=Path(sys.argv[1]))
"""


def faults(folder: Path) -> list[TraceEvent]:
    if not folder.exists():
        return []
    return [event for event in read_folder(folder)[0] if event.kind is Kind.FAULT]


def test_interrupted_fault_is_healed_and_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "leader_pause"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as harness:
        assert await_phase(folder, Phase.INJECTING)
        harness.send_signal(signal.SIGINT)
        _, said = harness.communicate(timeout=20)

    phases = [event.phase for event in faults(folder)]
    actions = [event.action for event in read_folder(folder)[0] if event.kind is Kind.RUN]
    assert b"KeyboardInterrupt" in said
    assert phases[-2] is Phase.HEALING
    assert phases[-1] in (Phase.INEFFECTIVE, Phase.HEALED)
    assert actions[-1] == "RunEnded"


def await_phase(folder: Path, phase: Phase) -> bool:
    deadline = time.monotonic() + 30
    wait = threading.Event()
    while not any(event.phase is phase for event in faults(folder)):
        if time.monotonic() > deadline:
            return False
        wait.wait(0.05)
    return True
