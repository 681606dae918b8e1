import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.managed_process import ManagedProcess, ProcessError
from fencepost.fault_injection.processes.process_identity import (
    ProcessStat,
    read_stat,
    thread_states,
)
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE, Supervisor
from tests.fault_injection.conftest import ROOT, SLEEP, Eventually, Sleeper

THREADS = """
import threading, time
for _ in range(8):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("up", flush=True)
while True:
    pass
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP
POLITE = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" + SLEEP
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
CLUSTER_UP = """
import sys
from pathlib import Path
from fencepost.fault_injection.processes.supervisor import Supervisor
with Supervisor(Path(sys.argv[1]), "run-detached", detached=True) as supervisor:
    for name in ("broker-1", "broker-2"):
        supervisor.start(name, [sys.executable, "-c", sys.argv[2]])
"""


def stat_of(pid: int | str) -> ProcessStat | None:
    return read_stat(Path(f"/proc/{pid}"))


def lives(pid: int | str) -> bool:
    stat = stat_of(pid)
    return stat is not None and not stat.is_dead


def open_kinds(directory: Path) -> list[str]:
    return [entry.kind for entry in Ledger(directory / LEDGER_FILE).open_entries()]


@pytest.fixture
def detached(tmp_path: Path) -> Iterator[Path]:
    """The directory of a supervisor that left two processes behind; they are ended afterwards."""
    directory = tmp_path / "cluster"
    command = [sys.executable, "-c", CLUSTER_UP, str(directory), SLEEP]
    subprocess.run(command, cwd=ROOT, check=True, timeout=30)
    yield directory
    Supervisor.adopt(directory).stop_all()


def test_a_process_leads_its_own_session_and_carries_the_run_id(supervisor: Supervisor) -> None:
    code = "import os; print(os.getsid(0) == os.getpgid(0) == os.getpid()); print(os.environ['X'])"
    code += "; print(os.environ['FENCEPOST_RUN_ID'])"
    process = supervisor.start("talker", [sys.executable, "-c", code], env={"X": "added"})

    assert process.wait(10) == 0
    assert process.log_tail() == "True\nadded\nrun-of-a-test"
    assert process.log == supervisor.directory / "talker.log"


def test_what_a_process_writes_to_stderr_is_in_its_log_and_the_tail_is_short(
    supervisor: Supervisor,
) -> None:
    code = "import sys; [print(n, file=sys.stderr) for n in range(50)]; sys.exit(3)"
    process = supervisor.start("failing", [sys.executable, "-c", code])

    assert process.wait(10) == 3
    assert process.log_tail(2) == "48\n49"


def test_signals_that_python_ignores_have_their_default_in_the_command(
    supervisor: Supervisor,
) -> None:
    process = supervisor.start("status", ["grep", "SigIgn", "/proc/self/status"])

    assert process.wait(10) == 0
    ignored = int(process.log_tail().split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


def test_a_paused_process_has_every_thread_stopped_until_it_is_resumed(sleeper: Sleeper) -> None:
    process = sleeper("threads", THREADS)
    assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 9

    process.pause()
    assert thread_states(process.pid) == {"T"}
    assert (process.is_paused, process.is_running) == (True, True)

    process.resume()
    assert "T" not in thread_states(process.pid)
    assert not process.is_paused


def test_a_pause_is_in_the_ledger_from_before_until_after(
    supervisor: Supervisor, sleeper: Sleeper
) -> None:
    process = sleeper()
    assert open_kinds(supervisor.directory) == ["process"]
    process.pause()
    process.pause()
    assert open_kinds(supervisor.directory) == ["process", "pause"]
    process.resume()
    assert open_kinds(supervisor.directory) == ["process"]
    process.kill()
    assert open_kinds(supervisor.directory) == []


def test_a_killed_process_is_dead_and_collected_at_return(sleeper: Sleeper) -> None:
    process = sleeper()

    assert process.kill() == -signal.SIGKILL
    assert stat_of(process.pid) is None
    assert not process.is_running
    assert process.kill() == -signal.SIGKILL


def test_what_a_process_started_itself_can_be_taken_over(
    supervisor: Supervisor, sleeper: Sleeper
) -> None:
    child = supervisor.take_over("child", int(sleeper("parent", PARENT).log_tail()), "parent")
    assert child.log_tail() == str(child.pid)
    child.pause()
    assert open_kinds(supervisor.directory) == ["process", "process", "pause"]

    child.kill()
    assert supervisor.processes["child"] is child
    assert not child.is_running
    assert open_kinds(supervisor.directory) == ["process"]


@pytest.mark.parametrize("pid", [os.getpid(), 1, 2**31 - 1], ids=["ours", "init", "none"])
def test_a_process_of_another_run_is_not_taken_over(
    supervisor: Supervisor, sleeper: Sleeper, pid: int
) -> None:
    sleeper("parent")
    with pytest.raises(ProcessError, match=f"pid {pid} is not broker-1: no process of this run"):
        supervisor.take_over("broker-1", pid, "parent")


def test_killing_a_process_ends_what_it_started_itself(
    sleeper: Sleeper, eventually: Eventually
) -> None:
    process = sleeper("parent", PARENT)
    child = int(process.log_tail())
    assert lives(child)

    process.kill()

    assert eventually(lambda: not lives(child))


def test_terminate_asks_first(sleeper: Sleeper) -> None:
    assert sleeper("polite", POLITE).terminate(10) == 7


def test_terminate_kills_who_does_not_listen(sleeper: Sleeper) -> None:
    assert sleeper("stubborn", STUBBORN).terminate(0.05) == -signal.SIGKILL


def test_a_paused_process_can_be_terminated(sleeper: Sleeper) -> None:
    process = sleeper("polite", POLITE)
    process.pause()

    assert process.terminate(10) == 7


def test_a_dead_process_cannot_be_paused_or_resumed(sleeper: Sleeper) -> None:
    process = sleeper()
    process.kill()

    with pytest.raises(ProcessError, match="sleeper cannot be paused: it is not running"):
        process.pause()
    with pytest.raises(ProcessError, match="sleeper cannot be resumed: it is not running"):
        process.resume()


def test_waiting_for_a_process_that_goes_on_is_an_error(sleeper: Sleeper) -> None:
    with pytest.raises(ProcessError, match=r"sleeper \(pid \d+\) still runs after 0.01 s"):
        sleeper().wait(0.01)


def test_a_name_is_taken_while_its_process_runs_and_free_afterwards(
    supervisor: Supervisor, sleeper: Sleeper
) -> None:
    first = sleeper()
    with pytest.raises(ProcessError, match="sleeper runs already, as pid"):
        supervisor.start("sleeper", ["true"])

    first.kill()
    second = supervisor.start("sleeper", ["true"])

    assert second.wait(10) == 0
    assert first.returncode == -signal.SIGKILL
    assert supervisor.processes["sleeper"] is second


def test_what_is_no_program_is_refused_in_one_sentence(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    with pytest.raises(ProcessError, match=r"x cannot start: .*nothing is not an executable"):
        supervisor.start("x", [tmp_path / "nothing"])
    assert open_kinds(supervisor.directory) == []


def test_a_process_outlives_the_thread_that_asked_for_it(
    supervisor: Supervisor, eventually: Eventually
) -> None:
    started = []
    command = [sys.executable, "-c", SLEEP]
    thread = threading.Thread(target=lambda: started.append(supervisor.start("s", command)))
    thread.start()
    thread.join()
    process = started[0]

    assert eventually(lambda: process.log_tail() == "up")
    assert not process.ended_within(0.1)


def test_closing_ends_running_and_stopped_processes_and_the_reaper(
    tmp_path: Path,
) -> None:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    others = set(children.read_text().split())
    supervisor = Supervisor(tmp_path, "run-to-close")
    running = supervisor.start("running", [sys.executable, "-c", SLEEP])
    stopped = supervisor.start("stopped", [sys.executable, "-c", SLEEP])
    stopped.pause()

    supervisor.close()
    supervisor.close()

    assert (running.returncode, stopped.returncode) == (-9, -9)
    assert open_kinds(tmp_path) == []
    assert not any(lives(pid) for pid in set(children.read_text().split()) - others)


def test_a_detached_process_survives_and_can_be_adopted(detached: Path) -> None:
    with Supervisor.adopt(detached) as adopted:
        assert adopted.run_id == "run-detached"
        assert sorted(adopted.processes) == ["broker-1", "broker-2"]
        assert all(process.is_running for process in adopted.processes.values())

    with Supervisor.adopt(detached) as again:
        processes = list(again.processes.values())
        again.stop_all(grace_s=5)
    assert [lives(process.pid) for process in processes] == [False, False]
    assert [process.returncode for process in processes] == [None, None]
    assert Supervisor.adopt(detached).processes == {}


def test_what_a_detached_supervisor_has_not_let_go_ends_with_it(
    tmp_path: Path, eventually: Eventually
) -> None:
    script = CLUSTER_UP + "    print(*(p.pid for p in supervisor.processes.values()), flush=True)\n"
    script += "    while True:\n        pass\n"
    command = [sys.executable, "-c", script, str(tmp_path), SLEEP]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        pids = harness.stdout.readline().split()
        harness.kill()

    assert len(pids) == 2
    assert eventually(lambda: not any(map(lives, pids)))


def test_a_detached_supervisor_that_ends_leaves_nothing(tmp_path: Path) -> None:
    with Supervisor(tmp_path, "run-detached", detached=True) as supervisor:
        pid = supervisor.start("broker-1", [sys.executable, "-c", SLEEP]).pid

        supervisor.end()

    assert not lives(pid)
    assert open_kinds(tmp_path) == []


def test_a_detached_supervisor_that_is_interrupted_while_it_lets_go_can_still_end_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = Supervisor(tmp_path, "run-detached", detached=True)
    pids = [supervisor.start(name, [sys.executable, "-c", SLEEP]).pid for name in ("a", "b")]
    with monkeypatch.context() as patch:
        patch.setattr(ManagedProcess, "release", lambda _: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            supervisor.close()
    assert all(map(lives, pids))

    supervisor.end()

    assert not any(map(lives, pids))
    assert open_kinds(tmp_path) == []


def test_a_signal_while_the_thread_that_forks_is_started_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def start_and_be_interrupted(thread: threading.Thread) -> None:
        start(thread)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", start_and_be_interrupted)
    supervisor = Supervisor(tmp_path, "run-interrupted", detached=True)

    with pytest.raises(KeyboardInterrupt):
        supervisor.start("broker-1", [sys.executable, "-c", SLEEP])
    supervisor.end()

    entry = Ledger(tmp_path / LEDGER_FILE).entries()[0]
    assert not lives(int(entry.fields["pid"]))
    assert open_kinds(tmp_path) == []


def test_a_pause_is_adopted_too(detached: Path) -> None:
    with Supervisor.adopt(detached) as first:
        first.processes["broker-1"].pause()
    assert open_kinds(detached) == ["process", "process", "pause"]

    with Supervisor.adopt(detached) as second:
        assert second.processes["broker-1"].is_paused
        second.processes["broker-1"].resume()
    assert open_kinds(detached) == ["process", "process"]


@pytest.mark.parametrize(
    ("field", "value"), [("start_time", 1), ("run_id", "run-of-another"), ("pid", 2**22 - 1)]
)
def test_a_process_that_does_not_match_its_entry_is_not_adopted(
    sleeper: Sleeper, tmp_path: Path, field: str, value: int | str
) -> None:
    process = sleeper()
    identity = process.identity
    fields: dict[str, str | int] = {
        "name": "stranger",
        "pid": identity.pid,
        "start_time": identity.start_time,
        "run_id": identity.run_id,
        "log": "x.log",
    }
    ledger = Ledger(tmp_path / LEDGER_FILE)
    ledger.open("process", **{**fields, field: value})

    with Supervisor.adopt(tmp_path) as adopted:
        assert adopted.processes == {}
        adopted.stop_all()

    assert process.is_running
    assert ledger.open_entries() == []


def test_adopting_where_nothing_was_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="holds no ledger of processes; nothing was started"):
        Supervisor.adopt(tmp_path / "nowhere")
