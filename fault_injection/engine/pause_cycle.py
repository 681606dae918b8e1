"""A process that stands still and goes on, again and again.

One thread of its own alternates SIGSTOP and SIGCONT, since the engine looks too seldom for that.
That the process stood still is seen in `/proc` each time, before the time begins to count.
"""

import threading
import time

from fencepost.fault_injection.injectors.injection import TargetProcess
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.process_identity import PROC, read_stat

JOIN_S = 10.0
"""The thread ends after one more turn."""
TICKS_PER_S = 100
"""Of `/proc/<pid>/stat` (USER_HZ)."""


class PauseCycle:
    """From `start` to `stop` the process stands still for `stands_ms`, then runs for `runs_ms`."""

    def __init__(self, process: TargetProcess, stands_ms: int, runs_ms: int) -> None:
        self._process = process
        self._stands_s, self._runs_s = stands_ms / 1000, runs_ms / 1000
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._alternate, name="pause cycle", daemon=True)
        self.times = 0
        """How often it stood still."""
        self.stood_s = 0.0
        """How long in all."""
        self._started = time.monotonic()
        self._cpu_s = cpu_seconds(process.pid)

    def start(self) -> None:
        """It stands still for the first time; raises `ProcessError`."""
        self._process.pause()
        self._started = time.monotonic()
        self._cpu_s = cpu_seconds(self._process.pid)
        self._thread.start()

    def stop(self) -> None:
        """It runs for good; raises `ProcessError`, but not when it has ended."""
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join(JOIN_S)
        if self._process.is_running:
            self._process.resume()

    @property
    def duty(self) -> float:
        """The part of the time in which it stood still, so far."""
        return self.stood_s / max(time.monotonic() - self._started, 1e-9)

    @property
    def cpu_share(self) -> float:
        """Of one processor, what it used since the start; 0 when it is gone."""
        used_s = cpu_seconds(self._process.pid) - self._cpu_s
        return max(0.0, used_s) / max(time.monotonic() - self._started, 1e-9)

    def _alternate(self) -> None:
        try:
            while not self._is_over.is_set():
                begun = time.monotonic()
                self._is_over.wait(self._stands_s)
                self._process.go_on()
                self.stood_s += time.monotonic() - begun
                self.times += 1
                if not self._is_over.wait(self._runs_s):
                    self._process.stand()
        except ProcessError:
            if self._process.is_running:  # else another fault has killed it
                raise


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have used so far; 0 when it is gone."""
    stat = read_stat(PROC / str(pid))
    return stat.cpu_ticks / TICKS_PER_S if stat else 0.0
