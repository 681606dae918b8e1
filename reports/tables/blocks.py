"""The bytes of a trace file in blocks of whole lines: readers need no more memory than that."""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

BLOCK_BYTES = 4 << 20
"""What is read at a time; a block is about that long."""

PART_BYTES = 512 << 20
"""A longer file is read in parts of this length, each by a task of its own."""

LINE_BYTES_MAX = 64 << 20
"""A longer line is no event: only its beginning is kept."""

KEPT_BYTES = 64 << 10
CUT = b"\0"
"""Ends what is kept of a line that was too long, so that it cannot be taken for a whole one."""


class TraceBlocks:
    """The blocks of the lines that begin in one part of a file, to be read once.

    Then the digest of the part is known.
    """

    def __init__(self, path: Path, part: int | None = None) -> None:
        self._path = path
        self._start = PART_BYTES * (part or 0)
        self._end = sys.maxsize if part is None else self._start + PART_BYTES
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of what was read of the part so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """Blocks that end with a line; at last, without an end, a line that was cut off."""
        rest = _Rest()
        for chunk in self._chunks():
            first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
            if last < 0:
                rest.grow(chunk)
                continue
            rest.grow(chunk[:first])
            yield rest.take() + chunk[first : last + 1]
            rest.grow(chunk[last + 1 :])
        if last_line := rest.take():
            yield last_line

    def _chunks(self) -> Iterator[bytes]:
        """The bytes of the lines that begin in the part."""
        at = max(0, self._start - 1)
        begun = self._start == 0
        with self._path.open("rb") as stream:
            stream.seek(at)
            while chunk := stream.read(BLOCK_BYTES):
                self._digest.update(chunk[max(0, self._start - at) : max(0, self._end - at)])
                past = chunk.find(b"\n", max(0, self._end - 1 - at)) + 1
                at += len(chunk)
                own = chunk[:past] if past else chunk
                if not begun:  # these are of a line of the part before
                    first = own.find(b"\n") + 1
                    begun, own = first > 0, own[first:] if first else b""
                if own:
                    yield own
                if past or (not begun and at >= self._end):
                    return


def parts_of(size: int) -> int:
    """How many parts a file of `size` bytes has; one at least."""
    return max(1, -(-size // PART_BYTES))


def digest_of(parts: Sequence[str]) -> str:
    """Of a file, by the digests of its parts in order; that of its only one, if it has one."""
    return parts[0] if len(parts) == 1 else hashlib.sha256("".join(parts).encode()).hexdigest()


class _Rest:
    """A line that goes on in what was not read yet."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def grow(self, part: bytes) -> None:
        if self._length <= LINE_BYTES_MAX:
            self._parts.append(part)
        self._length += len(part)

    def take(self) -> bytes:
        """All of it, or its beginning if it is too long; then a new line begins."""
        line = b"".join(self._parts)
        if self._length > LINE_BYTES_MAX:
            line = line[:KEPT_BYTES] + CUT
        self._parts, self._length = [], 0
        return line
