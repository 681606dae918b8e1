"""The records of Kafka's metadata log that say where partitions are and which brokers live.

Each is a table of its fields: those that every version has in their order, up to the last one that
is read, then the tagged ones. Source: `PartitionRecord.json` and its neighbours, releases 4.1 to
4.4; the tables hold for every version of them there.
"""

import base64
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

REGISTER, UNREGISTER, TOPIC, PARTITION, PARTITION_CHANGE = 0, 1, 2, 3, 5
FENCE, UNFENCE, REMOVE_TOPIC, BROKER_CHANGE = 7, 8, 9, 17
UUID_BYTES = 16


def id_text(data: bytes) -> str:
    """An id as Kafka writes it."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Cursor:
    """Reads fields of a flexible message, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def varint(self) -> int:
        """An unsigned number of variable length."""
        shift = number = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def take(self, size: int) -> bytes:
        """So many bytes."""
        self._at += size
        if self._at > len(self._data):
            raise ValueError("a record of the metadata log is shorter than it says")
        return self._data[self._at - size : self._at]

    def int8(self) -> int:
        """A number of one byte."""
        return int(struct.unpack(">b", self.take(1))[0])

    def int32(self) -> int:
        """A number of four bytes."""
        return int(struct.unpack(">i", self.take(4))[0])

    def int64(self) -> int:
        """A number of eight bytes."""
        return int(struct.unpack(">q", self.take(8))[0])

    def brokers(self) -> tuple[int, ...] | None:
        """A list of broker ids; None for null."""
        count = self.varint() - 1
        return None if count < 0 else tuple(self.int32() for _ in range(count))

    def uuid(self) -> bytes:
        """An id."""
        return self.take(UUID_BYTES)

    def text(self) -> str:
        """A string."""
        return self.take(self.varint() - 1).decode()

    def tagged(
        self, readers: Mapping[int, tuple[str, Callable[["Cursor"], Any]]]
    ) -> dict[str, Any]:
        """The tagged fields that `readers` names; the rest is passed over."""
        found: dict[str, Any] = {}
        for _ in range(self.varint()):
            tag = self.varint()
            value = Cursor(self.take(self.varint()))
            if tag in readers:
                name, read = readers[tag]
                found[name] = read(value)
        return found


_Field = tuple[str, Callable[[Cursor], Any]]
_BROKER: _Field = ("broker_id", Cursor.int32)
_TOPIC: _Field = ("topic_id", Cursor.uuid)
_REPLICA_OF: tuple[_Field, ...] = (("partition", Cursor.int32), _TOPIC)

_FIELDS: Mapping[int, tuple[_Field, ...]] = MappingProxyType(
    {
        REGISTER: (_BROKER,),
        UNREGISTER: (_BROKER,),
        FENCE: (_BROKER,),
        UNFENCE: (_BROKER,),
        BROKER_CHANGE: (_BROKER, ("broker_epoch", Cursor.int64)),
        TOPIC: (("name", Cursor.text), _TOPIC),
        REMOVE_TOPIC: (_TOPIC,),
        PARTITION: (
            *_REPLICA_OF,
            ("replicas", Cursor.brokers),
            ("isr", Cursor.brokers),
            ("removing", Cursor.brokers),
            ("adding", Cursor.brokers),
            ("leader", Cursor.int32),
            ("leader_epoch", Cursor.int32),
            ("partition_epoch", Cursor.int32),
        ),
        PARTITION_CHANGE: _REPLICA_OF,
    }
)
_TAGGED: Mapping[int, Mapping[int, _Field]] = MappingProxyType(
    {
        BROKER_CHANGE: {0: ("fenced", Cursor.int8)},
        PARTITION_CHANGE: {
            0: ("isr", Cursor.brokers),
            1: ("leader", Cursor.int32),
            2: ("replicas", Cursor.brokers),
            6: ("eligible", Cursor.brokers),
        },
    }
)


def decoded(value: bytes) -> tuple[int, dict[str, Any]]:
    """The kind of a record and what is read of it; nothing of kinds that have no table."""
    cursor = Cursor(value)
    _, kind, _ = (cursor.varint() for _ in range(3))  # the frame, the kind and its version
    found = {name: read(cursor) for name, read in _FIELDS.get(kind, ())}
    if kind in _TAGGED:
        found |= cursor.tagged(_TAGGED[kind])
    return kind, found
