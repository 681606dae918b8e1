"""Writes the trace of one node of the harness: a client, or the harness itself.

One `write` per line, so that a kill loses nothing that happened. Threads may share a recorder.
"""

import os
import threading
import time
from pathlib import Path
from typing import Any, Self

from fencepost.spec.trace import Kind, LamportClock, TraceEvent, encode


class TraceWriter:
    """The file `trace-<node>.ndjson` of a run folder."""

    def __init__(self, folder: Path, *, run_id: str, node: str, clock: LamportClock) -> None:
        """Raises `OSError` when the file cannot be created."""
        folder.mkdir(parents=True, exist_ok=True)
        self.node = node
        self.clock = clock
        self._run_id = run_id
        self._lock = threading.Lock()
        self._seq = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._descriptor = os.open(folder / f"trace-{node}.ndjson", flags, 0o644)

    def write(self, kind: Kind, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
        """The line is in the file; `fields` are those of `TraceEvent`."""
        with self._lock:
            event = TraceEvent(
                run_id=self._run_id,
                node=self.node,
                seq=self._seq,
                mono_ns=time.monotonic_ns(),
                lamport=self.clock.tick(),
                kind=kind,
                action=action,
                **fields,
            )
            os.write(self._descriptor, encode(event))
            self._seq += 1
        return event

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
