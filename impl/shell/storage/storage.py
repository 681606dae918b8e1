"""All logs of a broker, one folder per partition; a failed log does not affect the others.

`log_store.py` has a single log. High watermarks are written a few per tick, so that many partitions
do not block the node; an older checkpoint is as safe as a newer one.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.checkpoints import FIRST, CheckpointError, read_incarnation
from fencepost.impl.shell.storage.files import Files, StorageError
from fencepost.impl.shell.storage.log_store import LogOptions, LogStore
from fencepost.impl.shell.storage.recovery import Recovery
from fencepost.spec.vocabulary import NO_INCARNATION, Offset, PartitionIncarnation
from fencepost.spec.znodes import TOPIC_NAME, TopicPartition

_FOLDER = re.compile(rf"({TOPIC_NAME.pattern})-(\d+)")
LOCK_FILE = ".lock"
DELETED = ".deleted"
"""Suffix of a folder that is being deleted."""
CHECKPOINTS_PER_TICK = 200


class Storage:
    """All logs of one broker; every use of a failed log raises `StorageError`."""

    def __init__(
        self, folder: Path, options: LogOptions | None = None, files: Files | None = None
    ) -> None:
        """Lock the folder for this process; raises `StorageError`."""
        self._folder = folder
        self._options = options or LogOptions()
        self._files = files or Files()
        self._logs: dict[TopicPartition, LogStore] = {}
        self._begun: dict[TopicPartition, PartitionIncarnation] = {}
        """Incarnations of logs without records, which have no folder yet."""
        self._failed: dict[TopicPartition, StorageError] = {}
        self._checkpoints: dict[TopicPartition, Offset] = {}
        """High watermarks to be written."""
        self._unflushed: dict[TopicPartition, int | None] = {}
        """Partition -> time of the first tick that found unflushed records, in ms."""
        self._lock = _lock(folder)

    @property
    def failed(self) -> Mapping[TopicPartition, StorageError]:
        """The logs that are offline until the next start, and the error."""
        return self._failed

    def recover(self) -> Mapping[TopicPartition, Recovery]:
        """Recover all logs in the folder, sorted; unrecoverable ones are `failed`."""
        recovered = {}
        for path in self._folder.glob(f"*{DELETED}"):
            _remove(path)
        for path in sorted(self._folder.iterdir()):
            match = _FOLDER.fullmatch(path.name)
            if not match or not path.is_dir():
                continue
            partition = TopicPartition(match[1], int(match[2]))
            try:
                recovered[partition] = self.start(partition).recovery
            except StorageError as error:
                self.fail(partition, error)
        return recovered

    def begin(self, partition: TopicPartition, incarnation: PartitionIncarnation) -> None:
        """Begin a log of this incarnation; a new one has no folder before its first record.

        A LeaderAndIsr request may begin thousands at once. `recover` has found the folders.
        """
        if partition in self._logs or partition in self._failed:
            self.start(partition).belong_to(incarnation)
        elif not self._begun.get(partition):
            self._begun[partition] = incarnation

    def start(self, partition: TopicPartition) -> LogStore:
        """The log of `partition`, opened if it is not open."""
        if partition in self._failed:
            raise self._failed[partition]
        log = self._logs.get(partition)
        if log is None:
            log = LogStore(self.folder_of(partition), self._options, self._files)
            self._logs[partition] = log
            if partition in self._begun:
                log.belong_to(self._begun.pop(partition))
        return log

    def folder_of(self, partition: TopicPartition) -> Path:
        """The folder of the log of `partition`."""
        return self._folder / f"{partition.topic}-{partition.partition}"

    def incarnation_of(self, partition: TopicPartition) -> PartitionIncarnation:
        """The incarnation in the folder of the log; 0 when it is missing or unreadable."""
        try:
            return read_incarnation(self.folder_of(partition))
        except (CheckpointError, StorageError):
            return NO_INCARNATION

    def append(
        self, partition: TopicPartition, base_offset: Offset, records: Sequence[Record]
    ) -> None:
        """Add records at the log end, which is `base_offset`."""
        log = self.start(partition)
        assert base_offset == log.log_end_offset, (partition, base_offset, log.log_end_offset)
        log.append(records)
        if self._options.flush.ms:
            self._unflushed.setdefault(partition)

    def read(self, partition: TopicPartition, start: Offset, end: Offset) -> Sequence[Record]:
        """The records from `start` up to, not including, `end`."""
        if start == end and partition in self._begun:
            return ()
        return self.start(partition).read(start, end)

    def checkpoint_high_watermark(self, partition: TopicPartition, high_watermark: Offset) -> None:
        """Write the high watermark in one of the next ticks, at the latest in `close`."""
        if partition in self._begun and high_watermark == FIRST:
            return  # as it is without a checkpoint
        self.start(partition)
        self._checkpoints[partition] = high_watermark

    def tick(self, now_ms: int) -> Mapping[TopicPartition, StorageError]:
        """Write checkpoints and flush records that are due; returns the logs that failed."""
        failures = {}
        for partition in list(self._checkpoints)[:CHECKPOINTS_PER_TICK]:
            try:
                high_watermark = self._checkpoints.pop(partition)
                self.start(partition).checkpoint_high_watermark(high_watermark)
            except StorageError as error:
                failures[partition] = error
        for partition in self._due(now_ms):
            try:
                self.start(partition).flush()
            except StorageError as error:
                failures[partition] = error
        return failures

    def _due(self, now_ms: int) -> list[TopicPartition]:
        oldest_ms = now_ms - self._options.flush.ms
        due = [key for key, ms in self._unflushed.items() if ms is not None and ms <= oldest_ms]
        for partition in due:
            del self._unflushed[partition]
        for partition, since_ms in self._unflushed.items():
            self._unflushed[partition] = now_ms if since_ms is None else since_ms
        return due

    def fail(self, partition: TopicPartition, error: StorageError) -> None:
        """Take the log offline: its files stay, and every use raises `error`."""
        self._failed[partition] = error
        self._forget(partition)

    def delete(self, partition: TopicPartition) -> None:
        """Delete the log; after a crash it is whole, or the next start deletes the rest."""
        if self._begun.pop(partition, None) is not None:
            return
        self._forget(partition)
        folder = self.folder_of(partition)
        deleted = folder.with_name(folder.name + DELETED)
        if self._files.rename(folder, deleted, flush=self._options.flush.is_wanted):
            _remove(deleted)
        self._failed.pop(partition, None)

    def _forget(self, partition: TopicPartition) -> None:
        self._begun.pop(partition, None)
        self._checkpoints.pop(partition, None)
        self._unflushed.pop(partition, None)
        log = self._logs.pop(partition, None)
        if log:
            log.abandon()

    def close(self) -> Mapping[TopicPartition, StorageError]:
        """Write, flush and close all logs and unlock the folder; returns those that failed."""
        failures = {}
        for partition, log in self._logs.items():
            try:
                if partition in self._checkpoints:
                    log.checkpoint_high_watermark(self._checkpoints[partition])
                log.close()
            except StorageError as error:
                failures[partition] = error
        self._files.close_all()
        os.close(self._lock)
        return failures


def recovered_logs(
    recoveries: Mapping[TopicPartition, Recovery],
) -> Mapping[TopicPartition, RecoveredLog]:
    """The recovered logs as values of the core."""
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


def with_checkpoints(
    logs: Mapping[TopicPartition, RecoveredLog], high_watermark: int
) -> Mapping[TopicPartition, RecoveredLog]:
    """The logs as if each had this high watermark in its checkpoint."""
    return {
        partition: replace(log, high_watermark=Offset(min(high_watermark, log.log_end_offset)))
        for partition, log in logs.items()
    }


def notices(recoveries: Mapping[TopicPartition, Recovery]) -> Iterable[str]:
    """One sentence per repair that recovery made."""
    for partition, recovery in recoveries.items():
        for notice in recovery.notices:
            yield f"{partition}: {notice}"


def _remove(deleted: Path) -> None:
    """Remove the folder; the next start retries what cannot be removed."""
    with suppress(OSError):
        shutil.rmtree(deleted)


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
