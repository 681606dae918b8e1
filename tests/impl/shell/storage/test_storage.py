"""The logs of a broker: found again at a start, apart from each other when one fails."""

import errno
import os
from pathlib import Path

import pytest

from fencepost.impl.shell.storage.files import Files, StorageError
from fencepost.impl.shell.storage.log_store import FlushPolicy, LogOptions
from fencepost.impl.shell.storage.segments import Segment
from fencepost.impl.shell.storage.storage import (
    CHECKPOINTS_PER_TICK,
    Storage,
    notices,
    recovered_logs,
)
from fencepost.spec.vocabulary import NO_INCARNATION, Offset, PartitionIncarnation
from fencepost.spec.znodes import TopicPartition
from tests.impl.shell.log_folders import records

T0, T1 = TopicPartition("t", 0), TopicPartition("a-b.c", 1)


class FailingFiles(Files):
    """A disk that fails as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: str | None = None
        self.flushed = 0

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:
        if self.failing == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.failing == "nearly full":
            return super().pwrite(descriptor, data[:5], position)
        return super().pwrite(descriptor, data, position)

    def pread(self, descriptor: int, count: int, position: int) -> bytes:
        if self.failing == "unreadable":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().pread(descriptor, count, position)

    def fsync(self, descriptor: int) -> None:
        if self.failing == "unflushable":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.flushed += 1
        super().fsync(descriptor)


def test_storage_finds_the_logs_of_an_earlier_start(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.append(T0, Offset(0), records("one", "two", epoch=1))
    storage.checkpoint_high_watermark(T0, Offset(1))
    storage.append(T1, Offset(0), records("cut off"))
    storage.start(T1).truncate(Offset(0))
    (tmp_path / "not a log").mkdir()
    assert storage.close() == {}

    storage = Storage(tmp_path)
    found = storage.recover()
    logs = recovered_logs(found)
    storage.close()

    assert sorted(logs) == [T1, T0]
    assert (logs[T0].log_end_offset, logs[T0].high_watermark) == (2, 1)
    assert logs[T0].epoch_starts == ((1, 0),)
    assert (logs[T1].log_end_offset, logs[T1].epoch_starts) == (0, ())
    assert list(notices(found)) == []


def test_a_checkpoint_that_waits_is_gone_with_its_log(tmp_path: Path) -> None:
    """Else the next tick makes the log anew, or the next incarnation begins with its watermark."""
    storage = Storage(tmp_path)
    storage.begin(T0, PartitionIncarnation(7))
    storage.append(T0, Offset(0), records("a", "b"))
    storage.checkpoint_high_watermark(T0, Offset(2))

    storage.delete(T0)
    assert storage.tick(0) == {}
    assert not storage.folder_of(T0).exists()
    storage.begin(T0, PartitionIncarnation(9))
    storage.append(T0, Offset(0), records("c"))
    storage.tick(1)
    storage.close()

    storage = Storage(tmp_path)
    found = recovered_logs(storage.recover())[T0]
    storage.close()
    assert (found.partition_incarnation, found.log_end_offset, found.high_watermark) == (9, 1, 0)


def test_a_log_without_records_leaves_nothing_on_the_disk(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.begin(T0, PartitionIncarnation(7))
    assert storage.read(T0, Offset(0), Offset(0)) == ()
    storage.checkpoint_high_watermark(T0, Offset(0))
    storage.tick(0)
    assert not storage.folder_of(T0).exists()

    storage.append(T0, Offset(0), records("one"))
    assert storage.incarnation_of(T0) == 7
    storage.start(T1)
    assert storage.close() == {}

    storage = Storage(tmp_path)
    assert list(storage.recover()) == [T0]
    storage.close()


def test_a_log_without_records_is_of_the_first_incarnation_that_is_known(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    for incarnation in (NO_INCARNATION, 7, 8):
        storage.begin(T0, PartitionIncarnation(incarnation))
    storage.append(T0, Offset(0), records("one"))

    assert storage.incarnation_of(T0) == 7
    storage.close()


def test_a_deleted_log_without_records_is_forgotten(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.begin(T0, PartitionIncarnation(7))
    storage.delete(T0)
    storage.begin(T0, PartitionIncarnation(8))
    storage.append(T0, Offset(0), records("one"))

    assert storage.incarnation_of(T0) == 8
    storage.close()


def test_a_log_that_failed_before_it_had_records_stays_failed(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.begin(T0, PartitionIncarnation(7))
    storage.fail(T0, StorageError("it is broken"))

    with pytest.raises(StorageError, match="it is broken"):
        storage.read(T0, Offset(0), Offset(0))
    with pytest.raises(StorageError, match="it is broken"):
        storage.begin(T0, PartitionIncarnation(7))
    storage.close()


def test_an_append_elsewhere_than_at_the_end_is_a_broken_invariant(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    with pytest.raises(AssertionError):
        storage.append(T0, Offset(1), records("gap"))
    storage.close()


def test_a_data_folder_belongs_to_one_process(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    with pytest.raises(StorageError, match="is in use by another process"):
        Storage(tmp_path)
    storage.close()
    Storage(tmp_path).close()


def test_a_data_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write to the data folder .*file/data: Not a"):
        Storage(tmp_path / "file" / "data")


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ("full", r"cannot write .*\.log: No space left on device"),
        ("nearly full", r"cannot write .*\.log: the disk took 5 of \d+ bytes"),
    ],
)
def test_an_append_to_a_full_disk_fails_and_leaves_the_log_as_it_was(
    tmp_path: Path, failing: str, told: str
) -> None:
    files = FailingFiles()
    storage = Storage(tmp_path, files=files)
    storage.append(T0, Offset(0), records("one"))

    files.failing = failing
    with pytest.raises(StorageError, match=told):
        storage.append(T0, Offset(1), records("two"))
    files.failing = None

    assert storage.start(T0).read(Offset(0), storage.start(T0).log_end_offset) == records("one")
    files.close_all()
    os.close(storage._lock)
    again = Storage(tmp_path)
    assert again.recover()[T0].log_end_offset == 1
    again.close()


def test_a_log_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    files = FailingFiles()
    storage = Storage(tmp_path, files=files)
    storage.append(T0, Offset(0), records("one"))

    files.failing = "unreadable"
    with pytest.raises(StorageError, match=r"cannot read .*\.log: Input/output error"):
        storage.start(T0).read(Offset(0), Offset(1))
    storage.close()


def test_a_log_that_has_failed_stays_so_and_the_others_go_on(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.append(T0, Offset(0), records("one"))
    storage.fail(T0, StorageError("it is broken"))

    with pytest.raises(StorageError, match="it is broken"):
        storage.append(T0, Offset(1), records("two"))
    storage.append(T1, Offset(0), records("one"))
    assert list(storage.failed) == [T0]
    storage.close()


def test_a_log_that_cannot_be_recovered_is_one_of_many(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    for partition in (T0, T1):
        storage.append(partition, Offset(0), records("one"))
    folder = storage.folder_of(T0)
    storage.close()
    Segment.path_of(folder, Offset(0)).unlink()

    storage = Storage(tmp_path)

    assert list(storage.recover()) == [T1]
    assert str(storage.failed[T0]) == f"{folder}: the segment with offset 0 is missing"
    storage.close()


def test_high_watermarks_are_written_a_few_at_a_time_and_all_at_the_end(tmp_path: Path) -> None:
    partitions = [TopicPartition("t", n) for n in range(CHECKPOINTS_PER_TICK + 2)]
    storage = Storage(tmp_path)
    for partition in partitions:
        storage.append(partition, Offset(0), records("one"))
        storage.checkpoint_high_watermark(partition, Offset(1))
    assert storage.tick(0) == {}
    assert len(list(tmp_path.glob("*/offset-checkpoint"))) == CHECKPOINTS_PER_TICK
    storage.close()

    storage = Storage(tmp_path)
    found = storage.recover()
    storage.close()
    assert {found[partition].high_watermark for partition in partitions} == {1}


def test_records_are_flushed_after_their_number_or_their_age(tmp_path: Path) -> None:
    files = FailingFiles()
    policy = FlushPolicy(records=3, ms=100)
    storage = Storage(tmp_path, LogOptions(flush=policy), files)
    storage.append(T0, Offset(0), records("one", "two"))
    assert storage.start(T0).recovery_point == 0
    storage.append(T0, Offset(2), records("three"))
    assert storage.start(T0).recovery_point == 3

    storage.append(T0, Offset(3), records("four"))
    storage.tick(1000)
    storage.tick(1099)
    assert storage.start(T0).recovery_point == 3
    storage.tick(1100)
    assert storage.start(T0).recovery_point == 4
    storage.close()


def test_a_flush_that_fails_is_told_of_its_log_alone(tmp_path: Path) -> None:
    files = FailingFiles()
    storage = Storage(tmp_path, LogOptions(flush=FlushPolicy(ms=10)), files)
    storage.append(T0, Offset(0), records("one"))
    storage.tick(0)

    files.failing = "unflushable"
    failures = storage.tick(10)

    assert list(failures) == [T0]
    assert "Input/output error" in str(failures[T0])
    files.failing = None
    storage.close()


def test_without_a_flush_policy_an_append_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    files = FailingFiles()
    storage = Storage(tmp_path, files=files)
    storage.append(T0, Offset(0), records("one"))
    storage.checkpoint_high_watermark(T0, Offset(1))
    storage.tick(0)

    assert files.flushed == 0
    storage.close()
    assert files.flushed == 1
