import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.managed_process import ManagedProcess, fields_of
from fencepost.fault_injection.processes.process_identity import read_stat
from fencepost.fault_injection.processes.reaper import reap
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE
from tests.fault_injection.conftest import ROOT, SLEEP, Eventually, Sleeper

HARNESS = """
import json, sys, time
from pathlib import Path
from fencepost.fault_injection.processes.supervisor import Supervisor
code = json.loads(sys.argv[2])
with Supervisor(Path(sys.argv[1]), "run-to-be-killed") as supervisor:
    for name in code:
        supervisor.start(name, [sys.executable, "-c", code[name]])
    deadline = time.monotonic() + 20
    while any(not process.log_tail() for process in supervisor.processes.values()):
        assert time.monotonic() < deadline
    supervisor.processes["stopped"].pause()
    pids = [process.pid for process in supervisor.processes.values()]
    grandchild = int(supervisor.processes["immortal"].log_tail())
    print(json.dumps([*pids, grandchild]), flush=True)
    HOW_IT_ENDS
"""
IMMORTAL = """
import ctypes, signal, subprocess, sys, time
assert ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0  # the kernel lets it live
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
print(child.pid, flush=True)
time.sleep(600)
"""
CODE = json.dumps({"running": SLEEP, "stopped": SLEEP, "immortal": IMMORTAL})


def lives(pid: int | str) -> bool:
    stat = read_stat(Path(f"/proc/{pid}"))
    return stat is not None and not stat.is_dead


def reapers_of(directory: Path) -> list[int]:
    """The pids of the reapers that watch the ledger in `directory`."""
    wanted = os.fsencode(directory / LEDGER_FILE)
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if lives(path.parent.name) and wanted in path.read_bytes().split(b"\0")
    ]


def start_harness(directory: Path, how_it_ends: str) -> subprocess.Popen[str]:
    script = HARNESS.replace("HOW_IT_ENDS", how_it_ends)
    command = [sys.executable, "-c", script, str(directory), CODE]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def first_line(harness: "subprocess.Popen[str]") -> str:
    assert harness.stdout is not None
    return harness.stdout.readline()


def entry_of(process: ManagedProcess) -> dict[str, str | int | bool]:
    return {**fields_of(process), "survives": False}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "other" / LEDGER_FILE)


@pytest.fixture(autouse=True)
def _folder_of_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()


def test_soon_after_the_harness_is_killed_none_of_its_processes_lives(
    tmp_path: Path, eventually: Eventually
) -> None:
    with start_harness(tmp_path, "time.sleep(600)") as harness:
        pids = json.loads(first_line(harness))
        assert [lives(pid) for pid in pids] == [True] * 4
        assert len(reapers_of(tmp_path)) == 1
        harness.kill()

    # How soon, ci/bench/leftovers measures; these would sleep for ten minutes.
    assert eventually(lambda: not any(map(lives, pids)))
    assert eventually(lambda: reapers_of(tmp_path) == [])
    assert Ledger(tmp_path / LEDGER_FILE).open_entries() == []


def test_a_harness_that_ends_well_leaves_neither_processes_nor_reaper(tmp_path: Path) -> None:
    with start_harness(tmp_path, "pass") as harness:
        pids = json.loads(first_line(harness))
        harness.wait(20)

    assert harness.returncode == 0
    assert [pid for pid in pids if lives(pid)] == []
    assert reapers_of(tmp_path) == []


def test_the_reaper_kills_what_the_ledger_names(sleeper: Sleeper, ledger: Ledger) -> None:
    process = sleeper()
    ledger.open("process", **entry_of(process))

    reap(ledger)

    assert process.wait(0) == -signal.SIGKILL
    assert ledger.open_entries() == []


@pytest.mark.parametrize(("field", "value"), [("start_time", 1), ("run_id", "run-of-another")])
def test_the_reaper_spares_a_process_that_does_not_match(
    sleeper: Sleeper, ledger: Ledger, field: str, value: int | str
) -> None:
    process = sleeper()
    ledger.open("process", **{**entry_of(process), field: value})

    reap(ledger)

    assert process.is_running
    assert ledger.open_entries() == []


def test_the_reaper_resumes_a_paused_survivor(
    sleeper: Sleeper, ledger: Ledger, eventually: Eventually
) -> None:
    process = sleeper()
    process.pause()
    survivor = ledger.open("process", **{**entry_of(process), "survives": True})
    ledger.open("pause", **entry_of(process))

    reap(ledger)

    assert eventually(lambda: not process.is_paused)
    assert process.is_running
    assert [entry.number for entry in ledger.open_entries()] == [survivor]


def test_the_reaper_leaves_entries_that_it_cannot_undo(ledger: Ledger) -> None:
    ledger.open("firewall", rule="x")

    reap(ledger)

    assert [entry.kind for entry in ledger.open_entries()] == ["firewall"]
