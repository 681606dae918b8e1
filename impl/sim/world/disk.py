"""What survives a broker's crash: records and checkpoints.

A process that dies leaves its writes with the operating system. A host that loses power loses the
records that were not flushed; what was truncated stays truncated. When records are flushed is the
process's affair (`Options.flush_ms`).
"""

from collections import deque
from random import Random

from fencepost.impl.core.rules.producers import ProducerTable
from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.types.effects import (
    AppendRecords,
    CheckpointHighWatermark,
    DeleteLog,
    DiskEffect,
    Effect,
    ReplyRecords,
    StartLog,
    TruncateRecords,
)
from fencepost.impl.core.types.messages import Record
from fencepost.spec.vocabulary import NO_INCARNATION, LeaderEpoch, Offset, PartitionIncarnation
from fencepost.spec.znodes import TopicPartition

CHECKPOINTS_KEPT = 4
"""How old a stale checkpoint may be."""
GROWS = (AppendRecords, StartLog, CheckpointHighWatermark)
"""What a full disk refuses."""
USES = (*GROWS, TruncateRecords, ReplyRecords)
"""What a broken disk refuses."""


class SimulatedDisk:
    """The data directory of one broker."""

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, list[Record]] = {}
        self._incarnations: dict[TopicPartition, PartitionIncarnation] = {}
        self._high_watermarks: dict[TopicPartition, Offset] = {}
        self._older: dict[TopicPartition, deque[Offset]] = {}
        """Checkpoints that were overwritten, oldest first."""
        self._flushed: dict[TopicPartition, int] = {}
        """Of the logs that have grown since the last flush: how many records survive."""
        self._flushed_ms = 0
        self._grown: set[TopicPartition] = set()
        """Logs that have had a record."""
        self.keeps_empty = True
        """False where a log leaves nothing on the disk before its first record, as for real."""
        self.refused: tuple[type, ...] = ()
        """The effects that fail now."""

    def refuses(self, effect: Effect) -> bool:
        """The effect cannot be performed: its log has failed."""
        is_empty = isinstance(effect, ReplyRecords) and effect.start == effect.end
        return isinstance(effect, self.refused) and not is_empty

    def incarnation_of(self, key: TopicPartition) -> PartitionIncarnation:
        """The incarnation of the partition that the log is of; 0 without a log."""
        return self._incarnations.get(key, NO_INCARNATION)

    def perform(self, effect: DiskEffect) -> None:
        """What the core wants written is written."""
        key = effect.topic_partition
        match effect:
            case AppendRecords():
                self.append(key, effect.base_offset, effect.records)
            case TruncateRecords():
                self.truncate(key, effect.offset)
            case StartLog():
                self.start_log(key, effect.partition_incarnation)
            case DeleteLog():
                self.delete(key)
            case CheckpointHighWatermark():
                self.checkpoint(key, effect.high_watermark)

    def start_log(self, key: TopicPartition, incarnation: PartitionIncarnation) -> None:
        """The partition has a log; a new one is empty, and of this incarnation."""
        if key not in self._logs:
            self._logs[key] = []
            self._incarnations[key] = incarnation

    def delete(self, key: TopicPartition) -> None:
        """Delete the log and the checkpoint of the partition."""
        self._logs.pop(key, None)
        self._incarnations.pop(key, None)
        self._high_watermarks.pop(key, None)
        self._older.pop(key, None)
        self._flushed.pop(key, None)
        self._grown.discard(key)

    def append(self, key: TopicPartition, base_offset: Offset, records: tuple[Record, ...]) -> None:
        """Append the records."""
        log = self._logs.setdefault(key, [])
        assert len(log) == base_offset, f"{key}: appends at {base_offset} to {len(log)} records"
        self._grown.add(key)
        self._flushed.setdefault(key, base_offset)
        log.extend(records)

    def truncate(self, key: TopicPartition, offset: Offset) -> None:
        """Delete the records from `offset` on, of which there are some."""
        log = self._logs[key]
        assert offset < len(log), f"{key}: cuts at {offset} what has {len(log)} records"
        del log[offset:]
        if key in self._flushed:
            self._flushed[key] = min(self._flushed[key], offset)

    def read(self, key: TopicPartition, start: Offset, end: Offset) -> tuple[Record, ...]:
        """The records `[start, end)`."""
        records = tuple(self._logs.get(key, [])[start:end])
        assert len(records) == end - start, f"{key}: [{start}, {end}) is not in the log"
        return records

    def checkpoint(self, key: TopicPartition, high_watermark: Offset) -> None:
        """Keep the high watermark for the next start."""
        older = self._older.setdefault(key, deque(maxlen=CHECKPOINTS_KEPT))
        older.append(self._high_watermarks.get(key, Offset(0)))
        self._high_watermarks[key] = high_watermark

    # Faults, and what keeps them harmless

    def flush(self) -> None:
        """Make everything that was written survive a loss of power."""
        self._flushed.clear()

    def flush_after(self, flush_ms: int, now_ms: int) -> None:
        """Flush when the last time was `flush_ms` ago."""
        if now_ms >= self._flushed_ms + flush_ms:
            self._flushed_ms = now_ms
            self.flush()

    def lose_unflushed(self) -> int:
        """Delete the records that were not flushed; returns how many."""
        lost = 0
        for key, survive in self._flushed.items():
            lost += len(self._logs[key]) - survive
            del self._logs[key][survive:]
        self._flushed.clear()
        return lost

    def corrupt_unflushed(self, chance: Random) -> int:
        """As `lose_unflushed`, from a record on that is no more what was written."""
        for key, survive in self._flushed.items():
            if survive < len(self._logs[key]):
                self._flushed[key] = chance.randrange(survive, len(self._logs[key]))
        return self.lose_unflushed()

    def wipe(self, *, with_checkpoints: bool) -> int:
        """No record is left, or nothing at all; returns of how many logs something was there."""
        gone = len(self._logs) if with_checkpoints else sum(map(bool, self._logs.values()))
        self._flushed.clear()
        for key in list(self._logs):
            if with_checkpoints:
                self.delete(key)
            else:
                self._logs[key] = []
        return gone

    def restore_older_checkpoint(self) -> int:
        """The checkpoints are older ones; returns how many partitions that changes."""
        changed = 0
        for key, older in self._older.items():
            changed += older[0] != self._high_watermarks[key]
            self._high_watermarks[key] = older[0]
            older.clear()
            older.append(self._high_watermarks[key])
        return changed

    def recover(self) -> dict[TopicPartition, RecoveredLog]:
        """What a starting broker finds."""
        if not self.keeps_empty:
            for key in self._logs.keys() - self._grown:
                self.delete(key)
        return {key: self._recovered(key) for key in sorted(self._logs)}

    def _recovered(self, key: TopicPartition) -> RecoveredLog:
        log = self._logs[key]
        end = Offset(len(log))
        starts: dict[LeaderEpoch, Offset] = {}
        for offset, record in enumerate(log):
            starts.setdefault(record.leader_epoch, Offset(offset))
        producers = ProducerTable()
        producers.append(Offset(0), log)
        checkpoint = self._high_watermarks.get(key, Offset(0))
        return RecoveredLog(
            log_end_offset=end,
            high_watermark=min(checkpoint, end),
            epoch_starts=tuple(starts.items()),
            producers=producers.states,
            partition_incarnation=self.incarnation_of(key),
        )
