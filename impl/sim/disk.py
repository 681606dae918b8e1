"""What survives a broker's crash: records and checkpoints. Nothing that was written is lost.

A process that dies leaves its writes with the operating system; a host that loses power does not,
and that fault is not simulated here.
"""

from impl.core.effects import (
    AppendRecords,
    CheckpointHighWatermark,
    DeleteLog,
    StartLog,
    TruncateRecords,
)
from impl.core.messages import Record
from impl.core.producers import ProducerTable
from impl.core.replica import RecoveredLog
from spec.vocabulary import NO_INCARNATION, LeaderEpoch, Offset, PartitionIncarnation
from spec.znodes import TopicPartition

DiskEffect = AppendRecords | TruncateRecords | StartLog | DeleteLog | CheckpointHighWatermark


class SimDisk:
    """The data directory of one broker."""

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, list[Record]] = {}
        self._incarnations: dict[TopicPartition, PartitionIncarnation] = {}
        self._high_watermarks: dict[TopicPartition, Offset] = {}

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
        """Nothing of the partition is left."""
        self._logs.pop(key, None)
        self._incarnations.pop(key, None)
        self._high_watermarks.pop(key, None)

    def append(self, key: TopicPartition, base_offset: Offset, records: tuple[Record, ...]) -> None:
        """The records follow what is there."""
        log = self._logs.setdefault(key, [])
        assert len(log) == base_offset, f"{key}: appends at {base_offset} to {len(log)} records"
        log.extend(records)

    def truncate(self, key: TopicPartition, offset: Offset) -> None:
        """Records from `offset` on are gone."""
        del self._logs[key][offset:]

    def read(self, key: TopicPartition, start: Offset, end: Offset) -> tuple[Record, ...]:
        """The records `[start, end)`."""
        records = tuple(self._logs.get(key, [])[start:end])
        assert len(records) == end - start, f"{key}: [{start}, {end}) is not in the log"
        return records

    def checkpoint(self, key: TopicPartition, high_watermark: Offset) -> None:
        """The high watermark is kept for the next start."""
        self._high_watermarks[key] = high_watermark

    def recover(self) -> dict[TopicPartition, RecoveredLog]:
        """What a starting broker finds."""
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
            partition_incarnation=self._incarnations.get(key, NO_INCARNATION),
        )
