"""Small text files that are replaced as a whole: the old content or the new, never a mix.

A version, one row of numbers per line, how many rows there are, and a CRC-32 of all that: a file
that was torn, cut or edited is found out and counts as none.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.impl.shell.storage.files import Files, read_whole
from fencepost.spec.vocabulary import NO_INCARNATION, Offset, PartitionIncarnation

_VERSION = "fencepost-checkpoint 2"
OFFSETS_FILE = "offset-checkpoint"
INCARNATION_FILE = "partition-incarnation"
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
FIRST = Offset(0)
Rows = Sequence[tuple[int, ...]]


class CheckpointError(ValueError):
    """A file that is no checkpoint; says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOffsets:
    """What a log remembers beside its records; each may be older than the truth, never newer."""

    high_watermark: Offset = FIRST
    recovery_point: Offset = FIRST
    """All records before it were flushed: one that is missing or damaged is lost (START-003)."""
    log_start_offset: Offset = FIRST


def write_checkpoint(files: Files, path: Path, rows: Rows, *, flush: bool) -> None:
    """The file holds `rows`; with `flush` also after a loss of power. Raises `StorageError`.

    Without it, such a loss may leave a damaged file; `read_checkpoint` finds that out.
    """
    lines = [_VERSION, *(" ".join(map(str, row)) for row in rows), str(len(rows))]
    text = "".join(f"{line}\n" for line in lines).encode("ascii")
    files.replace(path, text + f"{zlib.crc32(text):08x}\n".encode("ascii"), flush=flush)


def read_checkpoint(path: Path) -> list[tuple[int, ...]] | None:
    """The rows; None when there is no file; raises `CheckpointError` when it is damaged."""
    data = read_whole(path)
    if data is None:
        return None
    text, crc = data[:-9], data[-9:]
    try:
        version, *rows, count = text.decode("ascii").splitlines()
        numbers = [tuple(map(int, row.split())) for row in rows]
        sound = version == _VERSION and int(count) == len(rows)
    except ValueError:
        sound, numbers = False, []
    if not sound or crc != f"{zlib.crc32(text):08x}\n".encode("ascii"):
        raise CheckpointError(f"{path.name} is damaged and was ignored")
    return numbers


def write_offsets(files: Files, folder: Path, offsets: LogOffsets, *, flush: bool) -> None:
    """The log in `folder` remembers `offsets`."""
    row = (offsets.high_watermark, offsets.recovery_point, offsets.log_start_offset)
    write_checkpoint(files, folder / OFFSETS_FILE, [row], flush=flush)


def read_offsets(folder: Path) -> LogOffsets | None:
    """What the log in `folder` remembers; None without a file; raises `CheckpointError`."""
    rows = read_checkpoint(folder / OFFSETS_FILE)
    if rows is None:
        return None
    if len(rows) != 1 or len(rows[0]) != 3 or min(rows[0]) < 0:
        raise CheckpointError(f"{OFFSETS_FILE} is damaged and was ignored")
    return LogOffsets(
        high_watermark=Offset(rows[0][0]),
        recovery_point=Offset(rows[0][1]),
        log_start_offset=Offset(rows[0][2]),
    )


def read_incarnation(folder: Path) -> PartitionIncarnation:
    """Whose log is in `folder`; 0 when it does not say; raises `CheckpointError`."""
    rows = read_checkpoint(folder / INCARNATION_FILE)
    return PartitionIncarnation(rows[0][0]) if rows else NO_INCARNATION
