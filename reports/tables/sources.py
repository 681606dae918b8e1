"""`_sources.json`: what the Parquet of a run was made of, so that it is made once.

It is written after all else: a folder without it is not whole, and is made again.
"""

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fencepost.reports.tables.blocks import TraceBlocks, digest_of, parts_of
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.folders import SOURCES, TraceFolder
from fencepost.reports.tables.health import FileHealth
from fencepost.reports.tables.schema import column_types

LAYOUT = 6
"""Of folders, files and their order; raised when a reader of before would be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """What tells of a file, without reading it, that it is still the same."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTables:
    """What one Parquet folder holds."""

    folders: tuple[TraceFolder, ...]
    stamps: dict[str, FileStamp]
    """By path inside the run."""
    health: tuple[FileHealth, ...]
    layout: int = LAYOUT
    columns: tuple[str, ...] = tuple(column_types())

    def save(self, target: Path) -> None:
        """Write it below `target`, as a whole or not at all."""
        draft = target / f"{SOURCES}.draft"
        draft.write_bytes(msgspec.json.encode(self))
        draft.replace(target / SOURCES)

    def are_of(self, run: Path, folders: tuple[TraceFolder, ...]) -> bool:
        """True when the files of these folders are those that were read, by size, time or digest.

        A file that was only copied or touched is read once for its digest.
        """
        if self.folders != folders or not self.is_readable:
            return False
        now = stamps_of(run, folders)
        digests = {
            file_path(self.folders[file.folder], file.file): file.digest for file in self.health
        }
        return all(
            stamp == self.stamps.get(path) or _digest(run / path) == digests.get(path)
            for path, stamp in now.items()
        )

    @property
    def is_readable(self) -> bool:
        """False of what another version has written."""
        return (self.layout, self.columns) == (LAYOUT, tuple(column_types()))


def file_path(folder: TraceFolder, file: str) -> str:
    """Of a trace file, inside its run."""
    return f"{folder.name}/{file}"


def stamps_of(run: Path, folders: tuple[TraceFolder, ...]) -> dict[str, FileStamp]:
    """Of all trace files."""
    paths = [file_path(folder, file) for folder in folders for file in folder.files]
    return {path: stamp_of(run / path) for path in paths}


def stamp_of(path: Path) -> FileStamp:
    """Of a file as it is now."""
    found = path.stat()
    return FileStamp(size=found.st_size, mtime_ns=found.st_mtime_ns)


def _digest(path: Path) -> str:
    blocks = [TraceBlocks(path, part) for part in range(parts_of(path.stat().st_size))]
    for block in blocks:
        deque(block, maxlen=0)
    return digest_of([block.digest for block in blocks])


def stored_tables(target: Path) -> StoredTables | None:
    """What `target` holds; None when it is no whole Parquet folder of ours."""
    try:
        return msgspec.json.decode((target / SOURCES).read_bytes(), type=StoredTables)
    except (OSError, msgspec.MsgspecError):
        return None


def tables_to_start_from(folder: Path) -> StoredTables | None:
    """What a Parquet folder holds that a report is asked for; None of any other folder.

    Raises `ReportError` when another version has written it.
    """
    if not (folder / SOURCES).exists():
        return None
    stored = stored_tables(folder)
    if stored is None or not stored.is_readable:
        raise ReportError(
            f"{folder} was written by another version of Fencepost",
            "name the run folder, and its traces are read again",
        )
    return stored


def forget_tables(target: Path) -> None:
    """From now on, what is in `target` is not whole."""
    (target / SOURCES).unlink(missing_ok=True)
