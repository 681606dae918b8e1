"""NDJSON to Parquet: one Spark task per trace file, parsed in the worker by `fencepost.spec.trace`.

Layout: `parquet/folder=<i>/bucket=<b>/<file>.parquet`, where `i` counts the trace folders in sorted
order. All events of one partition are in one bucket, so that its checks need no shuffle; events
about no partition (sessions, controllers, faults, the run itself) are in the bucket `shared`, which
every reader of the folder reads as well. They are few: their number does not grow with the records.
"""

import shutil
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.reports.tables.folders import PARQUET, TraceFolder
from fencepost.reports.tables.schema import (
    BUCKET,
    FOLDER,
    ArrowFunction,
    arrow_schema,
    from_table,
    to_table,
)
from fencepost.spec.trace import Kind, TraceEvent, TraceFile, parse_trace

SHARED = "shared"
"""The bucket of the events about no partition."""

BLOCK_BYTES = 16 << 20
"""A worker holds one block of a file in memory, never the file."""

BUCKET_BYTES = 16 << 20
BUCKETS_MAX = 256
LISTED_LINES = 10
"""Numbers of foreign lines that the report lists per file; all are counted."""


@dataclass(slots=True, kw_only=True)
class FileHealth:
    """What was read from one trace file, and what could not be."""

    folder: int
    file: str
    lines: int = 0
    events: int = 0
    torn_lines: int = 0
    foreign_lines: int = 0
    foreign_examples: list[int] = field(default_factory=list)
    """Line numbers, from 1, of the first foreign lines."""
    missing_lines: int = 0
    """Gaps in the sequence numbers of the file's nodes: events that were lost."""
    doubled_lines: int = 0
    """Numbers that do not grow: events that were there already, or are of another start."""
    run_ids: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    """The nodes that wrote the file's lines, ascending."""
    started: str | None = None
    """The `detail` of `RunStarted`, when this file holds it."""
    ended: bool = False
    """True when this file holds `RunEnded`."""
    first_ns: int | None = None
    last_ns: int | None = None


def bucket_count(folder: TraceFolder) -> int:
    """Enough buckets that each is read comfortably by one task; two at least, so both paths run."""
    return max(2, min(BUCKETS_MAX, -(-folder.size // BUCKET_BYTES)))


def bucket_of(event: TraceEvent, buckets: int) -> str:
    """Where `event` is stored: a number that depends on its partition alone, or `shared`."""
    partition = partition_of_event(event)
    return SHARED if partition is None else str(zlib.crc32(str(partition).encode()) % buckets)


def ingest(
    spark: SparkSession, run: Path, folders: tuple[TraceFolder, ...]
) -> tuple[FileHealth, ...]:
    """Every trace file of `run` is in Parquet, in place of what was there; says what was read."""
    tasks = [
        FileTask(folder=index, source=run / folder.name / file, buckets=bucket_count(folder))
        for index, folder in enumerate(folders)
        for file in folder.files
    ]
    target = run / PARQUET
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(
        _worker(tasks, target), "health string"
    )
    healths = [msgspec.json.decode(row.health, type=FileHealth) for row in rows.collect()]
    return tuple(sorted(healths, key=lambda health: (health.folder, health.file)))


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
    last_seq: dict[tuple[str, int], int] = {}
    with _Buckets(target / f"{FOLDER}={task.folder}", task.source.stem) as buckets:
        for block in _blocks(task.source):
            events = _read_block(block, health)
            _count(events, health, last_seq)
            buckets.write(events, task.buckets)
    return health


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks that end with a line, the last one excepted."""
    rest = b""
    with path.open("rb") as stream:
        while chunk := stream.read(BLOCK_BYTES):
            complete, newline, tail = (rest + chunk).rpartition(b"\n")
            rest = tail
            if newline:
                yield complete + newline
    if rest:
        yield rest


def _read_block(block: bytes, health: FileHealth) -> list[TraceEvent]:
    found = parse_trace(block)
    foreign = {health.lines + number for number in found.foreign_lines}
    events = _storable(found, health.lines, foreign)
    health.lines += block.count(b"\n") + found.torn_lines
    health.events += len(events)
    health.torn_lines += found.torn_lines
    health.foreign_lines += len(foreign)
    listed = health.foreign_examples + sorted(foreign)
    health.foreign_examples = listed[:LISTED_LINES]
    return events


def _storable(found: TraceFile, before: int, foreign: set[int]) -> list[TraceEvent]:
    """The events that fit the columns; the line of one with a number beyond 64 bits is foreign."""
    if _fits(found.events):
        return found.events
    total = len(found.events) + len(found.foreign_lines)
    numbers = [n for n in range(before + 1, before + total + 1) if n not in foreign]
    kept = []
    for number, event in zip(numbers, found.events, strict=True):
        if _fits([event]):
            kept.append(event)
        else:
            foreign.add(number)
    return kept


def _fits(events: list[TraceEvent]) -> bool:
    try:
        to_table(events)
    except (ValueError, OverflowError):
        return False
    return True


def _count(
    events: list[TraceEvent], health: FileHealth, last_seq: dict[tuple[str, int], int]
) -> None:
    run_ids, nodes = set(health.run_ids), set(health.nodes)
    for event in events:
        source = (event.node, event.incarnation)
        last = last_seq.get(source, -1)
        health.missing_lines += max(0, event.seq - last - 1)
        health.doubled_lines += event.seq <= last
        last_seq[source] = max(last, event.seq)
        run_ids.add(event.run_id)
        nodes.add(event.node)
        if event.kind is Kind.RUN:
            _note_run(event, health)
        if event.mono_ns > 0:
            health.first_ns = min(event.mono_ns, health.first_ns or event.mono_ns)
            health.last_ns = max(event.mono_ns, health.last_ns or event.mono_ns)
    health.run_ids, health.nodes = sorted(run_ids), sorted(nodes)


def _note_run(event: TraceEvent, health: FileHealth) -> None:
    if event.action == "RunStarted":
        health.started = event.detail or "{}"
    if event.action == "RunEnded":
        health.ended = True


class _Buckets:
    """Open Parquet files of one source file, one per bucket; closed when the block ends."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> "_Buckets":
        return self

    def __exit__(self, *_exception: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self, events: list[TraceEvent], buckets: int) -> None:
        by_bucket: dict[str, list[TraceEvent]] = {}
        for event in events:
            by_bucket.setdefault(bucket_of(event, buckets), []).append(event)
        for bucket, rows in sorted(by_bucket.items()):
            self._writer(bucket).write_table(to_table(rows))

    def _writer(self, bucket: str) -> pq.ParquetWriter:
        if bucket not in self._writers:
            path = self._folder / f"{BUCKET}={bucket}" / f"{self._stem}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writers[bucket] = pq.ParquetWriter(path, arrow_schema(), compression="zstd")
        return self._writers[bucket]


def read_bucket(
    target: Path, folder: int, bucket: str, actions: frozenset[str] | None = None
) -> list[TraceEvent]:
    """The events of one bucket, file by file, in the order of their lines.

    With `actions`, only events with one of these are read.
    """
    place = target / f"{FOLDER}={folder}" / f"{BUCKET}={bucket}"
    wanted = None if actions is None else pc.field("action").isin(sorted(actions))
    return [
        event
        for path in sorted(place.glob("*.parquet"))
        for event in from_table(pq.read_table(path, filters=wanted, partitioning=None))
    ]


def bucket_names(target: Path, folder: int) -> list[str]:
    """The buckets of one folder that hold anything, `shared` left out."""
    names = [
        path.name.partition("=")[2] for path in (target / f"{FOLDER}={folder}").glob("bucket=*")
    ]
    return sorted((name for name in names if name != SHARED), key=int)
