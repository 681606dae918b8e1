"""The parts of partitions with too many lines: each is seen by a Spark task, then all are judged.

What the tasks deal out is in a folder beside the Parquet, until all is judged.
"""

import pickle
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from fencepost.conformance.checks.registry import RUN_STARTED
from fencepost.reports.hot.judge import HotFound, RunFacts, conclude, judge_partition, see_part
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS
from fencepost.reports.spark.executors import rows_of_tasks
from fencepost.reports.tables.buckets import read_shared
from fencepost.reports.tables.pieces import Shares, StoredPieces, is_large, shares_of
from fencepost.reports.tables.schema import ArrowFunction
from fencepost.spec.znodes import TopicPartition

SeenParts = tuple[tuple[TopicPartition, tuple[bytes, ...]], ...]
"""Partitions, and what `see_part` says of each part of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdedBucket:
    """A bucket, and what was seen of its partitions that are too long for a task."""

    target: Path
    folder: int
    name: str
    span_ns: tuple[int, int]
    """First and last `mono_ns` of the folder."""
    most: int
    """So many lines are held by a task."""
    seen: SeenParts | None = None
    """None: nothing was seen yet."""

    @property
    def run(self) -> RunFacts:
        """Of the folder."""
        shared = read_shared(self.target, self.folder)
        begun = tuple(event for event in shared if event.action in RUN_STARTED)
        return RunFacts(begun, self.folder, self.span_ns)

    @property
    def is_large(self) -> bool:
        """Whether any may be too long for a task."""
        return is_large(self.target, self.folder, self.name, self.most)

    def shares(self) -> Shares:
        """How it is dealt out."""
        return shares_of(self.target, self.folder, self.name, self.most)

    def pieces(self, partition: TopicPartition) -> StoredPieces:
        """The lines of one of them."""
        return StoredPieces(self.target, self.folder, self.name, KERNEL_COLUMNS, partition)

    def parts(self) -> Iterator[tuple[TopicPartition, str]]:
        """Each of them with the name of each of its parts."""
        for partition in self.shares().crowded:
            for name in self.pieces(partition).nodes:
                yield partition, name

    def found(self) -> Iterator[tuple[TopicPartition, HotFound | None]]:
        """What is found of each of them; see `conclude`."""
        unseen = (
            [(partition, None) for partition in self.shares().crowded] if self.seen is None else ()
        )
        crowded = [*unseen, *(self.seen or ())]
        if not crowded:
            return
        run = self.run
        with TemporaryDirectory() as folder:
            for number, (partition, parts) in enumerate(crowded):
                pieces, scratch = self.pieces(partition), Path(folder, str(number))
                if parts is None:
                    yield partition, judge_partition(pieces, run, scratch)
                else:
                    yield partition, conclude(pieces, run, scratch, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One Spark task."""

    bucket: CrowdedBucket
    partition: TopicPartition
    name: str

    def see(self, scratch: Path) -> bytes:
        pieces = self.bucket.pieces(self.partition)
        return see_part(pieces, self.name, self.bucket.run, scratch / token_hex(8))


@contextmanager
def scratch_beside(target: Path) -> Iterator[Path]:
    """A folder that all executors see, until the block ends."""
    scratch = target / f"_pieces-{token_hex(8)}"
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def seen_parts(
    spark: SparkSession, buckets: Sequence[CrowdedBucket], scratch: Path
) -> Iterator[SeenParts]:
    """Of each bucket what was seen of its partitions that are too long."""
    parts = _crowded_parts(spark, [bucket for bucket in buckets if bucket.is_large])
    found = _seen_all(spark, parts, scratch) if parts else {}
    for bucket in buckets:
        own: dict[TopicPartition, list[bytes]] = {}
        for part, seen in found.items():
            if part.bucket == bucket:
                own.setdefault(part.partition, []).append(seen)
        yield tuple((partition, tuple(seen)) for partition, seen in own.items())


def _crowded_parts(spark: SparkSession, buckets: list[CrowdedBucket]) -> list[_Part]:
    """Looked for by tasks: a large run has ten thousand files."""
    if not buckets:
        return []
    worker = _looking(buckets)
    found = rows_of_tasks(
        spark, len(buckets), worker, "place long, parts binary", folder=buckets[0].target
    )
    by_place = {row.place: bytes(row.parts) for row in found}
    return [
        _Part(bucket=bucket, partition=partition, name=name)
        for place, bucket in enumerate(buckets)
        for partition, name in pickle.loads(by_place[place])  # noqa: S301 - of our own tasks
    ]


def _looking(buckets: list[CrowdedBucket]) -> ArrowFunction:
    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = batch.column(0).to_pylist()
            parts = [pickle.dumps(list(buckets[place].parts())) for place in places]
            yield pa.RecordBatch.from_pydict({"place": places, "parts": parts})

    return look


def _seen_all(spark: SparkSession, parts: list[_Part], scratch: Path) -> dict[_Part, bytes]:
    target = parts[0].bucket.target
    worker = _worker(parts, scratch)
    rows = rows_of_tasks(spark, len(parts), worker, "place long, seen binary", folder=target)
    by_place = {row.place: bytes(row.seen) for row in rows}
    return {part: by_place[place] for place, part in enumerate(parts)}


def _worker(parts: list[_Part], scratch: Path) -> ArrowFunction:
    def see(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = batch.column(0).to_pylist()
            seen = [parts[place].see(scratch) for place in places]
            yield pa.RecordBatch.from_pydict({"place": places, "seen": seen})

    return see
