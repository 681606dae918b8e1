"""The rows of one bucket as arrays, and what the kernels derive from them, each once."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.reports.tables.buckets import (
    NEAR,
    OF_PARTITION,
    SplitRows,
    completed,
    partition_codes,
    ranks,
)
from fencepost.reports.tables.schema import as_array, from_table
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition

Numbers = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

UNTOLD = -(1 << 62)
"""Stands for null where a column may hold any number."""
EVERY_ROW = slice(None)
ROWS_PER_RUN_MIN = 8
CELLS_PER_ITEM_MAX = 8
"""A partition with more offsets than that for each record told is left to the definition."""


SORTED_MAX = np.iinfo(np.int64).max
"""The greatest number that two are put in order by."""


class Found(NamedTuple):
    """What a kernel says of each partition of a bucket."""

    premises: Numbers
    suspicious: Mask
    """The definition must decide; elsewhere it finds nothing, and as many premises."""


class Items(NamedTuple):
    """The members of a list column, one after the other."""

    row: Numbers
    """The one that has the list."""
    position: Numbers
    """In its list, from 0."""
    code: Numbers
    """Equal for equal members."""


KERNEL_COLUMNS = frozenset(
    {
        "run_id", "node", "incarnation", "seq", "mono_ns", "kind", "action", "topic", "partition",
        "path", "broker_id", "leader", "leader_epoch", "isr", "maximal_isr", "is_unclean",
        "high_watermark", "log_end_offset", "op_id", "inv_ns", "outcome", "error_code", "acks",
        "producer_id", "producer_epoch", "base_sequence", "offset", "values", "record_epochs",
        "zxid", "partition_incarnation", "min_insync_replicas",
    }
)  # fmt: skip
"""What the kernels read of rows that are many."""


class BucketRows:
    """The rows of a bucket: those of actions that are few, then all others."""

    def __init__(self, rows: SplitRows) -> None:
        self._rows = rows._replace(bulk=None)
        few = rows.few.select([name for name in rows.few.column_names if name in KERNEL_COLUMNS])
        both = pa.concat_tables([few, rows.bulk], promote_options="default")
        self.table = completed(both.unify_dictionaries(), sorted(KERNEL_COLUMNS))
        self._words: dict[str, tuple[Numbers, list[str]]] = {}
        self._numbers: dict[str, Numbers] = {}
        self._masks: dict[tuple[str, ...], Mask] = {}
        self._told: dict[str, Mask] = {}
        self._lengths: dict[str, Numbers] = {}

        numbers = filled(self.table.column("partition").chunks, UNTOLD)
        heads = heads_of(self._coded("topic")[0], numbers, self._coded("path")[0])
        codes, self.partitions = partition_codes(self.table.select(OF_PARTITION).take(heads))
        self.partition = np.repeat(codes, np.diff(heads, append=self.table.num_rows))

    @property
    def count(self) -> int:
        """Of partitions."""
        return len(self.partitions)

    def name(self, code: int) -> TopicPartition:
        """The partition of a code: each row of a bucket is about one."""
        found = self.partitions[code]
        assert found is not None
        return found

    @cached_property
    def by_name(self) -> list[int]:
        """The codes of the partitions, ascending by name."""
        return sorted(range(self.count), key=self.name)

    @cached_property
    def few(self) -> list[TraceEvent]:
        """The events that are few, as they are."""
        return from_table(self._rows.few)

    @cached_property
    def control(self) -> Mapping[TopicPartition, Sequence[TraceEvent]]:
        """Those of each partition."""
        return split_by_partition(self.few)

    @cached_property
    def is_bulk(self) -> Mask:
        """Rows of actions that are many."""
        return np.asarray(np.arange(len(self.partition)) >= self._rows.few.num_rows)

    def of(self, rows: Mask) -> list[TraceEvent]:
        """The events of these rows, as far as the kernels read them."""
        return from_table(self.table.filter(pa.array(rows)))

    def only(self, partitions: Mask) -> "BucketRows":
        """The rows of some partitions."""
        if partitions.all():
            return self
        own, few = partitions[self.partition], self._rows.few.num_rows
        bulk = np.flatnonzero(own[few:])

        def rest(wanted: Mask) -> pa.Table:
            found = np.zeros(len(own) - few, np.bool_)
            found[bulk[np.flatnonzero(wanted)]] = True
            return self._rows.rest(found)

        told = (
            self._rows.few.filter(pa.array(own[:few])),
            self.table.slice(few).filter(pa.array(own[few:])),
        )
        return BucketRows(SplitRows(*told, rest))

    def kept(self, rows: Mask) -> pa.Table:
        """These rows with all their columns; files in which there are none are not read."""
        few = self._rows.few.num_rows
        bulk, rest = self.table.slice(few).filter(pa.array(rows[few:])), self._rows.rest(rows[few:])
        for field, column in zip(rest.schema, rest.columns, strict=True):
            bulk = bulk.append_column(field, column)
        tables = [self._rows.few.filter(pa.array(rows[:few])), bulk]
        return pa.concat_tables(tables, promote_options="default")

    def is_action(self, *names: str) -> Mask:
        """Rows with one of these actions."""
        return self.word("action", *names)

    def is_kind(self, *names: str) -> Mask:
        """Rows of one of these kinds."""
        return self.word("kind", *names)

    def is_outcome(self, *names: str) -> Mask:
        """Rows with one of these outcomes."""
        return self.word("outcome", *names)

    def is_told(self, name: str) -> Mask:
        """Rows in which the column is not null."""
        if name not in self._told:
            column = self.table.column(name)
            self._told[name] = (
                self._coded(name)[0] >= 0
                if pa.types.is_dictionary(column.type)
                else column.is_valid().to_numpy()
            )
            self._told[name].flags.writeable = False
        return self._told[name]

    def numbers(self, name: str) -> Numbers:
        """A column of numbers, null as `UNTOLD`."""
        if name not in self._numbers:
            self._numbers[name] = filled(self.table.column(name).chunks, UNTOLD)
        return self._numbers[name]

    def known(self, name: str, otherwise: int, own: Numbers) -> Numbers:
        """As `log_history.known` for each of these rows."""
        told = self.numbers(name)[own]
        told[np.flatnonzero(told < 0)] = otherwise
        return told

    def words(self, name: str, own: Numbers | slice = EVERY_ROW) -> Numbers:
        """A column of words as codes, of these rows; -1 for null."""
        return self._coded(name)[0][own].astype(np.int64)

    def word_list(self, name: str) -> list[str]:
        """The word of each code of a column."""
        return self._coded(name)[1]

    def word(self, name: str, *words: str) -> Mask:
        """Rows in which the column holds one of these words."""
        key = (name, *words)
        if key not in self._masks:
            codes, found = self._coded(name)
            mask = np.zeros(len(codes), np.bool_)
            for code, word in enumerate(found):
                if word in words:
                    mask |= codes == code
            mask.flags.writeable = False
            self._masks[key] = mask
        return self._masks[key]

    def _coded(self, name: str) -> tuple[Numbers, list[str]]:
        """Codes in as few bytes as they need: most are compared, and nothing else."""
        if name not in self._words:
            chunks = self.table.column(name).chunks
            words = chunks[0].dictionary.to_pylist() if chunks else []
            size = np.min_scalar_type(-1 - len(words))
            self._words[name] = filled([chunk.indices for chunk in chunks], -1, size), words
        return self._words[name]

    def lengths(self, name: str) -> Numbers:
        """Of the lists of a column; 0 for null."""
        if name not in self._lengths:
            chunks = self.table.column(name).chunks
            lengths = [pc.list_value_length(chunk) for chunk in chunks]
            self._lengths[name] = filled(lengths, 0)
        return self._lengths[name]

    @cached_property
    def values(self) -> Items:
        """All records that lines name."""
        lengths = self.lengths("values")
        told = np.flatnonzero(lengths)
        lengths = lengths[told]
        starts = np.cumsum(lengths) - lengths
        position = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
        codes = filled([self._records.indices], UNTOLD)
        return Items(np.repeat(told, lengths), position, codes)

    @property
    def records(self) -> pa.Array:
        """What each code of `values` stands for."""
        return self._records.dictionary

    @cached_property
    def _records(self) -> pa.Array:
        return as_array(pc.list_flatten(self.table.column("values")).dictionary_encode())

    def record_epochs(self, items: Numbers) -> Numbers:
        """The epochs of some of `values`; `UNTOLD` where a line has not as many as records."""
        row, position = self.values.row[items], self.values.position[items]
        lengths = self.lengths("record_epochs")
        told = np.flatnonzero(lengths[row] == self.lengths("values")[row])
        place = (np.cumsum(lengths) - lengths)[row[told]] + position[told]
        epochs = filled(pc.list_flatten(self.table.column("record_epochs")).chunks, UNTOLD)
        found = np.full(len(items), UNTOLD)
        found[told] = epochs[place]
        return found

    def by_process(self, rows: Mask) -> tuple[Numbers, Numbers]:
        """These rows in the order of each process's lines about a partition, and its number.

        The numbers rise; one is a partition and one start of a node.
        """
        order, process = self._by_process
        row = order[np.flatnonzero(rows[order])]
        return row, process[row]

    @cached_property
    def _by_process(self) -> tuple[Numbers, Numbers]:
        """Sorted once for all kernels."""
        process = joint(self.starts, self.partition)  # much as files have them: soon sorted
        return in_order(process, self.numbers("seq")), process

    @cached_property
    def starts(self) -> Numbers:
        """The start of a node that each row is a line of, by number."""
        return joint(self._coded("node")[0], self.numbers("incarnation"))

    def invoked(self, own: Numbers) -> Numbers:
        """As `log_history.invoked_ns` for each of these rows."""
        told = self.numbers("inv_ns")[own]
        untold = np.flatnonzero(told == UNTOLD)
        told[untold] = self.numbers("mono_ns")[own[untold]]
        return told

    @cached_property
    def is_odd(self) -> Mask:
        """Partitions with an unclean election, a deletion, or more than one incarnation."""
        odd = self.where(self.is_action("Delete"))
        elected = np.flatnonzero(self.is_action(Action.ELECT_LEADER))
        unclean = pc.fill_null(self.table.column("is_unclean").take(elected), fill_value=False)
        odd[self.partition[elected[unclean.to_numpy()]]] = True
        partition, lives = self.lives
        one = np.zeros(self.count, np.int64)
        one[partition] = lives
        odd[partition[np.flatnonzero(one[partition] != lives)]] = True
        return odd

    @cached_property
    def lives(self) -> tuple[Numbers, Numbers]:
        """The partition and the incarnation of each row that names one, in any order."""
        incarnation = self.numbers("partition_incarnation")
        named = np.flatnonzero(incarnation > 0)
        created = np.flatnonzero(self.is_kind("zookeeper") & self.is_action("Create"))
        zxids = filled(self.table.column("zxid").take(created).chunks, 0)
        begun = np.flatnonzero(zxids > 0)
        return (
            self.partition[np.append(named, created[begun])],
            np.append(incarnation[named], zxids[begun]),
        )

    def per_partition(self, rows: Mask) -> Numbers:
        """How many of these rows each partition has."""
        return self.per_partition_of(np.flatnonzero(rows))

    def per_partition_of(self, rows: Numbers) -> Numbers:
        """As `per_partition`, of rows by their numbers."""
        return np.bincount(self.partition[rows], minlength=self.count)

    def where(self, rows: Mask) -> Mask:
        """The partitions that have one of these rows."""
        return self.per_partition(rows) > 0


def filled(chunks: Sequence[pa.Array], null: int, dtype: DTypeLike = np.int64) -> Numbers:
    """The numbers of a column, null as `null`; each chunk is copied once, while it is at hand."""
    length = sum(map(len, chunks))
    if all(chunk.null_count == len(chunk) for chunk in chunks):
        return np.broadcast_to(np.array(null, dtype), length)  # takes no memory
    found, at = np.empty(length, dtype), 0
    for chunk in chunks:
        own = found[at : at + len(chunk)]
        own[:] = _stored(chunk)
        if chunk.null_count:  # without branches, in a quarter of the time of `pc.fill_null`
            own -= null
            own *= _is_valid(chunk)
            own += null
        at += len(chunk)
    return found


def _stored(numbers: pa.Array) -> Numbers:
    """As they are in memory, anything for null."""
    stored = [None, numbers.buffers()[1]]
    plain = pa.Array.from_buffers(numbers.type, len(numbers), stored, offset=numbers.offset)
    return np.asarray(plain.to_numpy())


def _is_valid(chunk: pa.Array) -> NDArray[np.uint8]:
    """1 for a number, 0 for null."""
    byte, bit = divmod(chunk.offset, 8)
    bits = np.frombuffer(chunk.buffers()[0], np.uint8)[byte:]
    return np.unpackbits(bits, count=bit + len(chunk), bitorder="little")[bit:]


def set_where(these: Mask, numbers: Numbers, number: int) -> Numbers:
    """The numbers, these of them replaced: a fifth of what `np.where` costs at random."""
    found = numbers.copy()
    found[np.flatnonzero(these)] = number
    return found


def joint(*columns: Numbers) -> Numbers:
    """One number per row, equal where all columns are equal; from 0, without gaps.

    Where they change seldom from row to row, one row of each run is enough.
    """
    heads, count = heads_of(*columns), len(columns[0])
    if len(heads) * ROWS_PER_RUN_MIN > count:
        return _joint(columns)
    return np.repeat(_joint([column[heads] for column in columns]), np.diff(heads, append=count))


def heads_of(*columns: Numbers) -> Numbers:
    """The rows in which any column is another than in the row before; the first is one."""
    changes = np.zeros(len(columns[0]), np.bool_)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes)


def _joint(columns: Sequence[Numbers]) -> Numbers:
    found: Numbers = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        codes = ranks(np.asarray(column, np.int64))
        width = int(codes.max(initial=0)) + 1
        if count == 1:
            found, count = codes, width
        elif width > 1 and not (count * width > NEAR * len(codes) and decides(found, codes)):
            found = ranks(found * width + codes)
            count = int(found.max(initial=0)) + 1
    return found


def decides(one: Numbers, other: Numbers) -> bool:
    """Equal numbers of one have equal ones of the other: to know it is cheaper than a sort."""
    last = np.empty(int(one.max(initial=-1)) + 1, np.int64)
    last[one] = other
    return bool((last[one] == other).all())


def in_order(groups: Numbers, numbers: Numbers) -> Numbers:
    """The places of ascending groups, those of each by ascending numbers; of equal ones as given.

    Lines are in many runs that ascend already: a sort by one number makes use of them.
    """
    low = int(numbers.min(initial=0))
    span = int(numbers.max(initial=0)) - low + 1
    if (int(groups.max(initial=0)) + 1) * span > SORTED_MAX:
        return np.lexsort((numbers, groups))
    return np.argsort(groups * span + (numbers - low), kind="stable")


def segments(groups: Numbers) -> Iterator[tuple[int, int]]:
    """Start and end of each run of equal numbers."""
    return pairwise([*heads_of(groups).tolist(), len(groups)])


def running_maximum(groups: Numbers, numbers: Numbers) -> Numbers:
    """Of each number and those before it in its run of equal groups."""
    found = numbers.copy()
    for start, end in segments(groups):
        np.maximum.accumulate(found[start:end], out=found[start:end])
    return found


class Cells:
    """Offsets of all partitions, side by side: what is told to be at each."""

    def __init__(self, partition: Numbers, offset: Numbers, count: int) -> None:
        told = np.bincount(partition, minlength=count)
        extent = np.zeros(count, np.int64)
        np.maximum.at(extent, partition, offset + 1)
        self.sparse: Mask = extent > CELLS_PER_ITEM_MAX * told + CELLS_PER_ITEM_MAX
        self.extent = np.where(self.sparse, 0, extent)
        self._base = np.cumsum(self.extent) - self.extent
        self._count = count
        kept = np.flatnonzero(~self.sparse[partition]) if self.sparse.any() else EVERY_ROW
        self.kept: Numbers | slice = kept
        self._partition = partition[kept]
        self.place = self._base[self._partition] + offset[kept]

    def content(self, told: Numbers) -> Numbers:
        """What is told at each offset, those of a partition after those of the one before."""
        cell = np.full(int(self.extent.sum()), -1)
        cell[self.place] = told[self.kept]
        return cell

    def differs(self, told: Numbers) -> Mask:
        """The partitions in which one offset has two different numbers of `told`."""
        return self._any(self.content(told)[self.place] != told[self.kept])

    def marked(self, told: Mask) -> Mask:
        """Whether any of what is told at the same offset is marked, for each that is kept."""
        cell = np.zeros(int(self.extent.sum()), np.bool_)
        cell[self.place[told]] = True
        return cell[self.place]

    @property
    def filled(self) -> Numbers:
        """How many offsets of each partition are told."""
        is_told = np.zeros(int(self.extent.sum()), np.bool_)
        is_told[self.place] = True
        owner = np.repeat(np.arange(self._count), self.extent)
        return np.bincount(owner[np.flatnonzero(is_told)], minlength=self._count)

    def _any(self, items: Mask) -> Mask:
        return np.bincount(self._partition[np.flatnonzero(items)], minlength=self._count) > 0
