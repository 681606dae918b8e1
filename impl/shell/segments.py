"""A segment: one file of framed records, and where each of them begins."""

import os
import re
import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

from impl.core.messages import Record
from spec.vocabulary import LeaderEpoch, Offset

_CRC = struct.Struct(">I")
_HEADER = struct.Struct(">Iqiqiii")
"""Length of the value, offset, leader epoch, the four fields of the producer: the CRC covers them
together with the value."""
FRAME_BYTES = _CRC.size + _HEADER.size
_NAME = re.compile(r"(\d{20})\.log")


class StorageError(Exception):
    """The disk does not give what it must; says what and where."""


class Segment:
    """Records `base` to `end`, `end` not included, in one file."""

    def __init__(self, folder: Path, base: Offset) -> None:
        """Open the file; `recover` finds what an earlier start left in it."""
        self.base = base
        self.torn_bytes = 0
        self._path = self.path_of(folder, base)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._positions = array("Q", [0])
        """Where each record begins, and where the next one will."""

    @staticmethod
    def path_of(folder: Path, base: Offset) -> Path:
        """The file of the segment that begins with `base`."""
        return folder / f"{base:020}.log"

    @property
    def end(self) -> Offset:
        """The offset after the last record."""
        return Offset(self.base + len(self._positions) - 1)

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return self._positions[-1]

    def append(self, records: Sequence[Record]) -> None:
        """Add records with one write; raises `StorageError` when the disk does not take them."""
        frames = [frame(record, Offset(self.end + i)) for i, record in enumerate(records)]
        text = b"".join(frames)
        if os.pwrite(self._file, text, self.size) != len(text):
            raise StorageError(f"{self._path}: the disk took only a part of {len(text)} bytes")
        for part in frames:
            self._positions.append(self.size + len(part))

    def read(self, start: Offset, end: Offset) -> Iterator[Record]:
        """The records from `start` to before `end`; raises `StorageError` on a damaged one."""
        first = self._positions[start - self.base]
        text = os.pread(self._file, self._positions[end - self.base] - first, first)
        position = 0
        for offset in range(start, end):
            found = parse_frame(text, position, Offset(offset))
            if found is None:
                raise StorageError(f"{self._path}: the record at offset {offset} is damaged")
            record, position = found
            yield record

    def truncate(self, offset: Offset) -> None:
        """Drop the records from `offset` on."""
        del self._positions[max(offset, self.base) - self.base + 1 :]
        os.ftruncate(self._file, self.size)

    def recover(self) -> list[Record]:
        """The sound records from the start; what follows the first unsound byte is dropped."""
        with self._path.open("rb") as file:
            text = file.read()
        records = []
        while found := parse_frame(text, self.size, self.end):
            records.append(found[0])
            self._positions.append(found[1])
        self.torn_bytes = len(text) - self.size
        if self.torn_bytes:
            os.ftruncate(self._file, self.size)
        return records

    def flush(self) -> None:
        """The records survive a loss of power."""
        os.fdatasync(self._file)

    def remove(self) -> None:
        """The file is gone."""
        self.close()
        self._path.unlink()

    def close(self) -> None:
        """The file is closed."""
        os.close(self._file)


def segment_bases(folder: Path) -> list[int]:
    """The first offsets of the segments in `folder`, ascending."""
    matches = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def frame(record: Record, offset: Offset) -> bytes:
    """The bytes of a record at `offset`."""
    value = record.value.encode()
    covered = (
        _HEADER.pack(
            len(value),
            offset,
            record.leader_epoch,
            record.producer_id,
            record.producer_epoch,
            record.sequence,
            record.batch_left,
        )
        + value
    )
    return _CRC.pack(zlib.crc32(covered)) + covered


def parse_frame(text: bytes, position: int, offset: Offset) -> tuple[Record, int] | None:
    """The record at `position` and where the next begins; None when no sound one is there."""
    begin = position + FRAME_BYTES
    if begin > len(text):
        return None
    (crc,) = _CRC.unpack_from(text, position)
    length, found_offset, leader_epoch, *producer = _HEADER.unpack_from(text, position + _CRC.size)
    end = begin + length
    covered = memoryview(text)[position + _CRC.size : end]
    if end > len(text) or found_offset != offset or zlib.crc32(covered) != crc:
        return None
    return Record(LeaderEpoch(leader_epoch), str(text[begin:end], "utf-8"), *producer), end
