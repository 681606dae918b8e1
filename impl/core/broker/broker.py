"""The broker as a state machine: commands, and the data path of leaders.

Guards and routing only: what a replica becomes is decided by the pure actions in `replica.py` and
`replication.py`. Produces are in `appender.py`, the follower's side in `follower.py`, changes of
the ISR in `isr_writer.py`.
"""

from msgspec.structs import replace

from fencepost.impl.core.broker.failed_logs import FailedLogs
from fencepost.impl.core.broker.fetcher import Follower
from fencepost.impl.core.broker.isr_update import IsrWriter
from fencepost.impl.core.broker.offsets import Offsets
from fencepost.impl.core.broker.produce import Appender
from fencepost.impl.core.broker.purgatory import ParkedFetch
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.broker.stop_replica import Stopping
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.obedience import Obedience
from fencepost.impl.core.rules.replica import (
    LOG_START,
    Replica,
    Role,
    are_different,
    become_follower,
    become_leader,
    go_offline,
    is_newer,
    not_leading,
)
from fencepost.impl.core.rules.replication import note_high_watermark_sent, serve_fetch
from fencepost.impl.core.types.effects import (
    ActionTaken,
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
    NO_EPOCH,
    NO_INCARNATION,
    Action,
    ControllerEpoch,
    ErrorCode,
    Offset,
    ProtocolLevel,
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
        self.obedience = Obedience(self.config, replicas)
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
        self._adopt(request.controller_epoch)
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

    def _adopt(self, controller_epoch: ControllerEpoch) -> None:
        if self.config.mutant == "adopt_epoch_from_zookeeper_only":
            return
        self.follow_controller(controller_epoch)

    def _is_stale(self, controller_epoch: ControllerEpoch) -> bool:
        if self.config.level < ProtocolLevel.CONTROLLER_EPOCH:
            return False
        if self.config.mutant == "accept_older_controller_epoch":
            return False
        if self.config.mutant == "commands_without_epochs":
            return False
        return controller_epoch < self.controller_epoch

    def _obey_init(self, request: LeaderAndIsrRequest) -> None:
        """Only the first INIT of a controller deletes: a later one may be a late one (H19)."""
        said = (request.controller_epoch, request.broker_epoch)
        if not request.is_init or request.broker_epoch != self.broker_epoch:
            return
        if said != self._obeyed or self.config.mutant == "init_deletes_by_omission":
            self._obeyed = said
            self.stopping.obey_init(request, self._quit)

    def _obey(self, command: PartitionState, request: LeaderAndIsrRequest) -> ErrorCode:
        if not self.is_ready:
            return ErrorCode.BROKER_NOT_AVAILABLE
        key = command.key
        if self._is_over(command) or self.obedience.refuses_anyhow(command, request):
            return ErrorCode.UNKNOWN_TOPIC_ID
        replica = self._replica_for(command)
        if replica.role is Role.OFFLINE:
            return ErrorCode.STORAGE_ERROR
        if self.obedience.obeys_anyhow(replica, command):
            replica = replica.with_floor(NO_EPOCH, replica.znode_version)
        if not is_newer(replica, command):
            is_lost = replica.role is Role.WAITING and (
                command.leader == replica.broker_id or command.leader_epoch == replica.leader_epoch
            )
            return ErrorCode.REPLICA_NOT_AVAILABLE if is_lost else ErrorCode.STALE_LEADER_EPOCH
        leads = command.leader == self.config.broker_id
        if self.config.mutant == "leader_ignores_command" and leads and replica.is_leader:
            return ErrorCode.NONE
        if replica.role is Role.WAITING:
            incarnation = command.partition_incarnation
            self.outbox.emit(StartLog(topic_partition=key, partition_incarnation=incarnation))
        self.follower.stop_fetching(key)
        if leads:
            self._become_leader(replica, command, request)
        else:
            self._become_follower(replica, command, request)
        return ErrorCode.NONE

    def _is_over(self, command: PartitionState) -> bool:
        """The command is about an incarnation that this broker knows to be gone (TOP-003)."""
        replica = self.replicas.get(command.key)
        known = replica.partition_incarnation if replica is not None else NO_INCARNATION
        is_older = NO_INCARNATION < command.partition_incarnation < known
        return is_older or self.stopping.is_overtaken(command)

    def _replica_for(self, command: PartitionState) -> Replica:
        """The replica of the command's incarnation; the log of an older one is dropped (H10b)."""
        key, incarnation = command.key, command.partition_incarnation
        replica = self.replicas.get(key)
        is_other = replica and are_different(replica.partition_incarnation, incarnation)
        if self.config.mutant == "keep_log_of_old_incarnation" and replica and is_other:
            return replica.with_floor(NO_EPOCH, replica.znode_version)
        if is_other:
            self._quit(key)
            replica = self.stopping.make_way(key, incarnation)
        if replica is not None:
            return replica
        return Replica(
            broker_id=self.config.broker_id, topic_partition=key, partition_incarnation=incarnation
        )

    def _become_leader(
        self, replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> None:
        after = become_leader(replica, command, request.controller_epoch, self.outbox.now_ms)
        if self.config.mutant == "remember_end_offsets":
            after = replace(after, followers=replica.followers)
        if self.config.mutant == "forget_producers_on_leader_change":
            self.replicas.producers(after.topic_partition).truncate(LOG_START)
        knew = replica.assigned_replicas
        if self.config.mutant == "leader_ignores_new_replicas" and knew:
            after = replace(after, assigned_replicas=knew)
        self.replicas.put(after)
        self.replicas.took_role(Action.BECOME_LEADER, after, request)
        if command.leader_epoch > replica.leader_epoch + 1:
            # Another may have led in between: what waits is no longer this leader's to promise.
            self._end_produces(after.topic_partition)
        self.replicas.advance(after.topic_partition)
        self.answer_committed(after.topic_partition)
        self._retry_fetches(after.topic_partition)

    def _become_follower(
        self, replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> None:
        fenced_by_epoch = self.config.level >= ProtocolLevel.LEADER_EPOCH
        after = become_follower(
            replica, command, request.controller_epoch, fenced_by_epoch=fenced_by_epoch
        )
        if self.config.mutant == "remember_end_offsets":
            after = replace(after, followers=replica.followers)
        is_same_leader = replica.role is Role.FOLLOWER and replica.leader == after.leader
        if self.config.mutant == "truncate_on_new_leader_only" and is_same_leader:
            after = replace(after, needs_truncation=replica.needs_truncation)
        self.replicas.put(after)
        self.replicas.took_role(Action.BECOME_FOLLOWER, after, request)
        self._settle(after.topic_partition)
        if not fenced_by_epoch:
            self.follower.truncate(after.topic_partition, self.committed_end(after))
        self.follower.start_fetching(after.topic_partition)

    def _settle(self, key: TopicPartition) -> None:
        """Nobody waits for a replica that leads no more (CMD-004)."""
        self._end_produces(key)
        self._retry_fetches(key)

    def _end_produces(self, key: TopicPartition) -> None:
        """Who waits for a commit hears that its records may be in the log, or not."""
        for produce in self.replicas.waiting(key).all_produces():
            self.appender.reply(key, produce, ErrorCode.NOT_LEADER_AFTER_APPEND)

    def _quit(self, key: TopicPartition) -> None:
        """Nobody waits for a replica that is given up: what was appended may be committed."""
        waiting = self.replicas.waiting(key)
        for produce in waiting.all_produces():
            self.appender.reply(key, produce, ErrorCode.NOT_LEADER_AFTER_APPEND)
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
        if replica.role is Role.OFFLINE or self.config.mutant == "go_on_without_log":
            return
        self.follower.stop_fetching(key)
        self.replicas.put(go_offline(replica))
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
        for produce in self.replicas.waiting(key).committed(self.committed_end(replica)):
            self.appender.reply(key, produce, ErrorCode.NONE)

    def committed_end(self, replica: Replica) -> Offset:
        """The high watermark is the first offset that is not committed (REPL-002, H0)."""
        if self.config.mutant == "inclusive_high_watermark":
            return Offset(min(replica.high_watermark + 1, replica.log_end_offset))
        return replica.high_watermark

    def on_fetch(self, token: int, request: FetchRequest) -> None:
        """A follower gets records up to the log end, a consumer up to the high watermark."""
        key = TopicPartition(request.topic, request.partition)
        error = self._fetch_error(self.replicas.get(key), request)
        if error is not ErrorCode.NONE:
            self.outbox.emit(Reply(token=token, response=self._fetch_answer(request, error)))
            return
        if request.replica_id != NO_BROKER:
            self._serve_follower(key, request)
        self._answer_fetch(token, request)

    def _serve_follower(self, key: TopicPartition, request: FetchRequest) -> None:
        before = self.replicas[key]
        known = before.followers.get(request.replica_id)
        after = serve_fetch(before, request.replica_id, request.fetch_offset, self.outbox.now_ms)
        self.replicas.put(after)
        if known is None or known.log_end_offset != request.fetch_offset:
            self.outbox.took(
                ActionTaken(
                    action=Action.SERVE_FETCH,
                    topic_partition=key,
                    leader_epoch=after.leader_epoch,
                    peer=request.replica_id,
                    offset=request.fetch_offset,
                )
            )
        self.isr_writer.expand(key)
        if self.replicas.advance(key, on_fetch=True):
            self.answer_committed(key)
            self._retry_fetches(key)

    def _fetch_error(self, replica: Replica | None, request: FetchRequest) -> ErrorCode:
        if replica is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        is_consumer = request.replica_id == NO_BROKER
        answers_all = self.config.mutant == "followers_serve_consumers"
        if not replica.is_leader and not (is_consumer and answers_all):
            return not_leading(replica)
        if are_different(request.partition_incarnation, replica.partition_incarnation):
            return ErrorCode.UNKNOWN_TOPIC_ID
        if not is_consumer and self._fences_fetches:
            if request.leader_epoch < replica.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if request.leader_epoch > replica.leader_epoch:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        end = replica.log_end_offset
        if self.config.mutant == "refuse_above_high_watermark":
            end = replica.high_watermark if is_consumer else end
        if not 0 <= request.fetch_offset <= end:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE

    @property
    def _fences_fetches(self) -> bool:
        if self.config.mutant == "fetch_without_epoch":
            return False
        return self.config.level >= ProtocolLevel.LEADER_EPOCH

    def _answer_fetch(self, token: int, request: FetchRequest, *, may_park: bool = True) -> None:
        """Answer now, or park while there is nothing to tell that the asker does not know."""
        key = TopicPartition(request.topic, request.partition)
        replica = self.replicas[key]
        is_consumer = request.replica_id == NO_BROKER
        limit = self.committed_end(replica) if is_consumer else replica.log_end_offset
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
        error = self._fetch_error(self.replicas.get(key), request)
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
            self.appender.reply(key, produce, ErrorCode.REQUEST_TIMED_OUT)
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
