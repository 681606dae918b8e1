"""Processes that are ready before their time, and do nothing until they are started."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fencepost.fault_injection.processes.ledger import Entry, Ledger
from fencepost.fault_injection.processes.process_identity import read_stat
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE, Supervisor
from tests.fault_injection.conftest import ROOT, Eventually, Sleeper

WAITS = """
import os, sys, time
print("ready", flush=True)
line = os.fdopen(int(sys.argv[-1])).readline().strip()
print("began with", line or "nothing", flush=True)
time.sleep(600 if line else 0)
"""
LOADS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
""" + WAITS.replace('print("ready", flush=True)', "")
"""Takes as long to load as the test wants."""
COMMAND = [sys.executable, "-c", WAITS]
HARNESS = """
import sys, time
from pathlib import Path
from fencepost.fault_injection.processes.supervisor import Supervisor
with Supervisor(Path(sys.argv[1]), "run-to-be-killed") as supervisor:
    supervisor.prepare("later", [sys.executable, "-c", sys.argv[2]])
    print("prepared", flush=True)
    time.sleep(600)
"""


def entries(directory: Path) -> list[Entry]:
    return Ledger(directory / LEDGER_FILE).open_entries()


def pid_in(directory: Path) -> int:
    (entry,) = entries(directory)
    return int(entry.fields["pid"])


def lives(pid: int) -> bool:
    stat = read_stat(Path(f"/proc/{pid}"))
    return stat is not None and not stat.is_dead


def words(directory: Path) -> str:
    log = directory / "later.log"
    return log.read_text() if log.exists() else ""


def prepared(
    supervisor: Supervisor, eventually: Eventually, command: Sequence[str] = COMMAND
) -> int:
    """The pid of a successor that says that it is ready."""
    supervisor.prepare("later", command)
    assert eventually(lambda: words(supervisor.directory) == "ready\n")
    return pid_in(supervisor.directory)


def test_a_successor_is_in_the_ledger_and_begins_when_it_is_started(
    supervisor: Supervisor, eventually: Eventually
) -> None:
    pid = prepared(supervisor, eventually)
    before = dict(supervisor.processes)
    process = supervisor.start("later", [*COMMAND, "--broker-id", "a\nb"])

    assert before == {}
    assert (process.pid, supervisor.processes) == (pid, {"later": process})
    expected = 'ready\nbegan with ["--broker-id", "a\\nb"]\n'
    assert eventually(lambda: words(supervisor.directory) == expected)
    assert process.is_running
    assert pid_in(supervisor.directory) == pid
    assert process.kill() == -signal.SIGKILL
    assert entries(supervisor.directory) == []


def test_a_successor_is_ready_when_it_reads_from_its_pipe(
    supervisor: Supervisor, eventually: Eventually
) -> None:
    pid = prepared(supervisor, eventually, [sys.executable, "-c", LOADS])
    while_it_loads = supervisor.is_ready("later")
    os.kill(pid, signal.SIGUSR1)

    assert not while_it_loads
    assert eventually(lambda: supervisor.is_ready("later"))
    assert lives(pid)


def test_nobody_waits_for_a_successor_that_is_dead_or_was_never_prepared(
    supervisor: Supervisor, eventually: Eventually
) -> None:
    pid = prepared(supervisor, eventually, [sys.executable, "-c", LOADS])
    os.kill(pid, signal.SIGKILL)

    assert eventually(lambda: supervisor.is_ready("later"))
    assert supervisor.is_ready("other")


def test_a_successor_stays_while_another_process_has_its_name(
    supervisor: Supervisor, sleeper: Sleeper
) -> None:
    running = sleeper("later")
    supervisor.prepare("later", COMMAND)
    supervisor.prepare("later", COMMAND)
    (_, waiting) = entries(supervisor.directory)

    assert supervisor.processes["later"] is running
    running.kill()
    assert supervisor.start("later", COMMAND).pid == waiting.fields["pid"]


def test_who_was_ready_for_something_else_ends(
    supervisor: Supervisor, eventually: Eventually
) -> None:
    pid = prepared(supervisor, eventually)
    process = supervisor.start("later", ["sleep", "600"])

    assert process.pid != pid
    assert not lives(pid)
    assert pid_in(supervisor.directory) == process.pid


def test_who_was_to_begin_and_is_dead_is_replaced(
    supervisor: Supervisor, eventually: Eventually
) -> None:
    pid = prepared(supervisor, eventually)
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not lives(pid))

    process = supervisor.start("later", [sys.executable, "-c", "print('anew')"])

    assert process.wait(10) == 0
    assert words(supervisor.directory) == "ready\nanew\n"
    assert entries(supervisor.directory) == []


def test_closing_ends_who_waits(supervisor: Supervisor, eventually: Eventually) -> None:
    pid = prepared(supervisor, eventually)
    supervisor.close()

    assert not lives(pid)
    assert entries(supervisor.directory) == []
    assert words(supervisor.directory) == "ready\n"


def test_of_a_detached_run_who_waits_does_not_stay(tmp_path: Path, eventually: Eventually) -> None:
    with Supervisor(tmp_path, "run-of-a-test", detached=True) as supervisor:
        pid = prepared(supervisor, eventually)

    assert not lives(pid)
    assert entries(tmp_path) == []


def test_who_waits_ends_with_a_harness_that_is_killed(
    tmp_path: Path, eventually: Eventually
) -> None:
    command = [sys.executable, "-c", HARNESS, str(tmp_path), WAITS]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "prepared\n"
        pid = pid_in(tmp_path)
        harness.kill()

    assert eventually(lambda: not lives(pid))
    assert eventually(lambda: entries(tmp_path) == [])
    assert "began with [" not in words(tmp_path)
