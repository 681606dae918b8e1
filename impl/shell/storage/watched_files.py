"""`Files` with disk faults, and a record of what has been flushed.

The faults are `disk.enospc`, `disk.eio` and `disk.slow`. The record serves faults that are injected
while the process is down: `.fault-control/synced` in the data folder holds the flushed length of
each segment file, `.fault-control/older/` older versions of checkpoints, written on request. The
broker never bases a decision on it.
"""

import errno
import os
import time
from collections import deque
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from fencepost.impl.shell.storage.checkpoints import OFFSETS_FILE
from fencepost.impl.shell.storage.files import File, Files, StorageError

RECORD_FOLDER = ".fault-control"
SYNCED_FILE = "synced"
OLDER_FOLDER = "older"
OLDER_KEPT = 4
"""Versions between the current checkpoint and the older one."""
_RECORDS = ".log"
"""Suffix of a segment file."""


class DiskState(StrEnum):
    """The state of the disk; "" is healthy."""

    WELL = ""
    FULL = "full"
    BROKEN = "broken"
    SLOW = "slow"


class WatchedFiles(Files):
    """`Files` that inject disk faults and record flushed lengths."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the data folder; it may be missing."""
        super().__init__()
        self._folder = folder
        self._versions: dict[Path, deque[bytes]] = {}
        """The last contents of each checkpoint, oldest first."""
        self._begun: set[File] = set()
        """Segment files in the record."""
        self._state = DiskState.WELL
        self._delay_ms = 0
        self.matched = 0
        """Number of calls that were refused or delayed."""

    @cached_property
    def _record(self) -> "SyncRecord":
        """Opened at first use, when the folder is locked; continues an earlier record."""
        return SyncRecord(self._folder)

    def set_state(self, state: DiskState, delay_ms: int = 0) -> None:
        """Set the state of the disk."""
        self._state, self._delay_ms = state, delay_ms

    def write(self, file: File, data: bytes, position: int) -> None:
        """As `Files.write`."""
        self._meet("write", file.path, grows=True)
        if file not in self._begun and file.path.suffix == _RECORDS:
            self._record.begin(file.path, position)
            self._begun.add(file)
        super().write(file, data, position)

    def read(self, file: File, count: int, position: int) -> bytes:
        """As `Files.read`."""
        self._meet("read", file.path)
        return super().read(file, count, position)

    def truncate(self, file: File, size: int) -> None:
        """As `Files.truncate`."""
        self._meet("cut", file.path)
        super().truncate(file, size)
        self._cut(file.path, size)

    def flush(self, file: File) -> None:
        """As `Files.flush`."""
        self._meet("flush", file.path)
        super().flush(file)
        if file.path.suffix == _RECORDS:
            self._record.note(file.path, file.path.stat().st_size)

    def make_folder(self, folder: Path, *, flush: bool) -> None:
        """As `Files.make_folder`."""
        self._meet("make", folder, grows=True)
        super().make_folder(folder, flush=flush)

    def rename(self, folder: Path, other: Path, *, flush: bool) -> bool:
        """As `Files.rename`."""
        self._record.forget(folder)
        self._forget_versions(folder)
        return super().rename(folder, other, flush=flush)

    def replace(self, path: Path, data: bytes, *, flush: bool) -> None:
        """As `Files.replace`."""
        super().replace(path, data, flush=flush)
        if path.suffix == _RECORDS:
            self._cut(path, len(data))
        elif path.name == OFFSETS_FILE:
            self._versions.setdefault(path, deque(maxlen=OLDER_KEPT + 1)).append(data)

    def remove(self, file: File) -> None:
        """As `Files.remove`."""
        super().remove(file)
        self._begun.discard(file)
        if file.path.suffix == _RECORDS:
            self._cut(file.path, 0)

    def close_all(self) -> None:
        """As `Files.close_all`."""
        super().close_all()
        self._record.close()

    def keep_older_files(self) -> int:
        """Write the oldest kept version of each checkpoint below `older/`; returns how many."""
        older = {path: kept[0] for path, kept in self._versions.items() if kept[0] != kept[-1]}
        for path, data in older.items():
            copy = self._older_copy(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
        return len(older)

    def _cut(self, path: Path, size: int) -> None:
        """Note the new length and drop older checkpoints, which may name truncated offsets."""
        self._record.cut(path, size)
        self._forget_versions(path.parent)

    def _forget_versions(self, folder: Path) -> None:
        path = folder / OFFSETS_FILE
        if self._versions.pop(path, None):
            self._older_copy(path).unlink(missing_ok=True)

    def _older_copy(self, path: Path) -> Path:
        older = self._folder / RECORD_FOLDER / OLDER_FOLDER
        return older / path.relative_to(self._folder)

    def _meet(self, what: str, path: Path, *, grows: bool = False) -> None:
        """Apply the current fault; raises `StorageError`."""
        if self._state is DiskState.WELL:
            return
        match self._state:
            case DiskState.FULL if grows:
                self._refuse(what, path, errno.ENOSPC)
            case DiskState.BROKEN:
                self._refuse(what, path, errno.EIO)
            case DiskState.SLOW if path.suffix == _RECORDS and what in ("write", "flush"):
                self.matched += 1
                time.sleep(self._delay_ms / 1000)

    def _refuse(self, what: str, path: Path, number: int) -> None:
        self.matched += 1
        raise StorageError(f"cannot {what} {path}: {os.strerror(number)}")


class SyncRecord:
    """The file `synced`: lines of length, tab, path in the data folder; the last per path counts.

    A line is written after the flush and before any acknowledgement, so that cutting each file to
    its length removes nothing that was acknowledged as flushed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / RECORD_FOLDER / SYNCED_FILE
        self._lengths: dict[Path, dict[str, int]] = {}
        """Flushed lengths by folder and file name."""
        known = read_synced(self._path)
        for name, length in known.items():
            path = folder / name
            self._lengths.setdefault(path.parent, {})[path.name] = length
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_suffix(".new")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(fresh, flags, 0o644)
            self._write(b"".join(_line(length, name) for name, length in known.items()))
            fresh.replace(self._path)
        except OSError as error:
            raise self._failure(error.strerror) from error

    def begin(self, path: Path, size: int) -> None:
        """Add a file that is about to grow; its current size counts as flushed if it is new."""
        if path.name not in self._lengths.get(path.parent, {}):
            self.note(path, size)

    def note(self, path: Path, length: int) -> None:
        """Record the flushed length of a file; raises `StorageError` when the disk is full."""
        lengths = self._lengths.setdefault(path.parent, {})
        if lengths.get(path.name) != length:
            self._write(_line(length, f"{path.parent.name}/{path.name}"))
            lengths[path.name] = length

    def cut(self, path: Path, size: int) -> None:
        """Lower the recorded length of a file to `size`."""
        if self._lengths.get(path.parent, {}).get(path.name, 0) > size:
            self.note(path, size)

    def forget(self, folder: Path) -> None:
        """Record length 0 for all files of a folder."""
        for name in self._lengths.get(folder, {}):
            self.note(folder / name, 0)

    def close(self) -> None:
        """The file is closed."""
        os.close(self._file)

    def _write(self, lines: bytes) -> None:
        """Append the lines, or nothing of them: a torn line would spoil the next one."""
        try:
            written = os.write(self._file, lines)
            if written != len(lines):
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
        except OSError as error:
            raise self._failure(error.strerror) from error
        if written != len(lines):
            raise self._failure(f"the disk took {written} of {len(lines)} bytes")

    def _failure(self, reason: str | None) -> StorageError:
        return StorageError(f"cannot write {self._path}, which faults on disks need: {reason}")


def read_synced(path: Path) -> dict[str, int]:
    """The flushed lengths by path in the data folder; empty without a record."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    rows = (line.split("\t", 1) for line in lines)
    return {name: int(length) for length, name in rows}


def _line(length: int, name: str) -> bytes:
    return f"{length}\t{name}\n".encode()
