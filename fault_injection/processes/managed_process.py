"""One process of a run, as its supervisor has it: pidfd, signals, log, and its ledger entries."""

import os
import signal
import threading
import time
from pathlib import Path

from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.process_identity import (
    ProcessIdentity,
    kill_session,
    send_signal,
    thread_states,
    wait_for_exit,
)

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

    def outlive(self) -> None:
        """Let it survive the harness, and record that in the ledger."""
        with self._lock:
            if self.is_running:
                doomed = self._entries["process"]
                kept = self._ledger.open("process", **fields_of(self), survives=True)
                self._ledger.close(doomed)
                self.note("process", kept)

    def pause(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """Stop every thread of it (SIGSTOP); raises `ProcessError` when it is dead or does not."""
        with self._lock:
            self.expect_stop()
            self.stand(deadline_s)

    def expect_stop(self) -> None:
        """Record how a stop is undone, for it may stop itself from now on, until `resume`."""
        with self._lock:
            if self.is_running and "pause" not in self._entries:
                self.note("pause", self._ledger.open("pause", **fields_of(self)))

    def stand(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """As `pause`, when its undo is in the ledger already."""
        with self._lock:
            if not self.is_running:  # and the ledger has forgotten it
                raise ProcessError(f"{self.name} cannot be paused: it is not running")
            assert "pause" in self._entries, f"{self.name} stands still before the ledger says so"
            self._signal(signal.SIGSTOP)
            self._await_threads(stopped=True, deadline_s=deadline_s)

    def go_on(self, deadline_s: float = KILL_DEADLINE_S) -> None:
        """As `resume`, but the ledger keeps its entry, for it will be stopped again."""
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
        """Send SIGTERM and do not wait; a stopped process gets it when it is resumed."""
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
        """Close its pidfd without touching the process; the object must not be used afterwards."""
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


def fields_of(process: ManagedProcess) -> dict[str, str | int | bool]:
    """The fields of its entry in the ledger."""
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
