"""The Parquet of a run: `folder=<i>/bucket=<b>/<file>.parquet`, written and read here alone.

Lines of actions that are few are in `<file>-few.parquet`, so that checks of these read no records.

All events of one partition are in one bucket, so that its checks need no shuffle; events about no
partition (sessions, controllers, faults, the run itself) are in the bucket `shared`, which every
reader of the folder reads as well. They are few: their number does not grow with the records.
The rows of such a file are sorted by partition; those of one partition, and of `shared`, keep the
order of their lines, which is `(incarnation, seq)` in what a node wrote. A part of a trace with
more rows than are sorted together has files with `~run<n>` behind their stems, in that order.

A file has only those columns in which any of its rows has something: the others would cost two
thirds of the time to write. `_common_metadata` names all, for readers that know no schema.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.reports.tables.schema import (
    BUCKET,
    ENCODED,
    FOLDER,
    encoded,
    from_table,
    stored_schema,
    told_columns,
)
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition, partition_of

SHARED = "shared"
"""The bucket of the events about no partition."""

BULK = frozenset(
    {
        "Produce",
        "Fetch",
        "ListOffsets",
        Action.LEADER_APPEND,
        Action.FOLLOWER_APPEND,
        Action.ADVANCE_HIGH_WATERMARK,
        Action.SERVE_FETCH,
    }
)
"""Lines as many as records; those of any other action are few."""

FEW = "-few"
"""Ends the stem of a file with lines that are few."""

RUN = "~run"
"""Begins what tells the second run of rows of a part from the first, and so on."""

BUCKETS = b"buckets"
"""In the metadata of a file: how many buckets its folder has."""

RUN_ROWS = 2_000_000
"""A worker holds so many rows in memory, and sorts them; some 250 bytes each, for a while twice."""

PIECE_ROWS = 100_000
"""Lines of a piece, or the records that they name where these are more."""

NEAR = 8
"""A span of numbers so many times as long as their list is cheaper to mark than to sort."""

_NO_ROWS = stored_schema().empty_table()
_ALWAYS = ["run_id", "node", "incarnation", "seq", "mono_ns", "kind", "action"]
"""Columns in which each row has something."""
OF_PARTITION = ["topic", "partition", "path"]
_SURE = "seq"
"""The cheapest of them: with it a table has rows, whatever other columns a file has."""
Codes = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
IsWanted = Callable[[TopicPartition | None], bool]


class SplitRows(NamedTuple):
    """The rows of one bucket."""

    few: pa.Table
    """Those of actions that are few, with all columns that have anything."""
    bulk: pa.Table
    """All others, with those of the columns that were asked for."""
    rest: Callable[[NDArray[np.bool_]], pa.Table]
    """Of those of all others that are asked for, the columns that `bulk` lacks."""


def bucket_of(event: TraceEvent, buckets: int) -> str:
    """Where `event` is stored: a number that depends on its partition alone, or `shared`."""
    partition = partition_of_event(event)
    return SHARED if partition is None else str(bucket_of_partition(partition, buckets))


def bucket_of_partition(partition: TopicPartition, buckets: int) -> int:
    """From 0; the same on every machine."""
    return zlib.crc32(str(partition).encode()) % buckets


class BucketWriter:
    """Writes the Parquet files of one source file, one per bucket; all when the block has ended."""

    def __init__(self, folder: Path, stem: str, buckets: int) -> None:
        self._folder = folder
        self._stem = stem
        self._buckets = buckets
        self._held: list[pa.Table] = []
        self._runs = 0

    def __enter__(self) -> "BucketWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        if kind is None:
            self._write_held()

    def write(self, rows: pa.Table) -> None:
        """Take rows of `arrow_schema()`; they are written when there are many."""
        self._held.append(encoded(rows))
        if sum(table.num_rows for table in self._held) >= RUN_ROWS:
            self._write_held()

    def _write_held(self) -> None:
        """Each row is copied once, to its place: pages of memory are dearer than the sort."""
        if not self._held:
            return
        held = pa.concat_tables(self._held, promote_options="default").unify_dictionaries()
        self._held = []
        files, places = _places(held, self._buckets)
        order = np.argsort(places, kind="stable")
        rows, files = held.take(pa.array(order)), files[order]
        bounds = np.flatnonzero(np.diff(files, prepend=-1, append=-1))
        for start, end in pairwise(bounds.tolist()):
            self._write_file(told_columns(rows.slice(start, end - start)), int(files[start]))
        self._runs += 1

    def _write_file(self, rows: pa.Table, file: int) -> None:
        is_few, number = divmod(file, self._buckets + 1)
        bucket, suffix = str(number - 1) if number else SHARED, FEW if is_few else ""
        run = f"{RUN}{self._runs:05}" if self._runs else ""
        path = self._folder / f"{BUCKET}={bucket}" / f"{self._stem}{run}{suffix}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(
            path,
            rows.schema,
            compression="zstd",
            use_dictionary=[name for name in rows.column_names if name in ENCODED],
            column_encoding={
                field.name: "DELTA_BINARY_PACKED"
                for field in rows.schema
                if field.type == pa.int64()
            },
        ) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata({BUCKETS: str(self._buckets)})


def stem_of_part(path: Path) -> str:
    """Of the part that a file was made of."""
    return path.stem.removesuffix(FEW).partition(RUN)[0]


def write_common_metadata(target: Path) -> None:
    """Tell readers that know no schema which columns the files below `target` may have."""
    pq.write_metadata(stored_schema(), target / "_common_metadata")


def completed(rows: pa.Table, names: Iterable[str]) -> pa.Table:
    """These columns of `stored_schema()`, whether the rows have anything in them or not.

    Those with nothing share their memory, by type.
    """
    schema = pa.schema([stored_schema().field(name) for name in names])
    there = set(rows.column_names)
    lacking = {field.type for field in schema if field.name not in there}
    nothing = {kind: pa.nulls(rows.num_rows, kind) for kind in lacking}
    columns = [
        rows.column(field.name) if field.name in there else nothing[field.type] for field in schema
    ]
    return pa.table(columns, schema=schema)


def _places(rows: pa.Table, buckets: int) -> tuple[Codes, Codes]:
    """The file of each row, by number, and the rank of its file and partition among those of all.

    First those of what is many, then of what is few; in either `shared`, then all buckets.
    """
    codes, partitions = partition_codes(rows)
    numbers = [
        0 if partition is None else 1 + bucket_of_partition(partition, buckets)
        for partition in partitions
    ]
    ordered = sorted(
        range(len(partitions)), key=lambda code: (numbers[code], partitions[code] or ("", 0))
    )
    ranks = np.empty(len(ordered), np.int64)
    ranks[ordered] = np.arange(len(ordered))
    actions, names = word_codes(rows, "action")
    is_few = np.isin(actions, [code for code, name in enumerate(names) if name not in BULK])
    rank = ranks[codes] + is_few * len(ordered)
    is_short = 2 * len(ordered) < 1 << 16
    files = np.array(numbers)[codes] + is_few * (buckets + 1)
    return files, rank.astype(np.uint16) if is_short else rank  # sorts by radix


def partition_codes(rows: pa.Table) -> tuple[Codes, list[TopicPartition | None]]:
    """The partition of each row, as an index of the list that comes second.

    As `partition_of_event` says it: by topic and number, else by the path of a znode.
    """
    topics, topic_names = word_codes(rows, "topic")
    numbers, partition_numbers = word_codes(rows, "partition")
    paths, path_names = word_codes(rows, "path")
    is_named = (topics >= 0) & (numbers >= 0)
    named = topics * len(partition_numbers) + numbers
    mixed = np.where(is_named, named, -2 - paths)
    codes = ranks(mixed)
    distinct = np.empty(int(codes.max(initial=-1)) + 1, np.int64)
    distinct[codes] = mixed
    found: dict[TopicPartition | None, int] = {}
    places = [
        found.setdefault(_partition(code, topic_names, partition_numbers, path_names), len(found))
        for code in distinct.tolist()
    ]
    return np.array(places, np.int64)[codes], list(found)


def ranks(numbers: Codes) -> Codes:
    """The rank of each number among the different ones, from 0; without a sort if they are near."""
    low = int(numbers.min(initial=0))
    span = int(numbers.max(initial=0)) - low + 1
    if span > NEAR * len(numbers):
        return np.unique(numbers, return_inverse=True)[1]
    if span == 1:
        return np.zeros(len(numbers), np.int64)
    numbers = numbers - low if low else numbers
    there = np.zeros(span, np.bool_)
    there[numbers] = True
    return numbers if there.all() else (np.cumsum(there) - 1)[numbers]


def _partition(
    code: int, topics: list[str], numbers: list[int], paths: list[str]
) -> TopicPartition | None:
    if code >= 0:
        topic, number = divmod(code, len(numbers))
        return TopicPartition(topics[topic], numbers[number])
    path = -2 - code
    return partition_of(paths[path]) if path >= 0 else None


def word_codes(rows: pa.Table, name: str) -> tuple[Codes, list[Any]]:
    """Each value as an index of the list that comes second; -1 for null."""
    if name not in rows.column_names:
        return np.full(rows.num_rows, -1), []
    column = rows.column(name).combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), column.dictionary.to_pylist()


def read_bucket(
    target: Path,
    folder: int,
    bucket: str,
    actions: frozenset[str] | None = None,
    partition: TopicPartition | None = None,
) -> list[TraceEvent]:
    """The events of one bucket, file by file; of each partition in the order of their lines.

    With `actions`, only events with one of these are read; with `partition`, only those about it.
    """
    only_few = actions is not None and not actions & BULK
    paths = _files(target, folder, bucket, f"*{FEW}.parquet" if only_few else "*.parquet")
    every = stored_schema().names
    rows = [_wanted(_read(path, every), actions, partition) for path in paths]
    return from_table(_joined([table for table in rows if table.num_rows]))


def _wanted(
    rows: pa.Table, actions: frozenset[str] | None, partition: TopicPartition | None
) -> pa.Table:
    """The rows with one of these actions that are about this partition."""
    if actions is not None:
        rows = rows.filter(pc.is_in(rows.column("action"), pa.array(sorted(actions))))
    if partition is not None:
        codes, names = partition_codes(rows)
        own = [code for code, name in enumerate(names) if name == partition]
        rows = rows.filter(pa.array(np.isin(codes, own)))
    return rows


def read_shared(target: Path, folder: int) -> tuple[TraceEvent, ...]:
    """The events of the bucket `shared`; read once by a process that asks for them again."""
    files = ((path, path.stat()) for path in _files(target, folder, SHARED, "*.parquet"))
    stamps = tuple((path, found.st_mtime_ns, found.st_size) for path, found in files)
    return _read_shared(target, folder, stamps)


@lru_cache(maxsize=1)
def _read_shared(
    target: Path, folder: int, _stamps: tuple[tuple[Path, int, int], ...]
) -> tuple[TraceEvent, ...]:
    return tuple(read_bucket(target, folder, SHARED))


def read_split(
    target: Path,
    folder: int,
    bucket: str,
    names: frozenset[str],
    only: frozenset[TopicPartition] | None = None,
) -> SplitRows:
    """The rows of a bucket, of all partitions or these; of what is many these columns at first."""
    few, bulk = split_files(target, folder, bucket)
    is_wanted = None if only is None else only.__contains__
    tables, kept = [], []
    for path in bulk:
        table, own = _read_wanted(path, sorted(names), is_wanted)
        tables.append(table)
        kept.append((path, own))
    left = [name for name in stored_schema().names if name not in names]
    rest = partial(_read_rows, kept, left)
    return SplitRows(few_of(few, is_wanted), _joined(tables), rest)


def split_files(target: Path, folder: int, bucket: str) -> tuple[list[Path], list[Path]]:
    """The files with what is few, and those with what is many."""
    few = _files(target, folder, bucket, f"*{FEW}.parquet")
    return few, [path for path in _files(target, folder, bucket, "*.parquet") if path not in few]


def few_of(files: list[Path], is_wanted: IsWanted | None) -> pa.Table:
    """The rows about partitions that are wanted; None: all."""
    rows = _joined([_read(path, stored_schema().names) for path in files])
    return rows if is_wanted is None else rows.filter(pa.array(about(rows, is_wanted)))


def about(rows: pa.Table, is_wanted: IsWanted) -> Mask:
    """The rows about partitions that are wanted."""
    codes, partitions = partition_codes(rows)
    return np.array([is_wanted(one) for one in partitions], np.bool_)[codes]


def _read_wanted(path: Path, names: list[str], is_wanted: IsWanted | None) -> tuple[pa.Table, Mask]:
    """The rows of a file that are about partitions that are wanted, and which they are."""
    if is_wanted is None:
        rows = _read(path, names)
        return rows, np.ones(rows.num_rows, np.bool_)
    tables, kept = [_NO_ROWS.select(_ALWAYS)], [np.zeros(0, np.bool_)]
    for rows in batches(path, names):
        own = about(rows, is_wanted)
        tables.append(rows.filter(pa.array(own)))
        kept.append(own)
    return pa.concat_tables(tables, promote_options="default"), np.concatenate(kept)


def batches(path: Path, names: list[str]) -> Iterator[pa.Table]:
    """The rows of a file, some at a time."""
    with pq.ParquetFile(path) as file:
        together = max(1, PIECE_ROWS * file.metadata.num_rows // max(1, listed(file.metadata)))
        for batch in file.iter_batches(together, columns=_told(file, names)):
            yield pa.Table.from_batches([batch])


def listed(file: pq.FileMetaData) -> int:
    """How many records the rows of a file name, each row one at the least."""
    groups = (file.row_group(number) for number in range(file.num_row_groups))
    columns = (group.column(at) for group in groups for at in range(group.num_columns))
    return sum(one.num_values for one in columns if one.path_in_schema.startswith("values."))


def _files(target: Path, folder: int, bucket: str, pattern: str) -> list[Path]:
    return sorted((target / f"{FOLDER}={folder}" / f"{BUCKET}={bucket}").glob(pattern))


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Their rows; columns in which none has anything are left out."""
    return pa.concat_tables([_NO_ROWS.select(_ALWAYS), *tables], promote_options="default")


def _read(path: Path, names: list[str]) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read(columns=_told(file, names))


def _told(file: pq.ParquetFile, names: list[str]) -> list[str]:
    told = frozenset(file.schema_arrow.names)
    return [name for name in names if name in told]


def _read_rows(
    files: list[tuple[Path, Mask]], names: list[str], wanted: NDArray[np.bool_]
) -> pa.Table:
    """These columns of the rows that are wanted, counted through the rows kept of each file."""
    tables: list[pa.Table] = [_NO_ROWS.select(names)]
    at = 0
    for path, kept in files:
        own = np.zeros(len(kept), np.bool_)
        length = int(np.count_nonzero(kept))
        own[kept] = wanted[at : at + length]
        at += length
        if own.any():
            tables.extend(groups_of(path, names, own))
    return pa.concat_tables(tables)


def groups_of(path: Path, names: list[str], wanted: NDArray[np.bool_]) -> Iterator[pa.Table]:
    """The rows of a file that are wanted, as it holds them together; some are read at a time."""
    at = 0
    with pq.ParquetFile(path) as file:
        columns = _told(file, [_SURE, *(name for name in names if name != _SURE)])
        for group in range(file.num_row_groups):
            own = wanted[at : at + file.metadata.row_group(group).num_rows]
            at += len(own)
            if own.any():
                yield completed(_filtered(file, group, columns, own), names)


def _filtered(file: pq.ParquetFile, group: int, columns: list[str], wanted: Mask) -> pa.Table:
    tables, at = [], 0
    for batch in file.iter_batches(PIECE_ROWS, row_groups=[group], columns=columns):
        own = wanted[at : at + batch.num_rows]
        at += batch.num_rows
        if own.any():
            tables.append(pa.Table.from_batches([batch]).filter(pa.array(own)))
    return pa.concat_tables(tables)


def bucket_with(target: Path, folder: int, partition: TopicPartition) -> str:
    """The bucket of one folder that holds what there is about a partition."""
    path = next((target / f"{FOLDER}={folder}").glob("bucket=*/*.parquet"))
    buckets = int(pq.read_metadata(path).metadata[BUCKETS])
    return str(bucket_of_partition(partition, buckets))


def bucket_names(target: Path, folder: int) -> list[str]:
    """The buckets of one folder that hold anything, `shared` left out."""
    names = [
        path.name.partition("=")[2] for path in (target / f"{FOLDER}={folder}").glob("bucket=*")
    ]
    return sorted((name for name in names if name != SHARED), key=int)
