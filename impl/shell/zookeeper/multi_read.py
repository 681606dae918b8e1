"""multiRead, which reads many znodes in one request (ZooKeeper 3.6 or newer); kazoo lacks it.

It is no transaction: each read has its own result.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kazoo.exceptions import EXCEPTIONS
from kazoo.protocol.serialization import GetData, MultiHeader, int_struct, stat_struct

PATHS_MAX = 250
"""Paths in one request; request and answer stay far below `jute.maxbuffer`."""
_END = MultiHeader(-1, done=True, err=-1)
_ERROR = -1


class MultiRead(NamedTuple):
    """The request, as kazoo's connection takes it."""

    paths: tuple[str, ...]
    type: int = 22

    def serialize(self) -> bytes:
        """The request in its wire form."""
        header = MultiHeader(GetData.type, done=False, err=-1).serialize()
        parts = [bytes(header + GetData(path, None).serialize()) for path in self.paths]
        return b"".join(parts) + bytes(_END.serialize())

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Any]:
        """Per path `(data, stat)` as kazoo's `GetData` gives it, or the exception."""
        results: list[Any] = []
        header, offset = MultiHeader.deserialize(data, offset)
        while not header.done:
            if header.type == _ERROR:
                (error,) = int_struct.unpack_from(data, offset)
                offset += int_struct.size
                results.append(EXCEPTIONS[error]())
            else:
                found = GetData.deserialize(data, offset)
                (length,) = int_struct.unpack_from(data, offset)
                offset += int_struct.size + max(length, 0) + stat_struct.size
                results.append(found)
            header, offset = MultiHeader.deserialize(data, offset)
        return results


def in_multi_reads(paths: Sequence[str]) -> list[MultiRead]:
    """The paths in order, in requests of at most `PATHS_MAX`."""
    return [
        MultiRead(tuple(paths[begin : begin + PATHS_MAX]))
        for begin in range(0, len(paths), PATHS_MAX)
    ]
