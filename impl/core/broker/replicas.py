"""The replicas of a broker: the one place where their state changes and is traced."""

from collections.abc import Iterable, Mapping

from fencepost.impl.core.broker.purgatory import Waiting
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.producers import ProducerTable
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.replication import advance_high_watermark
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, Record
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.timers import Alarms
from fencepost.spec.vocabulary import Action, Offset
from fencepost.spec.znodes import TopicPartition


class Replicas:
    """Partition -> replica, with what waits on it."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        replicas: Iterable[Replica],
        producers: Mapping[TopicPartition, ProducerTable] | None = None,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = {replica.topic_partition: replica for replica in replicas}
        self._keys: list[TopicPartition] | None = None
        self._waiting: dict[TopicPartition, Waiting] = {}
        self._producers = dict(producers or {})
        self._checkpointed: dict[TopicPartition, Offset] = {}
        self._unsaved = set(self._replicas)
        """Partitions whose high watermark may differ from the checkpoint."""
        self._alarms = Alarms()
        for key in self._replicas:
            self._alarms.touch(key)

    def touch(self, key: TopicPartition) -> None:
        """The next tick looks at the partition."""
        self._alarms.touch(key)

    def expect(self, key: TopicPartition, due_ms: int) -> None:
        """Something that waits on the partition expires at that time."""
        self._alarms.expect(key, due_ms)

    def take_due(self) -> list[TopicPartition]:
        """The partitions that a tick must look at now, ascending."""
        return self._alarms.take(self._outbox.now_ms)

    def looked_at(self, key: TopicPartition, due_ms: int | None) -> None:
        """A tick did what was due; if nothing changes, nothing is due before `due_ms`."""
        self._alarms.set(key, due_ms)

    def partitions(self) -> list[TopicPartition]:
        """All partitions, ascending."""
        if self._keys is None:
            self._keys = sorted(self._replicas)
        return self._keys

    def get(self, key: TopicPartition) -> Replica | None:
        """The replica, or None when this broker has none."""
        return self._replicas.get(key)

    def __getitem__(self, key: TopicPartition) -> Replica:
        return self._replicas[key]

    def put(self, replica: Replica) -> None:
        """The replica is what it is now."""
        is_in_log = 0 <= replica.high_watermark <= replica.log_end_offset
        assert is_in_log or self._config.mutant == "unbounded_high_watermark", replica
        key = replica.topic_partition
        before = self._replicas.get(key)
        if before is None:
            self._keys = None
        if before is None or _standing(before) != _standing(replica):
            self._alarms.touch(key)
        self._replicas[key] = replica
        self._unsaved.add(key)

    def remove(self, key: TopicPartition) -> None:
        """This broker has no replica of the partition, and nothing waits on it."""
        del self._replicas[key]
        self._keys = None
        self._unsaved.discard(key)
        self._checkpointed.pop(key, None)
        self._producers.pop(key, None)
        waiting = self._waiting.pop(key, None)
        assert waiting is None or waiting.is_empty, f"{key}: somebody waits for no replica"
        self._alarms.drop(key)

    def waiting(self, key: TopicPartition) -> Waiting:
        """What waits on the partition; who adds to it says when it expires."""
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = Waiting()
        return waiting

    def producers(self, key: TopicPartition) -> ProducerTable:
        """What the partition's log says of idempotent producers."""
        producers = self._producers.get(key)
        if producers is None:
            producers = self._producers[key] = ProducerTable()
        return producers

    def advance(self, key: TopicPartition, *, on_fetch: bool = False) -> bool:
        """The high watermark is as high as it may be; true when it moved."""
        if self._config.mutant == "high_watermark_on_fetch_only" and not on_fetch:
            return False
        before = self._replicas[key]
        after = advance_high_watermark(
            before,
            from_leader_alone=self._config.mutant == "high_watermark_from_leader_alone",
            with_old_isr=self._config.mutant == "commit_with_old_isr",
            recomputed=self._config.mutant == "recompute_high_watermark",
        )
        if after is before:
            return False
        self.put(after)
        self._outbox.took(
            ActionTaken(
                action=Action.ADVANCE_HIGH_WATERMARK,
                topic_partition=key,
                partition_incarnation=after.partition_incarnation,
                leader_epoch=after.leader_epoch,
                isr=after.isr,
                maximal_isr=after.maximal_isr,
                high_watermark=after.high_watermark,
                log_end_offset=after.log_end_offset,
            )
        )
        return True

    def take_checkpoints(self) -> list[tuple[TopicPartition, Offset]]:
        """The high watermarks that moved since the last call, by partition."""
        moved = [
            (key, self._replicas[key].high_watermark)
            for key in sorted(self._unsaved)
            if self._checkpointed.get(key) != self._replicas[key].high_watermark
        ]
        self._unsaved.clear()
        self._checkpointed.update(moved)
        return moved

    def took_role(self, action: Action, replica: Replica, request: LeaderAndIsrRequest) -> None:
        """Trace that a command was obeyed."""
        self._outbox.took(
            ActionTaken(
                action=action,
                topic_partition=replica.topic_partition,
                partition_incarnation=replica.partition_incarnation,
                leader=replica.leader,
                leader_epoch=replica.leader_epoch,
                isr=replica.isr,
                znode_version=replica.znode_version,
                controller_id=request.controller_id,
                controller_epoch=request.controller_epoch,
                high_watermark=replica.high_watermark,
                log_end_offset=replica.log_end_offset,
            )
        )

    def took_records(
        self, action: Action, replica: Replica, offset: Offset, records: tuple[Record, ...]
    ) -> None:
        """Records were appended at `offset`, or a follower's high watermark moved: trace it."""
        self.producers(replica.topic_partition).append(offset, records)
        self._outbox.took(
            ActionTaken(
                action=action,
                topic_partition=replica.topic_partition,
                partition_incarnation=replica.partition_incarnation,
                leader_epoch=replica.leader_epoch,
                offset=offset,
                records=records or None,
                high_watermark=replica.high_watermark,
                log_end_offset=replica.log_end_offset,
            )
        )


def _standing(replica: Replica) -> tuple[object, ...]:
    """What a tick's duties come from; records and fetches only put them off."""
    return (
        replica.role,
        replica.leader,
        replica.leader_epoch,
        replica.isr,
        replica.wanted_isr,
        replica.is_fenced,
    )
