"""Writes the trace of one broker: each line with one `write`, so that a kill loses none."""

import os
import re
import time
from pathlib import Path

from fencepost.impl.trace_lines import Line, node_name
from fencepost.spec.trace import LamportClock, encode_fields, line_head
from fencepost.spec.vocabulary import BrokerId

INCARNATIONS_MAX = 100_000


class TraceError(Exception):
    """The trace cannot be written; says where and why."""


class Tracer:
    """The trace file of one start of one broker."""

    def __init__(self, folder: Path, run_id: str, broker_id: BrokerId) -> None:
        """Begin the file of the next incarnation in `folder`; raises `TraceError`."""
        self.clock = LamportClock()
        node = node_name(broker_id)
        self._seq = 0
        self._noted: list[bytes] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.incarnation, self._file = _begin_file(folder, node)
        except OSError as error:
            reason = error.strerror
            raise TraceError(f"cannot write to the trace folder {folder}: {reason}") from error
        self._head = line_head(run_id, node, self.incarnation)

    def write(self, *lines: Line, mono_ns: int | None = None) -> None:
        """Append lines with one `write`; `mono_ns` replaces the current monotonic time."""
        self.note(*lines, mono_ns=mono_ns)
        self.flush()

    def note(self, *lines: Line, mono_ns: int | None = None) -> None:
        """Buffer lines until the next `write` or `flush`."""
        wall_ns = time.time_ns()
        for line in lines:
            self._noted.append(
                encode_fields(
                    self._head,
                    self._seq,
                    time.monotonic_ns() if mono_ns is None else mono_ns,
                    self.clock.tick(),
                    wall_ns,
                    line,
                )
            )
            self._seq += 1

    def flush(self) -> None:
        """Write all buffered lines; raises `TraceError` when the disk takes only a part."""
        if not self._noted:
            return
        text = b"".join(self._noted)
        self._noted.clear()
        written = os.write(self._file, text)
        if written != len(text):
            raise TraceError(f"only {written} of {len(text)} bytes of a trace could be written")

    def close(self) -> None:
        """Write all buffered lines and close the file."""
        self.flush()
        os.close(self._file)


def _begin_file(folder: Path, node: str) -> tuple[int, int]:
    pattern = re.compile(rf"trace-{re.escape(node)}-(\d+)\.ndjson")
    found = (pattern.fullmatch(path.name) for path in folder.iterdir())
    last = max((int(match[1]) for match in found if match), default=0)
    for incarnation in range(last + 1, INCARNATIONS_MAX):
        path = folder / f"trace-{node}-{incarnation}.ndjson"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            return incarnation, os.open(path, flags, 0o644)
        except FileExistsError:
            continue  # another process of this broker begins at the same time
    raise TraceError(f"{folder} holds {INCARNATIONS_MAX} traces of {node}; give an empty folder")
