"""Reads what nodes add to their traces while they run; a line that is not whole yet waits."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from fencepost.spec.trace import HARNESS_TRACE, TRACES, TraceEvent, decode


class Traces(Protocol):
    """The trace events of a running cluster."""

    def skip(self) -> None:
        """Skip all events until now."""

    def events(self) -> Iterable[TraceEvent]:
        """The events that the nodes have added to their traces since the last call."""


class NoTraces:
    """No events, for a cluster without readable traces: actions can only begin by time."""

    def skip(self) -> None:
        """Nothing is there."""

    def events(self) -> Iterable[TraceEvent]:
        """Nothing is added."""
        return ()


@dataclass(slots=True)
class TraceTail:
    """The traces of one run's folder, from now on."""

    folder: Path
    has_phases: bool = False
    """With those of faults, which are read before what came of them."""
    _read: dict[Path, int] = field(init=False, default_factory=dict)
    """How many bytes of each file are read, up to the end of a line."""

    def skip(self) -> None:
        """Skip all events until now."""
        for path in self._files():
            self._read[path] = path.read_bytes().rfind(b"\n") + 1

    def events(self) -> list[TraceEvent]:
        """The events since the last call, file by file; lines that are no events are left out."""
        return [event for path in self._files() for event in self._added(path)]

    def _files(self) -> list[Path]:
        phases = self.folder / HARNESS_TRACE  # the engine hears of them without it
        others = sorted(path for path in self.folder.glob(TRACES) if path != phases)
        return [phases, *others] if self.has_phases else others

    def _added(self, path: Path) -> list[TraceEvent]:
        start = self._read.get(path, 0)
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
        end = text.rfind(b"\n") + 1
        self._read[path] = start + end
        return [event for line in text[:end].splitlines() if (event := _event(line)) is not None]


def _event(line: bytes) -> TraceEvent | None:
    try:
        return decode(line)
    except msgspec.MsgspecError:
        return None
