"""A log on disk does what a list does, restarts, kills and losses of power included."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from fencepost.impl.core.rules.producers import ProducerTable
from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.checkpoints import LEADER_EPOCH_FILE, read_checkpoint
from fencepost.impl.shell.storage.files import Files
from fencepost.impl.shell.storage.log_store import FlushPolicy, LogOptions, LogStore
from fencepost.impl.shell.storage.segments import segment_bases
from fencepost.spec.vocabulary import LeaderEpoch, Offset
from tests.impl.shell.log_folders import kill, last_segment, produced, records, size_up_to, whole


class LogMachine(RuleBasedStateMachine):
    """The log and a list, step by step; `model` has all records ever kept, from offset 0 on."""

    @initialize(flush_records=st.sampled_from([0, 1, 5]), segment_bytes=st.integers(60, 400))
    def begin(self, flush_records: int, segment_bytes: int) -> None:
        self.directory = TemporaryDirectory()
        self.folder = Path(self.directory.name) / "t-0"
        policy = FlushPolicy(records=flush_records)
        self.options = LogOptions(segment_bytes=segment_bytes, flush=policy)
        self.model: list[Record] = []
        self.log_start = 0
        self.high_watermark = 0
        self.epoch = 0
        self.sequence = 0
        self.was_cut = False
        """True when a produce was, which has then no place among those of its producer."""
        self.open()

    def open(self) -> None:
        self.files = Files(open_max=2)
        self.log = LogStore(self.folder, self.options, self.files)

    @rule(values=st.lists(st.text(max_size=30), max_size=6), jump=st.integers(0, 2))
    def append(self, values: list[str], jump: int) -> None:
        self.epoch += jump
        added = records(*values, epoch=self.epoch)
        self.log.append(added)
        self.model += added

    @rule(jump=st.integers(1, 3))
    def append_as_follower(self, jump: int) -> None:
        added = records("old", "older", epoch=self.epoch) + records("new", epoch=self.epoch + jump)
        self.epoch += jump
        self.log.append(added)
        self.model += added

    @rule(producer=st.integers(1, 2), count=st.integers(1, 3))
    def append_of_a_producer(self, producer: int, count: int) -> None:
        self.sequence += count
        batch = produced(producer, self.sequence - count, count)
        added = [replace(record, leader_epoch=LeaderEpoch(self.epoch)) for record in batch]
        self.log.append(added)
        self.model += added

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.log_start, len(self.model)))
        self.log.truncate(Offset(offset))
        del self.model[offset:]
        self.was_cut = self.was_cut or bool(self.model and self.model[-1].batch_left)
        self.high_watermark = min(self.high_watermark, offset)

    @rule(data=st.data())
    def advance_log_start(self, data: st.DataObject) -> None:
        self.log_start = data.draw(st.integers(self.log_start, len(self.model)))
        self.log.advance_log_start(Offset(self.log_start))

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        start = data.draw(st.integers(self.log_start, len(self.model)))
        end = data.draw(st.integers(start, len(self.model)))
        assert self.log.read(Offset(start), Offset(end)) == self.model[start:end]

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == len(self.model)

    @rule(data=st.data())
    def checkpoint(self, data: st.DataObject) -> None:
        self.high_watermark = data.draw(st.integers(self.log_start, len(self.model)))
        self.log.checkpoint_high_watermark(Offset(self.high_watermark))

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.files.close_all()
        self.open()
        assert self.log.recovery.notices == ()
        assert self.log.recovery_point == len(self.model)
        self.expect_recovery()

    @rule()
    def restart_after_a_kill(self) -> None:
        kill(self.files)
        self.open()
        assert self.log.recovery.notices == ()
        self.expect_recovery()

    @precondition(lambda self: bool(segment_bases(self.folder)))
    @rule(data=st.data())
    def restart_after_a_loss_of_power(self, data: st.DataObject) -> None:
        """Of what was not flushed, some bytes are missing, and one of the others may be wrong."""
        flushed = self.log.recovery_point
        kill(self.files)
        path, sound = last_segment(self.folder), size_up_to(self.folder, flushed)
        size = data.draw(st.integers(sound, path.stat().st_size))
        os.truncate(path, size)
        if size > sound and data.draw(st.booleans()):
            text = bytearray(path.read_bytes())
            text[data.draw(st.integers(sound, size - 1))] ^= 1 << data.draw(st.integers(0, 7))
            path.write_bytes(text)
        self.open()
        assert flushed <= self.log.log_end_offset <= len(self.model)
        del self.model[self.log.log_end_offset :]
        self.high_watermark = min(self.high_watermark, len(self.model))
        self.expect_recovery()

    def expect_recovery(self) -> None:
        recovery = self.log.recovery
        assert whole(self.log) == self.model[self.log_start :]
        assert recovery.high_watermark == max(self.high_watermark, self.log_start)
        assert recovery.log_start_offset == self.log_start
        assert recovery.log_end_offset == len(self.model)
        self.high_watermark = recovery.high_watermark
        if not self.was_cut and self.log_start == 0:
            table = ProducerTable()
            table.append(Offset(0), self.model)
            assert recovery.producers == table.states

    @invariant()
    def ends_and_epochs_agree(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.log_end_offset == len(self.model)
        assert self.log.log_start_offset == self.log_start
        assert self.log.recovery_point <= len(self.model)
        bases = segment_bases(self.folder)
        base = bases[0] if bases else self.log_start
        epochs = [record.leader_epoch for record in self.model[base:]]
        starts = [(epoch, base + epochs.index(epoch)) for epoch in sorted(set(epochs))]
        assert list(self.log.epoch_starts) == starts
        assert (read_checkpoint(self.folder / LEADER_EPOCH_FILE) or []) == starts

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.files.close_all()
            self.directory.cleanup()


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=50, stateful_step_count=20, deadline=None)
