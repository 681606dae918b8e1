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
EXISTS = 3
MULTI = 14
MULTI_READ = 22
READS = frozenset({EXISTS, 4, 6, 8, 12, 22})
"""exists, getData, getACL, getChildren, getChildren2, multiRead."""
_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">ii")
_REPLY = struct.Struct(">iqi")
_MULTI_HEADER = struct.Struct(">i?i")
_FAILED = -1


@dataclass(slots=True)
class Frames:
    """Cuts a stream into frames, and keeps an incomplete frame until the rest has come."""

    longest: int = LONGEST
    is_plain: bool = False
    """True when this is no stream of frames."""
    count: int = 0
    _rest: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames, lengths included, that are complete now; all bytes when there are none."""
        if self.is_plain:
            return [data]
        self._rest += data
        frames = []
        while len(self._rest) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._rest)[0]
            if not _LENGTH.size <= end <= self.longest:
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
class Request:
    """A request that reads or changes something."""

    xid: int
    is_write: bool
    is_multi: bool
    path: str
    """Of several, the first one."""


def request_in(frame: bytes) -> Request | None:
    """The read or write that a frame of a client asks for, after its first one; or None."""
    body = frame[_LENGTH.size :]
    if len(body) < _REQUEST.size:
        return None
    xid, operation = _REQUEST.unpack_from(body)
    if operation not in WRITES | READS:
        return None
    is_multi = operation in (MULTI, MULTI_READ)
    at = _REQUEST.size + (_MULTI_HEADER.size if is_multi else 0)
    path = _text(body, at)
    return Request(xid=xid, is_write=operation in WRITES, is_multi=is_multi, path=path)


def harmless_instead_of(request: Request) -> bytes:
    """A frame that asks for nothing but the stat of the root, and is answered in its turn."""
    root = b"/"
    asked = _REQUEST.pack(request.xid, EXISTS) + _LENGTH.pack(len(root)) + root + b"\0"
    return _LENGTH.pack(len(asked)) + asked


def with_error(frame: bytes, code: int) -> bytes:
    """The same answer of a server with an error instead of its result."""
    xid, zxid, _ = _REPLY.unpack_from(frame, _LENGTH.size)
    return _LENGTH.pack(_REPLY.size) + _REPLY.pack(xid, zxid, code)


def zxid_of_success(frame: bytes, write: Request) -> int | None:
    """The zxid of `write` when this frame of a server reports that it was done, else None."""
    body = frame[_LENGTH.size :]
    if len(body) < _REPLY.size:
        return None
    xid, zxid, error = _REPLY.unpack_from(body)
    if xid != write.xid or error != 0:
        return None
    if write.is_multi and _MULTI_HEADER.unpack_from(body, _REPLY.size)[0] == _FAILED:
        return None
    return int(zxid)


def xid_of_reply(frame: bytes) -> int | None:
    """Which request this frame of a server answers, for good or bad; None when none."""
    body = frame[_LENGTH.size :]
    return int(_REPLY.unpack_from(body)[0]) if len(body) >= _REPLY.size else None


def _text(body: bytes, at: int) -> str:
    if len(body) < at + _LENGTH.size:
        return ""
    size = _LENGTH.unpack_from(body, at)[0]
    start = at + _LENGTH.size
    return body[start : start + max(0, size)].decode(errors="replace")
