"""Logs on disk: a folder per partition with segment files and two checkpoints.

A record is a frame: CRC-32 of what follows, length of the value, offset, leader epoch, value.
Recovery keeps every sound record before the first unsound byte and drops the rest; it never invents
one (START-003). The log on disk starts at offset 0.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from impl.core.messages import Record
from impl.core.replica import RecoveredLog
from impl.shell.log_store import FlushPolicy, LogStore, Recovery, StorageError
from spec.vocabulary import Offset
from spec.znodes import TOPIC_NAME, TopicPartition

_FOLDER = re.compile(rf"({TOPIC_NAME.pattern})-(\d+)")
LOCK_FILE = ".lock"
DELETED = ".deleted"
"""Ends the name of a folder whose deletion has begun."""


class Storage:
    """All logs of one broker."""

    def __init__(self, folder: Path, flush: FlushPolicy = FlushPolicy.NEVER) -> None:
        """Take the folder for this process alone; raises `StorageError`."""
        self._folder = folder
        self._flush = flush
        self._logs: dict[TopicPartition, LogStore] = {}
        self._lock = _lock(folder)

    def recover(self) -> Mapping[TopicPartition, Recovery]:
        """What is sound of every log found, in order of partition; raises `StorageError`."""
        recovered = {}
        for path in self._folder.glob(f"*{DELETED}"):
            shutil.rmtree(path)
        for path in sorted(self._folder.iterdir()):
            match = _FOLDER.fullmatch(path.name)
            if match and path.is_dir():
                partition = TopicPartition(match[1], int(match[2]))
                self._logs[partition] = LogStore(path, self._flush)
                recovered[partition] = self._logs[partition].recovery
        return recovered

    def start(self, partition: TopicPartition) -> LogStore:
        """The log of `partition`, begun if there is none."""
        log = self._logs.get(partition)
        if log is None:
            folder = self._folder / f"{partition.topic}-{partition.partition}"
            log = self._logs[partition] = LogStore(folder, self._flush)
        return log

    def delete(self, partition: TopicPartition) -> None:
        """No log of the partition is left; a crash leaves it whole, or to the next start."""
        log = self._logs.pop(partition, None)
        if log is None:
            return
        log.close()
        folder = self._folder / f"{partition.topic}-{partition.partition}"
        deleted = folder.with_name(folder.name + DELETED)
        folder.rename(deleted)
        shutil.rmtree(deleted)

    def append(
        self, partition: TopicPartition, base_offset: Offset, records: Sequence[Record]
    ) -> None:
        """Add records at the log end, which is `base_offset`."""
        log = self.start(partition)
        assert base_offset == log.log_end_offset, (partition, base_offset, log.log_end_offset)
        log.append(records)

    def close(self) -> None:
        """All files are closed and the folder is free for another process."""
        for log in self._logs.values():
            log.close()
        os.close(self._lock)


def recovered_logs(
    recoveries: Mapping[TopicPartition, Recovery],
) -> Mapping[TopicPartition, RecoveredLog]:
    """What the core needs to know of each log."""
    return {
        partition: RecoveredLog(
            log_end_offset=recovery.log_end_offset,
            high_watermark=recovery.high_watermark,
            epoch_starts=recovery.epoch_starts,
            producers=recovery.producers,
            partition_incarnation=recovery.partition_incarnation,
        )
        for partition, recovery in recoveries.items()
    }


def notices(recoveries: Mapping[TopicPartition, Recovery]) -> Iterable[str]:
    """One sentence per thing that recovery had to put right."""
    for partition, recovery in recoveries.items():
        for notice in recovery.notices:
            yield f"{partition}: {notice}"


def _lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(f"cannot write to the data folder {folder}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StorageError(f"the data folder {folder} is in use by another process") from error
    return lock
