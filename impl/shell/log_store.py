"""One log on disk: segment files, an index in memory, two checkpoints.

`segments.py` has the files; here is what a log is made of, and how it is found again at a start.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from impl.core.messages import Record
from impl.core.producers import ProducerState, ProducerTable, whole_batches
from impl.shell.checkpoints import CheckpointError, read_checkpoint, write_checkpoint
from impl.shell.segments import Segment, StorageError, segment_bases
from spec.vocabulary import (
    NO_INCARNATION,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ProducerId,
)

__all__ = ["FlushPolicy", "LogStore", "Recovery", "StorageError"]

SEGMENT_BYTES = 16 * 1024 * 1024
HIGH_WATERMARK_FILE = "high-watermark-checkpoint"
INCARNATION_FILE = "partition-incarnation"
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
EpochStarts = tuple[tuple[LeaderEpoch, Offset], ...]


class FlushPolicy(StrEnum):
    """When what is written is forced to the disk; a killed process loses nothing either way."""

    NEVER = "never"
    EACH = "each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What was found of a log, and what had to be put right."""

    log_end_offset: Offset
    high_watermark: Offset
    epoch_starts: EpochStarts
    producers: Mapping[ProducerId, ProducerState] = field(default_factory=dict)
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    notices: tuple[str, ...] = ()


class LogStore:
    """The records of one partition, densely numbered from 0."""

    def __init__(
        self,
        folder: Path,
        flush: FlushPolicy = FlushPolicy.NEVER,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Recover what the folder holds, or begin a log there; raises `StorageError`."""
        self._folder = folder
        self._flush = flush
        self._segment_bytes = segment_bytes
        self._epoch_starts: list[tuple[LeaderEpoch, Offset]] = []
        self._producers = ProducerTable()
        """As found at the start; the core keeps what comes after."""
        self._notices: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._segments = self._recover_segments()
        self.recovery = self._recover()

    @property
    def log_end_offset(self) -> Offset:
        """The offset that the next record gets."""
        return self._segments[-1].end

    @property
    def epoch_starts(self) -> EpochStarts:
        """Per leader epoch the offset of its first record."""
        return tuple(self._epoch_starts)

    def append(self, records: Sequence[Record]) -> None:
        """Add records at the log end; on return a kill of the process does not lose them."""
        if not records:
            return
        if self._segments[-1].size >= self._segment_bytes:
            self._segments.append(Segment(self._folder, self.log_end_offset))
        new_epoch = self._note_epochs(self.log_end_offset, records)
        self._segments[-1].append(records)
        if self._flush is FlushPolicy.EACH:
            self._segments[-1].flush()
        if new_epoch:
            self._write_epochs()

    def truncate(self, offset: Offset) -> None:
        """Drop the records from `offset` on, the last ones first."""
        assert 0 <= offset <= self.log_end_offset, (offset, self.log_end_offset)
        while len(self._segments) > 1 and self._segments[-1].base >= offset:
            self._segments.pop().remove()
        self._segments[-1].truncate(offset)
        kept = [start for start in self._epoch_starts if start[1] < offset]
        if len(kept) != len(self._epoch_starts):
            self._epoch_starts = kept
            self._write_epochs()

    def read(self, start: Offset, end: Offset) -> list[Record]:
        """The records from `start` up to, not including, `end`; costs what they cost."""
        assert 0 <= start <= end <= self.log_end_offset, (start, end, self.log_end_offset)
        records: list[Record] = []
        index = bisect_right(self._segments, start, key=lambda segment: segment.base) - 1
        for segment in self._segments[index:]:
            if segment.base >= end:
                break
            records += segment.read(max(start, segment.base), min(end, segment.end))
        return records

    def checkpoint_high_watermark(self, high_watermark: Offset) -> None:
        """Store the high watermark for the next start."""
        self._write_checkpoint(HIGH_WATERMARK_FILE, [(high_watermark,)])

    def belong_to(self, incarnation: PartitionIncarnation) -> None:
        """The folder says whose records these are, unless it does already (START-004)."""
        if not self._checkpoint(INCARNATION_FILE):
            self._write_checkpoint(INCARNATION_FILE, [(incarnation,)])

    def close(self) -> None:
        """The files are closed."""
        for segment in self._segments:
            segment.close()

    def _recover_segments(self) -> list[Segment]:
        segments: list[Segment] = []
        end = Offset(0)
        bases = segment_bases(self._folder)
        while bases and bases[0] == end:
            segment = Segment(self._folder, Offset(bases.pop(0)))
            segments.append(segment)
            self._note(segment, tuple(segment.recover()))
            end = segment.end
            if segment.torn_bytes:
                self._notices.append(f"{segment.torn_bytes} unsound bytes at offset {end} dropped")
                break
        for base in reversed(bases):
            Segment.path_of(self._folder, Offset(base)).unlink()
            self._notices.append(f"segment {base} dropped: records before it are missing")
        return segments or [Segment(self._folder, Offset(0))]

    def _recover(self) -> Recovery:
        end = self.log_end_offset
        high_watermark = self._checkpoint(HIGH_WATERMARK_FILE)
        stored = Offset(high_watermark[0][0]) if high_watermark else Offset(0)
        if stored > end:
            self._notices.append(f"the high watermark was {stored}; the log ends at {end}")
        if self._checkpoint(LEADER_EPOCH_FILE) != self._epoch_starts:
            if (self._folder / LEADER_EPOCH_FILE).exists():
                self._notices.append("the leader epochs were written anew from the records")
            self._write_epochs()
        incarnation = self._checkpoint(INCARNATION_FILE)
        return Recovery(
            log_end_offset=end,
            high_watermark=min(stored, end),
            epoch_starts=self.epoch_starts,
            producers=self._producers.states,
            partition_incarnation=(
                PartitionIncarnation(incarnation[0][0]) if incarnation else NO_INCARNATION
            ),
            notices=tuple(self._notices),
        )

    def _checkpoint(self, name: str) -> list[tuple[int, ...]]:
        try:
            return read_checkpoint(self._folder / name)
        except CheckpointError as error:
            self._notices.append(str(error))
            return []

    def _note(self, segment: Segment, found: tuple[Record, ...]) -> None:
        records = whole_batches(found)
        if len(records) < len(found):
            segment.truncate(Offset(segment.base + len(records)))
            self._notices.append(f"a begun batch at offset {segment.end} dropped")
        self._note_epochs(segment.base, records)
        self._producers.append(segment.base, records)

    def _note_epochs(self, base: Offset, records: Iterable[Record]) -> bool:
        before = len(self._epoch_starts)
        last = self._epoch_starts[-1][0] if self._epoch_starts else None
        for offset, record in enumerate(records, start=base):
            if record.leader_epoch != last:
                last = record.leader_epoch
                self._epoch_starts.append((last, Offset(offset)))
        return len(self._epoch_starts) != before

    def _write_epochs(self) -> None:
        self._write_checkpoint(LEADER_EPOCH_FILE, self._epoch_starts)

    def _write_checkpoint(self, name: str, rows: Sequence[tuple[int, ...]]) -> None:
        flush = self._flush is FlushPolicy.EACH
        write_checkpoint(self._folder / name, rows, flush=flush)
