"""Checkpoints: small text files that are replaced atomically.

A file holds a version, one row of numbers per line, the number of rows, and a CRC-32 of it all; a
torn, cut or edited file is detected.
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
    """A checkpoint file is damaged; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOffsets:
    """The checkpointed offsets of a log; each may be lower than the truth, never higher."""

    high_watermark: Offset = FIRST
    recovery_point: Offset = FIRST
    """Records before it are flushed: a missing or damaged one is lost (START-003)."""
    log_start_offset: Offset = FIRST


def write_checkpoint(files: Files, path: Path, rows: Rows, *, flush: bool) -> None:
    """Write `rows`; with `flush`, durably. Raises `StorageError`.

    Without `flush`, a loss of power may damage the file; `read_checkpoint` detects that.
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
    """Write the offsets of the log in `folder`."""
    row = (offsets.high_watermark, offsets.recovery_point, offsets.log_start_offset)
    write_checkpoint(files, folder / OFFSETS_FILE, [row], flush=flush)


def read_offsets(folder: Path) -> LogOffsets | None:
    """Read the offsets of the log in `folder`; None without a file; raises `CheckpointError`."""
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
    """The incarnation of the log in `folder`; 0 without a file; raises `CheckpointError`."""
    rows = read_checkpoint(folder / INCARNATION_FILE)
    return PartitionIncarnation(rows[0][0]) if rows else NO_INCARNATION
