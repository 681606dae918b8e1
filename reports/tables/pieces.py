"""The lines of one partition of a bucket that has too many of them for a task, some at a time."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fencepost.reports.tables.buckets import (
    OF_PARTITION,
    Codes,
    Mask,
    about,
    batches,
    few_of,
    groups_of,
    listed,
    partition_codes,
    split_files,
)
from fencepost.reports.tables.schema import stored_schema
from fencepost.spec.znodes import TopicPartition

CROWDED_ROWS = 1_000_000
"""A task holds so many lines together; a partition with more is judged piece by piece."""

_NO_MASK = np.zeros(0, np.bool_)
_FILES_MAX = 1 << 16
"""So many files are known by what was read of them: each partition and part of a bucket asks."""


class Shares(NamedTuple):
    """The partitions of a bucket, as a task holds them; each is in one place."""

    together: tuple[frozenset[TopicPartition] | None, ...]
    """Those that are held together, by name; None: all of the bucket."""
    crowded: tuple[TopicPartition, ...]
    """Those with more lines than a task holds at a time, by name."""


def is_large(target: Path, folder: int, bucket: str, most: int) -> bool:
    """Whether a bucket may have more lines than `most`: each takes a byte at the least."""
    _, files = split_files(target, folder, bucket)
    return sum(path.stat().st_size for path in files) > most


def shares_of(target: Path, folder: int, bucket: str, most: int) -> Shares:
    """How a bucket is dealt out where a task holds `most` lines; counted by what is stored."""
    few, bulk = split_files(target, folder, bucket)
    if sum(pq.read_metadata(path).num_rows for path in bulk) <= most:
        return Shares((None,), ())
    count: Counter[TopicPartition] = Counter()
    for path in (*few, *bulk):
        for rows in batches(path, OF_PARTITION):
            codes, partitions = partition_codes(rows)
            for one, number in zip(partitions, np.bincount(codes).tolist(), strict=True):
                if one is not None:
                    count[one] += number
    crowded = tuple(sorted(one for one, number in count.items() if number > most))
    together: list[set[TopicPartition]] = []
    held = most
    for one in sorted(count.keys() - set(crowded)):
        if held + count[one] > most:
            together.append(set())
            held = 0
        together[-1].add(one)
        held += count[one]
    return Shares(tuple(map(frozenset, together)), crowded)


class StoredPieces:
    """The lines of one partition of a bucket; those that are many come some at a time."""

    def __init__(
        self,
        target: Path,
        folder: int,
        bucket: str,
        names: frozenset[str],
        partition: TopicPartition,
    ) -> None:
        """`names`: the columns of those that are many."""
        few, self._bulk = split_files(target, folder, bucket)
        self._names = sorted(names)
        self._partition = partition
        self._owned: dict[Path, tuple[NDArray[np.uint8], int]] = {}
        """Bits, and how many."""
        self.few = few_of(few, self._is_own)
        self.items = sum(_described(path).items for path in self._bulk)

    @property
    def nodes(self) -> list[str]:
        """The nodes that the files are of, by their first lines."""
        return sorted(self._by_node)

    def of_node(self, name: str) -> Iterator[pa.Table]:
        """The pieces in the files of one of them."""
        for path in self._by_node[name]:
            yield from self._pieces(path)

    def lines(self) -> Iterator[pa.Table]:
        """The pieces of all files, in the order in which a bucket is read."""
        for path in self._bulk:
            yield from self._pieces(path)

    def whole(self, numbers: Codes) -> Iterator[tuple[Codes, pa.Table]]:
        """Lines by their numbers among all of `lines`, ascending, with all columns.

        Only those parts of files are read that hold one of them.
        """
        seen = 0
        for path in self._bulk:
            own = self._own(path)
            places = np.flatnonzero(own)
            first, last = np.searchsorted(numbers, [seen, seen + len(places)])
            wanted = np.zeros(len(own), np.bool_)
            wanted[places[numbers[first:last] - seen]] = True
            seen += len(places)
            for rows in groups_of(path, stored_schema().names, wanted):
                yield numbers[first : first + rows.num_rows], rows
                first += rows.num_rows

    def _pieces(self, path: Path) -> Iterator[pa.Table]:
        for rows in batches(path, self._names):
            own = about(rows, self._is_own)
            if own.any():
                yield rows.filter(pa.array(own))

    def _own(self, path: Path) -> Mask:
        """Which rows of a file are about the partition; looked up once."""
        if path not in self._owned:
            own = [_NO_MASK]
            own.extend(about(rows, self._is_own) for rows in batches(path, OF_PARTITION))
            self._owned[path] = np.packbits(np.concatenate(own)), sum(map(len, own))
        bits, count = self._owned[path]
        return np.unpackbits(bits, count=count).view(np.bool_)

    @cached_property
    def _by_node(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for path in self._bulk:
            found.setdefault(_described(path).node, []).append(path)
        return found

    def _is_own(self, partition: TopicPartition | None) -> bool:
        return partition == self._partition


class _Described(NamedTuple):
    """What is asked of a whole file."""

    node: str
    """Of its first line."""
    items: int
    """How many records its lines name."""


def _described(path: Path) -> _Described:
    return _read_description(path, path.stat().st_mtime_ns)


@lru_cache(_FILES_MAX)
def _read_description(path: Path, _written_ns: int) -> _Described:
    """Of the file that was written then: none is changed in place."""
    with pq.ParquetFile(path) as file:
        (node,) = next(file.iter_batches(1, columns=["node"])).column(0).to_pylist()
        return _Described(str(node), listed(file.metadata))
