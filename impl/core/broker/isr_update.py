"""A leader's conditional writes of the ISR, and how each is settled (V3 G; ISR-003, ISR-004)."""

from collections.abc import Callable, Generator

from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.commands import are_different
from fencepost.impl.core.rules.controller.controller_election import FIRST_VERSION
from fencepost.impl.core.rules.isr import Settlement, adopt_isr
from fencepost.impl.core.rules.replica import Acted, Replica
from fencepost.impl.core.rules.tables import Writer
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
from fencepost.impl.core.types.timers import earliest
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Written
from fencepost.spec.vocabulary import (
    BrokerId,
    LeaderEpoch,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    TopicPartition,
    leader_and_isr_path,
    parse_leader_and_isr,
    partition_path,
)


class IsrUpdates:
    """At most one change per partition is in flight; an undecided one is settled by reading."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = replicas
        self.on_adopted: Callable[[TopicPartition], None] = lambda _: None
        """Called with each partition that has another ISR, if its controller is to hear of it."""
        self._unsettled: dict[TopicPartition, int] = {}
        """Partition with an undecided change -> when to look again, in ms."""
        self._removals: dict[TopicPartition, tuple[PartitionIncarnation, ZnodeVersion]] = {}
        """Incarnation -> version of its folder, where that was not the first one."""

    def tick(self, key: TopicPartition) -> None:
        """Laggards are asked out; an undecided change is looked after."""
        replica = self._replicas[key]
        due_ms = self._unsettled.get(key)
        if due_ms is not None and due_ms <= self._outbox.now_ms:
            del self._unsettled[key]
            self._outbox.run(self._resume(key, replica.leader_epoch))
        self._change(replica, self._config.rules.shrink_isr)

    def due_ms(self, key: TopicPartition) -> int | None:
        """When `tick` has something to do, if nothing else happens."""
        lag_ms = self._config.replica_lag_time_ms
        lags_ms = self._config.rules.lags_at_ms(self._replicas[key], lag_ms)
        return earliest(lags_ms, self._unsettled.get(key))

    def expand(self, key: TopicPartition) -> None:
        """Followers that caught up are asked in."""
        self._change(self._replicas[key], self._config.rules.expand_isr)

    def _change(self, before: Replica, wish: Callable[[Replica, int, int], Acted]) -> None:
        after, taken = wish(before, self._outbox.now_ms, self._config.replica_lag_time_ms)
        if taken is not None:
            self._replicas.take(after, taken)
            self._outbox.run(self._write(after.topic_partition, after.leader_epoch))

    def _write(self, key: TopicPartition, leader_epoch: LeaderEpoch) -> Script:
        """The change is written until it is decided; each try has the same expected version."""
        is_undecided = True
        while is_undecided:
            replica = self._replicas[key]
            wanted = replica.wanted_isr
            assert wanted is not None
            operations = self._config.rules.isr_operations(replica, self._folder_version(replica))
            result = yield from write(self._config.rules.may_write[Writer.LEADER], *operations)
            if not self._is_waiting(key, leader_epoch):
                return
            if isinstance(result, Written):
                version = result.versions[-1]
                self._adopt(self._replicas[key], wanted, version)
                return
            is_undecided = yield from self._settle(key, leader_epoch)

    def _folder_version(self, replica: Replica) -> ZnodeVersion:
        """Until a refusal made this leader look, it takes its partition for the first one there."""
        first = (replica.partition_incarnation, FIRST_VERSION)
        incarnation, version = self._removals.get(replica.topic_partition, first)
        return version if incarnation == replica.partition_incarnation else FIRST_VERSION

    def _resume(self, key: TopicPartition, leader_epoch: LeaderEpoch) -> Script:
        if (yield from self._settle(key, leader_epoch)):
            yield from self._write(key, leader_epoch)

    def _settle(
        self, key: TopicPartition, leader_epoch: LeaderEpoch
    ) -> Generator[Ask, Answer, bool]:
        """ZooKeeper is read back: a lost reply or a refusal says too little (ZK-006, H39, H40).

        Returns true when the change must be written again.
        """
        path = leader_and_isr_path(key)
        paths = partition_path(key), path  # the folder first: see below
        znodes = yield from read(*paths, leader_epoch=leader_epoch)
        if not self._is_waiting(key, leader_epoch):
            return False
        if znodes is None:
            self._unsettled[key] = self._config.retry_at_ms(self._outbox.now_ms)
            self._replicas.touch(key)
            return False
        folder, znode = znodes
        replica = self._replicas[key]
        found = parsed(parse_leader_and_isr, znode)
        if found is None:
            self._fence(replica)
            return False
        assert znode.stat is not None
        settlement, isr = self._config.rules.settle_isr(replica, found, znode.stat.version)
        incarnation = PartitionIncarnation(znode.stat.czxid)
        is_other = are_different(incarnation, replica.partition_incarnation)
        if settlement is Settlement.FENCE or is_other:
            self._fence(replica)
            return False
        assert folder.stat is not None  # read when this incarnation was there
        self._removals[key] = (incarnation, folder.stat.version)
        if settlement is Settlement.ADOPT:
            self._adopt(replica, isr, znode.stat.version)
        return settlement is Settlement.WRITE_AGAIN

    def _adopt(self, replica: Replica, isr: frozenset[BrokerId], version: ZnodeVersion) -> None:
        self._replicas.take(*adopt_isr(replica, isr, version))
        if self._config.rules.reports_isr:
            self.on_adopted(replica.topic_partition)

    def _fence(self, replica: Replica) -> None:
        self._replicas.take(*self._config.rules.fence_leader(replica))

    def _is_waiting(self, key: TopicPartition, leader_epoch: LeaderEpoch) -> bool:
        replica = self._replicas.get(key)
        return (
            replica is not None
            and replica.leader_epoch == leader_epoch
            and replica.wanted_isr is not None
        )
