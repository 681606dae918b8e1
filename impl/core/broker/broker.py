"""The broker as a state machine: commands, and the data path of leaders.

Guards and routing only: what a replica becomes is decided by the pure actions in `replica.py` and
`replication.py`. Produces are in `appender.py`, the follower's side in `follower.py`, changes of
the ISR in `isr_writer.py`.
"""

from fencepost.impl.core.broker.action_lines import fetch_served, role_taken
from fencepost.impl.core.broker.failed_logs import FailedLogs
from fencepost.impl.core.broker.fetcher import Follower
from fencepost.impl.core.broker.isr_update import IsrWriter
from fencepost.impl.core.broker.offsets import Offsets
from fencepost.impl.core.broker.produce import Appender
from fencepost.impl.core.broker.purgatory import ParkedFetch
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.broker.stop_replica import Stopping
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.commands import command_of
from fencepost.impl.core.rules.produces import ProduceEnd
from fencepost.impl.core.rules.replica import Replica, Role
from fencepost.impl.core.rules.replication import note_high_watermark_sent
from fencepost.impl.core.types.effects import (
    CheckpointHighWatermark,
    Reply,
    ReplyRecords,
    StartLog,
)
from fencepost.impl.core.types.events import LogFailed
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionError,
    PartitionState,
    ProduceRequest,
    StopReplicaRequest,
    StopReplicaResponse,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.timers import earliest
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_BROKER_EPOCH,
    NO_CONTROLLER_EPOCH,
    Action,
    ControllerEpoch,
    ErrorCode,
    Offset,
)
from fencepost.spec.znodes import TopicPartition


class Broker:
    """Holds the replicas and answers controller, followers and clients."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self.config = config
        self.outbox = outbox
        self.assemble(
            replicas, IsrWriter(config, outbox, replicas), Follower(config, outbox, replicas)
        )
        self.controller_epoch = NO_CONTROLLER_EPOCH
        """The largest one seen, in ZooKeeper or in a command (CTL-006)."""
        self.broker_epoch = NO_BROKER_EPOCH
        """The czxid of this broker's registration (BEP-001)."""
        self._obeyed = (NO_CONTROLLER_EPOCH, NO_BROKER_EPOCH)
        """Of whom an INIT was obeyed last, and in which registration."""
        self.is_ready = False
        """True once ZooKeeper was read after the start: before it, no command is obeyed."""
        self._next_checkpoint_ms = 0

    def assemble(self, replicas: Replicas, isr_writer: IsrWriter, follower: Follower) -> None:
        """All parts of the broker work on these replicas from now on."""
        self.replicas, self.isr_writer, self.follower = replicas, isr_writer, follower
        self.appender = Appender(self.config, self.outbox, replicas)
        self.stopping = Stopping(self.config, self.outbox, replicas, follower)
        self.failed_logs = FailedLogs(self.config, self.outbox, replicas)
        self.offsets = Offsets(self.config, self.outbox, replicas)

    # Commands of the controller (V3 C)

    def on_leader_and_isr(self, token: int, request: LeaderAndIsrRequest) -> None:
        """Each partition is obeyed or refused alone (CMD-009); all are refused to a stale one.

        A replica that has just started and may not lead as told, or read a newer ISR than it is
        told, says so: nobody would tell it again, and it would wait for ever (START-002).
        """
        if self._is_stale(request.controller_epoch):
            error = ErrorCode.STALE_CONTROLLER_EPOCH
            self.outbox.emit(Reply(token=token, response=LeaderAndIsrResponse(error_code=error)))
            return
        adopt = self.config.rules.adopt_controller_epoch
        self.follow_controller(adopt(self.controller_epoch, request.controller_epoch))
        # An INIT for a registration that this broker has not heard of yet comes again: obeyed
        # now, what it omits would stay, and nobody would say it a second time (CMD-007).
        is_early = request.is_init and request.broker_epoch > self.broker_epoch
        if request.is_init and (is_early or not self.is_ready):
            error = ErrorCode.BROKER_NOT_AVAILABLE
            self.outbox.emit(Reply(token=token, response=LeaderAndIsrResponse(error_code=error)))
            return
        self._obey_init(request)
        errors = tuple(
            PartitionError(
                topic=command.topic,
                partition=command.partition,
                error_code=self._obey(command, request),
            )
            for command in request.partitions
        )
        self.outbox.emit(Reply(token=token, response=LeaderAndIsrResponse(partitions=errors)))

    def on_stop_replica(self, token: int, request: StopReplicaRequest) -> None:
        """Each partition is given up or not, alone (CMD-009); a stale controller stops nothing."""
        if self._is_stale(request.controller_epoch):
            error = ErrorCode.STALE_CONTROLLER_EPOCH
            self.outbox.emit(Reply(token=token, response=StopReplicaResponse(error_code=error)))
            return
        self.follow_controller(request.controller_epoch)
        errors = tuple(
            PartitionError(
                topic=stop.topic,
                partition=stop.partition,
                error_code=self.stopping.stop_replica(stop, request.controller_epoch, self._quit)
                if self.is_ready
                else ErrorCode.BROKER_NOT_AVAILABLE,
            )
            for stop in request.partitions
        )
        self.outbox.emit(Reply(token=token, response=StopReplicaResponse(partitions=errors)))

    def follow_controller(self, controller_epoch: ControllerEpoch) -> None:
        """Older epochs are refused from now on (CTL-006)."""
        if controller_epoch > self.controller_epoch:
            self.controller_epoch = controller_epoch
            self.stopping.forget(controller_epoch)

    def _is_stale(self, controller_epoch: ControllerEpoch) -> bool:
        return self.config.rules.is_stale_controller(self.controller_epoch, controller_epoch)

    def _obey_init(self, request: LeaderAndIsrRequest) -> None:
        """What a controller's first INIT to this registration omits is deleted."""
        said = (request.controller_epoch, request.broker_epoch)
        if not request.is_init or request.broker_epoch != self.broker_epoch:
            return
        if self.config.rules.is_first_init(said, self._obeyed):
            self._obeyed = said
            self.stopping.obey_init(request, self._quit)

    def _obey(self, command: PartitionState, request: LeaderAndIsrRequest) -> ErrorCode:
        """What the table of roles and commands says is done, or answered."""
        rules = self.config.rules
        if not self.is_ready:
            return ErrorCode.BROKER_NOT_AVAILABLE
        is_over = rules.is_over(command, request, self.replicas.states)
        if is_over or self.stopping.is_overtaken(command):
            return ErrorCode.UNKNOWN_TOPIC_ID
        replica = self._replica_for(command)
        kind = command_of(replica, command, newer=rules.is_newer(replica, command))
        reaction = rules.leader_and_isr[replica.role, kind]
        if isinstance(reaction, ErrorCode):
            return reaction
        key = command.key
        if replica.role is Role.WAITING:
            incarnation = command.partition_incarnation
            self.outbox.emit(StartLog(topic_partition=key, partition_incarnation=incarnation))
        self.follower.stop_fetching(key)
        if reaction is Action.BECOME_LEADER:
            self._become_leader(replica, command, request)
        else:
            self._become_follower(replica, command, request)
        return ErrorCode.NONE

    def _replica_for(self, command: PartitionState) -> Replica:
        """The replica of the command's incarnation; the log of an older one is dropped (H10b)."""
        key, incarnation = command.key, command.partition_incarnation
        replica = self.replicas.get(key)
        if replica is None:
            return Replica(
                broker_id=self.config.broker_id,
                topic_partition=key,
                partition_incarnation=incarnation,
            )
        if self.config.rules.is_of_other_incarnation(replica, command):
            self._quit(key)
            return self.stopping.make_way(replica, incarnation)
        return replica

    def _become_leader(
        self, replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> None:
        rules, key = self.config.rules, command.key
        after = rules.become_leader(replica, command, request.controller_epoch, self.outbox.now_ms)
        self.replicas.take(after, role_taken(Action.BECOME_LEADER, after, request))
        if rules.skips_epochs(replica, command):
            # What waits is no longer this leader's to promise.
            self._end_produces(key)
        self.replicas.advance(key)
        self.answer_committed(key)
        self._retry_fetches(key)

    def _become_follower(
        self, replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> None:
        rules, key = self.config.rules, command.key
        after = rules.become_follower(replica, command, request.controller_epoch)
        self.replicas.take(after, role_taken(Action.BECOME_FOLLOWER, after, request))
        self._settle(key)
        offset = rules.truncate_follower(rules.committed_end(after))
        if offset is not None:
            self.follower.truncate(key, offset)
        self.follower.start_fetching(key)

    def _settle(self, key: TopicPartition) -> None:
        """Nobody waits for a replica that leads no more (CMD-004)."""
        self._end_produces(key)
        self._retry_fetches(key)

    def _end_produces(self, key: TopicPartition) -> None:
        """Who waits for a commit hears that its records may be in the log, or not."""
        for produce in self.replicas.waiting(key).all_produces():
            self.appender.reply(key, produce, ProduceEnd.NO_LEADER)

    def _quit(self, key: TopicPartition) -> None:
        """Nobody waits for a replica that is given up: what was appended may be committed."""
        waiting = self.replicas.waiting(key)
        for produce in waiting.all_produces():
            self.appender.reply(key, produce, ProduceEnd.NO_LEADER)
        for parked in waiting.all_fetches():
            answer = self._fetch_answer(parked.request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            self.outbox.emit(Reply(token=parked.token, response=answer))

    def on_log_failed(self, event: LogFailed) -> None:
        """The replica serves nobody, and the controller hears of it; all others go on (START-006).

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
        self.follower.stop_fetching(key)
        self.replicas.put(after)
        self._settle(key)
        self.failed_logs.add(key)

    # Clients and followers

    def on_produce(self, token: int, request: ProduceRequest) -> None:
        """The records are in the leader's log and acknowledged as `acks` says, or were refused."""
        key = TopicPartition(request.topic, request.partition)
        grew = self.appender.on_produce(token, request)
        if grew:
            self.replicas.advance(key)
        self.answer_committed(key)
        if grew:
            self._retry_fetches(key)

    def answer_committed(self, key: TopicPartition) -> None:
        """Produces below the high watermark are acknowledged (REPL-008)."""
        replica = self.replicas.get(key)
        if replica is None or not replica.is_leader:
            return
        for produce in self.replicas.waiting(key).committed(
            self.config.rules.committed_end(replica)
        ):
            self.appender.reply(key, produce, ProduceEnd.COMMITTED)

    def on_fetch(self, token: int, request: FetchRequest) -> None:
        """A follower gets records up to the log end, a consumer up to the high watermark."""
        key = TopicPartition(request.topic, request.partition)
        error = self.config.rules.fetch_error(self.replicas.get(key), request)
        if error is not ErrorCode.NONE:
            self.outbox.emit(Reply(token=token, response=self._fetch_answer(request, error)))
            return
        if request.replica_id != NO_BROKER:
            self._serve_follower(key, request)
        self._answer_fetch(token, request)

    def _serve_follower(self, key: TopicPartition, request: FetchRequest) -> None:
        follower, fetch_offset = request.replica_id, request.fetch_offset
        before = self.replicas[key]
        known = before.followers.get(follower)
        serve_fetch = self.config.rules.serve_fetch
        after = serve_fetch(before, follower, fetch_offset, self.outbox.now_ms)
        self.replicas.put(after)
        if known is None or known.log_end_offset != fetch_offset:
            self.outbox.took(fetch_served(after, follower, fetch_offset))
        self.isr_writer.expand(key)
        if self.replicas.advance(key):
            self.answer_committed(key)
            self._retry_fetches(key)

    def _answer_fetch(self, token: int, request: FetchRequest, *, may_park: bool = True) -> None:
        """Answer now, or park while there is nothing to tell that the asker does not know."""
        key = TopicPartition(request.topic, request.partition)
        replica = self.replicas[key]
        is_consumer = request.replica_id == NO_BROKER
        limit = self.config.rules.committed_end(replica) if is_consumer else replica.log_end_offset
        end = min(limit, request.fetch_offset + request.max_records)
        if may_park and end <= request.fetch_offset and request.max_wait_ms > 0:
            known = replica.followers.get(request.replica_id)
            if known is None or known.high_watermark_sent == replica.high_watermark:
                deadline_ms = self.outbox.now_ms + request.max_wait_ms
                parked = ParkedFetch(token=token, request=request, deadline_ms=deadline_ms)
                self.replicas.waiting(key).fetches.append(parked)
                self.replicas.expect(key, deadline_ms)
                return
        if not is_consumer:
            self.replicas.put(note_high_watermark_sent(replica, request.replica_id))
        self.outbox.emit(
            ReplyRecords(
                token=token,
                response=self._fetch_answer(request, ErrorCode.NONE),
                topic_partition=key,
                start=request.fetch_offset,
                end=Offset(max(end, request.fetch_offset)),
            )
        )

    def _fetch_answer(self, request: FetchRequest, error_code: ErrorCode) -> FetchResponse:
        replica = self.replicas.get(TopicPartition(request.topic, request.partition))
        if replica is None or (error_code is not ErrorCode.NONE and not replica.is_leader):
            return FetchResponse(
                error_code=error_code,
                broker_id=self.config.broker_id,
                fetch_offset=request.fetch_offset,
            )
        return FetchResponse(
            error_code=error_code,
            broker_id=self.config.broker_id,
            fetch_offset=request.fetch_offset,
            leader_epoch=replica.leader_epoch,
            high_watermark=replica.high_watermark,
            log_end_offset=replica.log_end_offset,
            partition_incarnation=replica.partition_incarnation,
        )

    def _retry_fetches(self, key: TopicPartition) -> None:
        for parked in self.replicas.waiting(key).all_fetches():
            self._end_parking(parked)

    def _end_parking(self, parked: ParkedFetch) -> None:
        request = parked.request
        key = TopicPartition(request.topic, request.partition)
        error = self.config.rules.fetch_error(self.replicas.get(key), request)
        if error is not ErrorCode.NONE:
            response = self._fetch_answer(request, error)
            self.outbox.emit(Reply(token=parked.token, response=response))
            return
        self._answer_fetch(parked.token, request, may_park=False)

    # Time

    def tick(self) -> None:
        """Deadlines are kept, laggards leave the ISR, high watermarks are checkpointed."""
        for key in self.replicas.take_due():
            self._tick_partition(key)
            self.replicas.looked_at(key, self._due_ms(key))
        self._checkpoint()

    def _tick_partition(self, key: TopicPartition) -> None:
        waiting = self.replicas.waiting(key)
        for produce in waiting.expired_produces(self.outbox.now_ms):
            self.appender.reply(key, produce, ProduceEnd.EXPIRED)
        for parked in waiting.expired_fetches(self.outbox.now_ms):
            self._end_parking(parked)
        self.isr_writer.tick(key)
        if self.replicas.advance(key):
            self.answer_committed(key)
            self._retry_fetches(key)
        self.follower.tick(key)

    def _due_ms(self, key: TopicPartition) -> int | None:
        """When the partition needs a look although nothing changed."""
        waiting_ms = self.replicas.waiting(key).due_ms
        return earliest(waiting_ms, self.isr_writer.due_ms(key), self.follower.due_ms(key))

    def _checkpoint(self) -> None:
        if self.outbox.now_ms < self._next_checkpoint_ms:
            return
        self._next_checkpoint_ms = self.outbox.now_ms + self.config.checkpoint_ms
        for key, high_watermark in self.replicas.take_checkpoints():
            self.outbox.emit(
                CheckpointHighWatermark(topic_partition=key, high_watermark=high_watermark)
            )
