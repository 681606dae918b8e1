"""How a broker gives up replicas: on StopReplica, and because an incarnation is over.

`StopReplica` of `TopicLifecycle` and `Reassignment`. What was stopped is remembered, so that a
command which its stop has overtaken starts nothing again (H10c).
"""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fencepost.impl.core.broker.fetcher import Follower
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.replica import Replica, Role
from fencepost.impl.core.types.effects import ActionTaken, DeleteLog
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState, PartitionStop
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_EPOCH,
    NO_INCARNATION,
    Action,
    ControllerEpoch,
    ErrorCode,
    LeaderEpoch,
    PartitionIncarnation,
)
from fencepost.spec.znodes import TopicPartition

Settle = Callable[[TopicPartition], None]


class Stopped(Struct, frozen=True, kw_only=True):
    """A replica of this incarnation was given up; -1 stands for every epoch of it."""

    partition_incarnation: PartitionIncarnation
    leader_epoch: LeaderEpoch
    controller_epoch: ControllerEpoch
    """Under which that was learnt."""

    def covers(self, command: PartitionState) -> bool:
        """True when the command is not newer than the stop."""
        if command.partition_incarnation != self.partition_incarnation:
            return command.partition_incarnation < self.partition_incarnation
        return self.leader_epoch == NO_EPOCH or command.leader_epoch <= self.leader_epoch


class Stopping:
    """Stops replicas, and knows which were stopped."""

    def __init__(
        self, config: Config, outbox: Outbox, replicas: Replicas, follower: Follower
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = replicas
        self._follower = follower
        self._stopped: dict[TopicPartition, Stopped] = {}
        self._started_zxid = 0
        self._topics: Mapping[str, int] = {}
        """At the start: every topic that there was, and the czxid of its znode."""

    def is_overtaken(self, command: PartitionState) -> bool:
        """True when what the command names was stopped after it was decided (TOP-003)."""
        if self._config.mutant == "forget_stopped_incarnation":
            return False
        stopped = self._stopped.get(command.key)
        if stopped is not None and stopped.covers(command):
            return True
        oldest = self._topics.get(command.topic, self._started_zxid + 1)
        return NO_INCARNATION < command.partition_incarnation < oldest

    def start_from(self, zxid: int, topics: Mapping[str, int]) -> None:
        """What was read at the start, at `zxid` or later: the topics that there are (H10c)."""
        self._started_zxid = zxid
        self._topics = topics

    def obey_init(self, request: LeaderAndIsrRequest, settle: Settle) -> None:
        """What a complete request omits is deleted, if it is older than the request (H19b)."""
        named = {one.key for one in request.partitions} | {one.key for one in request.kept}
        for key in [key for key in self._replicas.partitions() if key not in named]:
            replica = self._replicas[key]
            if not self._is_omitted(replica, request):
                continue
            settle(key)
            self.delete(key)
            self._outbox.took(
                ActionTaken(
                    action=Action.OBEY_INIT,
                    topic_partition=key,
                    controller_epoch=request.controller_epoch,
                    partition_incarnation=replica.partition_incarnation,
                    zxid=request.zxid,
                )
            )

    def _is_omitted(self, replica: Replica, request: LeaderAndIsrRequest) -> bool:
        """What is newer than the reading that the request rests on, it cannot speak of."""
        if self._config.mutant == "init_deletes_by_omission":
            return True
        if self._config.mutant == "init_omits_newer_topics":
            return True
        return NO_INCARNATION < replica.partition_incarnation <= request.zxid

    def forget(self, controller_epoch: ControllerEpoch) -> None:
        """A newer controller speaks: it knows nothing of what its predecessors had stopped."""
        kept = {k: s for k, s in self._stopped.items() if s.controller_epoch >= controller_epoch}
        self._stopped = kept

    def stop_replica(
        self, stop: PartitionStop, controller_epoch: ControllerEpoch, settle: Settle
    ) -> ErrorCode:
        """The replica is given up, unless it is newer than the command (CMD-008)."""
        replica = self._replicas.get(stop.key)
        if replica is not None and self._is_newer(replica, stop):
            return ErrorCode.STALE_LEADER_EPOCH
        self._remember(stop, controller_epoch)
        if replica is None:
            return ErrorCode.NONE
        settle(stop.key)
        if stop.delete:
            self.delete(stop.key)
        else:
            self._follower.stop_fetching(stop.key)
            self._replicas.put(_at_rest(replica, stop.leader_epoch))
        self._outbox.took(
            ActionTaken(
                action=Action.STOP_REPLICA,
                topic_partition=stop.key,
                leader_epoch=stop.leader_epoch,
                controller_epoch=controller_epoch,
                partition_incarnation=replica.partition_incarnation,
            )
        )
        return ErrorCode.NONE

    def make_way(self, key: TopicPartition, incarnation: PartitionIncarnation) -> Replica | None:
        """Nothing is left of another incarnation (H10b); what a mutant's replica begins with."""
        old = self._replicas[key]
        if self._config.mutant == "directory_without_incarnation":
            self._follower.stop_fetching(key)
            return Replica(
                broker_id=old.broker_id,
                topic_partition=key,
                partition_incarnation=incarnation,
                log_end_offset=old.log_end_offset,
                epoch_starts=old.epoch_starts,
            )
        self.delete(key)
        return None

    def delete(self, key: TopicPartition) -> None:
        """Neither a replica nor a log of the partition is left; nobody may wait on it."""
        self._follower.stop_fetching(key)
        self._replicas.remove(key)
        self._outbox.emit(DeleteLog(topic_partition=key))

    def _is_newer(self, replica: Replica, stop: PartitionStop) -> bool:
        if replica.partition_incarnation != stop.partition_incarnation:
            if self._config.mutant == "stop_replica_without_incarnation":
                return False
            return replica.partition_incarnation > stop.partition_incarnation
        if self._config.mutant == "stop_replica_without_epoch":
            return False
        return stop.leader_epoch != NO_EPOCH and stop.leader_epoch < replica.leader_epoch

    def _remember(self, stop: PartitionStop, controller_epoch: ControllerEpoch) -> None:
        known = self._stopped.get(stop.key)
        if known is not None and _rank(known.partition_incarnation, known.leader_epoch) >= _rank(
            stop.partition_incarnation, stop.leader_epoch
        ):
            return
        self._stopped[stop.key] = Stopped(
            partition_incarnation=stop.partition_incarnation,
            leader_epoch=stop.leader_epoch,
            controller_epoch=controller_epoch,
        )


def _rank(
    incarnation: PartitionIncarnation, leader_epoch: LeaderEpoch
) -> tuple[PartitionIncarnation, bool, LeaderEpoch]:
    """Later is larger: every epoch of an incarnation is more than any single one."""
    return incarnation, leader_epoch == NO_EPOCH, leader_epoch


def _at_rest(replica: Replica, leader_epoch: LeaderEpoch) -> Replica:
    """The log stays; a command of a larger epoch may start the replica again."""
    return replace(
        replica,
        role=Role.WAITING,
        leader=NO_BROKER,
        leader_epoch=max(replica.leader_epoch, leader_epoch),
        followers={},
        wanted_isr=None,
        is_fenced=False,
    )
