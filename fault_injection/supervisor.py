"""Starts the processes of a run and answers for them: what it started ends with it.

Three nets, each for the hole in the one before: closing kills what runs; the kernel kills a child
whose harness dies (`launch`); the reaper kills by the ledger what slipped through both.
Every process is the leader of its own session and carries the run id in its environment.
A successor may be made ready before its time: it waits at its pipe until it is started.
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from fault_injection import launch
from fault_injection.launch import GO_OPTION
from fault_injection.ledger import Entry, Ledger
from fault_injection.process_identity import (
    TAG,
    ProcessIdentity,
    identify,
    kill_session,
    open_process,
    send_signal,
    thread_states,
    wait_for_exit,
)
from fault_injection.spawning import GO, GO_FD, Task, spawn

LEDGER_FILE = "ledger.ndjson"
KILL_DEADLINE_S = 5.0
"""A killed process that is not gone by then hangs in the kernel."""
POLL_S = 0.001
_LOG_TAIL_BYTES = 65536


class ProcessError(RuntimeError):
    """A process did not do what it was told to; the message is one sentence with its name."""


class ManagedProcess:
    """One process of a run. Made by `Supervisor` only; methods may be called from any thread."""

    def __init__(
        self, name: str, identity: ProcessIdentity, pidfd: int, *, log: Path, ledger: Ledger
    ) -> None:
        self.name = name
        self.log = log
        self.identity = identity
        self.returncode: int | None = None
        """Once dead: the exit status, negative for a signal; None for an adopted process."""
        self._pidfd = pidfd
        self._ended = False
        self._ledger = ledger
        self._entries: dict[str, int] = {}
        self._lock = threading.RLock()

    @property
    def pid(self) -> int:
        """Its process id; also that of its session and process group."""
        return self.identity.pid

    @property
    def is_running(self) -> bool:
        """True until it has ended; a stopped process counts as running, a zombie does not."""
        return not self.ended_within(0.0)

    @property
    def is_paused(self) -> bool:
        """True when every one of its threads is stopped."""
        return self.is_running and thread_states(self.pid) == {"T"}

    def note(self, kind: str, entry: int) -> None:
        """Let ledger entry `entry` be closed when the process ends (or is resumed)."""
        self._entries[kind] = entry

    def pause(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """Stop every thread of it (SIGSTOP); raises `ProcessError` when it is dead or does not."""
        with self._lock:
            self.expect_stop()
            self.stand(deadline_s)

    def expect_stop(self) -> None:
        """It may stop itself from now on: the ledger knows how that is undone, until `resume`."""
        with self._lock:
            if self.is_running and "pause" not in self._entries:
                self.note("pause", self._ledger.open("pause", **_fields(self)))

    def stand(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """As `pause`, for who has paused it before: the ledger knows already how it is undone."""
        with self._lock:
            if not self.is_running:  # and the ledger has forgotten it
                raise ProcessError(f"{self.name} cannot be paused: it is not running")
            assert "pause" in self._entries, f"{self.name} stands still before the ledger says so"
            self._signal(signal.SIGSTOP)
            self._await_threads(stopped=True, deadline_s=deadline_s)

    def go_on(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """As `resume`, but it will stand still again: the ledger keeps its entry."""
        with self._lock:
            self._signal(signal.SIGCONT)
            self._await_threads(stopped=False, deadline_s=deadline_s)

    def resume(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """Let it run again (SIGCONT); raises `ProcessError` when it is dead or stays stopped."""
        with self._lock:
            if not self.is_running:
                raise ProcessError(f"{self.name} cannot be resumed: it is not running")
            self.go_on(deadline_s)
            self._close_entry("pause")

    def kill(self) -> int | None:
        """End it at once (SIGKILL), with what it started itself; its return code."""
        self._signal(signal.SIGKILL)
        return self.wait(KILL_DEADLINE_S)

    def ask_to_end(self) -> None:
        """Tell it to end (SIGTERM), and do not wait; a stopped process hears of it later."""
        self._signal(signal.SIGTERM)

    def terminate(self, grace_s: float) -> int | None:
        """Ask it to end (SIGTERM), kill it after `grace_s`; its return code."""
        self.ask_to_end()
        self._signal(signal.SIGCONT)  # a stopped process would sleep through the question
        return self.returncode if self.ended_within(grace_s) else self.kill()

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; its return code. Raises `ProcessError` when it still runs then."""
        if not self.ended_within(timeout_s):
            raise ProcessError(f"{self.name} (pid {self.pid}) still runs after {timeout_s:g} s")
        return self.returncode

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of its output, across restarts under the same name."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def release(self) -> None:
        """Let go of it without touching it; nothing may be asked of this object afterwards."""
        with self._lock:
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if not self._ended:
                send_signal(self._pidfd, number)

    def ended_within(self, timeout_s: float) -> bool:
        """True as soon as it has ended, False when it still runs after `timeout_s`."""
        if not self._ended and wait_for_exit(self._pidfd, timeout_s):
            self._bury()
        return self._ended

    def _bury(self) -> None:
        """Collect the dead process; its session first, while its pid is still taken."""
        with self._lock:
            if self._ended:
                return
            kill_session(self.identity)
            self.returncode = _collect(self.pid)
            for kind in list(self._entries):
                self._close_entry(kind)
            self._ended = True

    def _close_entry(self, kind: str) -> None:
        if kind in self._entries:
            self._ledger.close(self._entries.pop(kind))

    def _await_threads(self, *, stopped: bool, deadline_s: float) -> None:
        deadline = time.monotonic() + deadline_s
        while (states := thread_states(self.pid)) and not _is_settled(states, stopped=stopped):
            if self.ended_within(POLL_S):
                break
            if time.monotonic() > deadline:
                wanted = "stop" if stopped else "run again"
                raise ProcessError(f"{self.name} did not {wanted} within {deadline_s:g} s")
        if not self.is_running:
            raise ProcessError(f"{self.name} ended while it was being paused or resumed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Successor:
    """A process that waits for its time, and our end of its pipe."""

    task: Task
    process: ManagedProcess
    go: int

    def tell(self, rest: tuple[str, ...]) -> bool:
        """It knows the rest of its command line; False when it is not there any more."""
        try:
            os.write(self.go, json.dumps(rest).encode() + b"\n")
        except BrokenPipeError:
            return False
        return True

    def dismiss(self) -> None:
        """It has ended, without having done anything."""
        self.process.kill()
        self.process.release()
        os.close(self.go)


class Supervisor:
    """Owns the processes of one run; close it, or use it as a context manager.

    `directory` gets the logs and the ledger. With `detached`, processes survive this one: `adopt`
    finds them again from `directory`, and `stop_all` ends them.
    """

    def __init__(self, directory: Path, run_id: str, *, detached: bool = False) -> None:
        self.directory = directory
        self.run_id = run_id
        self.processes: dict[str, ManagedProcess] = {}
        """By name, the last one started under it."""
        directory.mkdir(parents=True, exist_ok=True)
        self._ledger = Ledger(directory / LEDGER_FILE)
        self._detached = detached
        self._closed = False
        self._successors: dict[str, _Successor] = {}
        self._reaper: tuple[int, int] | None = None  # its pid, our end of the pipe
        # PDEATHSIG follows the thread that forks, so all forks happen in one that stays.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")

    @classmethod
    def adopt(cls, directory: Path) -> Self:
        """Take over what a detached supervisor of `directory` left running.

        Only processes whose pid, start time and run tag match its ledger; the dead are struck off.
        Raises `ProcessError` when there is no ledger.
        """
        ledger = Ledger(directory / LEDGER_FILE)
        entries = ledger.entries()
        if not entries:
            raise ProcessError(f"{directory} holds no ledger of processes; nothing was started")
        supervisor = cls(directory, str(entries[-1].fields.get("run_id", "")), detached=True)
        for entry in ledger.open_entries():
            supervisor._adopt_entry(entry)
        return supervisor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def ledger(self) -> Ledger:
        """Of the run; its reaper reads it."""
        return self._ledger

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        namespace: Path | None = None,
    ) -> ManagedProcess:
        """Run `argv` under `name`; output goes to `log`, `<directory>/<name>.log` by default.

        `env` adds to our own environment; `namespace` is a network to be in. Raises
        `ProcessError` when a process of this name runs or `argv[0]` is no program; a command that
        starts and fails shows in `is_running` and its log.
        """
        if name in self.processes and self.processes[name].is_running:
            raise ProcessError(f"{name} runs already, as pid {self.processes[name].pid}")
        task = self._task(name, argv, env, (log, namespace))
        return self._spawner.submit(self._start, task).result()

    def prepare(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        namespace: Path | None = None,
    ) -> None:
        """A process of `argv` is there, and does nothing until `start` of what begins with `argv`.

        The command must know `--go-fd N`, which ends its command line: it gets ready, and reads the
        rest of its command line there, a JSON list in one line; when there is none it ends.
        Until then it has no name: one that runs under it goes on. Raises as `start`.
        """
        task = self._task(name, argv, env, (log, namespace))
        self._spawner.submit(self._prepare, task).result()

    def watch(self) -> None:
        """The reaper is there, for entries of the ledger that are no processes."""
        self._spawner.submit(self._watch).result()

    def stop_all(self, grace_s: float = 0.0) -> None:
        """End every process, the stopped ones too; with `grace_s`, ask them first."""
        self._dismiss_all()
        running = [process for process in self.processes.values() if process.is_running]
        for process in reversed(running):
            if grace_s > 0:
                process.terminate(grace_s)
            else:
                process.kill()

    def close(self) -> None:
        """End every process, or let go of them when detached; once closed, stays closed."""
        self._spawner.shutdown()
        self._dismiss_all()
        if not self._detached and not self._closed:
            self.stop_all()
        self._closed = True
        for process in self.processes.values():
            process.release()
        self._dismiss_reaper()

    def _task(
        self,
        name: str,
        argv: Sequence[str | Path],
        env: Mapping[str, str] | None,
        places: tuple[Path | None, Path | None],
    ) -> Task:
        """`places` are the log, and the network to be in."""
        program = shutil.which(argv[0])
        if program is None:
            raise ProcessError(f"{name} cannot start: {argv[0]} is not an executable program")
        log, namespace = places
        network = [] if namespace is None else ["--net", str(namespace)]
        return Task(
            name=name,
            command=(*network, "--", program, *map(str, argv[1:])),
            environment={**os.environ, **(env or {}), TAG: self.run_id},
            log=log or self.directory / f"{name}.log",
        )

    def _prepare(self, task: Task) -> None:
        before = self._successors.get(task.name)
        if before is not None:
            if before.task == task and before.process.is_running:
                return
            self._dismiss(task.name)
        process, go = self._spawned(task, [GO_OPTION, str(GO_FD)])
        self._successors[task.name] = _Successor(task=task, process=process, go=go)
        os.write(go, GO)

    def _start(self, task: Task) -> ManagedProcess:
        process = self._succeeding(task)
        if process is not None:
            self._name(process)
            return process
        process, go = self._spawned(task)
        try:
            self._name(process)
            os.write(go, GO)
        finally:
            os.close(go)
        return process

    def _name(self, process: ManagedProcess) -> None:
        if process.name in self.processes:
            self.processes[process.name].release()
        self.processes[process.name] = process

    def _succeeding(self, task: Task) -> ManagedProcess | None:
        """Who was ready for it and has been told to begin; None when there is nobody."""
        successor = self._successors.get(task.name)
        if successor is None:
            return None
        rest = task.rest_after(successor.task)
        has_begun = rest is not None and successor.tell(rest)
        del self._successors[task.name]
        if has_begun:
            os.close(successor.go)
            return successor.process
        successor.dismiss()
        return None

    def _dismiss_all(self) -> None:
        for name in list(self._successors):
            self._dismiss(name)

    def _dismiss(self, name: str) -> None:
        self._successors.pop(name).dismiss()

    def _spawned(self, task: Task, extra: Sequence[str] = ()) -> tuple[ManagedProcess, int]:
        """A process that waits for the word to go, and our end of its pipe.

        The ledger has it already: undo is written before do.
        """
        self._watch()
        parent = [] if self._detached else ["--parent", str(os.getpid())]
        launcher = [sys.executable, "-I", "-S", launch.__file__, *parent]
        launcher += [GO_OPTION, str(GO_FD), *task.command, *extra]
        pid, go = spawn(launcher, task.environment, task.log)
        try:
            pidfd = os.pidfd_open(pid)
            identity = identify(pid, self.run_id)
            process = ManagedProcess(task.name, identity, pidfd, log=task.log, ledger=self._ledger)
            fields = {**_fields(process), "survives": self._detached}
            process.note("process", self._ledger.open("process", **fields))
        except BaseException:
            os.close(go)
            raise
        return process, go

    def _watch(self) -> None:
        if self._reaper is None:
            self._reaper = _start_reaper(self._ledger.path)

    def _adopt_entry(self, entry: Entry) -> None:
        if entry.kind not in {"process", "pause"}:
            return
        name, pid = str(entry.fields["name"]), int(entry.fields["pid"])
        if name in self.processes and self.processes[name].pid == pid:
            self.processes[name].note(entry.kind, entry.number)
            return
        identity = ProcessIdentity(
            pid=pid,
            start_time=int(entry.fields["start_time"]),
            run_id=str(entry.fields["run_id"]),
        )
        pidfd = open_process(identity)
        if pidfd is None:
            self._ledger.close(entry.number)
            return
        log = Path(str(entry.fields["log"]))
        process = ManagedProcess(name, identity, pidfd, log=log, ledger=self._ledger)
        process.note(entry.kind, entry.number)
        self.processes[name] = process

    def _dismiss_reaper(self) -> None:
        if self._reaper is None:
            return
        pid, pipe = self._reaper
        self._reaper = None
        with suppress(BrokenPipeError):  # it may have been ended by somebody else
            os.write(pipe, b"d")
        os.close(pipe)
        os.waitpid(pid, 0)


def _fields(process: ManagedProcess) -> dict[str, str | int | bool]:
    identity = process.identity
    return {
        "name": process.name,
        "pid": identity.pid,
        "start_time": identity.start_time,
        "run_id": identity.run_id,
        "log": str(process.log.absolute()),
    }


def _is_settled(states: set[str], *, stopped: bool) -> bool:
    return states == {"T"} if stopped else "T" not in states


def _collect(pid: int) -> int | None:
    """The return code of a dead child; None when it is not our child."""
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status)


def _start_reaper(ledger: Path) -> tuple[int, int]:
    """A reaper of `ledger`: its pid, and the pipe that it watches."""
    rooms = str(Path(launch.__file__).parent.parent)
    environment = {key: value for key, value in os.environ.items() if key != TAG}
    argv = [sys.executable, "-S", "-m", "fault_injection.reaper", "--pipe", str(GO_FD)]
    argv += ["--harness", str(os.getpid()), str(ledger.absolute())]
    return spawn(argv, {**environment, "PYTHONPATH": rooms}, ledger.with_name("reaper.log"))
