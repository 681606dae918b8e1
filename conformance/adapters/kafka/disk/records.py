"""Kafka's record formats 0, 1 and 2, as they are in log segments and in answers to a Fetch.

Source: "Record Batch" and "Old Message Format" of Kafka's protocol guide. Compressed batches and
control batches have no values here: the harness writes neither.
"""

import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

_HEAD = struct.Struct(">qiib")
"""Base offset, length of what follows these two, leader epoch (or checksum), format."""
_BATCH = struct.Struct(">IhiqqqhiI")
_BATCH_AT = _HEAD.size
_RECORDS_AT = _BATCH_AT + _BATCH.size
_LENGTH_FROM = 12
_COMPRESSION = 7
_CONTROL = 32
_NULL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBatch:
    """Records that were appended together."""

    position: int
    """In bytes, from the start of the file or the answer."""
    base_offset: int
    leader_epoch: int | None
    """None in formats 0 and 1, which have none."""
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawBatch:
    """A batch of format 2 of a log that no client writes."""

    base_offset: int
    leader_epoch: int
    records: int
    """How many offsets it takes."""
    wall_ms: int
    is_control: bool
    values: tuple[bytes, ...]


def raw_batches(data: bytes) -> Iterator[RawBatch]:
    """All whole batches with their values as they are; a cut one at the end is left out."""
    for position in _whole_batches(data):
        base_offset, _, leader_epoch, _ = _HEAD.unpack_from(data, position)
        _, attributes, last, wall_ms, *_ = _BATCH.unpack_from(data, position + _BATCH_AT)
        yield RawBatch(
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            records=last + 1,
            wall_ms=wall_ms,
            is_control=bool(attributes & _CONTROL),
            values=tuple(_raw_values(data, position)),
        )


def _whole_batches(data: bytes) -> Iterator[int]:
    """Where each whole batch begins."""
    position = 0
    while position + _HEAD.size <= len(data):
        _, length, *_ = _HEAD.unpack_from(data, position)
        end = position + _LENGTH_FROM + length
        if length <= 0 or end > len(data):
            return
        yield position
        position = end


def read_batches(data: bytes) -> Iterator[RecordBatch]:
    """All whole batches of `data`; a cut one at its end is left out."""
    for position in _whole_batches(data):
        base_offset, _, leader_epoch, form = _HEAD.unpack_from(data, position)
        if form >= 2:
            values, epoch = tuple(_values(data, position)), leader_epoch
        else:
            values, epoch = (_old_value(data, position, form),), None
        yield RecordBatch(
            position=position, base_offset=base_offset, leader_epoch=epoch, values=values
        )


def read_segments(folder: Path) -> Iterator[RecordBatch]:
    """All batches in the log of one replica, oldest first."""
    for segment in sorted(folder.glob("*.log")):
        yield from read_batches(segment.read_bytes())


def new_batch(values: Sequence[str]) -> bytes:
    """The values as one batch of format 2, as a producer sends it."""
    from kio.records.schema import NewRecordBatch, Record
    from kio.records.writers import write_new_batch
    from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

    now = TZAwareMicros.parse(datetime.now(UTC))
    records = tuple(
        Record(
            attributes=i8(0),
            timestamp=now,
            offset=i64(delta),
            key=None,
            value=value.encode(),
            headers=(),
        )
        for delta, value in enumerate(values)
    )
    batch = NewRecordBatch(
        producer_id=i64(_NULL),
        producer_epoch=i16(_NULL),
        base_sequence=i32(_NULL),
        records=records,
        attributes=i16(0),
    )
    buffer = BytesIO()
    write_new_batch(buffer, batch)
    return buffer.getvalue()


def old_messages(values: Sequence[str]) -> bytes:
    """The values as messages of format 1, as a producer of release 0.10 sends them."""
    return b"".join(_old_message(offset, value) for offset, value in enumerate(values))


def _old_message(offset: int, value: str) -> bytes:
    data = value.encode()
    body = struct.pack(">bbqii", 1, 0, time.time_ns() // 1_000_000, _NULL, len(data)) + data
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


def _old_value(data: bytes, position: int, form: int) -> str:
    at = position + _HEAD.size + 1 + (8 if form == 1 else 0)  # attributes, then a timestamp
    (key_length,) = struct.unpack_from(">i", data, at)
    at += 4 + max(0, key_length)
    (length,) = struct.unpack_from(">i", data, at)
    return data[at + 4 : at + 4 + max(0, length)].decode(errors="backslashreplace")


def _values(data: bytes, position: int) -> Iterator[str]:
    _, attributes, *_ = _BATCH.unpack_from(data, position + _BATCH_AT)
    if not attributes & _CONTROL:
        yield from (one.decode(errors="backslashreplace") for one in _raw_values(data, position))


def _raw_values(data: bytes, position: int) -> Iterator[bytes]:
    _, attributes, *_, count = _BATCH.unpack_from(data, position + _BATCH_AT)
    if attributes & _COMPRESSION:
        return
    at = position + _RECORDS_AT
    for _ in range(count):
        length, start = _varint(data, at)
        at = start + length
        start += 1  # attributes
        for _ in range(2):  # the deltas of timestamp and offset
            _, start = _varint(data, start)
        key_length, start = _varint(data, start)
        value_length, start = _varint(data, start + max(0, key_length))
        yield data[start : start + max(0, value_length)]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, and where it ends."""
    shift = number = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
