"""Starts the processes of a run and ends them: none outlives its supervisor.

Three measures, each for what the one before misses: closing kills what runs; the kernel kills
a child when its harness dies (`launch`); the reaper kills by the ledger what is left then.
Every process is the leader of its own session and carries the run id in its environment.
A successor may be made ready before its time: it waits at its pipe until it is started.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from fencepost.fault_injection.processes import launch
from fencepost.fault_injection.processes.launch import GO_OPTION
from fencepost.fault_injection.processes.ledger import Entry, Ledger
from fencepost.fault_injection.processes.managed_process import (
    ManagedProcess,
    ProcessError,
    fields_of,
)
from fencepost.fault_injection.processes.process_identity import (
    TAG,
    ProcessIdentity,
    identify,
    open_process,
)
from fencepost.fault_injection.processes.signal_delay import handlers_wait
from fencepost.fault_injection.processes.spawning import (
    GO,
    GO_AND_WAIT,
    GO_FD,
    MODULE_ENVIRONMENT,
    Task,
    is_empty,
    python_module,
    spawn,
)

LEDGER_FILE = "ledger.ndjson"
REAPER = "fencepost.fault_injection.processes.reaper"

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Successor:
    """A process that waits for its time, and our end of its pipe."""

    task: Task
    process: ManagedProcess
    go: int

    def tell(self, rest: tuple[str, ...]) -> bool:
        """Send it the rest of its command line; False when it has ended."""
        try:
            os.write(self.go, json.dumps(rest).encode() + b"\n")
        except BrokenPipeError:
            return False
        return True

    def dismiss(self) -> None:
        """Kill it; it has done nothing yet."""
        self.process.kill()
        self.process.release()
        os.close(self.go)


class Supervisor:
    """Owns the processes of one run; close it, or use it as a context manager.

    `directory` gets the logs and the ledger. With `detached`, processes stay when this one is
    closed: `adopt` finds them again from `directory`, and `stop_all` ends them. Until then they are
    only ours, and end with us.
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
        self._started: set[str] = set()
        """The names under which processes are our own, and not adopted."""
        self._successors: dict[str, _Successor] = {}
        self._reaper: tuple[int, int] | None = None  # its pid, our end of the pipe
        # PDEATHSIG follows the thread that forks, so all forks happen in one that stays.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")

    @classmethod
    def adopt(cls, directory: Path) -> Self:
        """Take over what a detached supervisor of `directory` left running.

        Only processes with the pid, start time and run tag of its ledger; the dead are struck off.
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

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ledger(self) -> Ledger:
        """The ledger of the run, which its reaper reads."""
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
        return self._in_spawner(lambda: self._start(task))

    def take_over(self, name: str, pid: int, parent: str) -> ManagedProcess:
        """Own a process that `parent` has started, with its output; `ProcessError` for others."""
        stranger = ProcessError(f"pid {pid} is not {name}: no process of this run has that pid")
        try:
            identity = identify(pid, self.run_id)
        except ProcessLookupError as gone:
            raise stranger from gone
        pidfd = open_process(identity)
        if pidfd is None:
            raise stranger
        log = self.processes[parent].log
        process = ManagedProcess(name, identity, pidfd, log=log, ledger=self._ledger)
        process.note("process", self._ledger.open("process", **fields_of(process)))
        self._name(process)
        return process

    def prepare(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        namespace: Path | None = None,
    ) -> None:
        """Start a process of `argv` that waits until `start` of a command that begins with `argv`.

        The command must know `--go-fd N`, which ends its command line: it gets ready, and reads the
        rest of its command line there, a JSON list in one line; when there is none it ends.
        Until then it has no name: a process that runs under `name` goes on. Raises as `start`.
        """
        task = self._task(name, argv, env, (log, namespace))
        self._in_spawner(lambda: self._prepare(task))

    def is_ready(self, name: str) -> bool:
        """False while a prepared process of this name is still loading what it needs."""
        successor = self._successors.get(name)
        return successor is None or not successor.process.is_running or is_empty(successor.go)

    def watch(self) -> None:
        """Start the reaper, for entries of the ledger that are no processes."""
        self._in_spawner(self._watch)

    def stop_all(self, grace_s: float = 0.0) -> None:
        """End every process, the stopped ones too; with `grace_s`, ask them first."""
        self._dismiss_all()
        running = [process for process in self.processes.values() if process.is_running]
        for process in reversed(running):
            if grace_s > 0:
                process.terminate(grace_s)
            else:
                process.kill()

    def end(self) -> None:
        """Close, and end the processes of a detached supervisor too, also after `close`."""
        self._detached = False
        was_let_go = self._closed and self._started
        self.close()
        if was_let_go:
            with Supervisor.adopt(self.directory) as left:
                left.stop_all()

    def close(self) -> None:
        """End every process, or let go of them when detached; once closed, stays closed."""
        self._spawner.shutdown()
        self._dismiss_all()
        if not self._closed and self._detached:
            self._let_go()
        elif not self._closed:
            self.stop_all()
        self._closed = True
        for process in self.processes.values():
            process.release()
        self._dismiss_reaper()

    def _in_spawner(self, work: Callable[[], Result]) -> Result:
        """The result of `work`. A signal may come while it runs: `close` waits for its end.

        Not while its thread is being started, though, for the executor does not know of it yet.
        """
        with handlers_wait():
            submitted = self._spawner.submit(work)
        return submitted.result()

    def _let_go(self) -> None:
        """Let the processes that were started here survive; adopted ones do already."""
        for name in sorted(self._started):
            self.processes[name].outlive()

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
        os.write(go, GO_AND_WAIT)

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
        self._started.add(process.name)

    def _succeeding(self, task: Task) -> ManagedProcess | None:
        """Let the prepared process begin and return it; None when there is none."""
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
        """A process that waits for the byte to go, and our end of its pipe.

        It is in the ledger already: undo is written before do.
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
            process.note("process", self._ledger.open("process", **fields_of(process)))
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
        with suppress(BrokenPipeError):  # it may have been ended by another process
            os.write(pipe, b"d")
        os.close(pipe)
        os.waitpid(pid, 0)


def _start_reaper(ledger: Path) -> tuple[int, int]:
    """A reaper of `ledger`: its pid, and the pipe that it watches."""
    environment = {key: value for key, value in os.environ.items() if key != TAG}
    options = ("--pipe", str(GO_FD), "--harness", str(os.getpid()))
    argv = python_module(REAPER, *options, ledger.absolute())
    return spawn(argv, {**environment, **MODULE_ENVIRONMENT}, ledger.with_name("reaper.log"))
