"""What brokers are told, on its way: one request per broker at a time, newest state only.

Brokers are served in parallel, each in order (FAIL-007). A request without an answer is sent again
with what is newest then: commands are idempotent by epoch.

From level 4 on a broker is told the metadata of the cluster too: all of them before anything else,
then each change, in order. What tells of other brokers goes before roles, so that no role names a
broker that the receiver has not heard of (KAFKA-4443); any other after them.
"""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_context import ControllerContext, FullBrokerState
from fencepost.impl.core.metadata.metadata_bodies import MetadataBodies, Sealed
from fencepost.impl.core.rules.incarnations import Stamp
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.messages import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
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
BODIES_MAX = 16
"""A broker that has more changes of metadata to hear is told all instead."""
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
    is_metadata_sent: bool = False
    next_ms: int = 0
    metadata: deque[UpdateMetadataRequest] = field(default_factory=deque)
    """The changes that the broker has to hear, each shared with the other queues."""
    is_metadata_due: bool = False
    """The broker is to be told all."""
    has_new_brokers: bool = False
    """Something of both tells of brokers that it does not know."""

    @property
    def owes_metadata(self) -> bool:
        """True when there are metadata to tell."""
        return self.is_metadata_due or bool(self.metadata)

    def offer(self, sealed: Sealed) -> None:
        """The broker hears of the change, by it or by all that there is."""
        self.has_new_brokers |= sealed.has_new_brokers
        if not self.is_metadata_due:
            self.metadata.append(sealed.body)
        if len(self.metadata) > BODIES_MAX:
            self.owe_all()

    def owe_all(self) -> None:
        """The broker is to be told all, brokers too."""
        self.metadata.clear()
        self.is_metadata_due = self.has_new_brokers = True

    def begin_all(self, body: UpdateMetadataRequest) -> None:
        """The broker is told all by this body."""
        self.metadata.append(body)
        self.is_metadata_due = False

    def is_ready(self, now_ms: int) -> bool:
        """True when there may be something to tell, and nothing is in its way."""
        if self.request_id is not None or self.next_ms > now_ms:
            return False
        return bool(self.queued or self.stops or self.is_init_due or self.owes_metadata)


class ControllerChannel:
    """The queues of the live brokers."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox
        self._queues: dict[BrokerId, BrokerQueue] = {}
        self._bodies = MetadataBodies(config)

    def drop(self, broker_id: BrokerId) -> None:
        """The broker is gone, or is another incarnation: what was queued is void."""
        self._queues.pop(broker_id, None)

    def begin_init(self, broker_id: BrokerId) -> None:
        """The first request to the broker will name all its partitions, after all metadata."""
        queue = self._queue(broker_id)
        if self._config.rules.tells_metadata:
            queue.owe_all()
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
        queue = self._queues.get(broker_id)
        if queue is None:
            queue = self._queues[broker_id] = BrokerQueue()
        return queue

    @property
    def is_idle(self) -> bool:
        """True when every broker has answered what it was told of leaders."""
        queues = self._queues.values()
        return all(one.request_id is None and not one.queued for one in queues)

    def is_expected(self, broker_id: BrokerId, request_id: int) -> bool:
        """True for the request that the broker's queue waits for."""
        queue = self._queues.get(broker_id)
        return queue is not None and queue.request_id == request_id

    def flush(
        self,
        controller_epoch: ControllerEpoch,
        context: ControllerContext,
        *,
        is_deciding: bool = False,
    ) -> None:
        """Every idle queue with something to tell has sent one request.

        While decisions are being made there will be roles to tell: metadata wait for them as if
        there were some (no leader waits for what clients are told).
        """
        now_ms = self._outbox.now_ms
        if self._config.rules.tells_metadata:
            self._seal(controller_epoch, context)
        ready = [broker_id for broker_id, q in self._queues.items() if q.is_ready(now_ms)]
        for broker_id in sorted(ready):
            queue = self._queues[broker_id]
            has_roles = is_deciding or bool(queue.queued or queue.stops)
            go_first = self._config.rules.metadata_go_first(queue.has_new_brokers, has_roles)
            if queue.owes_metadata and go_first:
                if queue.is_metadata_due:
                    queue.begin_all(self._bodies.full(context, controller_epoch))
                self.send_update_metadata(broker_id, queue)
                continue
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

    def _seal(self, controller_epoch: ControllerEpoch, context: ControllerContext) -> None:
        """Every queue has what changed, once a broker can hear it: until then changes add up."""
        now_ms, queues = self._outbox.now_ms, self._queues.values()
        if not context.is_touched:
            return
        if not any(q.request_id is None and q.next_ms <= now_ms for q in queues):
            return
        sealed = self._bodies.seal(context, controller_epoch)
        if sealed is not None:
            for queue in queues:
                queue.offer(sealed)

    @action
    def send_update_metadata(self, broker_id: BrokerId, queue: BrokerQueue) -> None:
        """The broker is being told all, or the next change (UMD-002)."""
        request = queue.metadata[0]
        line = taken(
            self.send_update_metadata,
            peer=broker_id,
            controller_epoch=request.controller_epoch,
            max_broker_epoch=request.max_broker_epoch,
            metadata_version=request.metadata_version,
        )
        self._outbox.took(line)
        self._send(broker_id, queue, request)

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

    def _send(self, broker_id: BrokerId, queue: BrokerQueue, request: ControlRequest) -> None:
        queue.is_init_sent = isinstance(request, LeaderAndIsrRequest) and request.is_init
        queue.is_metadata_sent = isinstance(request, UpdateMetadataRequest)
        timeout_ms = self._config.request_timeout_ms
        queue.request_id = self._outbox.send(broker_id, request, timeout_ms)

    def on_failure(self, broker_id: BrokerId, request_id: int) -> None:
        """No answer: it is sent again after a pause."""
        if self.is_expected(broker_id, request_id):
            queue = self._queues[broker_id]
            if queue.is_metadata_sent and not self._config.rules.sends_metadata_again:
                self._told(queue)
            self._pause(queue)

    def on_answer(
        self, broker_id: BrokerId, request_id: int, response: ControlResponse
    ) -> list[tuple[TopicPartition, ErrorCode]]:
        """What was told is not told again; returns what the broker could not do, and why."""
        if not self.is_expected(broker_id, request_id):
            return []
        queue = self._queues[broker_id]
        queue.request_id = None
        if isinstance(response, UpdateMetadataResponse):
            self._on_metadata(queue, response.error_code)
            return []
        errors = {
            one.key: one.error_code
            for one in response.partitions
            if one.error_code is not ErrorCode.NONE
        }
        if response.error_code in (ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.STALE_BROKER_EPOCH):
            self._pause(queue)
            return []
        if isinstance(response, StopReplicaResponse):
            self._on_stopped(queue)
            return []
        queue.is_init_due = queue.is_init_due and not queue.is_init_sent
        refused: list[tuple[TopicPartition, ErrorCode]] = []
        for command in queue.sent:
            key = command.key
            error = errors.get(key, ErrorCode.NONE)
            if error in (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.STORAGE_ERROR):
                refused.append((key, error))
            if queue.queued.get(key) == command:
                del queue.queued[key]
        return refused

    def _on_metadata(self, queue: BrokerQueue, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            self._told(queue)
            return
        queue.owe_all()
        self._pause(queue)

    def _told(self, queue: BrokerQueue) -> None:
        """The broker has heard what was sent last; by now, all may be due in its place."""
        if not queue.is_metadata_due:
            queue.metadata.popleft()
        queue.has_new_brokers = queue.has_new_brokers and queue.owes_metadata

    def _on_stopped(self, queue: BrokerQueue) -> None:
        for stop in queue.sent_stops:
            if queue.stops.get(stop.key) == stop:
                del queue.stops[stop.key]

    def _pause(self, queue: BrokerQueue) -> None:
        queue.request_id = None
        queue.next_ms = self._config.retry_at_ms(self._outbox.now_ms)
