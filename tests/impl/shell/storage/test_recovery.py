"""What a start makes of a damaged folder: it keeps, drops or refuses, and never invents."""

import os
import shutil
from pathlib import Path

import pytest

from fencepost.impl.core.rules.producers import BATCHES_KEPT
from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.batches import encode_batches
from fencepost.impl.shell.storage.checkpoints import (
    LEADER_EPOCH_FILE,
    OFFSETS_FILE,
    CheckpointError,
    read_checkpoint,
    write_checkpoint,
)
from fencepost.impl.shell.storage.files import Files, StorageError
from fencepost.impl.shell.storage.log_store import LogOptions, LogStore
from fencepost.impl.shell.storage.segments import Segment
from fencepost.spec.vocabulary import LeaderEpoch, Offset, ProducerId
from tests.impl.shell.log_folders import SMALL, filled, last_segment, produced, records, whole

APPENDS = [records("one"), records("zwei", "drei", epoch=1), records("four", epoch=3)]
STORED = [record for appended in APPENDS for record in appended]


def batch_ends() -> list[int]:
    """Where each batch of `APPENDS` ends in the one segment."""
    lengths = [len(encode_batches(Offset(0), appended)[0].data) for appended in APPENDS]
    return [sum(lengths[: i + 1]) for i in range(len(lengths))]


def test_a_tail_cut_at_any_byte_costs_only_the_batch_that_is_cut(tmp_path: Path) -> None:
    filled(tmp_path, APPENDS, LogOptions()).abandon()
    path = last_segment(tmp_path)
    text = path.read_bytes()
    sound = batch_ends()[1]

    for cut in range(sound, len(text)):
        path.write_bytes(text[:cut])
        log = LogStore(tmp_path)
        assert whole(log) == STORED[:3]
        assert log.epoch_starts == ((0, 0), (1, 1))
        torn = f"{cut - sound} invalid bytes at offset 3 dropped"
        assert (torn in log.recovery.notices) == (cut > sound)
        log.append(records("new", epoch=5))
        log.abandon()
        again = LogStore(tmp_path)
        assert whole(again) == [*STORED[:3], *records("new", epoch=5)]
        again.abandon()


def test_a_flipped_bit_in_what_was_not_flushed_ends_the_log_there(tmp_path: Path) -> None:
    filled(tmp_path, APPENDS, LogOptions()).abandon()
    path = last_segment(tmp_path)
    text = path.read_bytes()

    for position in range(len(text)):
        flipped = bytearray(text)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        log = LogStore(tmp_path)
        damaged = next(i for i, end in enumerate(batch_ends()) if position < end)
        assert whole(log) == STORED[: (0, 1, 3)[damaged]]
        log.abandon()


@pytest.mark.parametrize("has_index", [True, False])
def test_a_flipped_bit_in_what_was_flushed_is_refused_or_found_when_it_is_read(
    tmp_path: Path, has_index: bool
) -> None:
    filled(tmp_path, APPENDS, LogOptions()).close()
    path = last_segment(tmp_path)
    text = path.read_bytes()
    if not has_index:
        path.with_suffix(".index").unlink()

    for position in range(len(text)):
        flipped = bytearray(text)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        with pytest.raises(StorageError, match=r"the record at offset \d is damaged"):
            whole(LogStore(tmp_path))


def test_any_flipped_bit_of_an_index_makes_it_worthless(tmp_path: Path) -> None:
    filled(tmp_path, APPENDS, LogOptions()).close()
    index = last_segment(tmp_path).with_suffix(".index")
    data = index.read_bytes()

    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 1 << position % 8
        index.write_bytes(flipped)
        log = LogStore(tmp_path)
        assert whole(log) == STORED
        log.close()
        assert index.read_bytes() == data


def test_zeros_after_the_end_are_no_records(tmp_path: Path) -> None:
    filled(tmp_path, [records("one")]).close()
    with last_segment(tmp_path).open("ab") as file:
        file.write(bytes(4096))

    log = LogStore(tmp_path)

    assert whole(log) == records("one")
    assert log.recovery.notices == ("4096 invalid bytes at offset 1 dropped",)


def many(folder: Path) -> list[Path]:
    """The segments of a log that was closed; several."""
    filled(folder, [records(f"value {n}") for n in range(12)]).close()
    found = sorted(folder.glob("*.log"))
    assert len(found) > 3
    return found


@pytest.mark.parametrize("has_index", [True, False])
def test_a_segment_in_the_middle_that_was_cut_is_refused_and_left_alone(
    tmp_path: Path, has_index: bool
) -> None:
    _, second, *later = many(tmp_path)
    os.truncate(second, second.stat().st_size - 1)
    if not has_index:
        second.with_suffix(".index").unlink()

    with pytest.raises(StorageError, match=r"the record at offset \d+ is damaged"):
        LogStore(tmp_path, SMALL)
    assert all(path.exists() for path in (second, *later))


def test_a_segment_in_the_middle_that_is_missing_is_refused(tmp_path: Path) -> None:
    _, second, third, *_ = many(tmp_path)
    second.unlink()

    with pytest.raises(
        StorageError, match=f"records {int(second.stem)} to {int(third.stem)} are missing"
    ):
        LogStore(tmp_path, SMALL)


def test_a_first_or_last_segment_that_is_missing_is_refused(tmp_path: Path) -> None:
    first, *_, last = many(tmp_path)
    shutil.copytree(tmp_path, tmp_path / "copy")

    first.unlink()
    with pytest.raises(StorageError, match="the segment with offset 0 is missing"):
        LogStore(tmp_path, SMALL)

    (tmp_path / "copy" / last.name).unlink()
    with pytest.raises(StorageError, match=f"ends at {int(last.stem)}, but was flushed up to 12"):
        LogStore(tmp_path / "copy", SMALL)


def test_all_segments_missing_is_refused_too(tmp_path: Path) -> None:
    for path in many(tmp_path):
        path.unlink()

    with pytest.raises(StorageError, match="the segment with offset 0 is missing"):
        LogStore(tmp_path, SMALL)


def test_the_high_watermark_is_never_above_the_recovered_end(tmp_path: Path) -> None:
    log = filled(tmp_path, [records("one"), records("two")])
    log.checkpoint_high_watermark(Offset(2))
    log.abandon()
    path = Segment.path_of(tmp_path, Offset(0))
    os.truncate(path, path.stat().st_size - 1)

    recovery = LogStore(tmp_path).recovery

    assert (recovery.log_end_offset, recovery.high_watermark) == (1, 1)
    assert "the high watermark was 2; the log ends at 1" in recovery.notices


def test_a_high_watermark_of_lost_records_is_not_that_of_others(tmp_path: Path) -> None:
    log = filled(tmp_path, [records("one"), records("two")])
    log.checkpoint_high_watermark(Offset(2))
    log.abandon()
    path = Segment.path_of(tmp_path, Offset(0))
    os.truncate(path, path.stat().st_size - 1)
    log = LogStore(tmp_path)
    log.append(records("not committed", epoch=1))
    log.abandon()

    assert LogStore(tmp_path).recovery.high_watermark == 1


def test_truncation_takes_checkpoints_along(tmp_path: Path) -> None:
    log = filled(tmp_path, [records("one"), records("two"), records("three")])
    log.flush()
    log.checkpoint_high_watermark(Offset(3))
    log.truncate(Offset(1))
    log.append(records("other", "records", epoch=1))
    log.abandon()

    again = LogStore(tmp_path)

    assert (again.recovery.high_watermark, again.recovery_point) == (1, 1)
    assert whole(again) == records("one") + records("other", "records", epoch=1)


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff\xfe", b"fencepost-checkpoint 2\n7\n"])
def test_a_damaged_checkpoint_is_told_and_counts_as_none(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path, [records("one", epoch=2)]).close()
    (tmp_path / OFFSETS_FILE).write_bytes(content)
    (tmp_path / LEADER_EPOCH_FILE).write_bytes(content)

    recovery = LogStore(tmp_path).recovery

    assert recovery.high_watermark == 0
    assert recovery.epoch_starts == ((2, 0),)
    assert f"{OFFSETS_FILE} is damaged and was ignored" in recovery.notices
    assert f"{LEADER_EPOCH_FILE} is damaged and was ignored" in recovery.notices
    assert read_checkpoint(tmp_path / LEADER_EPOCH_FILE) == [(2, 0)]


def test_without_its_checkpoint_a_log_starts_where_its_segments_do(tmp_path: Path) -> None:
    log = filled(tmp_path, [records(f"value {n}") for n in range(12)])
    log.advance_log_start(Offset(9))
    first = min(tmp_path.glob("*.log"))
    log.close()
    (tmp_path / OFFSETS_FILE).write_bytes(b"junk")

    assert LogStore(tmp_path, SMALL).log_start_offset == int(first.stem) > 0


def test_a_stale_leader_epoch_checkpoint_is_noticed_and_replaced(tmp_path: Path) -> None:
    filled(tmp_path, APPENDS).close()
    write_checkpoint(Files(), tmp_path / LEADER_EPOCH_FILE, [(0, 0)], flush=False)

    recovery = LogStore(tmp_path).recovery

    assert recovery.epoch_starts == ((0, 0), (1, 1), (3, 3))
    assert recovery.notices == ("the leader epochs were written anew from the records",)


def test_a_checkpoint_that_was_edited_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    write_checkpoint(Files(), path, [(1, 10), (2, 20)], flush=True)
    assert read_checkpoint(path) == [(1, 10), (2, 20)]
    text = path.read_bytes()

    for cut in range(len(text)):
        path.write_bytes(text[:cut])
        with pytest.raises(CheckpointError, match="checkpoint is damaged"):
            read_checkpoint(path)
    for position in range(len(text)):
        flipped = bytearray(text)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError, match="checkpoint is damaged"):
            read_checkpoint(path)


def test_a_record_damaged_while_running_is_an_error_and_no_other_record(tmp_path: Path) -> None:
    log = filled(tmp_path, [records("one"), records("two")], LogOptions())
    with last_segment(tmp_path).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"X")

    assert log.read(Offset(0), Offset(1)) == records("one")
    with pytest.raises(StorageError, match="offset 1 is damaged"):
        log.read(Offset(0), Offset(2))


def test_a_restart_finds_what_producers_had_written(tmp_path: Path) -> None:
    log = LogStore(tmp_path, SMALL)
    log.append([*records("a"), *produced(7, 0, 2), *produced(8, 4, 1)])
    for n in range(8):
        log.append(produced(7, 2 + 3 * n, 3))
    log.close()

    for _ in range(2):
        states = LogStore(tmp_path, SMALL).recovery.producers
        assert {key: len(state.batches) for key, state in states.items()} == {7: BATCHES_KEPT, 8: 1}
        last = states[ProducerId(7)].batches[-1]
        assert (last.producer_epoch, last.base_sequence) == (2, 23)
        assert (last.base_offset, last.count) == (25, 3)
        for index in tmp_path.glob("*.index"):
            index.unlink()


def test_a_producer_whose_batches_were_all_cut_is_in_no_index(tmp_path: Path) -> None:
    log = LogStore(tmp_path)
    for n in range(6):
        log.append(produced(7, n, 1))
    log.truncate(Offset(1))
    log.append(records("a", epoch=4))
    log.close()

    assert not list(tmp_path.glob("*.index"))
    recovery = LogStore(tmp_path).recovery
    assert recovery.epoch_starts == ((0, 0), (4, 1))
    assert len(recovery.producers[ProducerId(7)].batches) == 1


def test_a_batch_that_was_torn_is_dropped_whole(tmp_path: Path) -> None:
    filled(tmp_path, [produced(7, 0, 2), produced(7, 2, 3)], LogOptions()).abandon()
    path = last_segment(tmp_path)
    os.truncate(path, path.stat().st_size - 1)

    found = LogStore(tmp_path)

    assert found.recovery.log_end_offset == 2
    assert found.recovery.producers[ProducerId(7)].batches[-1].end_sequence == 2


def test_a_cut_in_the_middle_of_a_batch_keeps_its_first_records(tmp_path: Path) -> None:
    log = filled(tmp_path, [records("a"), records("b", "c", "d", epoch=1)], LogOptions())
    log.truncate(Offset(3))
    log.append(records("e", epoch=2))

    expected: list[Record] = records("a") + records("b", "c", epoch=1) + records("e", epoch=2)
    assert whole(log) == expected
    log.abandon()
    again = LogStore(tmp_path)
    assert whole(again) == expected
    assert again.epoch_starts == ((0, 0), (1, 1), (LeaderEpoch(2), 3))
