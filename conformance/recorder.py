"""Writes the trace of one node of the harness: a client, or the harness itself.

One `write` per line, so that a kill loses nothing that happened. Threads may share a recorder.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fault_injection.zookeeper_client import Znode
from spec.trace import Kind, TraceEvent, encode
from spec.vocabulary import Outcome
from spec.znodes import TopicPartition, leader_and_isr_path


class LamportClock:
    """The logical clock that all nodes of the harness share; brokers have their own."""

    def __init__(self) -> None:
        self._now = 0
        self._lock = threading.Lock()

    def tick(self) -> int:
        """The time of an event that happens here now."""
        with self._lock:
            self._now += 1
            return self._now

    def observe(self, other: int) -> None:
        """What happens here from now on comes after `other`."""
        with self._lock:
            self._now = max(self._now, other)


WRITE = "WriteLeaderAndIsr"
BAD_VERSION = "BAD_VERSION"


class Recorder:
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
        """No line follows."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ClientCrashedError(Exception):
    """The client has ended between a request and its answer; says which."""


class MortalRecorder(Recorder):
    """That of a client which may be told to end before it hears of the answer to a request."""

    is_dying = False
    """From now on the next answer is the end of the client, and is not in its trace."""

    def write(self, kind: Kind, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
        """As `Recorder.write`; raises `ClientCrashedError`."""
        if self.is_dying and kind is Kind.COMPLETE:
            raise ClientCrashedError(self.node)
        return super().write(kind, action, **fields)


@contextmanager
def traced_write(
    recorder: Recorder | None, partition: TopicPartition, found: Znode, session_id: int
) -> Iterator[list[Znode]]:
    """The write of `found` is in the trace as brokers' are; without a recorder it is nowhere.

    What is written is put into the list; nothing, when somebody else has written before.
    A write that raises stays an invocation: who knows.
    """
    written: list[Znode] = []
    if recorder is None:
        yield written
        return
    fields: dict[str, Any] = {
        "topic": partition.topic,
        "partition": partition.partition,
        "expected_version": found.znode_version,
        "session_id": session_id,
        "path": leader_and_isr_path(partition),
        "data": found.data.decode(errors="backslashreplace"),
    }
    began = recorder.write(Kind.INVOKE, WRITE, op_id=found.mzxid, **fields)
    yield written
    ending: dict[str, Any] = {"outcome": Outcome.DEFINITE_ERROR, "error_code": BAD_VERSION}
    if written:
        done = written[0]
        ending = {"outcome": Outcome.OK, "znode_version": done.znode_version, "zxid": done.mzxid}
    recorder.write(
        Kind.COMPLETE, WRITE, op_id=began.op_id, inv_ns=began.mono_ns, **ending, **fields
    )
