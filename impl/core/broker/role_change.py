"""How a replica obeys a LeaderAndIsr command: becomes leader or follower, or refuses (V3 C)."""

from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.impl.core.broker.delayed_requests import DelayedRequests
from fencepost.impl.core.broker.fetcher import Fetcher
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.broker.stop_replica import StopReplicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.commands import command_of
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.effects import ActionTaken, StartLog
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import Action, ErrorCode


@dataclass(slots=True)
class RoleChanges:
    """Changes the roles of replicas as the table of roles and commands says."""

    _config: Config
    _outbox: Outbox
    _replicas: Replicas
    _fetcher: Fetcher
    _delayed: DelayedRequests
    _stop_replicas: StopReplicas

    def obey(self, command: PartitionState, request: LeaderAndIsrRequest) -> ErrorCode:
        """What `Rules.commands` says is done, or answered."""
        rules = self._config.rules
        is_over = rules.is_over(command, request, self._replicas.states)
        if is_over or self._stop_replicas.is_overtaken(command):
            return ErrorCode.UNKNOWN_TOPIC_ID
        replica = self._replica_for(command)
        kind = command_of(replica, command, newer=rules.is_newer(replica, command))
        reaction = rules.commands[replica.role, kind]
        if isinstance(reaction, ErrorCode):
            return reaction
        key = command.key
        if replica.role is Role.WAITING:
            incarnation = command.partition_incarnation
            self._outbox.emit(StartLog(topic_partition=key, partition_incarnation=incarnation))
        self._fetcher.stop_fetching(key)
        if reaction is Action.BECOME_LEADER:
            self._become_leader(replica, command, request)
        else:
            self._become_follower(replica, command, request)
        return ErrorCode.NONE

    def _replica_for(self, command: PartitionState) -> Replica:
        """The replica of the command's incarnation; the log of an older one is dropped (H10b)."""
        key, incarnation = command.key, command.partition_incarnation
        replica = self._replicas.get(key)
        if replica is None:
            return Replica(
                broker_id=self._config.broker_id,
                topic_partition=key,
                partition_incarnation=incarnation,
            )
        if self._config.rules.is_of_other_incarnation(replica, command):
            return self._stop_replicas.make_way(replica, incarnation)
        return replica

    def _meant_for(self, taken: ActionTaken | None, request: LeaderAndIsrRequest) -> ActionTaken:
        """The line says for which incarnation the command was, where the level has it so."""
        assert taken is not None, "a role was taken"
        named = self._config.rules.heard_broker_epoch(request.broker_epoch)
        largest = request.max_broker_epoch
        return replace(taken, broker_epoch=named, max_broker_epoch=largest)

    def _become_leader(
        self, replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> None:
        rules, key = self._config.rules, command.key
        after, taken = rules.become_leader(replica, command, request, self._outbox.now_ms)
        self._replicas.take(after, self._meant_for(taken, request))
        self._delayed.start_leading(key, may_have_lost=rules.skips_epochs(replica, command))

    def _become_follower(
        self, replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> None:
        rules, key = self._config.rules, command.key
        after, taken = rules.become_follower(replica, command, request)
        self._replicas.take(after, self._meant_for(taken, request))
        self._delayed.stop_leading(key)
        offset = rules.truncate_follower(rules.committed_end(after))
        if offset is not None:
            self._fetcher.truncate(key, offset)
        self._fetcher.start_fetching(key)
