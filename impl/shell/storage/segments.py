"""A segment: one file of record batches, and a sparse index from offsets to positions.

The index of a growing segment is in memory. When the segment is full or the log is closed, it is
written to a file, after the records were flushed. A start uses an index that is valid and has the
segment's size instead of reading the segment; otherwise it reads the segment from its start.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fencepost.impl.core.rules.producers import (
    NO_PRODUCER_EPOCH,
    Batch,
    ProducerState,
    ProducerTable,
)
from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.batches import (
    NO_BATCH_PRODUCER,
    BatchProducer,
    StoredBatch,
    batches_in,
    encode_batches,
    parse_batch,
)
from fencepost.impl.shell.storage.checkpoints import (
    CheckpointError,
    read_checkpoint,
    write_checkpoint,
)
from fencepost.impl.shell.storage.files import File, Files, StorageError, read_whole
from fencepost.spec.vocabulary import NO_EPOCH, LeaderEpoch, Offset, ProducerId

INDEX_INTERVAL_BYTES = 4096
"""Least distance of two index entries."""
_NAME = re.compile(r"(\d{20})\.log")
_INDEX_VERSION = 1
_HEAD_NUMBERS = 5
"""Version, base, end, size, number of entries; then entries, epoch starts and producers."""


class Segment:
    """Records from `base` to before `end`, in one file."""

    def __init__(self, files: Files, folder: Path, base: Offset) -> None:
        """An empty segment; `recover` reads what its file holds."""
        self.base = base
        self.end = base
        self.size = 0
        self.epoch_starts: list[tuple[LeaderEpoch, Offset]] = []
        self.producers = ProducerTable()
        """Epoch starts and producers of the records in this segment."""
        self._files = files
        self._file = File(self.path_of(folder, base))
        self._index = File(folder / f"{base:020}.index")
        self._offsets = array("q")
        self._positions = array("q")
        self._has_index_file = False
        self._may_have_index = True
        """False when a truncation has dropped state of `producers` that a reading restores.

        Only a truncation leaves a producer without batches, so none is ever in an index.
        """

    @staticmethod
    def path_of(folder: Path, base: Offset) -> Path:
        """The file of the segment that begins with `base`."""
        return folder / f"{base:020}.log"

    def append(self, records: Sequence[Record]) -> None:
        """Add records with one write; raises `StorageError` and then changes nothing."""
        batches = encode_batches(self.end, records)
        data = batches[0].data if len(batches) == 1 else b"".join([one.data for one in batches])
        self._files.write(self._file, data, self.size)
        self._has_index_file = False
        for batch in batches:
            self._note(batch.leader_epoch, batch.producer, batch.size, len(batch.data))

    def read(self, start: Offset, end: Offset) -> list[Record]:
        """The records from `start` to before `end`; raises `StorageError` on a damaged one."""
        records: list[Record] = []
        for batch in self._batches(start, end):
            records += batch.records(start, end)
        return records

    def truncate(self, offset: Offset) -> None:
        """Drop the records from `offset` on; atomic across a crash."""
        offset = max(offset, self.base)
        if offset >= self.end:
            return
        self._forget_index_file()
        entry = bisect_right(self._offsets, offset) - 1
        position = self._positions[entry]
        begin, cut = position, b""
        for batch in self._batches(Offset(self._offsets[entry]), offset):
            if batch.end_offset <= offset:
                begin = position + batch.end
            else:
                kept = batch.records(batch.base_offset, offset)
                cut = b"".join([part.data for part in encode_batches(batch.base_offset, kept)])
        if cut:
            self._replace(self._files.read(self._file, begin, 0) + cut)
        else:
            self._files.truncate(self._file, begin)
        self._forget_from(offset, begin + len(cut))

    def recover(self) -> int:
        """Read all valid batches of the file; returns the number of bytes after them."""
        text = None if self._load_index() else read_whole(self._file.path)
        for batch in batches_in(text or b"", self.base):
            count = batch.end_offset - batch.base_offset
            self._note(batch.leader_epoch, batch.producer, count, batch.end - self.size)
        return len(text) - self.size if text else 0

    def drop_tail(self) -> None:
        """Cut the file after the valid records."""
        self._forget_index_file()
        self._files.truncate(self._file, self.size)

    def flush(self) -> None:
        """Flush the records to the disk."""
        self._files.flush(self._file)

    def write_index(self, *, flush: bool) -> None:
        """Write the index file; the segment must be flushed."""
        if self._has_index_file or not self._may_have_index or not self.size:
            return
        entries = zip(self._offsets, self._positions, strict=True)
        producers = self.producers.states.items()
        head = (_INDEX_VERSION, self.base, self.end, self.size, len(self._offsets))
        rows = [head, *entries, *self.epoch_starts, *(_producer_row(*item) for item in producers)]
        write_checkpoint(self._files, self._index.path, rows, flush=flush)
        self._has_index_file = True

    def remove(self) -> None:
        """Delete the segment and its index."""
        self._forget_index_file()
        self._files.remove(self._file)

    def close(self) -> None:
        """Close the file."""
        self._files.close(self._file)

    def _batches(self, start: Offset, end: Offset) -> Iterator[StoredBatch]:
        """The batches that hold the records from `start` to before `end`."""
        if start >= end:
            return
        first = self._positions[bisect_right(self._offsets, start) - 1]
        behind = bisect_left(self._offsets, end)
        last = self._positions[behind] if behind < len(self._positions) else self.size
        text = self._files.read(self._file, last - first, first)
        position, offset = 0, start
        while offset < end:
            batch = parse_batch(text, position)
            if batch is None or batch.base_offset > offset:
                raise StorageError(f"{self._file.path}: the record at offset {offset} is damaged")
            position = batch.end
            if batch.end_offset > offset:
                offset = batch.end_offset
                yield batch

    def _note(
        self, leader_epoch: LeaderEpoch, producer: BatchProducer, count: int, size: int
    ) -> None:
        if not self.epoch_starts or leader_epoch > self.epoch_starts[-1][0]:
            self.epoch_starts.append((leader_epoch, self.end))
        if not self._positions or self.size - self._positions[-1] >= INDEX_INTERVAL_BYTES:
            self._offsets.append(self.end)
            self._positions.append(self.size)
        if producer is not NO_BATCH_PRODUCER and not producer.left:
            self.producers.note(
                producer.producer_id,
                Batch(
                    producer_epoch=producer.producer_epoch,
                    base_sequence=producer.base_sequence,
                    base_offset=self.end,
                    count=count,
                ),
            )
        self.end = Offset(self.end + count)
        self.size += size

    def _replace(self, data: bytes) -> None:
        self._files.close(self._file)
        self._files.replace(self._file.path, data, flush=True)

    def _forget_from(self, offset: Offset, size: int) -> None:
        kept = bisect_left(self._offsets, offset)
        del self._offsets[kept:], self._positions[kept:]
        self.epoch_starts = [start for start in self.epoch_starts if start[1] < offset]
        self._may_have_index = self._may_have_index and not self.producers.states
        self.producers.truncate(offset)
        self.end, self.size = offset, size

    def _load_index(self) -> bool:
        try:
            rows = read_checkpoint(self._index.path)
        except CheckpointError:
            return False
        if not rows or len(rows[0]) != _HEAD_NUMBERS:
            return False
        version, base, end, size, entries = rows[0]
        is_of_this = (version, base, size) == (_INDEX_VERSION, self.base, self._size_on_disk())
        if not is_of_this:
            return False
        self._offsets = array("q", [row[0] for row in rows[1 : entries + 1]])
        self._positions = array("q", [row[1] for row in rows[1 : entries + 1]])
        rest = rows[entries + 1 :]
        self.epoch_starts = [(LeaderEpoch(row[0]), Offset(row[1])) for row in rest if len(row) == 2]
        self.producers = ProducerTable(dict(map(_producer, (row for row in rest if len(row) > 2))))
        self.end, self.size = Offset(end), size
        self._has_index_file = True
        return True

    def _size_on_disk(self) -> int:
        return self._file.path.stat().st_size

    def _forget_index_file(self) -> None:
        self._files.remove(self._index)
        self._has_index_file = False


def segment_bases(folder: Path) -> list[Offset]:
    """The first offsets of the segments in `folder`, ascending; none without a folder."""
    if not folder.exists():
        return []
    matches = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return sorted(Offset(int(match[1])) for match in matches if match)


def epoch_starts_of(segments: Iterable[Segment]) -> list[tuple[LeaderEpoch, Offset]]:
    """Per leader epoch the offset of its first record, both ascending."""
    starts: list[tuple[LeaderEpoch, Offset]] = []
    for segment in segments:
        last = starts[-1][0] if starts else NO_EPOCH
        starts += [start for start in segment.epoch_starts if start[0] > last]
    return starts


def producers_of(segments: Iterable[Segment]) -> ProducerTable:
    """The idempotent producers of all segments, merged."""
    table = ProducerTable()
    for segment in segments:
        for producer_id, state in segment.producers.states.items():
            if state.forgotten_epoch != NO_PRODUCER_EPOCH:
                table.put(producer_id, state)
            else:
                for batch in state.batches:
                    table.note(producer_id, batch)
    return table


def _producer_row(producer_id: ProducerId, state: ProducerState) -> tuple[int, ...]:
    assert state.batches, "a row of two numbers would be read as the start of an epoch"
    batches = ((b.producer_epoch, b.base_sequence, b.base_offset, b.count) for b in state.batches)
    return (producer_id, state.forgotten_epoch, *(number for batch in batches for number in batch))


def _producer(row: tuple[int, ...]) -> tuple[ProducerId, ProducerState]:
    producer_id, forgotten_epoch, *numbers = row
    batches = tuple(
        Batch(
            producer_epoch=numbers[i],
            base_sequence=numbers[i + 1],
            base_offset=Offset(numbers[i + 2]),
            count=numbers[i + 3],
        )
        for i in range(0, len(numbers), 4)
    )
    return ProducerId(producer_id), ProducerState(batches=batches, forgotten_epoch=forgotten_epoch)
