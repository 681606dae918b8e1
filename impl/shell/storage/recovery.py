"""Recovery of a log at a start (START-003).

In the last segment all valid batches are kept, and the bytes from the first invalid one on are
dropped: an unfinished write. Flushed records cannot be such a tail: if one is missing or damaged,
the disk lost it and the log is refused, since truncation could lose acknowledged records.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fencepost.impl.core.rules.producers import ProducerState
from fencepost.impl.shell.storage.checkpoints import (
    INCARNATION_FILE,
    LEADER_EPOCH_FILE,
    CheckpointError,
    LogOffsets,
    read_checkpoint,
    read_incarnation,
    read_offsets,
    write_checkpoint,
    write_offsets,
)
from fencepost.impl.shell.storage.files import Files, StorageError
from fencepost.impl.shell.storage.segments import (
    Segment,
    epoch_starts_of,
    producers_of,
    segment_bases,
)
from fencepost.spec.vocabulary import (
    NO_INCARNATION,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ProducerId,
)

EpochStarts = tuple[tuple[LeaderEpoch, Offset], ...]
START = Offset(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The state of a recovered log and the repairs that were made."""

    log_start_offset: Offset
    log_end_offset: Offset
    high_watermark: Offset
    epoch_starts: EpochStarts
    producers: Mapping[ProducerId, ProducerState] = field(default_factory=dict)
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedLog:
    """A recovered log with its open segments."""

    segments: list[Segment]
    offsets: LogOffsets
    stored_offsets: LogOffsets
    """The offsets that the checkpoint holds."""
    recovery: Recovery


def begun_log(files: Files, folder: Path) -> LoadedLog:
    """An empty log without a folder."""
    offsets = LogOffsets()
    return LoadedLog(
        segments=[Segment(files, folder, START)],
        offsets=offsets,
        stored_offsets=offsets,
        recovery=Recovery(
            log_start_offset=START, log_end_offset=START, high_watermark=START, epoch_starts=()
        ),
    )


def recover_log(files: Files, folder: Path) -> LoadedLog:
    """The log in `folder`, which exists; raises `StorageError` when flushed records are lost."""
    notices: list[str] = []
    offsets = _offsets(folder, notices)
    try:
        segments = _segments(files, folder, offsets, notices)
    except OSError as error:
        raise StorageError(f"cannot read {folder}: {error.strerror or error}") from error
    start, end = max(offsets.log_start_offset, segments[0].base), segments[-1].end
    if end < offsets.recovery_point:
        flushed = offsets.recovery_point
        raise StorageError(f"{folder}: the log ends at {end}, but was flushed up to {flushed}")
    if offsets.high_watermark > end:
        notices.append(f"the high watermark was {offsets.high_watermark}; the log ends at {end}")
        # Else the next start could take it for one of records that are yet to come.
        offsets = replace(offsets, high_watermark=end)
        write_offsets(files, folder, offsets, flush=True)
    high_watermark = max(offsets.high_watermark, start)
    epoch_starts = _epoch_starts(files, folder, segments, notices)
    return LoadedLog(
        segments=segments,
        offsets=LogOffsets(
            high_watermark=high_watermark,
            recovery_point=max(offsets.recovery_point, segments[-1].base),
            log_start_offset=start,
        ),
        stored_offsets=offsets,
        recovery=Recovery(
            log_start_offset=start,
            log_end_offset=end,
            high_watermark=high_watermark,
            epoch_starts=epoch_starts,
            producers=producers_of(segments).states,
            partition_incarnation=_incarnation(folder),
            notices=tuple(notices),
        ),
    )


def _offsets(folder: Path, notices: list[str]) -> LogOffsets:
    """The checkpointed offsets; without a valid file, the lowest possible ones."""
    try:
        return read_offsets(folder) or LogOffsets()
    except CheckpointError as error:
        notices.append(str(error))
    bases = segment_bases(folder)
    return LogOffsets(log_start_offset=bases[0] if bases else START)


def _segments(files: Files, folder: Path, offsets: LogOffsets, notices: list[str]) -> list[Segment]:
    """All segments, checked for gaps; a new one when there is none."""
    segments: list[Segment] = []
    bases = segment_bases(folder)
    if not bases or bases[0] > offsets.log_start_offset:
        first = offsets.log_start_offset
        if bases or first < offsets.recovery_point:
            raise StorageError(f"{folder}: the segment with offset {first} is missing")
        return [Segment(files, folder, first)]
    for base in bases:
        if segments and segments[-1].end != base:
            raise StorageError(f"{folder}: records {segments[-1].end} to {base} are missing")
        segment = Segment(files, folder, base)
        unsound = segment.recover()
        segments.append(segment)
        if not unsound:
            continue
        if base != bases[-1] or segment.end < offsets.recovery_point:
            path = Segment.path_of(folder, base)
            raise StorageError(f"{path}: the record at offset {segment.end} is damaged")
        segment.drop_tail()
        notices.append(f"{unsound} invalid bytes at offset {segment.end} dropped")
    return segments


def _epoch_starts(
    files: Files, folder: Path, segments: list[Segment], notices: list[str]
) -> EpochStarts:
    """The leader epochs of the records; rewrites a checkpoint that differs."""
    starts = epoch_starts_of(segments)
    stored = None
    try:
        stored = read_checkpoint(folder / LEADER_EPOCH_FILE)
    except CheckpointError as error:
        notices.append(str(error))
    if (stored or []) != starts:
        if stored is not None:
            notices.append("the leader epochs were written anew from the records")
        write_checkpoint(files, folder / LEADER_EPOCH_FILE, starts, flush=False)
    return tuple(starts)


def _incarnation(folder: Path) -> PartitionIncarnation:
    """The incarnation; raises `StorageError` when its file is damaged (START-004)."""
    try:
        return read_incarnation(folder)
    except CheckpointError as error:
        raise StorageError(f"{folder}: {INCARNATION_FILE} is damaged") from error
