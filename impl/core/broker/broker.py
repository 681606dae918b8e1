"""The broker as a state machine: commands of the controller, requests, and time.

Guards and routing only: what a replica becomes is decided by `Rules`, and done by the parts beside
this module, one per kind of request.
"""

from fencepost.impl.core.broker.delayed_requests import DelayedRequests
from fencepost.impl.core.broker.fetch import Fetches
from fencepost.impl.core.broker.fetcher import Fetcher
from fencepost.impl.core.broker.isr_update import IsrUpdates
from fencepost.impl.core.broker.offsets import OffsetQueries
from fencepost.impl.core.broker.partition_reports import PartitionReports
from fencepost.impl.core.broker.produce import Produces
from fencepost.impl.core.broker.refused import refuse_command, refuse_stop
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.broker.role_change import RoleChanges
from fencepost.impl.core.broker.stop_replica import StopReplicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.types.broker_reports import IsrChangedRequest, LogsFailedRequest
from fencepost.impl.core.types.effects import CheckpointHighWatermark
from fencepost.impl.core.types.events import LogFailed
from fencepost.impl.core.types.messages import (
    CommandRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionError,
    PartitionState,
    PartitionStop,
    ProduceRequest,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.timers import earliest
from fencepost.spec.vocabulary import (
    NO_BROKER_EPOCH,
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    ErrorCode,
)
from fencepost.spec.znodes import TopicPartition


class Broker:
    """Holds the replicas and answers controller, followers and clients."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self.config = config
        self.outbox = outbox
        self.assemble(
            replicas, IsrUpdates(config, outbox, replicas), Fetcher(config, outbox, replicas)
        )
        self.controller_epoch = NO_CONTROLLER_EPOCH
        """The largest one seen, in ZooKeeper or in a command (CTL-006)."""
        self._obeyed = (NO_CONTROLLER_EPOCH, NO_BROKER_EPOCH)
        """Controller epoch of the INIT that was obeyed last, and the broker epoch that it named."""
        self.is_ready = False
        """True once ZooKeeper was read after the start: before it, no command is obeyed."""
        self._next_checkpoint_ms = 0

    def assemble(self, replicas: Replicas, isr_updates: IsrUpdates, fetcher: Fetcher) -> None:
        """All parts of the broker work on these replicas from now on."""
        config, outbox = self.config, self.outbox
        self.replicas, self.isr_updates, self.fetcher = replicas, isr_updates, fetcher
        self.produces = Produces(config, outbox, replicas)
        self.fetches = Fetches(config, outbox, replicas, isr_updates, self.produces)
        self.delayed = DelayedRequests(replicas, self.produces, self.fetches)
        self.stop_replicas = StopReplicas(config, outbox, replicas, fetcher, self.delayed)
        self.role_changes = RoleChanges(
            config, outbox, replicas, fetcher, self.delayed, self.stop_replicas
        )
        self.failed_logs = PartitionReports(
            config, outbox, LogsFailedRequest, self._is_failure_told
        )
        self.isr_reports = PartitionReports(
            config, outbox, IsrChangedRequest, lambda key: replicas.get(key) is not None
        )
        isr_updates.on_adopted = self.isr_reports.add
        self.offsets = OffsetQueries(config, outbox, replicas)

    def _is_failure_told(self, key: TopicPartition) -> bool:
        replica = self.replicas.get(key)
        return replica is not None and self.config.rules.tells_failure(replica)

    @property
    def broker_epoch(self) -> BrokerEpoch:
        """The czxid of this broker's registration (BEP-001)."""
        return self.replicas.broker_epoch

    # Commands of the controller (V3 C)

    def on_leader_and_isr(self, token: int, request: LeaderAndIsrRequest) -> None:
        """Obey or refuse each partition alone (CMD-009); refuse all of a stale request."""
        stale = self._staleness(request)
        if stale is not ErrorCode.NONE:
            self._refuse(token, request, stale)
            return
        adopt = self.config.rules.adopt_controller_epoch
        self.follow_controller(adopt(self.controller_epoch, request.controller_epoch))
        # An INIT for a registration that this broker has not heard of yet comes again: obeyed
        # now, what it omits would stay, and no request would say it a second time (CMD-007).
        is_early = request.is_init and request.broker_epoch > self.broker_epoch
        if is_early or not self.is_ready:
            self._refuse(token, request, ErrorCode.BROKER_NOT_AVAILABLE)
            return
        self._obey_init(request)
        errors = tuple(self._obey(command, request) for command in request.partitions)
        self.outbox.reply(token, LeaderAndIsrResponse(partitions=errors))

    def on_stop_replica(self, token: int, request: StopReplicaRequest) -> None:
        """Give up each partition or not, alone (CMD-009); a stale request stops nothing."""
        stale = self._staleness(request)
        if stale is not ErrorCode.NONE:
            self._refuse_stops(token, request, stale)
            return
        self.follow_controller(request.controller_epoch)
        if not self.is_ready:
            self._refuse_stops(token, request, ErrorCode.BROKER_NOT_AVAILABLE)
            return
        errors = tuple(self._stop(stop, request) for stop in request.partitions)
        self.outbox.reply(token, StopReplicaResponse(partitions=errors))

    def metadata_error(self, request: UpdateMetadataRequest) -> ErrorCode:
        """Whether metadata are refused as a command would be; their controller is followed."""
        rules = self.config.rules
        if rules.is_stale_controller(self.controller_epoch, request.controller_epoch):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if rules.is_stale_broker_epoch(self.broker_epoch, request.max_broker_epoch):
            return ErrorCode.STALE_BROKER_EPOCH
        self.follow_controller(request.controller_epoch)
        return ErrorCode.NONE if self.is_ready else ErrorCode.BROKER_NOT_AVAILABLE

    def follow_controller(self, controller_epoch: ControllerEpoch) -> None:
        """Older epochs are refused from now on (CTL-006)."""
        if controller_epoch > self.controller_epoch:
            self.controller_epoch = controller_epoch
            self.stop_replicas.forget()

    def _refuse(self, token: int, request: LeaderAndIsrRequest, error: ErrorCode) -> None:
        """No partition of the request is obeyed."""
        for command in request.partitions:
            self.outbox.emit(*refuse_command(command, request, error))
        self.outbox.reply(token, LeaderAndIsrResponse(error_code=error))

    def _refuse_stops(self, token: int, request: StopReplicaRequest, error: ErrorCode) -> None:
        """No partition of the request is stopped."""
        for stop in request.partitions:
            self.outbox.emit(*refuse_stop(stop, request, error))
        self.outbox.reply(token, StopReplicaResponse(error_code=error))

    def _staleness(self, request: CommandRequest) -> ErrorCode:
        """A newer controller is known (CTL-006), or an earlier start is meant (BEP-002)."""
        rules = self.config.rules
        if rules.is_stale_controller(self.controller_epoch, request.controller_epoch):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if rules.is_stale_broker_epoch(self.broker_epoch, rules.stamp_of(request)):
            return ErrorCode.STALE_BROKER_EPOCH
        return ErrorCode.NONE

    def _obey_init(self, request: LeaderAndIsrRequest) -> None:
        """Delete what a controller's first INIT to this registration omits."""
        stamp = self.config.rules.stamp_of(request)
        is_other = request.broker_epoch not in (NO_BROKER_EPOCH, self.broker_epoch)
        if not request.is_init or is_other or stamp == NO_BROKER_EPOCH:
            return
        init = (request.controller_epoch, stamp)
        if self.config.rules.is_first_init(init, self._obeyed):
            self._obeyed = init
            self.stop_replicas.obey_init(request)

    def _obey(self, command: PartitionState, request: LeaderAndIsrRequest) -> PartitionError:
        error = self.role_changes.obey(command, request)
        self.outbox.emit(*refuse_command(command, request, error))
        return PartitionError(topic=command.topic, partition=command.partition, error_code=error)

    def _stop(self, stop: PartitionStop, request: StopReplicaRequest) -> PartitionError:
        error = self.stop_replicas.stop_replica(stop, request)
        self.outbox.emit(*refuse_stop(stop, request, error))
        return PartitionError(topic=stop.topic, partition=stop.partition, error_code=error)

    def on_log_failed(self, event: LogFailed) -> None:
        """The replica goes offline, and the controller is told; all others go on (START-006).

        What waits on it may be in the log, or on its way to followers.
        """
        key = event.topic_partition
        replica = self.replicas.get(key) or Replica(
            broker_id=self.config.broker_id,
            topic_partition=key,
            partition_incarnation=event.partition_incarnation,
        )
        after = self.config.rules.go_offline(replica)
        if after is replica:
            return
        self.fetcher.stop_fetching(key)
        self.replicas.put(after)
        self.delayed.stop_leading(key)
        self.failed_logs.add(key)

    def on_produce(self, token: int, request: ProduceRequest) -> None:
        """The records are in the leader's log and acknowledged as `acks` says, or were refused."""
        key = request.key
        grew = self.produces.on_produce(token, request)
        if grew:
            self.replicas.advance(key)
        self.produces.answer_committed(key)
        if grew:
            self.fetches.answer_delayed(key)

    # Time

    def tick(self) -> None:
        """Expire requests, drop lagging replicas from ISRs, checkpoint high watermarks."""
        for key in self.replicas.take_due():
            self._tick_partition(key)
            self.replicas.looked_at(key, self._due_ms(key))
        self._checkpoint()

    def _tick_partition(self, key: TopicPartition) -> None:
        self.produces.expire(key)
        self.fetches.expire(key)
        self.isr_updates.tick(key)
        self.fetches.advance(key)
        self.fetcher.tick(key)

    def _due_ms(self, key: TopicPartition) -> int | None:
        """When the partition needs a look although nothing changed."""
        delayed_ms = self.replicas.purgatory(key).due_ms
        return earliest(delayed_ms, self.isr_updates.due_ms(key), self.fetcher.due_ms(key))

    def _checkpoint(self) -> None:
        if self.outbox.now_ms < self._next_checkpoint_ms:
            return
        self._next_checkpoint_ms = self.outbox.now_ms + self.config.checkpoint_ms
        for key, high_watermark in self.replicas.take_checkpoints():
            self.outbox.emit(
                CheckpointHighWatermark(topic_partition=key, high_watermark=high_watermark)
            )
