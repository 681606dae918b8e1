"""The replicas of a broker: the one place where their state changes and is traced."""

from collections.abc import Iterable, Mapping

from fencepost.impl.core.broker.purgatory import Purgatory
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.producers import ProducerTable
from fencepost.impl.core.rules.replica import Replica, begins_anew
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.timers import Timers
from fencepost.spec.vocabulary import NO_BROKER_EPOCH, BrokerEpoch, BrokerId, Offset
from fencepost.spec.znodes import TopicPartition


class Replicas:
    """Partition -> replica, with its delayed requests."""

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
        self._purgatories: dict[TopicPartition, Purgatory] = {}
        self._producers = dict(producers or {})
        self._checkpointed: dict[TopicPartition, Offset] = {}
        self._unsaved = set(self._replicas)
        """Partitions with a high watermark that may differ from the checkpoint."""
        self.broker_epoch = NO_BROKER_EPOCH
        """The czxid of this broker's registration (BEP-001)."""
        self.registered: Mapping[BrokerId, BrokerEpoch] = {}
        """The live brokers, as the controller told them last (UMD-002)."""
        self._timers = Timers()
        for key in self._replicas:
            self._timers.touch(key)

    def touch(self, key: TopicPartition) -> None:
        """The next tick looks at the partition."""
        self._timers.touch(key)

    def expect(self, key: TopicPartition, due_ms: int) -> None:
        """Something that waits on the partition expires at that time."""
        self._timers.expect(key, due_ms)

    def take_due(self) -> list[TopicPartition]:
        """The partitions that a tick must look at now, ascending."""
        return self._timers.take(self._outbox.now_ms)

    def looked_at(self, key: TopicPartition, due_ms: int | None) -> None:
        """A tick did what was due; if nothing changes, nothing is due before `due_ms`."""
        self._timers.set(key, due_ms)

    def partitions(self) -> list[TopicPartition]:
        """All partitions, ascending."""
        if self._keys is None:
            self._keys = sorted(self._replicas)
        return self._keys

    @property
    def states(self) -> Mapping[TopicPartition, Replica]:
        """All replicas by partition."""
        return self._replicas

    def get(self, key: TopicPartition) -> Replica | None:
        """The replica, or None when this broker has none."""
        return self._replicas.get(key)

    def __getitem__(self, key: TopicPartition) -> Replica:
        return self._replicas[key]

    def put(self, replica: Replica) -> None:
        """The replica is what it is now."""
        key = replica.topic_partition
        before = self._replicas.get(key)
        if replica is before:
            return
        assert self._config.rules.is_sound(replica), replica
        assert begins_anew(replica), replica
        if before is None:
            self._keys = None
        if before is None or _standing(before) != _standing(replica):
            self._timers.touch(key)
        self._replicas[key] = replica
        self._unsaved.add(key)

    def take(self, after: Replica, taken: ActionTaken | None) -> None:
        """An action was taken: the replica is what it is now, and the trace says so."""
        self.put(after)
        if taken is not None:
            self._outbox.took(taken)

    def remove(self, key: TopicPartition) -> None:
        """This broker has no replica of the partition, and nothing waits on it."""
        del self._replicas[key]
        self._keys = None
        self._unsaved.discard(key)
        self._checkpointed.pop(key, None)
        self._producers.pop(key, None)
        purgatory = self._purgatories.pop(key, None)
        assert purgatory is None or purgatory.due_ms is None, f"{key}: requests wait for no replica"
        self._timers.drop(key)

    def purgatory(self, key: TopicPartition) -> Purgatory:
        """The delayed requests of the partition; `expect` their deadlines."""
        purgatory = self._purgatories.get(key)
        if purgatory is None:
            purgatory = self._purgatories[key] = Purgatory()
        return purgatory

    def producers(self, key: TopicPartition) -> ProducerTable:
        """What the partition's log says of idempotent producers."""
        producers = self._producers.get(key)
        if producers is None:
            producers = self._producers[key] = ProducerTable()
        return producers

    def advance(self, key: TopicPartition) -> bool:
        """The high watermark is as high as it may be; true when it moved."""
        after, taken = self._config.rules.advance_high_watermark(self._replicas[key])
        if taken is not None:
            self.take(after, taken)
        return taken is not None

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
