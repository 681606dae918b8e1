"""What a leader tells of its log: how far it goes, and where an epoch ended in it."""

from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.commands import are_different
from fencepost.impl.core.rules.fetches import fence_leader_epoch
from fencepost.impl.core.rules.replica import Replica, end_offset_for_epoch
from fencepost.impl.core.rules.tables import SERVING
from fencepost.impl.core.types.messages import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import BrokerId, ErrorCode


@dataclass(slots=True)
class OffsetQueries:
    """Answers questions about the logs of a broker."""

    _config: Config
    _outbox: Outbox
    _replicas: Replicas

    def on_list_offsets(self, token: int, request: ListOffsetsRequest) -> None:
        """A leader tells how far its log goes and how far it is committed."""
        replica = self._replicas.get(request.key)
        response = list_offsets(self._config.broker_id, replica)
        self._outbox.reply(token, response)

    def on_offset_for_leader_epoch(self, token: int, request: OffsetForLeaderEpochRequest) -> None:
        """A follower of this very epoch learns where its last epoch ended here (KIP-101, 320)."""
        replica = self._replicas.get(request.key)
        response = offset_for_leader_epoch(self._config.broker_id, replica, request)
        self._outbox.reply(token, response)


def list_offsets(broker_id: BrokerId, replica: Replica | None) -> ListOffsetsResponse:
    """Log end offset and high watermark of a leader, or why this broker cannot tell."""
    answer = ListOffsetsResponse(broker_id=broker_id)
    if replica is None:
        return replace(answer, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not replica.is_leader:
        return replace(answer, error_code=SERVING[replica.role])
    return replace(
        answer,
        leader_epoch=replica.leader_epoch,
        high_watermark=replica.high_watermark,
        log_end_offset=replica.log_end_offset,
        partition_incarnation=replica.partition_incarnation,
    )


def offset_for_leader_epoch(
    broker_id: BrokerId, replica: Replica | None, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Where the asker's last epoch ended here; only a follower of this very epoch is told."""
    answer = OffsetForLeaderEpochResponse(
        broker_id=broker_id, current_leader_epoch=request.current_leader_epoch
    )
    if replica is None:
        return replace(answer, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error = _fence(replica, request)
    if error is not ErrorCode.NONE:
        return replace(answer, error_code=error)
    leader_epoch, end_offset = end_offset_for_epoch(replica, request.leader_epoch)
    return replace(answer, leader_epoch=leader_epoch, end_offset=end_offset)


def _fence(replica: Replica, request: OffsetForLeaderEpochRequest) -> ErrorCode:
    if not replica.is_leader:
        return SERVING[replica.role]
    if are_different(request.partition_incarnation, replica.partition_incarnation):
        return ErrorCode.UNKNOWN_TOPIC_ID
    return fence_leader_epoch(replica, request.current_leader_epoch)
