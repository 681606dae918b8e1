"""ZooKeeper's messages as they pass: whole frames, what a request asks for, what a reply says.

Each message is a length of four bytes and that many more; the first of either side opens the
session, and each later one begins with the number that request and reply share. What cannot be
such a stream (a four-letter word) is passed on as it comes. Standard library only.
"""

import struct
from dataclasses import dataclass, field

LONGEST = 8 * 1024 * 1024
"""Beyond what servers take: a longer frame is none."""
WRITES = frozenset({1, 2, 5, 14, 15, 19, 21})
"""create, delete, setData, multi, create2, createContainer, createTTL."""
MULTI = 14
_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">ii")
_REPLY = struct.Struct(">iqi")
_MULTI_HEADER = struct.Struct(">i?i")
_FAILED = -1


@dataclass(slots=True)
class Frames:
    """Cuts a stream into frames, and keeps the end of it until the rest has come."""

    is_plain: bool = False
    """True when this is no stream of frames."""
    count: int = 0
    _rest: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames, lengths included, that are complete now; all of it when it has none."""
        if self.is_plain:
            return [data]
        self._rest += data
        frames = []
        while len(self._rest) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._rest)[0]
            if not _LENGTH.size <= end <= LONGEST:
                self.is_plain = True
                frames.append(bytes(self._rest))
                self._rest.clear()
                break
            if len(self._rest) < end:
                break
            frames.append(bytes(self._rest[:end]))
            del self._rest[:end]
        return frames

    def flush(self) -> bytes:
        """What is left of the stream at its end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A request that changes something."""

    xid: int
    is_multi: bool
    path: str


def write_in(frame: bytes) -> Write | None:
    """The write that a frame of a client asks for, after its first one; or None."""
    body = frame[_LENGTH.size :]
    if len(body) < _REQUEST.size:
        return None
    xid, operation = _REQUEST.unpack_from(body)
    if operation not in WRITES:
        return None
    is_multi = operation == MULTI
    at = _REQUEST.size + (_MULTI_HEADER.size if is_multi else 0)
    return Write(xid=xid, is_multi=is_multi, path=_text(body, at))


def zxid_of_success(frame: bytes, write: Write) -> int | None:
    """The zxid at which `write` was done, when this frame of a server says that it was."""
    body = frame[_LENGTH.size :]
    if len(body) < _REPLY.size:
        return None
    xid, zxid, error = _REPLY.unpack_from(body)
    if xid != write.xid or error != 0:
        return None
    if write.is_multi and _MULTI_HEADER.unpack_from(body, _REPLY.size)[0] == _FAILED:
        return None
    return int(zxid)


def is_reply_to(frame: bytes, write: Write) -> bool:
    """True when this frame of a server answers `write`, for good or bad."""
    body = frame[_LENGTH.size :]
    return len(body) >= _REPLY.size and _REPLY.unpack_from(body)[0] == write.xid


def _text(body: bytes, at: int) -> str:
    if len(body) < at + _LENGTH.size:
        return ""
    size = _LENGTH.unpack_from(body, at)[0]
    start = at + _LENGTH.size
    return body[start : start + max(0, size)].decode(errors="replace")
