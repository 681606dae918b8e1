"""Children that end with us: on request, when their time is up, and when we are killed.

Linux ends the child for us when its parent dies, however it dies; elsewhere only an orderly end of
ours reaches it.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Timer
from typing import TypeVar

T = TypeVar("T")

GUARD = """
import os, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Asks the kernel for SIGKILL (9) at the parent's death (PR_SET_PDEATHSIG, 1), looks whether that
was already, and becomes the command. A process of its own: a forked thread may not run Python."""


@dataclass(frozen=True, slots=True)
class StopSignal:
    """Ends the running children of one call, and keeps others from starting."""

    requested: Event = field(default_factory=Event)
    _children: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def request(self) -> None:
        """End what runs."""
        self.requested.set()
        with self._lock:
            for child in self._children:
                child.kill()

    @contextmanager
    def watching(self, child: subprocess.Popen[str]) -> Iterator[None]:
        """Within, `request` kills `child`; at the end it is dead and waited for."""
        with self._lock:
            self._children.add(child)
        if self.requested.is_set():
            child.kill()
        try:
            yield
        finally:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
            with self._lock:
                self._children.discard(child)


def start(command: Sequence[str], directory: Path) -> subprocess.Popen[str]:
    """Start `command` in `directory`; its output and complaints come as one stream of lines."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid()), *command],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


@contextmanager
def at_most_for(budget_s: float, child: subprocess.Popen[str], time_is_up: Event) -> Iterator[None]:
    """Within, `child` is killed after `budget_s`, and `time_is_up` tells of it."""

    def end() -> None:
        time_is_up.set()
        child.kill()

    timer = Timer(budget_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def ended_in(command: Sequence[str], directory: Path, budget_s: float) -> int | None:
    """The exit status of `command`, which runs in `directory`, at most for `budget_s`."""
    child = start(command, directory)
    with StopSignal().watching(child), at_most_for(budget_s, child, Event()):
        child.communicate()
        return child.returncode


def side_by_side(tasks: Iterable[Callable[[], T]], *, workers: int, stop: StopSignal) -> list[T]:
    """What the tasks return, in their order; whatever interrupts us ends all children of `stop`."""
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        try:
            running = [pool.submit(task) for task in tasks]
            return [one.result() for one in running]
        except BaseException:
            stop.request()
            pool.shutdown(cancel_futures=True)
            raise
