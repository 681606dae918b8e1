"""The bytes of a trace file in blocks of whole lines: readers need no more memory than that."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

BLOCK_BYTES = 4 << 20
"""What is read at a time; a block is about that long."""

LINE_BYTES_MAX = 64 << 20
"""A longer line is no event: only its beginning is kept."""

KEPT_BYTES = 64 << 10
CUT = b"\0"
"""Ends what is kept of a line that was too long, so that it cannot be taken for a whole one."""


class TraceBlocks:
    """The blocks of one file, to be read once; then its digest is known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of what was read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """Blocks that end with a line; at last, without an end, a line that was cut off."""
        rest = _Rest()
        with self._path.open("rb") as stream:
            while chunk := stream.read(BLOCK_BYTES):
                self._digest.update(chunk)
                first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
                if last < 0:
                    rest.grow(chunk)
                    continue
                rest.grow(chunk[:first])
                yield rest.take() + chunk[first : last + 1]
                rest.grow(chunk[last + 1 :])
        if last_line := rest.take():
            yield last_line


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
