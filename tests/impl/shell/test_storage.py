"""Logs on disk: a state machine against a list, and every way to tear the tail."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from impl.core.messages import Record
from impl.shell.checkpoints import CheckpointError, read_checkpoint, write_checkpoint
from impl.shell.log_store import HIGH_WATERMARK_FILE, LEADER_EPOCH_FILE, FlushPolicy, LogStore
from impl.shell.segments import Segment, StorageError, frame
from impl.shell.storage import Storage, notices, recovered_logs
from spec.vocabulary import LeaderEpoch, Offset, ProducerId
from spec.znodes import TopicPartition

SMALL = 100
"""Bytes of a segment: a few records."""
T0, T1 = TopicPartition("t", 0), TopicPartition("a-b.c", 1)


def records(*values: str, epoch: int = 0) -> list[Record]:
    return [Record(LeaderEpoch(epoch), value) for value in values]


def reopen(log: LogStore, folder: Path) -> LogStore:
    log.close()
    return LogStore(folder, segment_bytes=SMALL)


def whole(log: LogStore) -> list[Record]:
    return log.read(Offset(0), log.log_end_offset)


class LogMachine(RuleBasedStateMachine):
    """A log does what a list does, restarts included."""

    @initialize(flush=st.sampled_from(FlushPolicy))
    def begin(self, flush: FlushPolicy) -> None:
        self.directory = TemporaryDirectory()
        self.folder = Path(self.directory.name)
        self.log = LogStore(self.folder, flush, SMALL)
        self.model: list[Record] = []
        self.epoch = 0

    @rule(values=st.lists(st.text(max_size=30), max_size=6), jump=st.integers(0, 2))
    def append(self, values: list[str], jump: int) -> None:
        self.epoch += jump
        added = records(*values, epoch=self.epoch)
        self.log.append(added)
        self.model += added

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, len(self.model)))
        self.log.truncate(Offset(offset))
        del self.model[offset:]

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(self.model)))
        end = data.draw(st.integers(start, len(self.model)))
        assert self.log.read(Offset(start), Offset(end)) == self.model[start:end]

    @rule(high_watermark=st.integers(0, 40))
    def restart(self, high_watermark: int) -> None:
        self.log.checkpoint_high_watermark(Offset(high_watermark))
        self.log = reopen(self.log, self.folder)
        recovery = self.log.recovery
        assert whole(self.log) == self.model
        assert recovery.high_watermark == min(high_watermark, len(self.model))
        assert recovery.log_end_offset == len(self.model)
        assert all(
            "segment" not in notice and "unsound" not in notice for notice in recovery.notices
        )

    @invariant()
    def ends_and_epochs_agree(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.log_end_offset == len(self.model)
        epochs = [record.leader_epoch for record in self.model]
        starts = [(epoch, epochs.index(epoch)) for epoch in sorted(set(epochs))]
        assert list(self.log.epoch_starts) == starts
        assert read_checkpoint(self.folder / LEADER_EPOCH_FILE) == starts

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
            self.directory.cleanup()


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=30, stateful_step_count=15)


def test_a_tail_cut_at_any_byte_costs_only_the_record_that_is_cut(tmp_path: Path) -> None:
    kept, last = records("one", "zwei", epoch=3), records("drei", epoch=4)
    log = LogStore(tmp_path)
    log.append(kept + last)
    log.close()
    path = Segment.path_of(tmp_path, Offset(0))
    text = path.read_bytes()
    sound = sum(len(frame(record, Offset(i))) for i, record in enumerate(kept))

    for cut in range(sound, len(text)):
        path.write_bytes(text[:cut])
        log = LogStore(tmp_path)
        assert whole(log) == kept
        assert log.epoch_starts == ((3, 0),)
        torn = f"{cut - sound} unsound bytes at offset 2 dropped"
        assert (torn in log.recovery.notices) == (cut > sound)
        log.append(records("new", epoch=5))
        assert whole(reopen(log, tmp_path)) == [*kept, *records("new", epoch=5)]


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_flipped_bit_is_found_and_ends_the_log_there(tmp_path: Path, damaged: int) -> None:
    stored = records("one", "two", "three")
    log = LogStore(tmp_path)
    log.append(stored)
    log.close()
    path = Segment.path_of(tmp_path, Offset(0))
    text = path.read_bytes()
    lengths = [len(frame(record, Offset(i))) for i, record in enumerate(stored)]
    begin = sum(lengths[:damaged])

    for position in range(begin, begin + lengths[damaged]):
        for bit in (0, 7):
            flipped = bytearray(text)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            log = LogStore(tmp_path)
            assert whole(log) == stored[:damaged]
            log.close()


def test_zeros_after_the_end_are_no_records(tmp_path: Path) -> None:
    log = LogStore(tmp_path)
    log.append(records("one"))
    log.close()
    with Segment.path_of(tmp_path, Offset(0)).open("ab") as file:
        file.write(bytes(4096))

    log = LogStore(tmp_path)

    assert whole(log) == records("one")
    assert log.recovery.notices == ("4096 unsound bytes at offset 1 dropped",)


def test_what_follows_a_tear_in_an_earlier_segment_is_dropped(tmp_path: Path) -> None:
    log = LogStore(tmp_path, segment_bytes=SMALL)
    for n in range(12):
        log.append(records(f"value {n}"))
    log.close()
    first, second, *later = sorted(tmp_path.glob("*.log"))
    assert later
    os.truncate(second, second.stat().st_size - 1)

    log = LogStore(tmp_path, segment_bytes=SMALL)

    assert sorted(tmp_path.glob("*.log")) == [first, second]
    assert whole(log) == [Record(LeaderEpoch(0), f"value {n}") for n in range(log.log_end_offset)]
    assert int(second.stem) < log.log_end_offset < int(later[0].stem)


def test_the_high_watermark_is_never_above_the_recovered_end(tmp_path: Path) -> None:
    log = LogStore(tmp_path)
    log.append(records("one", "two"))
    log.checkpoint_high_watermark(Offset(2))
    log.close()
    path = Segment.path_of(tmp_path, Offset(0))
    os.truncate(path, path.stat().st_size - 1)

    recovery = LogStore(tmp_path).recovery

    assert (recovery.log_end_offset, recovery.high_watermark) == (1, 1)
    assert "the high watermark was 2; the log ends at 1" in recovery.notices


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff\xfe", b"fencepost-checkpoint 1\n7\n"])
def test_a_damaged_checkpoint_is_told_and_counts_as_none(tmp_path: Path, content: bytes) -> None:
    log = LogStore(tmp_path)
    log.append(records("one", epoch=2))
    log.close()
    (tmp_path / HIGH_WATERMARK_FILE).write_bytes(content)
    (tmp_path / LEADER_EPOCH_FILE).write_bytes(content)

    recovery = LogStore(tmp_path).recovery

    assert recovery.high_watermark == 0
    assert recovery.epoch_starts == ((2, 0),)
    assert f"{HIGH_WATERMARK_FILE} is damaged and was ignored" in recovery.notices
    assert read_checkpoint(tmp_path / LEADER_EPOCH_FILE) == [(2, 0)]


def test_a_record_damaged_while_running_is_an_error_and_no_other_record(tmp_path: Path) -> None:
    log = LogStore(tmp_path)
    log.append(records("one", "two"))
    with Segment.path_of(tmp_path, Offset(0)).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"X")

    assert log.read(Offset(0), Offset(1)) == records("one")
    with pytest.raises(StorageError, match="offset 1 is damaged"):
        log.read(Offset(0), Offset(2))


@given(rows=st.lists(st.tuples(st.integers(), st.integers())), flush=st.booleans())
def test_a_checkpoint_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...]], flush: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "checkpoint"
    write_checkpoint(path, rows, flush=flush)

    assert read_checkpoint(path) == rows
    assert not path.with_name("checkpoint.new").exists()


def test_a_cut_checkpoint_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    write_checkpoint(path, [(1, 10), (2, 20)], flush=False)
    text = path.read_bytes()

    for cut in range(len(text) - 1):
        path.write_bytes(text[:cut])
        with pytest.raises(CheckpointError, match="checkpoint is damaged"):
            read_checkpoint(path)


def test_storage_finds_the_logs_of_an_earlier_start(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.append(T0, Offset(0), records("one", "two", epoch=1))
    storage.start(T0).checkpoint_high_watermark(Offset(1))
    storage.start(T1)
    (tmp_path / "not a log").mkdir()
    storage.close()

    storage = Storage(tmp_path)
    found = storage.recover()
    logs = recovered_logs(found)
    storage.close()

    assert sorted(logs) == [T1, T0]
    assert (logs[T0].log_end_offset, logs[T0].high_watermark) == (2, 1)
    assert logs[T0].epoch_starts == ((1, 0),)
    assert (logs[T1].log_end_offset, logs[T1].epoch_starts) == (0, ())
    assert list(notices(found)) == []


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


def batch(producer: int, base: int, count: int) -> list[Record]:
    return [
        Record(LeaderEpoch(0), f"{base + i}", ProducerId(producer), 2, base + i, count - 1 - i)
        for i in range(count)
    ]


def test_a_restart_finds_what_producers_had_written(tmp_path: Path) -> None:
    log = LogStore(tmp_path)
    log.append([*records("a"), *batch(7, 0, 2), *batch(8, 4, 1)])
    log.append(batch(7, 2, 3))

    states = reopen(log, tmp_path).recovery.producers

    assert {key: len(state.batches) for key, state in states.items()} == {7: 2, 8: 1}
    last = states[ProducerId(7)].batches[-1]
    assert (last.producer_epoch, last.base_sequence, last.base_offset, last.count) == (2, 2, 4, 3)


def test_a_batch_that_was_torn_is_dropped_whole(tmp_path: Path) -> None:
    log = LogStore(tmp_path)
    log.append(batch(7, 0, 2))
    log.append(batch(7, 2, 3))
    log.close()
    path = Segment.path_of(tmp_path, Offset(0))
    os.truncate(path, path.stat().st_size - 1)

    found = LogStore(tmp_path)

    assert found.recovery.log_end_offset == 2
    assert found.recovery.producers[ProducerId(7)].batches[-1].end_sequence == 2
    found.close()
