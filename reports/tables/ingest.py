"""NDJSON to Parquet: one Spark task per trace file, or part of a large one, parsed to columns.

Nothing is dropped silently: a line that is no event is counted, and kept with its file and number
in `_foreign/`. What the columns were made of is in `_sources.json`, which is written last.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from fencepost.reports.spark.executors import rows_of_tasks
from fencepost.reports.tables.blocks import TraceBlocks
from fencepost.reports.tables.buckets import BucketWriter, write_common_metadata
from fencepost.reports.tables.folders import PARQUET, TraceFolder
from fencepost.reports.tables.health import FileHealth, HealthCount, PartHealth, whole_file
from fencepost.reports.tables.lines import ReadLines, SeenColumns, read_lines
from fencepost.reports.tables.parts import FileTask, save_note, sweep, whole_part
from fencepost.reports.tables.schema import FOLDER, ArrowFunction
from fencepost.reports.tables.sources import (
    StoredTables,
    forget_tables,
    stamps_of,
    stored_tables,
)

BUCKET_BYTES = 256 << 20
BUCKETS_MAX = 256
FOREIGN = "_foreign"
"""Where the lines that are no events are kept, one JSON object each; Spark skips this folder."""
KEPT_CHARACTERS = 10_000
"""Of one such line."""


def bucket_count(folder: TraceFolder) -> int:
    """Enough buckets that each is read comfortably by one task; two at least, so both paths run."""
    return max(2, min(BUCKETS_MAX, -(-folder.size // BUCKET_BYTES)))


def ingest(
    spark: SparkSession, run: Path, folders: tuple[TraceFolder, ...]
) -> tuple[FileHealth, ...]:
    """Every trace file of `run` is in Parquet; says what was read.

    Parquet that was made of the same files is used again, any other is replaced.
    """
    target = run / PARQUET
    kept = stored_tables(target)
    if kept is not None and kept.are_of(run, folders):
        return kept.health
    forget_tables(target)
    target.mkdir(exist_ok=True)
    stamps = stamps_of(run, folders)
    files = [file.split() for file in _files(run, folders)]
    tasks = [task for parts in files for task in parts]
    found = {task: part for task in tasks if (part := whole_part(task, target)) is not None}
    sweep(target, found)
    found |= _convert_all(spark, [task for task in tasks if task not in found], target)
    health = tuple(_together(parts, [found[task] for task in parts], target) for parts in files)
    write_common_metadata(target)
    StoredTables(folders=folders, stamps=stamps, health=health).save(target)
    return health


def _files(run: Path, folders: Sequence[TraceFolder]) -> list[FileTask]:
    """One for each trace file, by folder and name."""
    return [
        FileTask(folder=index, source=run / folder.name / file, buckets=bucket_count(folder))
        for index, folder in enumerate(folders)
        for file in folder.files
    ]


def _convert_all(
    spark: SparkSession, tasks: list[FileTask], target: Path
) -> dict[FileTask, PartHealth]:
    if not tasks:
        return {}
    rows = rows_of_tasks(
        spark, len(tasks), _worker(tasks, target), "place long, health string", folder=target
    )
    return {tasks[row.place]: msgspec.json.decode(row.health, type=PartHealth) for row in rows}


def _worker(tasks: list[FileTask], target: Path) -> ArrowFunction:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = batch.column(0).to_pylist()
            found = [convert_part(tasks[place], target) for place in places]
            texts = [msgspec.json.encode(health).decode() for health in found]
            yield pa.RecordBatch.from_pydict({"place": places, "health": texts})

    return read


def convert_file(task: FileTask, target: Path) -> FileHealth:
    """Write the events of one file into their buckets below `target` and count its lines."""
    parts = task.split()
    return _together(parts, [convert_part(part, target) for part in parts], target)


def convert_part(task: FileTask, target: Path) -> PartHealth:
    """Write the events of one part into their buckets below `target` and count its lines."""
    health = FileHealth(folder=task.folder, file=task.source.name)
    counts = HealthCount(health)
    blocks, seen = TraceBlocks(task.source, task.part), SeenColumns()
    place = target / f"{FOLDER}={task.folder}"
    task.foreign(target).unlink(missing_ok=True)  # of a try that a lost worker began
    with BucketWriter(place, task.stem, task.buckets) as buckets:
        for block in blocks:
            read = read_lines(block, seen)
            _keep_foreign(read, task, target, before=health.lines)
            counts.lines(read)
            for table in read.tables:
                counts.events(table)
                buckets.write(table)
    health.digest = blocks.digest
    found = PartHealth(part=task.part, health=health, numbers=counts.numbers)
    save_note(task, found, target)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Foreign:
    """A line that is no event, as it is kept."""

    file: str
    line: int
    bytes: int
    text: str


def _keep_foreign(read: ReadLines, task: FileTask, target: Path, *, before: int) -> None:
    lines = [(before + line.number, line.text) for line in read.foreign]
    if read.torn:
        lines.append((before + read.lines, read.torn))
    if not lines:
        return
    path = task.foreign(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        for number, text in lines:
            told = text[:KEPT_CHARACTERS].decode(errors="backslashreplace")
            kept = _Foreign(file=task.source.name, line=number, bytes=len(text), text=told)
            stream.write(msgspec.json.encode(kept) + b"\n")


def _together(tasks: list[FileTask], parts: list[PartHealth], target: Path) -> FileHealth:
    """What was read of a whole file; its foreign lines have the numbers of the file."""
    before = 0
    path = target / FOREIGN / f"{FOLDER}={tasks[0].folder}" / f"{tasks[0].source.stem}.jsonl"
    path.unlink(missing_ok=True)
    for task, part in zip(tasks, parts, strict=True):
        if part.health.foreign_lines or part.health.torn_lines:
            _append_foreign(task.foreign(target), path, before)
        before += part.health.lines
    return whole_file(parts)


def _append_foreign(of_part: Path, path: Path, before: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with of_part.open("rb") as source, path.open("ab") as stream:
        for line in source:
            kept = msgspec.json.decode(line, type=_Foreign)
            numbered = replace(kept, line=before + kept.line)
            stream.write(msgspec.json.encode(numbered) + b"\n")
