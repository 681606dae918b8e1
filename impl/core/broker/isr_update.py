"""A leader's conditional writes of the ISR, and how each is settled (V3 G; ISR-003, ISR-004)."""

from collections.abc import Generator

from msgspec.structs import replace

from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_generation import FIRST_VERSION
from fencepost.impl.core.rules.isr import (
    adopt_isr,
    fence_leader,
)
from fencepost.impl.core.rules.replica import Replica, are_different
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read, write
from fencepost.impl.core.types.timers import earliest
from fencepost.impl.core.types.zookeeper import Check, SetData, Written
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_INCARNATION,
    Action,
    LeaderEpoch,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    leader_and_isr_path,
    parse_leader_and_isr,
    partition_path,
    topic_id_path,
)


class IsrWriter:
    """At most one change per partition is in flight; an undecided one is settled by reading."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = replicas
        self._unsettled: dict[TopicPartition, int] = {}
        """Partition whose change is undecided -> when to look again, in ms."""
        self._removals: dict[TopicPartition, tuple[PartitionIncarnation, ZnodeVersion]] = {}
        """Incarnation -> version of its folder, where that was not the first one."""

    def tick(self, key: TopicPartition) -> None:
        """Laggards are asked out; an undecided change is looked after."""
        replica = self._replicas[key]
        if not replica.is_leader:
            self._unsettled.pop(key, None)
            return
        due_ms = self._unsettled.get(key)
        if due_ms is not None and due_ms <= self._outbox.now_ms:
            del self._unsettled[key]
            self._outbox.run(self._resume(key, replica.leader_epoch))
        if self._config.mutant == "shrink_on_fetch_only":
            return
        self._shrink(key)

    def _shrink(self, key: TopicPartition) -> None:
        replica = self._replicas[key]
        before = self._changeable(replica)
        wanted = self._config.rules.shrink_isr(
            before, self._outbox.now_ms, self._config.replica_lag_time_ms
        )
        self._change(Action.SHRINK_ISR, before, wanted)

    def due_ms(self, key: TopicPartition) -> int | None:
        """When `tick` has something to do, if nothing else happens."""
        lags_ms = self._config.rules.lags_at_ms(
            self._changeable(self._replicas[key]), self._config.replica_lag_time_ms
        )
        return earliest(lags_ms, self._unsettled.get(key))

    def expand(self, key: TopicPartition) -> None:
        """Followers that caught up are asked in."""
        before = self._changeable(self._replicas[key])
        wanted = self._config.rules.expand_isr(
            before, self._outbox.now_ms, self._config.replica_lag_time_ms
        )
        self._change(Action.EXPAND_ISR, before, wanted)
        if self._config.mutant == "shrink_on_fetch_only":
            self._shrink(key)

    def _changeable(self, replica: Replica) -> Replica:
        """What a change starts from; a mutant forgets the one in flight (H37)."""
        if self._config.mutant == "expand_overwrites_shrink":
            return replace(replica, wanted_isr=None)
        return replica

    def _change(self, action: Action, before: Replica, after: Replica) -> None:
        if after is before:
            return
        self._replicas.put(after)
        self._took(action, after)
        self._outbox.run(self._write(after.topic_partition, after.leader_epoch))

    def _write(self, key: TopicPartition, leader_epoch: LeaderEpoch) -> Script:
        """The change is written until it is decided; each try has the same expected version."""
        is_undecided = True
        while is_undecided:
            replica = self._replicas[key]
            state = self._wanted(replica)
            unchecked = self._config.mutant == "no_znode_version_check"
            result = yield from write(
                *self._id_check(replica),
                *self._removal_check(replica),
                SetData(
                    path=leader_and_isr_path(key),
                    data=state.document(),
                    expected_version=ANY_VERSION if unchecked else replica.znode_version,
                ),
            )
            if not self._is_waiting(key, leader_epoch):
                return
            if isinstance(result, Written):
                adopted = adopt_isr(self._replicas[key], state.isr, result.versions[-1])
                self._decide(Action.ADOPT_ISR, adopted)
                return
            is_undecided = yield from self._settle(key, leader_epoch)

    def _id_check(self, replica: Replica) -> tuple[Check, ...]:
        """The znode of another incarnation may have the same versions (H12)."""
        if not replica.topic_id:
            return ()
        if self._config.mutant == "trust_version_across_incarnations":
            return ()
        path = topic_id_path(replica.topic_partition.topic, replica.topic_id)
        return (Check(path=path, expected_version=ANY_VERSION),)

    def _removal_check(self, replica: Replica) -> tuple[Check, ...]:
        """A partition that was removed and added has the id of its topic, and the same versions.

        Its folder stays, and counts the removals; until a refusal made this leader look, it takes
        its partition for the first one there.
        """
        key = replica.topic_partition
        if replica.partition_incarnation == NO_INCARNATION:
            return ()
        incarnation, version = self._removals.get(key, (NO_INCARNATION, FIRST_VERSION))
        if incarnation != replica.partition_incarnation:
            version = FIRST_VERSION
        return (Check(path=partition_path(key), expected_version=version),)

    def _resume(self, key: TopicPartition, leader_epoch: LeaderEpoch) -> Script:
        if (yield from self._settle(key, leader_epoch)):
            yield from self._write(key, leader_epoch)

    def _settle(
        self, key: TopicPartition, leader_epoch: LeaderEpoch
    ) -> Generator[Ask, Answer, bool]:
        """ZooKeeper is read back: a lost reply or a refusal says too little (ZK-006, H39, H40).

        Returns true when the change must be written again: it was not applied, though the lost one
        may still come. Only one of the two can succeed.
        """
        path = leader_and_isr_path(key)
        znodes = yield from read(partition_path(key), path)  # the folder first: see below
        if not self._is_waiting(key, leader_epoch):
            return False
        if znodes is None:
            self._unsettled[key] = self._outbox.now_ms + self._config.retry_ms
            self._replicas.touch(key)
            return False
        folder, znode = znodes
        replica = self._replicas[key]
        found = self._parse(path, znode.data) if znode.stat is not None else None
        if found is None or znode.stat is None or not self._is_mine(replica, found):
            self._fence(replica)
            return False
        incarnation = PartitionIncarnation(znode.stat.czxid)
        if are_different(incarnation, replica.partition_incarnation):
            self._fence(replica)
            return False
        if folder.stat is not None:  # read when this incarnation was there: a removal comes later
            self._removals[key] = (incarnation, folder.stat.version)
        if znode.stat.version == replica.znode_version:
            return True
        self._decide(Action.ADOPT_ISR, adopt_isr(replica, found.isr, znode.stat.version))
        return False

    def _fence(self, replica: Replica) -> None:
        if self._config.mutant == "no_step_down":
            assert replica.wanted_isr is not None
            adopted = adopt_isr(replica, replica.wanted_isr, replica.znode_version)
            self._decide(Action.ADOPT_ISR, adopted)
            return
        self._decide(Action.FENCE_LEADER, fence_leader(replica))

    def _parse(self, path: str, data: bytes) -> LeaderAndIsr | None:
        try:
            return parse_leader_and_isr(path, data)
        except MalformedZnodeError:
            return None

    def _is_waiting(self, key: TopicPartition, leader_epoch: LeaderEpoch) -> bool:
        replica = self._replicas.get(key)
        return (
            replica is not None
            and replica.is_leader
            and replica.leader_epoch == leader_epoch
            and replica.wanted_isr is not None
        )

    def _is_mine(self, replica: Replica, found: LeaderAndIsr) -> bool:
        is_same_topic = found.topic_id == replica.topic_id
        is_same_epoch = found.leader_epoch == replica.leader_epoch
        return is_same_topic and is_same_epoch and found.leader == replica.broker_id

    def _wanted(self, replica: Replica) -> LeaderAndIsr:
        assert replica.wanted_isr is not None
        return LeaderAndIsr(
            leader=replica.broker_id,
            leader_epoch=replica.leader_epoch,
            isr=replica.wanted_isr,
            controller_epoch=replica.controller_epoch,
            topic_id=replica.topic_id,
        )

    def _decide(self, action: Action, after: Replica) -> None:
        self._replicas.put(after)
        self._took(action, after)

    def _took(self, action: Action, replica: Replica) -> None:
        is_wish = action in (Action.SHRINK_ISR, Action.EXPAND_ISR)
        self._outbox.took(
            ActionTaken(
                action=action,
                topic_partition=replica.topic_partition,
                partition_incarnation=replica.partition_incarnation,
                leader_epoch=replica.leader_epoch,
                isr=replica.wanted_isr if is_wish else replica.isr,
                maximal_isr=replica.maximal_isr,
                expected_version=replica.znode_version if is_wish else None,
                znode_version=None if is_wish else replica.znode_version,
            )
        )
