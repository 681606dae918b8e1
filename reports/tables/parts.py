"""Parts of trace files in Parquet: each is written by one task, whole when its note is there.

A note is `_parts/folder=<i>/<stem>.json`. An ingest that was ended in the middle goes on with the
parts that have none; after a file has changed, only its own parts are made again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fencepost.reports.tables.blocks import parts_of
from fencepost.reports.tables.buckets import stem_of_part
from fencepost.reports.tables.health import PartHealth
from fencepost.reports.tables.schema import FOLDER, column_types
from fencepost.reports.tables.sources import LAYOUT, FileStamp, stamp_of

PARTS = "_parts"
"""Notes, and the foreign lines of each part; Spark skips this folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One Spark task: a trace file, or a part of it, into the buckets of its folder."""

    folder: int
    source: Path
    buckets: int
    part: int = 0
    parts: int = 1
    stamp: FileStamp | None = None

    @property
    def stem(self) -> str:
        """Of the files that are made of it."""
        stem = self.source.stem
        return stem if self.parts == 1 else f"{stem}~{self.part:05}"

    def split(self) -> list["FileTask"]:
        """A task for each part of the file as it is now."""
        stamp = stamp_of(self.source)
        parts = parts_of(stamp.size)
        return [replace(self, part=part, parts=parts, stamp=stamp) for part in range(parts)]

    def note(self, target: Path) -> Path:
        """Where it is noted that the part is whole."""
        return target / PARTS / f"{FOLDER}={self.folder}" / f"{self.stem}.json"

    def foreign(self, target: Path) -> Path:
        """Where its lines that are no events are kept, numbered from the part's beginning."""
        return self.note(target).with_suffix(".jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartNote:
    """What one part was made of, and how; then what was read."""

    source: str
    stamp: FileStamp | None
    buckets: int
    part: int
    layout: int
    columns: tuple[str, ...]
    health: PartHealth


def save_note(task: FileTask, health: PartHealth, target: Path) -> None:
    """From now on the part is whole."""
    note, path = _note_of(task, health), task.note(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_bytes(msgspec.json.encode(note))
    draft.replace(path)


def whole_part(task: FileTask, target: Path) -> PartHealth | None:
    """What was read of a part that is whole, and of the file as the task has it; else None."""
    try:
        note = msgspec.json.decode(task.note(target).read_bytes(), type=PartNote)
    except (OSError, msgspec.MsgspecError):
        return None
    return note.health if note == _note_of(task, note.health) else None


def _note_of(task: FileTask, health: PartHealth) -> PartNote:
    return PartNote(
        source=str(task.source),
        stamp=task.stamp,
        buckets=task.buckets,
        part=task.part,
        layout=LAYOUT,
        columns=tuple(column_types()),
        health=health,
    )


def sweep(target: Path, whole: Iterable[FileTask]) -> None:
    """Nothing is below `target` but what these parts have made."""
    kept = {(f"{FOLDER}={task.folder}", task.stem) for task in whole}
    for path in sorted(target.rglob("*")):
        folder = next((part for part in path.parts if part.startswith(f"{FOLDER}=")), "")
        if path.is_file() and (folder, stem_of_part(path)) not in kept:
            path.unlink()
