"""LeaderAndIsr and StopReplica on their way: one request per broker at a time, newest state only.

Brokers are served in parallel, each in order (FAIL-007). A request without an answer is sent again
with what is newest then: commands are idempotent by epoch.
"""

from dataclasses import dataclass, field
from itertools import islice

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_context import ControllerContext, FullBrokerState
from fencepost.impl.core.rules.incarnations import Stamp
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.broker_reports import PartitionId
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
from fencepost.spec.vocabulary import (
    NO_BROKER_EPOCH,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
)
from fencepost.spec.znodes import TopicPartition

COMMANDS_MAX = 1000
"""Partitions in one request other than an INIT: the broker has other work in between."""
INIT_WAIT_MS = 10_000
"""How long an INIT waits for something to tell: what it deletes is not urgent."""


@dataclass(slots=True)
class BrokerQueue:
    """What one broker has still to be told."""

    queued: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    stops: dict[TopicPartition, PartitionStop] = field(default_factory=dict)
    """They go before `queued`: what was started again since is recognised by its incarnation."""
    stopped_once: set[TopicPartition] = field(default_factory=set)
    """Partitions that the broker was told to give up, by `stop_once`."""
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


class ControllerChannel:
    """The queues of the live brokers."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox
        self._queues: dict[BrokerId, BrokerQueue] = {}

    def drop(self, broker_id: BrokerId) -> None:
        """The broker is gone, or is another incarnation: what was queued is void."""
        self._queues.pop(broker_id, None)

    def begin_init(self, broker_id: BrokerId) -> None:
        """The first request to the broker will name all its partitions."""
        queue = self._queue(broker_id)
        queue.is_init_due = True
        queue.init_ms = self._outbox.now_ms + INIT_WAIT_MS

    def tell(self, context: ControllerContext, key: TopicPartition) -> None:
        """The live replicas of the partition will be told its state, if it has one.

        There are none of a partition that was removed while its state was read.
        """
        assigned_replicas = context.assignments.get(key, ())
        known = context.states.get(key)
        if known is None:
            return
        state, znode_version = known
        if not self._config.rules.tells_state(state, context.live):
            return
        command = PartitionState(
            topic=key.topic,
            partition=key.partition,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=tuple(sorted(state.isr)),
            znode_version=znode_version,
            assigned_replicas=assigned_replicas,
            topic_id=state.topic_id,
            partition_incarnation=context.incarnation(key),
            isr_broker_epochs=state.listed_broker_epochs(),
        )
        for broker_id in assigned_replicas:
            if broker_id in context.live:
                self.put(broker_id, command)

    def put(self, broker_id: BrokerId, command: PartitionState) -> None:
        """The broker will be told, unless something newer about the partition comes first."""
        self._queue(broker_id).queued[command.key] = command

    def stop(self, broker_id: BrokerId, stop: PartitionStop) -> None:
        """The broker will be told to give the partition up, and no earlier command about it."""
        queue = self._queue(broker_id)
        queued = queue.queued.get(stop.key)
        if queued is not None and queued.partition_incarnation <= stop.partition_incarnation:
            del queue.queued[stop.key]
        queue.stops[stop.key] = stop

    def stop_once(self, broker_id: BrokerId, stop: PartitionStop) -> bool:
        """The broker will be told, unless it was told before; true when it has given it up."""
        queue = self._queue(broker_id)
        if stop.key not in queue.stopped_once:
            queue.stopped_once.add(stop.key)
            self.stop(broker_id, stop)
        return stop.key not in queue.stops

    def forget_stops(self, key: TopicPartition, leaving: frozenset[BrokerId]) -> None:
        """A broker that does not leave the partition now is told again when it next leaves."""
        for broker_id, queue in self._queues.items():
            if not self._config.rules.stop_stands(broker_id, leaving):
                queue.stopped_once.discard(key)

    def _queue(self, broker_id: BrokerId) -> BrokerQueue:
        return self._queues.setdefault(broker_id, BrokerQueue())

    @property
    def is_idle(self) -> bool:
        """True when every broker has answered what it was told of leaders."""
        queues = self._queues.values()
        return all(one.request_id is None and not one.queued for one in queues)

    def is_expected(self, broker_id: BrokerId, request_id: int) -> bool:
        """True for the request that the broker's queue waits for."""
        queue = self._queues.get(broker_id)
        return queue is not None and queue.request_id == request_id

    def flush(self, controller_epoch: ControllerEpoch, context: ControllerContext) -> None:
        """Every idle queue with something to tell has sent one request."""
        now_ms = self._outbox.now_ms
        ready = [broker_id for broker_id, q in self._queues.items() if q.is_ready(now_ms)]
        for broker_id in sorted(ready):
            queue = self._queues[broker_id]
            is_told = queue.queued or queue.stops or queue.init_ms <= now_ms
            full = context.full_state_of(broker_id) if queue.is_init_due and is_told else None
            if full is not None:
                stamp = self._config.rules.init_stamp(full.broker_epoch, context.live)
                self.send_init(broker_id, queue, controller_epoch, full, stamp)
                continue
            # What is queued for another incarnation is dropped, so that this is the reading on
            # which all of it rests.
            receiver = context.live.get(broker_id, NO_BROKER_EPOCH)
            stamp = self._config.rules.stamp(receiver, context.live)
            if queue.stops:
                self.send_stop_replica(broker_id, queue, controller_epoch, stamp)
            elif queue.queued:
                self._send_oldest(broker_id, queue, controller_epoch, stamp)

    @action
    def send_init(
        self,
        broker_id: BrokerId,
        queue: BrokerQueue,
        epoch: ControllerEpoch,
        full: FullBrokerState,
        stamp: Stamp,
    ) -> None:
        """All partitions of the broker are named; it keeps those that it is not told now."""
        named = self._config.rules.named_by_init(full.keys, queue.queued)
        line = taken(
            self.send_init,
            peer=broker_id,
            controller_epoch=epoch,
            zxid=full.zxid,
            partitions=named,
        )
        self._outbox.took(line)
        kept = tuple(
            PartitionId(topic=key.topic, partition=key.partition)
            for key in named
            if key not in queue.queued
        )
        request = LeaderAndIsrRequest(
            controller_id=self._config.broker_id,
            controller_epoch=epoch,
            partitions=tuple(queue.queued[key] for key in named if key in queue.queued),
            is_init=True,
            broker_epoch=stamp.broker_epoch,
            max_broker_epoch=stamp.max_broker_epoch,
            zxid=full.zxid,
            kept=kept,
        )
        self.send_leader_and_isr(broker_id, queue, request)

    def _send_oldest(
        self,
        broker_id: BrokerId,
        queue: BrokerQueue,
        epoch: ControllerEpoch,
        stamp: Stamp,
    ) -> None:
        """What is queued is on its way in one request, the oldest if it is much."""
        oldest = sorted(islice(queue.queued, COMMANDS_MAX))
        request = LeaderAndIsrRequest(
            controller_id=self._config.broker_id,
            controller_epoch=epoch,
            partitions=tuple(queue.queued[key] for key in oldest),
            broker_epoch=stamp.broker_epoch,
            max_broker_epoch=stamp.max_broker_epoch,
        )
        self.send_leader_and_isr(broker_id, queue, request)

    @action
    def send_leader_and_isr(
        self, broker_id: BrokerId, queue: BrokerQueue, request: LeaderAndIsrRequest
    ) -> None:
        """The broker is being told of leader and ISR of each of these partitions."""
        queue.sent = request.partitions
        for command in queue.sent:
            line = taken(
                self.send_leader_and_isr,
                command,
                topic_partition=command.key,
                peer=broker_id,
                isr=frozenset(command.isr),
                controller_epoch=request.controller_epoch,
                broker_epoch=self._config.rules.named_broker_epoch(request.broker_epoch),
                max_broker_epoch=request.max_broker_epoch,
            )
            self._outbox.took(line)
        self._send(broker_id, queue, request)

    @action
    def send_stop_replica(
        self,
        broker_id: BrokerId,
        queue: BrokerQueue,
        epoch: ControllerEpoch,
        stamp: Stamp,
    ) -> None:
        """All that the broker is to give up is on its way in one request (TOP-002)."""
        queue.sent_stops = tuple(queue.stops[key] for key in sorted(queue.stops))
        for stop in queue.sent_stops:
            line = taken(
                self.send_stop_replica,
                stop,
                topic_partition=stop.key,
                peer=broker_id,
                controller_epoch=epoch,
                broker_epoch=stamp.broker_epoch,
                max_broker_epoch=stamp.max_broker_epoch,
            )
            self._outbox.took(line)
        request = StopReplicaRequest(
            controller_id=self._config.broker_id,
            controller_epoch=epoch,
            partitions=queue.sent_stops,
            broker_epoch=stamp.broker_epoch,
            max_broker_epoch=stamp.max_broker_epoch,
        )
        self._send(broker_id, queue, request)

    def _send(self, broker_id: BrokerId, queue: BrokerQueue, request: CommandRequest) -> None:
        queue.is_init_sent = isinstance(request, LeaderAndIsrRequest) and request.is_init
        timeout_ms = self._config.request_timeout_ms
        queue.request_id = self._outbox.send(broker_id, request, timeout_ms)

    def on_failure(self, broker_id: BrokerId, request_id: int) -> None:
        """No answer: it is sent again after a pause."""
        if self.is_expected(broker_id, request_id):
            self._pause(self._queues[broker_id])

    def on_answer(
        self, broker_id: BrokerId, request_id: int, response: CommandResponse
    ) -> list[tuple[TopicPartition, ErrorCode]]:
        """What was told is not told again; returns what the broker could not do, and why."""
        if not self.is_expected(broker_id, request_id):
            return []
        queue = self._queues[broker_id]
        queue.request_id = None
        errors = {e.key: e.error_code for e in response.partitions}
        if response.error_code in (ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.STALE_BROKER_EPOCH):
            self._pause(queue)
            return []
        if isinstance(response, StopReplicaResponse):
            self._on_stopped(queue, errors)
            return []
        queue.is_init_due = queue.is_init_due and not queue.is_init_sent
        refused: list[tuple[TopicPartition, ErrorCode]] = []
        for command in queue.sent:
            key = command.key
            error = errors.get(key, ErrorCode.NONE)
            if error is ErrorCode.BROKER_NOT_AVAILABLE:
                self._pause(queue)
                continue
            if error in (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.STORAGE_ERROR):
                refused.append((key, error))
            if queue.queued.get(key) == command:
                del queue.queued[key]
        return refused

    def _on_stopped(self, queue: BrokerQueue, errors: dict[TopicPartition, ErrorCode]) -> None:
        for stop in queue.sent_stops:
            if errors.get(stop.key) is ErrorCode.BROKER_NOT_AVAILABLE:
                self._pause(queue)
            elif queue.stops.get(stop.key) == stop:
                del queue.stops[stop.key]

    def _pause(self, queue: BrokerQueue) -> None:
        queue.request_id = None
        queue.next_ms = self._outbox.now_ms + self._config.retry_ms
