"""How a broker gives up replicas: on StopReplica, and because an incarnation is over.

`StopReplica` of `TopicLifecycle` and `Reassignment`. What was stopped is remembered, so that a
command which its stop has overtaken starts nothing again (H10c).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.impl.core.broker.delayed_requests import DelayedRequests
from fencepost.impl.core.broker.fetcher import Fetcher
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.commands import Stopped
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import CommandKind, Role
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.effects import DeleteLog
from fencepost.impl.core.types.messages import (
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    StopReplicaRequest,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import (
    NO_EPOCH,
    ErrorCode,
    LeaderEpoch,
    PartitionIncarnation,
)
from fencepost.spec.znodes import TopicPartition


@dataclass(slots=True)
class StopReplicas:
    """Stops replicas, and knows which were stopped."""

    _config: Config
    _outbox: Outbox
    _replicas: Replicas
    _fetcher: Fetcher
    _delayed: DelayedRequests
    _stopped: dict[TopicPartition, Stopped] = field(default_factory=dict)
    _started_zxid: int = 0
    _topics: Mapping[str, int] = field(default_factory=dict)
    """At the start: every topic that there was, and the czxid of its znode."""

    def is_overtaken(self, command: PartitionState) -> bool:
        """True when what the command names was stopped after it was decided (TOP-003)."""
        oldest = self._topics.get(command.topic, self._started_zxid + 1)
        return self._config.rules.is_overtaken(command, self._stopped.get(command.key), oldest)

    def start_from(self, zxid: int, topics: Mapping[str, int]) -> None:
        """What was read at the start, at `zxid` or later: the topics that there are (H10c)."""
        self._started_zxid = zxid
        self._topics = topics

    @action
    def obey_init(self, request: LeaderAndIsrRequest) -> None:
        """What a complete request omits is deleted, if it is older than the request (H19b)."""
        named = {one.key for one in request.partitions} | {one.key for one in request.kept}
        for key in [key for key in self._replicas.partitions() if key not in named]:
            replica = self._replicas[key]
            if self._config.rules.is_omitted(replica, request.zxid):
                self._delayed.give_up(key)
                self.delete(key)
                epoch, zxid = request.controller_epoch, request.zxid
                self._outbox.took(taken(self.obey_init, replica, controller_epoch=epoch, zxid=zxid))

    def forget(self) -> None:
        """A newer controller speaks: it knows nothing of what its predecessors had stopped."""
        self._stopped.clear()

    @action
    def stop_replica(self, stop: PartitionStop, request: StopReplicaRequest) -> ErrorCode:
        """The replica is given up, unless it is newer than the command (CMD-008)."""
        replica = self._replicas.get(stop.key)
        if replica is not None:
            is_older = self._config.rules.is_newer_than_stop(replica, stop)
            kind = CommandKind.STOP_OLDER if is_older else CommandKind.STOP
            reaction = self._config.rules.commands[replica.role, kind]
            if isinstance(reaction, ErrorCode):
                return reaction
        self._remember(stop)
        if replica is None:
            return ErrorCode.NONE
        self._delayed.give_up(stop.key)
        if stop.delete:
            self.delete(stop.key)
        else:
            self._fetcher.stop_fetching(stop.key)
            self._replicas.put(_at_rest(replica, stop.leader_epoch))
        self._outbox.took(
            taken(
                self.stop_replica,
                replica,
                leader_epoch=stop.leader_epoch,
                controller_epoch=request.controller_epoch,
                broker_epoch=request.broker_epoch,
                max_broker_epoch=request.max_broker_epoch,
            )
        )
        return ErrorCode.NONE

    def make_way(self, old: Replica, incarnation: PartitionIncarnation) -> Replica:
        """The replica with which the next incarnation begins; what the old one had is gone."""
        self._delayed.give_up(old.topic_partition)
        fresh, effects = self._config.rules.begin_incarnation(old, incarnation)
        self._fetcher.stop_fetching(old.topic_partition)
        if effects:
            self._replicas.remove(old.topic_partition)
        self._outbox.emit(*effects)
        return fresh

    def delete(self, key: TopicPartition) -> None:
        """Remove the replica and delete its log; no request may wait on it."""
        self._fetcher.stop_fetching(key)
        self._replicas.remove(key)
        self._outbox.emit(DeleteLog(topic_partition=key))

    def _remember(self, stop: PartitionStop) -> None:
        known = self._stopped.get(stop.key)
        if known is not None and _rank(known.partition_incarnation, known.leader_epoch) >= _rank(
            stop.partition_incarnation, stop.leader_epoch
        ):
            return
        self._stopped[stop.key] = Stopped(
            partition_incarnation=stop.partition_incarnation, leader_epoch=stop.leader_epoch
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
        leader_epoch=max(replica.leader_epoch, leader_epoch),
        wanted_isr=None,
    )
