"""One log on disk: consecutive segments and the checkpoints of offsets, epochs and incarnation.

`segments.py` has the files of records, `recovery.py` what a start does with them.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.checkpoints import (
    INCARNATION_FILE,
    LEADER_EPOCH_FILE,
    write_checkpoint,
    write_offsets,
)
from fencepost.impl.shell.storage.files import Files
from fencepost.impl.shell.storage.recovery import EpochStarts, begun_log, recover_log
from fencepost.impl.shell.storage.segments import Segment, epoch_starts_of
from fencepost.spec.vocabulary import NO_EPOCH, NO_INCARNATION, Offset, PartitionIncarnation

SEGMENT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPolicy:
    """When records are flushed, besides at the end of a segment and of the process.

    Never by default, as in Kafka: a killed process loses no record, and replication protects
    against a loss of power, after which a log may lack acknowledged records.
    """

    records: int = 0
    """Flush a log after this many records, before they are acknowledged; 0: off."""
    ms: int = 0
    """Flush when the oldest unflushed record is this old, in ms, within a tick; 0: off."""

    @property
    def is_wanted(self) -> bool:
        """True when records are flushed; then checkpoints are flushed too."""
        return bool(self.records or self.ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Segment size and flush policy of a log."""

    segment_bytes: int = SEGMENT_BYTES
    """Size at which a segment is rolled."""
    flush: FlushPolicy = FlushPolicy()


class LogStore:
    """The records of one partition, densely numbered. Each method may raise `StorageError`."""

    def __init__(
        self, folder: Path, options: LogOptions | None = None, files: Files | None = None
    ) -> None:
        """Recover the log in the folder; a missing folder is created by the first append.

        A partition without records costs no disk operation, so a broker can begin thousands.
        """
        self._folder = folder
        self._options = options or LogOptions()
        self._files = files or Files()
        # Not `folder.exists()`: of thousands of new logs it takes a tenth of what a broker does.
        self._has_folder = os.path.exists(folder)  # noqa: PTH110  see above
        recover = recover_log if self._has_folder else begun_log
        found = recover(self._files, folder)
        self._segments = found.segments
        self._epoch_starts = list(found.recovery.epoch_starts)
        self._offsets = found.offsets
        self._stored_offsets = found.stored_offsets
        self.recovery = found.recovery
        self._incarnation = found.recovery.partition_incarnation

    @property
    def log_start_offset(self) -> Offset:
        """The offset of the first record that may be read."""
        return self._offsets.log_start_offset

    @property
    def log_end_offset(self) -> Offset:
        """The offset that the next record gets."""
        return self._segments[-1].end

    @property
    def recovery_point(self) -> Offset:
        """The offset up to which records are flushed."""
        return self._offsets.recovery_point

    @property
    def epoch_starts(self) -> EpochStarts:
        """Per leader epoch the offset of its first record."""
        return tuple(self._epoch_starts)

    def append(self, records: Sequence[Record]) -> None:
        """Add records at the log end; on return a kill of the process does not lose them."""
        if not records:
            return
        if self._segments[-1].size >= self._options.segment_bytes:
            self._roll()
        self._begin()
        segment = self._segments[-1]
        segment.append(records)
        self._note_epochs(segment)
        unflushed = self.log_end_offset - self.recovery_point
        if self._options.flush.records and unflushed >= self._options.flush.records:
            self.flush()

    def read(self, start: Offset, end: Offset) -> list[Record]:
        """The records from `start` up to, not including, `end`; costs what they cost."""
        assert self.log_start_offset <= start <= end <= self.log_end_offset, (start, end)
        records: list[Record] = []
        index = bisect_right(self._segments, start, key=lambda segment: segment.base) - 1
        for segment in self._segments[index:]:
            if segment.base >= end:
                break
            records += segment.read(max(start, segment.base), min(end, segment.end))
        return records

    def truncate(self, offset: Offset) -> None:
        """Drop the records from `offset` on, last segment first."""
        assert self.log_start_offset <= offset <= self.log_end_offset, offset
        # Before the records go: a crash must not leave checkpoints above the truncated end.
        self._remember(
            high_watermark=min(self._offsets.high_watermark, offset),
            recovery_point=min(self.recovery_point, offset),
        )
        while len(self._segments) > 1 and self._segments[-1].base >= offset:
            self._segments.pop().remove()
        self._segments[-1].truncate(offset)
        kept = [start for start in self._epoch_starts if start[1] < offset]
        if len(kept) != len(self._epoch_starts):
            self._epoch_starts = kept
            self._write_epochs()

    def flush(self) -> None:
        """Flush all records to the disk."""
        if self.recovery_point == self.log_end_offset:
            return
        self._segments[-1].flush()
        self._offsets = replace(self._offsets, recovery_point=self.log_end_offset)

    def checkpoint_high_watermark(self, high_watermark: Offset) -> None:
        """Write the high watermark and the other offsets for the next start."""
        self._offsets = replace(self._offsets, high_watermark=high_watermark)
        if self._offsets != self._stored_offsets:
            self._write_offsets()

    def belong_to(self, incarnation: PartitionIncarnation) -> None:
        """Set the partition incarnation, unless the log has one (START-004)."""
        if self._incarnation == NO_INCARNATION:
            self._incarnation = incarnation
            if self._has_folder:
                self._write_incarnation()

    def advance_log_start(self, offset: Offset) -> None:
        """Make records before `offset` unreadable and delete whole segments of them."""
        assert self.log_start_offset <= offset <= self.log_end_offset, offset
        if offset == self.log_start_offset:
            return
        self.flush()
        self._offsets = replace(self._offsets, log_start_offset=offset)
        self._write_offsets(flush=True)
        while len(self._segments) > 1 and self._segments[1].base <= offset:
            self._segments.pop(0).remove()
        kept = epoch_starts_of(self._segments)
        if kept != self._epoch_starts:
            self._epoch_starts = kept
            self._write_epochs()

    def close(self) -> None:
        """Flush and close; with the index written, the next start need not read the records."""
        self.flush()
        if self._offsets != self._stored_offsets:
            self._write_offsets()
        self._segments[-1].write_index(flush=self._options.flush.is_wanted)
        self.abandon()

    def abandon(self) -> None:
        """Close the files without flushing."""
        for segment in self._segments:
            segment.close()

    def _begin(self) -> None:
        """Create the folder, with the incarnation, before the first record."""
        if self._has_folder:
            return
        self._files.make_folder(self._folder, flush=self._options.flush.is_wanted)
        self._has_folder = True
        if self._incarnation != NO_INCARNATION:
            self._write_incarnation()

    def _write_incarnation(self) -> None:
        path, flush = self._folder / INCARNATION_FILE, self._options.flush.is_wanted
        write_checkpoint(self._files, path, [(self._incarnation,)], flush=flush)

    def _roll(self) -> None:
        """Flush the full segment and begin a new one."""
        self.flush()
        full = self._segments[-1]
        full.write_index(flush=True)
        full.close()
        self._write_offsets()
        self._segments.append(Segment(self._files, self._folder, self.log_end_offset))

    def _remember(self, *, high_watermark: Offset, recovery_point: Offset) -> None:
        wanted = replace(
            self._offsets, high_watermark=high_watermark, recovery_point=recovery_point
        )
        if wanted != self._offsets:
            self._offsets = wanted
            self._write_offsets()

    def _write_offsets(self, *, flush: bool = False) -> None:
        flush = flush or self._options.flush.is_wanted
        write_offsets(self._files, self._folder, self._offsets, flush=flush)
        self._stored_offsets = self._offsets

    def _note_epochs(self, segment: Segment) -> None:
        last = self._epoch_starts[-1][0] if self._epoch_starts else NO_EPOCH
        if segment.epoch_starts[-1][0] > last:
            self._epoch_starts = epoch_starts_of(self._segments)
            self._write_epochs()

    def _write_epochs(self) -> None:
        path = self._folder / LEADER_EPOCH_FILE
        write_checkpoint(self._files, path, self._epoch_starts, flush=self._options.flush.is_wanted)
