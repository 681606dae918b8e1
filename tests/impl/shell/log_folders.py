"""A log's folder while no process has it open, and short spellings for its tests."""

from collections.abc import Iterable
from pathlib import Path

from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.batches import batches_in
from fencepost.impl.shell.storage.files import Files
from fencepost.impl.shell.storage.log_store import LogOptions, LogStore
from fencepost.impl.shell.storage.segments import Segment, segment_bases
from fencepost.spec.vocabulary import LeaderEpoch, Offset, ProducerId

SMALL = LogOptions(segment_bytes=150)
"""Segments of a few records."""


def records(*values: str, epoch: int = 0) -> list[Record]:
    """Records of one epoch."""
    return [Record(LeaderEpoch(epoch), value) for value in values]


def produced(producer: int, base: int, count: int) -> list[Record]:
    """The records of one produce of an idempotent producer."""
    return [
        Record(LeaderEpoch(0), f"{base + i}", ProducerId(producer), 2, base + i, count - 1 - i)
        for i in range(count)
    ]


def whole(log: LogStore) -> list[Record]:
    """All records of a log."""
    return log.read(log.log_start_offset, log.log_end_offset)


def filled(folder: Path, appends: Iterable[list[Record]], options: LogOptions = SMALL) -> LogStore:
    """A log with these appends."""
    log = LogStore(folder, options)
    for values in appends:
        log.append(values)
    return log


def last_segment(folder: Path) -> Path:
    """The file of the last segment."""
    return Segment.path_of(folder, segment_bases(folder)[-1])


def size_up_to(folder: Path, offset: Offset) -> int:
    """The bytes of the last segment that hold the records before `offset`."""
    path = last_segment(folder)
    found = batches_in(path.read_bytes(), Offset(int(path.stem)))
    return max((batch.end for batch in found if batch.end_offset <= offset), default=0)


def kill(files: Files) -> None:
    """The process that had the log open is gone, without a word to the disk."""
    files.close_all()
