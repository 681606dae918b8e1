"""A record batch on disk: what one append wrote, under one CRC.

    crc             u32  CRC-32 of all that follows
    length          u32  bytes that follow this field
    magic           u8   version of this format
    base_offset     i64  of the first record
    leader_epoch    i32  of all records
    count           u32  records
    producer_id     i64  0: not of an idempotent producer
    producer_epoch  i16
    base_sequence   i32  of the first record
    left            u32  records of the same produce that follow this batch: 0 unless it was cut
    lengths         u32  per record, bytes of its value
    values               UTF-8, one after the other

All numbers are big-endian. The fields are those of Kafka's batch of magic 2, with a CRC that also
covers offset, length and epoch: a flipped bit anywhere is detected. A batch is valid as a whole.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from fencepost.impl.core.types.messages import Record
from fencepost.spec.vocabulary import NO_PRODUCER, LeaderEpoch, Offset, ProducerId

MAGIC = 1
_CRC = struct.Struct(">I")
_PREFIX = struct.Struct(">II")
_FIELDS = struct.Struct(">IBqiIqhiI")
"""Length and all that follows it up to the lengths of the values."""
HEADER_BYTES = _CRC.size + _FIELDS.size


class BatchProducer(NamedTuple):
    """The idempotent producer of a batch (KIP-98)."""

    producer_id: ProducerId
    producer_epoch: int
    base_sequence: int
    left: int
    """Records of the same produce that follow this batch: 0 unless it was cut."""


NO_BATCH_PRODUCER = BatchProducer(NO_PRODUCER, 0, 0, 0)


class StoredBatch(NamedTuple):
    """A valid batch within `text`; its values are decoded on demand."""

    base_offset: Offset
    end_offset: Offset
    leader_epoch: LeaderEpoch
    producer: BatchProducer
    text: bytes
    begin: int
    """The position of the lengths."""
    end: int
    """The position after the batch."""

    def records(self, start: Offset, end: Offset) -> list[Record]:
        """The records of the batch from `start` to before `end`."""
        count = self.end_offset - self.base_offset
        first, last = max(start - self.base_offset, 0), min(end, self.end_offset) - self.base_offset
        lengths = _lengths(count).unpack_from(self.text, self.begin)
        position = self.begin + 4 * count + (sum(lengths[:first]) if first else 0)
        values = []
        for length in lengths[first:last]:
            values.append(str(self.text[position : position + length], "utf-8"))
            position += length
        if self.producer.producer_id == NO_PRODUCER:
            return [Record(self.leader_epoch, value) for value in values]
        producer_id, epoch, sequence, left = self.producer
        left += count - 1
        return [
            Record(self.leader_epoch, value, producer_id, epoch, sequence + i, left - i)
            for i, value in enumerate(values, start=first)
        ]


class EncodedBatch(NamedTuple):
    """A batch in its form on disk."""

    leader_epoch: LeaderEpoch
    producer: BatchProducer
    size: int
    """Number of records."""
    data: bytes


def encode_batches(base_offset: Offset, records: Sequence[Record]) -> list[EncodedBatch]:
    """The records as batches: one per leader epoch, and one per produce of a known producer."""
    batches = []
    for run in _runs(records):
        epoch, producer = run[0].leader_epoch, NO_BATCH_PRODUCER
        if run[0].producer_id != NO_PRODUCER:
            first, left = run[0], run[-1].batch_left
            producer = BatchProducer(first.producer_id, first.producer_epoch, first.sequence, left)
        data = _encode(base_offset, epoch, [record.value.encode() for record in run], producer)
        batches.append(EncodedBatch(epoch, producer, len(run), data))
        base_offset = Offset(base_offset + len(run))
    return batches


def _runs(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    begin = 0
    for i in range(1, len(records)):
        if not _continues(records[i - 1], records[i]):
            yield records[begin:i]
            begin = i
    yield records[begin:]


def _continues(one: Record, other: Record) -> bool:
    if one.leader_epoch != other.leader_epoch or one.producer_id != other.producer_id:
        return False
    return one.producer_id == NO_PRODUCER or (
        one.producer_epoch == other.producer_epoch
        and one.sequence + 1 == other.sequence
        and one.batch_left - 1 == other.batch_left
    )


def _encode(
    base_offset: Offset, leader_epoch: LeaderEpoch, values: list[bytes], producer: BatchProducer
) -> bytes:
    count = len(values)
    lengths = _lengths(count).pack(*map(len, values))
    body = b"".join([lengths, *values])
    length = HEADER_BYTES - _PREFIX.size + len(body)
    fields = _FIELDS.pack(length, MAGIC, base_offset, leader_epoch, count, *producer)
    crc = zlib.crc32(body, zlib.crc32(fields))
    return b"".join([_CRC.pack(crc), fields, body])


def parse_batch(text: bytes, position: int) -> StoredBatch | None:
    """The batch at `position`; None when none is there that is whole and valid."""
    begin = position + HEADER_BYTES
    if begin > len(text):
        return None
    (crc,) = _CRC.unpack_from(text, position)
    fields = _FIELDS.unpack_from(text, position + _CRC.size)
    length, magic, base_offset, leader_epoch, count = fields[:5]
    end = position + _PREFIX.size + length
    if not begin <= end <= len(text) or magic != MAGIC or count < 1:
        return None
    if zlib.crc32(memoryview(text)[position + _CRC.size : end]) != crc:
        return None
    producer = NO_BATCH_PRODUCER if fields[5] == NO_PRODUCER else BatchProducer(*fields[5:])
    return StoredBatch(base_offset, base_offset + count, leader_epoch, producer, text, begin, end)


def batches_in(text: bytes, base_offset: Offset) -> Iterator[StoredBatch]:
    """The valid batches from the start of `text`, densely numbered from `base_offset`."""
    position, offset = 0, base_offset
    while (batch := parse_batch(text, position)) and batch.base_offset == offset:
        yield batch
        position, offset = batch.end, batch.end_offset


@cache
def _lengths(count: int) -> struct.Struct:
    return struct.Struct(f">{count}I")
