"""The undo file: what must be ended or healed if the harness is no longer there to do it.

One NDJSON line when a change is announced and one when it is undone, each on the disk before `open`
or `close` returns. Undo is written before do, so a line that a crash tore belongs to a change that
never happened. Standard library only: the reaper reads this.
"""

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Field = str | int | bool

OF_A_PROCESS: dict[str, type] = {
    "name": str,
    "pid": int,
    "start_time": int,
    "run_id": str,
    "log": str,
}
NEEDED: dict[str, dict[str, type]] = {
    "process": OF_A_PROCESS,
    "pause": OF_A_PROCESS,
    "container": {"name": str, "engine": str},
    "network": {"name": str, "engine": str},
    "engine_folder": {"folder": str},
}
"""Kind of an entry -> the fields that undoing it takes."""
PID_MAX = 2**22
"""The kernel has no larger one (`man proc_sys_kernel`, pid_max)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change; `kind` tells how to undo it and `fields` hold all that this takes."""

    number: int
    kind: str
    fields: dict[str, Field] = field(default_factory=dict)


class Ledger:
    """An append-only file of entries. Threads may share one; processes take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._last_number = max((entry.number for entry in self.entries()), default=0)

    def open(self, kind: str, **fields: Field) -> int:
        """Announce what is about to be done; its entry number. On disk at return."""
        with self._lock:
            self._last_number += 1
            self._append({"open": self._last_number, "kind": kind, "fields": fields})
            return self._last_number

    def close(self, entry: int) -> None:
        """Record that it is undone. On disk at return."""
        with self._lock:
            self._append({"close": entry})

    def entries(self) -> list[Entry]:
        """All entries ever opened, oldest first."""
        return [_entry(line) for line in self._lines() if "open" in line]

    def open_entries(self) -> list[Entry]:
        """The entries that are not closed, oldest first."""
        closed = {line["close"] for line in self._lines() if "close" in line}
        return [entry for entry in self.entries() if entry.number not in closed]

    def foreign_lines(self) -> int:
        """How many lines are passed over: a crash tore them, or no ledger has written them."""
        return sum(_parsed(text) is None for text in self._texts())

    def _append(self, line: dict[str, object]) -> None:
        is_new = not self.path.exists()
        lead = b"" if is_new or self._ends_with_newline() else b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, lead + json.dumps(line).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            _fsync_directory(self.path.parent)

    def _ends_with_newline(self) -> bool:
        """False after a torn line, which must not swallow the next one."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return file.read(1) in (b"\n", b"")

    def _lines(self) -> Iterator[dict[str, object]]:
        for text in self._texts():
            line = _parsed(text)
            if line is not None:
                yield line

    def _texts(self) -> list[bytes]:
        if not self.path.exists():
            return []
        return [text for text in self.path.read_bytes().split(b"\n") if text]


def _parsed(text: bytes) -> dict[str, object] | None:
    """The line; None for what no ledger has written: it is left alone, as a torn line is."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and _is_sound(line) else None


def _is_sound(line: dict[str, object]) -> bool:
    if "close" in line:
        return isinstance(line["close"], int)
    fields, kind = line.get("fields"), line.get("kind")
    if not isinstance(line.get("open"), int) or not isinstance(fields, dict):
        return False
    return isinstance(kind, str) and _is_whole(kind, fields)


def _is_whole(kind: str, fields: dict[str, object]) -> bool:
    """True when it holds all that undoing it takes."""
    needed = NEEDED.get(kind, {})
    if any(type(fields.get(name)) is not wanted for name, wanted in needed.items()):
        return False
    pid = fields["pid"] if "pid" in needed else 1
    return isinstance(pid, int) and 0 < pid <= PID_MAX


def _entry(line: dict[str, object]) -> Entry:
    number, kind, fields = line["open"], line["kind"], line["fields"]
    assert isinstance(number, int)
    assert isinstance(kind, str)
    assert isinstance(fields, dict)
    return Entry(number=number, kind=kind, fields=fields)


def _fsync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
