"""LeaderAndIsr and StopReplica on their way: one request per broker at a time, newest state only.

Brokers are served in parallel, each in order (FAIL-007). A request without an answer is sent again
with what is newest then: commands are idempotent by epoch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_context import Whole
from fencepost.impl.core.types.effects import ActionTaken, Send
from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    CommandRequest,
    CommandResponse,
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    StopReplicaRequest,
    StopReplicaResponse,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import Action, BrokerId, ControllerEpoch, ErrorCode
from fencepost.spec.znodes import TopicPartition

COMMANDS_MAX = 1000
"""Partitions in one request, an INIT's apart: who obeys it has other things to do in between."""
INIT_WAIT_MS = 10_000
"""How long an INIT waits for something to tell: what it deletes is nobody's hurry."""


@dataclass(slots=True)
class Channel:
    """What one broker has still to be told."""

    queued: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    stops: dict[TopicPartition, PartitionStop] = field(default_factory=dict)
    """They go before `queued`: what was started again since is recognised by its incarnation."""
    is_init_due: bool = False
    """The broker has not answered a request that names all its partitions (CMD-007)."""
    init_ms: int = 0
    """When it goes at the latest, if there is nothing else to tell."""
    request_id: int | None = None
    sent: tuple[PartitionState, ...] = ()
    sent_stops: tuple[PartitionStop, ...] = ()
    is_init_sent: bool = False
    next_ms: int = 0

    def is_ready(self, now_ms: int) -> bool:
        """True when there may be something to tell, and nothing is in its way."""
        if self.request_id is not None or self.next_ms > now_ms:
            return False
        return bool(self.queued or self.stops or self.is_init_due)


class Commands:
    """One channel per live broker."""

    def __init__(
        self, config: Config, outbox: Outbox, whole: Callable[[BrokerId], Whole | None]
    ) -> None:
        """`whole` tells what an INIT must name; None when that is not known."""
        self._config = config
        self._whole = whole
        self._outbox = outbox
        self._channels: dict[BrokerId, Channel] = {}

    def clear(self) -> None:
        """Nothing is queued, no answer is waited for."""
        self._channels.clear()

    def drop(self, broker_id: BrokerId) -> None:
        """The broker is gone, or is another incarnation: what was queued is void."""
        self._channels.pop(broker_id, None)

    def begin_init(self, broker_id: BrokerId) -> None:
        """The first request to the broker will name all its partitions."""
        channel = self._channels.setdefault(broker_id, Channel())
        channel.is_init_due = True
        channel.init_ms = self._outbox.now_ms + INIT_WAIT_MS

    def put(self, broker_id: BrokerId, command: PartitionState) -> None:
        """The broker will be told, unless something newer about the partition comes first."""
        self._channels.setdefault(broker_id, Channel()).queued[command.key] = command

    def stop(self, broker_id: BrokerId, stop: PartitionStop) -> None:
        """The broker will be told to give the partition up, and no earlier command about it."""
        channel = self._channels.setdefault(broker_id, Channel())
        queued = channel.queued.get(stop.key)
        if queued is not None and queued.partition_incarnation <= stop.partition_incarnation:
            del channel.queued[stop.key]
        channel.stops[stop.key] = stop

    @property
    def is_idle(self) -> bool:
        """True when every broker has answered what it was told of leaders."""
        channels = self._channels.values()
        return all(one.request_id is None and not one.queued for one in channels)

    def is_stopping(self, broker_id: BrokerId, key: TopicPartition) -> bool:
        """True until the broker has answered that it gave the partition up."""
        channel = self._channels.get(broker_id)
        return channel is not None and key in channel.stops

    def is_expected(self, broker_id: BrokerId, request_id: int) -> bool:
        """True for the request that the broker's channel waits for."""
        channel = self._channels.get(broker_id)
        return channel is not None and channel.request_id == request_id

    def flush(self, controller_epoch: ControllerEpoch) -> None:
        """Every idle channel with something to tell has sent it."""
        ready = [b for b, c in self._channels.items() if c.is_ready(self._outbox.now_ms)]
        for broker_id in sorted(ready):
            channel = self._channels[broker_id]
            is_told = channel.queued or channel.stops or channel.init_ms <= self._outbox.now_ms
            whole = self._whole(broker_id) if channel.is_init_due and is_told else None
            if whole is not None:
                self.send_init(broker_id, channel, controller_epoch, whole)
            elif channel.stops:
                self.send_stop_replica(broker_id, channel, controller_epoch)
            elif channel.queued:
                self.send_leader_and_isr(broker_id, channel, controller_epoch)

    def send_init(
        self, broker_id: BrokerId, channel: Channel, epoch: ControllerEpoch, whole: Whole
    ) -> None:
        """All that the broker has is named; what it is not told now is to be kept (CMD-007)."""
        self._outbox.took(
            ActionTaken(
                action=Action.SEND_INIT, peer=broker_id, controller_epoch=epoch, zxid=whole.zxid
            )
        )
        kept = tuple(
            PartitionId(topic=key.topic, partition=key.partition)
            for key in whole.keys
            if key not in channel.queued
        )
        request = LeaderAndIsrRequest(
            controller_id=self._config.broker_id,
            controller_epoch=epoch,
            partitions=self._take_queued(broker_id, channel, list(channel.queued), epoch),
            is_init=True,
            broker_epoch=whole.broker_epoch,
            zxid=whole.zxid,
            kept=kept,
        )
        self._send(broker_id, channel, request)

    def send_leader_and_isr(
        self, broker_id: BrokerId, channel: Channel, epoch: ControllerEpoch
    ) -> None:
        """What is queued for the broker is on its way in one request, the oldest if it is much."""
        oldest = list(islice(channel.queued, COMMANDS_MAX))
        request = LeaderAndIsrRequest(
            controller_id=self._config.broker_id,
            controller_epoch=epoch,
            partitions=self._take_queued(broker_id, channel, oldest, epoch),
        )
        self._send(broker_id, channel, request)

    def _take_queued(
        self,
        broker_id: BrokerId,
        channel: Channel,
        keys: list[TopicPartition],
        epoch: ControllerEpoch,
    ) -> tuple[PartitionState, ...]:
        channel.sent = tuple(channel.queued[key] for key in sorted(keys))
        for command in channel.sent:
            self._took(broker_id, command, epoch)
        return channel.sent

    def send_stop_replica(
        self, broker_id: BrokerId, channel: Channel, controller_epoch: ControllerEpoch
    ) -> None:
        """All that the broker is to give up is on its way in one request (TOP-002)."""
        channel.sent_stops = tuple(channel.stops[key] for key in sorted(channel.stops))
        for stop in channel.sent_stops:
            self._outbox.took(
                ActionTaken(
                    action=Action.SEND_STOP_REPLICA,
                    topic_partition=stop.key,
                    peer=broker_id,
                    leader_epoch=stop.leader_epoch,
                    controller_epoch=controller_epoch,
                    partition_incarnation=stop.partition_incarnation,
                )
            )
        request = StopReplicaRequest(
            controller_id=self._config.broker_id,
            controller_epoch=controller_epoch,
            partitions=channel.sent_stops,
        )
        self._send(broker_id, channel, request)

    def _send(self, broker_id: BrokerId, channel: Channel, request: CommandRequest) -> None:
        channel.request_id = self._outbox.new_id()
        channel.is_init_sent = isinstance(request, LeaderAndIsrRequest) and request.is_init
        self._outbox.emit(
            Send(
                request_id=channel.request_id,
                to=broker_id,
                request=request,
                timeout_ms=self._config.request_timeout_ms,
            )
        )

    def on_failure(self, broker_id: BrokerId, request_id: int) -> None:
        """No answer: it is sent again after a pause."""
        if self.is_expected(broker_id, request_id):
            self._pause(self._channels[broker_id])

    def on_answer(
        self, broker_id: BrokerId, request_id: int, response: CommandResponse
    ) -> list[tuple[TopicPartition, ErrorCode]]:
        """What was told is not told again; returns what the broker cannot be, and why."""
        if not self.is_expected(broker_id, request_id):
            return []
        channel = self._channels[broker_id]
        channel.request_id = None
        errors = {TopicPartition(e.topic, e.partition): e.error_code for e in response.partitions}
        if isinstance(response, StopReplicaResponse):
            self._on_stopped(channel, errors)
            return []
        if response.error_code is ErrorCode.BROKER_NOT_AVAILABLE:
            self._pause(channel)
            return []
        channel.is_init_due = channel.is_init_due and not channel.is_init_sent
        refused: list[tuple[TopicPartition, ErrorCode]] = []
        for command in channel.sent:
            key = command.key
            error = errors.get(key, ErrorCode.NONE)
            if error is ErrorCode.BROKER_NOT_AVAILABLE:
                self._pause(channel)
                continue
            if error in (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.STORAGE_ERROR):
                refused.append((key, error))
            if channel.queued.get(key) == command:
                del channel.queued[key]
        return refused

    def _on_stopped(self, channel: Channel, errors: dict[TopicPartition, ErrorCode]) -> None:
        for stop in channel.sent_stops:
            if errors.get(stop.key) is ErrorCode.BROKER_NOT_AVAILABLE:
                self._pause(channel)
            elif channel.stops.get(stop.key) == stop:
                del channel.stops[stop.key]

    def _pause(self, channel: Channel) -> None:
        channel.request_id = None
        channel.next_ms = self._outbox.now_ms + self._config.retry_ms

    def _took(
        self, broker_id: BrokerId, command: PartitionState, controller_epoch: ControllerEpoch
    ) -> None:
        self._outbox.took(
            ActionTaken(
                action=Action.SEND_LEADER_AND_ISR,
                topic_partition=command.key,
                partition_incarnation=command.partition_incarnation,
                peer=broker_id,
                leader=command.leader,
                leader_epoch=command.leader_epoch,
                isr=frozenset(command.isr),
                controller_epoch=controller_epoch,
                znode_version=command.znode_version,
            )
        )
