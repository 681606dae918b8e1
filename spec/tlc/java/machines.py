"""The Javas of one call: each checks one model at a time, and is used again for the next."""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Self

from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.java.installation import Tlc
from fencepost.spec.tlc.java.machine import Machine
from fencepost.spec.tlc.java.process import StopSignal

_Kind = tuple[Tlc, int, bool]
_Idle = tuple[Machine, ExitStack]


class Machines:
    """Started as they are needed, and ended with the call; safe to use from several threads."""

    def __init__(self, stop: StopSignal | None = None) -> None:
        self.stop = stop or StopSignal()
        self._idle: dict[_Kind, list[_Idle]] = defaultdict(list)
        self._lock = Lock()

    @contextmanager
    def one(self, tlc: Tlc, *, heap_mb: int, is_short: bool) -> Iterator[Machine]:
        """A machine with an empty folder, for one run."""
        kind = (tlc, heap_mb, is_short)
        machine, life = self._taken(kind) or self._started(kind)
        try:
            _empty(machine.folder)
            yield machine
        finally:
            if machine.is_spent or machine.time_is_up.is_set():
                life.close()
            else:
                with self._lock:
                    self._idle[kind].append((machine, life))

    def close(self) -> None:
        """End those that are idle."""
        with self._lock:
            lives = [life for idle in self._idle.values() for _, life in idle]
            self._idle.clear()
        for life in lives:
            life.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _taken(self, kind: _Kind) -> _Idle | None:
        with self._lock:
            idle = self._idle[kind]
            return idle.pop() if idle else None

    def _started(self, kind: _Kind) -> _Idle:
        tlc, heap_mb, is_short = kind
        with ExitStack() as opening:
            scratch = opening.enter_context(scratch_folder("tlc"))
            folder = scratch / "run"
            folder.mkdir()
            command = tlc.java_command(folder, heap_mb=heap_mb, is_short=is_short)
            machine = Machine.started(command, folder, is_reusable=tlc.is_reusable)
            opening.enter_context(self.stop.watching(machine.child))
            opening.callback(machine.close)
            return machine, opening.pop_all()


def given_or_own(machines: Machines | None) -> AbstractContextManager[Machines]:
    """Those that a caller shares between calls, or such that end with this one."""
    return nullcontext(machines) if machines else Machines()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
