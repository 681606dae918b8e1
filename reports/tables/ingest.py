"""NDJSON to Parquet: one Spark task per trace file, which its worker parses straight to columns.

Nothing is dropped silently: a line that is no event is counted, and kept with its file and number
in `_foreign/`. What the columns were made of is in `_sources.json`, which is written last.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from fencepost.reports.tables.blocks import TraceBlocks
from fencepost.reports.tables.buckets import BucketWriter
from fencepost.reports.tables.folders import PARQUET, TraceFolder
from fencepost.reports.tables.health import FileHealth, HealthCount
from fencepost.reports.tables.lines import ReadLines, read_lines
from fencepost.reports.tables.schema import FOLDER, ArrowFunction
from fencepost.reports.tables.sources import (
    StoredTables,
    forget_tables,
    stamps_of,
    stored_tables,
)

BUCKET_BYTES = 64 << 20
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
    tasks = [
        FileTask(folder=index, source=run / folder.name / file, buckets=bucket_count(folder))
        for index, folder in enumerate(folders)
        for file in folder.files
    ]
    forget_tables(target)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    stamps = stamps_of(run, folders)
    rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(
        _worker(tasks, target), "health string"
    )
    healths = [msgspec.json.decode(row.health, type=FileHealth) for row in rows.collect()]
    health = tuple(sorted(healths, key=lambda health: (health.folder, health.file)))
    tables = StoredTables(folders=folders, stamps=stamps, health=health)
    tables.save(target)
    return health


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One Spark task: one trace file into the buckets of its folder."""

    folder: int
    source: Path
    buckets: int


def _worker(tasks: list[FileTask], target: Path) -> ArrowFunction:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [convert_file(tasks[index], target) for index in batch.column(0).to_pylist()]
            texts = [msgspec.json.encode(health).decode() for health in found]
            yield pa.RecordBatch.from_pydict({"health": texts})

    return read


def convert_file(task: FileTask, target: Path) -> FileHealth:
    """Write the events of one file into their buckets below `target` and count its lines."""
    health = FileHealth(folder=task.folder, file=task.source.name)
    counts = HealthCount(health)
    blocks = TraceBlocks(task.source)
    place = target / f"{FOLDER}={task.folder}"
    _foreign_of(task, target).unlink(missing_ok=True)  # of a try that a lost worker began
    with BucketWriter(place, task.source.stem, task.buckets) as buckets:
        for block in blocks:
            read = read_lines(block)
            _keep_foreign(read, task, target, before=health.lines)
            counts.lines(read)
            for table in read.tables:
                counts.events(table)
                buckets.write(table)
    health.digest = blocks.digest
    return health


def _keep_foreign(read: ReadLines, task: FileTask, target: Path, *, before: int) -> None:
    lines = [(before + line.number, line.text) for line in read.foreign]
    if read.torn:
        lines.append((before + read.lines, read.torn))
    if not lines:
        return
    path = _foreign_of(task, target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        for number, text in lines:
            told = text[:KEPT_CHARACTERS].decode(errors="backslashreplace")
            kept = {"file": task.source.name, "line": number, "bytes": len(text), "text": told}
            stream.write(msgspec.json.encode(kept) + b"\n")


def _foreign_of(task: FileTask, target: Path) -> Path:
    return target / FOREIGN / f"{FOLDER}={task.folder}" / f"{task.source.stem}.jsonl"
