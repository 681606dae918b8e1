"""What a broker was told of the cluster, and answers clients from (UMD-002).

`UpdateMetadata` of `spec/tla/MetadataPropagation.tla`. Clients route by it; no replica leads by it
(REPL-007).
"""

from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.messages import (
    BrokerEndpoint,
    MetadataResponse,
    PartitionState,
    UpdateMetadataRequest,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    LeaderEpoch,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition


class MetadataCache:
    """Empty until a controller tells all; then every later change, in the controller's order."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox
        self.brokers: dict[BrokerId, tuple[str, int]] = {}
        """Live broker -> where it listens."""
        self.registered: dict[BrokerId, BrokerEpoch] = {}
        """Live broker -> its epoch."""
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self.controller_id = NO_BROKER
        self.version = (NO_CONTROLLER_EPOCH, 0)
        """Controller epoch and number of the body that was taken last."""
        self._answer: MetadataResponse | None = None
        """What clients are told, until the next change."""

    def is_told_by(self, controller_epoch: ControllerEpoch) -> bool:
        """True when what it holds is what brokers know of this controller."""
        return self._config.rules.is_told_by(self.version, controller_epoch)

    def update(self, request: UpdateMetadataRequest) -> ErrorCode:
        """Take what is newer; older or repeated bodies change nothing.

        A change to what this broker was not told is refused: the controller tells all then.
        """
        version = (request.controller_epoch, request.metadata_version)
        following = (self.version[0], self.version[1] + 1)
        if not self._config.rules.is_newer_metadata(version, self.version):
            return ErrorCode.NONE
        if not request.is_full and version > following:
            return ErrorCode.BROKER_NOT_AVAILABLE
        self.version, self.controller_id, self._answer = version, request.controller_id, None
        self.brokers = {one.broker_id: (one.host, one.port) for one in request.brokers}
        self.registered = {one.broker_id: one.broker_epoch for one in request.brokers}
        self._tell_brokers(request)
        gone = [one.key for one in request.deleted]
        if request.is_full:
            named = {one.key for one in request.partitions}
            gone = [key for key in self.partitions if key not in named]
        for key in gone:
            self.partitions.pop(key, None)
        for state in request.partitions:
            if self.partitions.get(state.key) != state:
                self.update_metadata(state, request)
        return ErrorCode.NONE

    def _tell_brokers(self, request: UpdateMetadataRequest) -> None:
        line = taken(
            self.update_metadata,
            controller_id=request.controller_id,
            controller_epoch=request.controller_epoch,
            max_broker_epoch=request.max_broker_epoch,
            metadata_version=request.metadata_version,
            live_brokers=self.registered,
        )
        self._outbox.took(line)

    @action
    def update_metadata(self, state: PartitionState, request: UpdateMetadataRequest) -> None:
        """Clients are told this state of the partition from now on."""
        self.partitions[state.key] = state
        line = taken(
            self.update_metadata,
            state,
            topic_partition=state.key,
            isr=frozenset(state.isr),
            controller_id=request.controller_id,
            controller_epoch=request.controller_epoch,
            metadata_version=request.metadata_version,
        )
        self._outbox.took(line)

    # Clients

    def on_metadata(self, token: int) -> None:
        """Answer what this broker was told."""
        if self._answer is None:
            self._answer = self._told()
        self._outbox.reply(token, self._answer)

    def _told(self) -> MetadataResponse:
        own = self._config.broker_id
        return MetadataResponse(
            broker_id=own,
            controller_id=self.controller_id,
            controller_epoch=self.version[0],
            brokers=tuple(
                BrokerEndpoint(broker_id=broker_id, host=host, port=port)
                for broker_id, (host, port) in sorted(self.brokers.items())
            ),
            partitions=tuple(self._routed(self.partitions[key]) for key in sorted(self.partitions)),
        )

    def _routed(self, state: PartitionState) -> PartitionState:
        """As clients are told it: replicas of brokers that are gone are offline too."""
        published = LeaderAndIsr(
            leader=state.leader,
            leader_epoch=LeaderEpoch(state.leader_epoch),
            isr=frozenset(state.isr),
        )
        assigned = state.assigned_replicas
        failed = {*state.offline_replicas, *(one for one in assigned if one not in self.brokers)}
        return replace(
            state,
            leader=self._config.rules.routed_leader(published, assigned),
            offline_replicas=tuple(sorted(failed)),
        )
