"""The undo file: what must be ended or healed if the harness is no longer there to do it.

One NDJSON line when a deed is announced and one when it is undone, each on the disk before `open`
or `close` returns. Undo is written before do, so a line that a crash tore belongs to a deed that
never happened. Standard library only: the reaper reads this.
"""

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Field = str | int | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One deed; `kind` tells how to undo it and `fields` hold all that this takes."""

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
        """Announce a deed; its entry number. On disk at return."""
        with self._lock:
            self._last_number += 1
            self._append({"open": self._last_number, "kind": kind, "fields": fields})
            return self._last_number

    def close(self, entry: int) -> None:
        """Record that the deed is undone. On disk at return."""
        with self._lock:
            self._append({"close": entry})

    def entries(self) -> list[Entry]:
        """All entries ever opened, oldest first."""
        return [_entry(line) for line in self._lines() if "open" in line]

    def open_entries(self) -> list[Entry]:
        """The entries that nobody closed, oldest first."""
        closed = {line["close"] for line in self._lines() if "close" in line}
        return [entry for entry in self.entries() if entry.number not in closed]

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
        if not self.path.exists():
            return
        for text in self.path.read_bytes().split(b"\n"):
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


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
