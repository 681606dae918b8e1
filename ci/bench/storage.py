"""How long the logs of a broker take.

Run `python -m fencepost.ci.bench.storage [append | read | start]`.

Each line has the target for two cores and an ordinary disk. Records have 1 KiB; nothing is flushed
but what a log flushes by itself: a segment that is complete, and all of a log that is closed.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fencepost.ci.bench.measured import Benches, Measured, measure_all, seconds_of, show_measured

RECORD_BYTES = 1024
RECORDS = 20_000
PARTITIONS = 1_000
APPEND_TARGET_S = {1: 0.5, 10: 0.3, 100: 0.3}
"""Records per append -> for all, the flush of the first segment included."""
READ_TARGET_S = {1: 1.0, 200: 0.2}
"""Records per read -> for all."""
SCAN_TARGET_S = 0.1
START_TARGET_S = 1.0
STOP_TARGET_S = 10.0
"""Each log is flushed once."""


def load(name: str) -> Any:  # noqa: ANN401  this room knows `impl` by name alone
    """A module of the reference implementation."""
    return import_module(f"fencepost.impl.{name}")


def records(count: int) -> list[Any]:
    """Records that differ in nothing."""
    record = load("core.types.messages").Record(0, "x" * RECORD_BYTES)
    return [record] * count


def fill(log: Any, per_append: int) -> None:  # noqa: ANN401  as above
    """All records are in the log."""
    batch = records(per_append)
    for _ in range(RECORDS // per_append):
        log.append(batch)


def read_all(log: Any, per_read: int) -> None:  # noqa: ANN401  as above
    """All records were read."""
    for start in range(0, RECORDS, per_read):
        log.read(start, start + per_read)


def append() -> Iterator[Measured]:
    """One partition, as a leader writes it."""
    log_store = load("shell.storage.log_store")
    for per_append, target_s in APPEND_TARGET_S.items():
        with TemporaryDirectory() as folder:
            log = log_store.LogStore(Path(folder))
            seconds = seconds_of(lambda log=log, many=per_append: fill(log, many))  # type: ignore[misc]
            log.close()
        size = f"{RECORDS:,} records, {per_append} at a time"
        yield Measured(what="append", size=size, figure=seconds, target=target_s)


def read() -> Iterator[Measured]:
    """One partition, as a follower or consumer gets it; batches of 10 records."""
    log_store = load("shell.storage.log_store")
    with TemporaryDirectory() as folder:
        log = log_store.LogStore(Path(folder))
        fill(log, 10)
        for per_read, target_s in READ_TARGET_S.items():
            seconds = seconds_of(lambda many=per_read: read_all(log, many))  # type: ignore[misc]
            size = f"{RECORDS:,} records, {per_read} at a time"
            yield Measured(what="read", size=size, figure=seconds, target=target_s)
        log.abandon()
        seconds = seconds_of(lambda: log_store.LogStore(Path(folder)).abandon())
    size = "a segment that was being written"
    yield Measured(what="start after a kill", size=size, figure=seconds, target=SCAN_TARGET_S)


def start() -> Iterator[Measured]:
    """A broker with many partitions, each with one record."""
    storage, znodes = load("shell.storage.storage"), import_module("fencepost.spec.znodes")
    with TemporaryDirectory() as folder:
        logs = storage.Storage(Path(folder))
        for number in range(PARTITIONS):
            logs.append(znodes.TopicPartition("t", number), 0, records(1))
        close_s = seconds_of(logs.close)
        again = storage.Storage(Path(folder))
        start_s = seconds_of(again.recover)
        again.close()
    size = f"{PARTITIONS:,} partitions"
    yield Measured(what="stop", size=size, figure=close_s, target=STOP_TARGET_S)
    yield Measured(what="start", size=size, figure=start_s, target=START_TARGET_S)


BENCHES: Benches = {
    "append": append,
    "read": read,
    "start": start,
}


def main(names: list[str]) -> None:
    """Measure what is named, or all."""
    show_measured("storage", measure_all(names, BENCHES))


if __name__ == "__main__":
    main(sys.argv[1:])
