"""The controller: a loop from what was read, through decisions and one writer, to the brokers.

It reads ZooKeeper (`broker_discovery.py`, `topic_discovery.py`), decides what follows for each
partition (`leader_election.py`, `partition_change.py`), writes that behind its fence
(`fenced_writes.py`), and tells the brokers what was published (`controller_channel.py`). Procedures
of V3 A, B and D are scripts that wait for ZooKeeper; one that has waited stops when its generation
is over. Every generation begins with new parts: nothing of an earlier one is known any more.
"""

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.broker_discovery import (
    apply_broker_change,
    detect_broker_change,
    read_live_brokers,
)
from fencepost.impl.core.controller.controller_context import ControllerContext
from fencepost.impl.core.controller.controller_generation import (
    ControllerGeneration,
    ControllerResources,
)
from fencepost.impl.core.controller.leader_election import LeaderElections, LiveBrokersRead
from fencepost.impl.core.controller.partition_change import PartitionChanges
from fencepost.impl.core.controller.topic_discovery import TopicDiscovery
from fencepost.impl.core.rules.controller.controller_election import Elected, WatchedReading
from fencepost.impl.core.rules.controller.topic_tree import finishing_multis, read_tree
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    IsrChangedRequest,
    IsrChangedResponse,
    LogsFailedRequest,
    LogsFailedResponse,
    PartitionId,
)
from fencepost.impl.core.types.messages import ControlResponse, StopReplicaResponse
from fencepost.impl.core.types.scripts import Outbox, Script
from fencepost.impl.core.types.zookeeper import Written
from fencepost.spec.vocabulary import BrokerId, ControllerEpoch, ErrorCode
from fencepost.spec.znodes import TopicPartition


class Controller:
    """Active from an election to a resignation; all that it knows was read in between."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox
        self._begin(ControllerGeneration.never_elected(config, outbox))

    def _begin(self, generation: ControllerGeneration) -> None:
        self.generation = generation
        self._resources = ControllerResources.of(self._config, self._outbox, generation)
        self._channel = self._resources.channel
        self.elections = LeaderElections(self._resources)
        self._topics = TopicDiscovery(self._resources)
        self._partition_changes = PartitionChanges(self._resources, self.elections)
        self._is_loaded = False
        """True when the whole state has been read (V3 D)."""
        self._must_load_again = False
        self._must_read_brokers = False
        """As `_must_load_again`: the connection failed in the middle."""
        self._retry_ms = 0

    # The generation

    @property
    def is_active(self) -> bool:
        """True while this node is controller, as far as it knows."""
        return self.generation.is_active

    @property
    def _is_serving(self) -> bool:
        """True while it is controller and knows the whole state."""
        return self.is_active and self._is_loaded

    @property
    def controller_epoch(self) -> ControllerEpoch:
        """Of this node's last election."""
        return self.generation.controller_epoch

    @property
    def context(self) -> ControllerContext:
        """What is known of the cluster."""
        return self._resources.context

    def begin_generation(self, elected: Elected) -> None:
        """This node is controller; it reads the whole state first (V3 D)."""
        self.generation.end()
        epoch, version = elected.controller_epoch, elected.epoch_version
        self._begin(ControllerGeneration(self._config, self._outbox, epoch, version))
        self.context.see(elected.zxid)
        self._outbox.run(self._fail_over())

    def resign(self) -> None:
        """Nothing of this generation has effect any more: no script, no command (CTL-008)."""
        self.generation.resign_controller()

    def _fail_over(self) -> Script:
        """V3 D: read all state, send it on, then treat broker changes and new partitions."""
        generation, context = self.generation, self.context
        is_watched = WatchedReading.LIVE_BROKERS_AT_FAIL_OVER in self._config.rules.watched
        changed = yield from read_live_brokers(self._resources, watch=is_watched)
        if generation.is_over():
            return
        if changed is None:
            self._miss_brokers()
            return
        detect_broker_change(self._resources)
        added = yield from self._topics.read()
        if generation.is_over():
            return
        keys = sorted(context.assignments)
        first = list(self._config.rules.read_at_fail_over(keys))
        is_read = added is not None and (yield from self.elections.read_all(first))
        if generation.is_over():
            return
        if not is_read:
            self._must_load_again = True
            self._pause()
            return
        self._is_loaded = True
        for broker_id in context.live:
            self._channel.begin_init(broker_id)
        self.elections.decide(keys)
        self.elections.tell(self._config.rules.told_at_fail_over(keys))
        self._partition_changes.wake()

    def proceed(self) -> None:
        """What this step has read is decided upon; commands leave on every idle queue."""
        if not self.is_active:
            return
        brokers_read = self.elections.take_brokers_read()
        if brokers_read is not None:
            self._on_brokers_read(brokers_read)
        found = self._topics.take_found()
        if found:
            self.elections.reread(found)
        self._finish_deletions()
        self._flush()

    def _flush(self) -> None:
        is_deciding = bool(self.elections.busy)
        self._channel.flush(self.controller_epoch, self.context, is_deciding=is_deciding)

    # Broker changes (V3 A)

    def on_broker_change(self) -> None:
        """The children of `/brokers/ids` changed."""
        if self.is_active and self._config.rules.reads_broker_change(self.context.undecided):
            self._outbox.run(self._read_broker_change())

    def _read_broker_change(self) -> Script:
        generation = self.generation
        changed = yield from read_live_brokers(self._resources)
        if generation.is_over():
            return
        if changed is None:
            self._miss_brokers()
        elif changed:
            self._apply_broker_change(changed)
            if self._is_loaded:
                self.elections.reread(self.context.partitions_of(changed))

    def _apply_broker_change(self, changed: frozenset[BrokerId]) -> None:
        apply_broker_change(self._resources, changed, is_loaded=self._is_loaded)
        self.on_partition_request()

    def _on_brokers_read(self, brokers_read: LiveBrokersRead) -> None:
        if brokers_read.changed is None:
            self._miss_brokers()
        elif brokers_read.changed:
            self._apply_broker_change(brokers_read.changed)
        self.elections.decide_confirmed(brokers_read)

    # Topics and partitions (V3 B, F, H)

    def on_topic_change(self, topic: str | None = None) -> None:
        """The children of `/brokers/topics` changed, or the znode of `topic`."""
        self._topics.note(topic)
        if self._is_serving:
            self._topics.look()

    def on_partition_request(self) -> None:
        """There may be something to do for administrators; it waits for the whole state."""
        if self._is_serving:
            self._partition_changes.wake()

    def _finish_deletions(self) -> None:
        """Delete what is left of topics with a deletion that was begun (TOP-003)."""
        for topic in self._topics.take_unfinished():
            self._outbox.run(self._finish_deletion(topic))

    def _finish_deletion(self, topic: str) -> Script:
        topics, writes = self._topics, self._resources.writes
        topic_id = self.context.topic_id(topic)
        tree = yield from read_tree(topic)
        if tree is None:
            topics.note_unfinished(topic)
            return
        for ops in finishing_multis(topic, topic_id, tree):
            result = yield from writes.write(*ops)
            if not isinstance(result, Written):
                topics.note_unfinished(topic)
                return

    # Answers and reports of brokers

    def on_answer(self, broker_id: BrokerId, request_id: int, response: ControlResponse) -> None:
        """A broker obeyed or refused; what it could not obey is read anew, decided and told."""
        if response.error_code is ErrorCode.STALE_CONTROLLER_EPOCH:
            if self._channel.is_expected(broker_id, request_id):
                self.resign()
            return
        refused = self._channel.on_answer(broker_id, request_id, response)
        known = [(key, error) for key, error in refused if key in self.context.states]
        for key, error in known:
            if error is ErrorCode.REPLICA_NOT_AVAILABLE:
                self.context.add_bounced(key, frozenset({broker_id}))
        lost = [key for key, error in known if error is ErrorCode.REPLICA_NOT_AVAILABLE]
        failed = [key for key, error in known if error is ErrorCode.STORAGE_ERROR]
        self.elections.reread(lost + self.context.add_offline(broker_id, failed))
        if isinstance(response, StopReplicaResponse):
            self.on_partition_request()

    def on_no_answer(self, broker_id: BrokerId, request_id: int) -> None:
        """The request is sent again after a pause, with what is newest then."""
        self._channel.on_failure(broker_id, request_id)

    def on_logs_failed(self, token: int, request: LogsFailedRequest) -> None:
        """What a broker cannot serve gets another leader, as if it were gone (START-006)."""
        error = self._report_error(request)
        response = LogsFailedResponse(error_code=error, controller_epoch=self.controller_epoch)
        self._outbox.reply(token, response)
        if error is ErrorCode.NONE:
            failed = [one.key for one in request.partitions]
            self.elections.reread(self.context.add_offline(request.broker_id, failed))

    def on_isr_changed(self, token: int, request: IsrChangedRequest) -> None:
        """What leaders have changed is read, and told to all brokers as metadata (UMD-002)."""
        error = self._report_error(request)
        response = IsrChangedResponse(error_code=error, controller_epoch=self.controller_epoch)
        self._outbox.reply(token, response)
        if error is ErrorCode.NONE:
            self.elections.learn(one.key for one in request.partitions)

    def _report_error(self, request: LogsFailedRequest | IsrChangedRequest) -> ErrorCode:
        """Whether this is the controller, and knows the broker under the epoch that it names."""
        if not self._is_serving:
            return ErrorCode.NOT_CONTROLLER
        is_known = self.context.live.get(request.broker_id) == request.broker_epoch
        return ErrorCode.NONE if is_known else ErrorCode.BROKER_NOT_AVAILABLE

    def on_controlled_shutdown(self, token: int, request: ControlledShutdownRequest) -> None:
        """Others lead what the broker led, and it leaves the ISRs, as if it were gone (BEP-005).

        The answer says what is still to be moved, and the broker asks again.
        """
        broker_id, context = request.broker_id, self.context
        error = ErrorCode.NOT_CONTROLLER
        if self._is_serving:
            registered = context.live.get(broker_id)
            error = self._config.rules.shutdown_error(registered, request.broker_epoch)
        remaining: list[TopicPartition] = []
        if error is ErrorCode.NONE:
            if broker_id not in context.shutting_down:
                self.obey_shutdown(request)
            remaining = context.still_led_by(broker_id)
        response = ControlledShutdownResponse(
            error_code=error,
            remaining_partitions=tuple(
                PartitionId(topic=key.topic, partition=key.partition) for key in remaining
            ),
        )
        self._outbox.reply(token, response)

    @action
    def obey_shutdown(self, request: ControlledShutdownRequest) -> None:
        """The broker counts as one that goes: all its partitions are read and decided anew."""
        self.context.shutting_down.add(request.broker_id)
        line = taken(
            self.obey_shutdown,
            peer=request.broker_id,
            broker_epoch=request.broker_epoch,
            controller_epoch=self.controller_epoch,
        )
        self._outbox.took(line)
        self.elections.reread(self.context.partitions_of((request.broker_id,)))

    # Time

    def tick(self) -> None:
        """What failed with the connection begins again; queued commands leave."""
        if not self.is_active:
            return
        if self._retry_ms <= self._outbox.now_ms:
            self._begin_again()
        if self._is_loaded:
            self._topics.tick()
        self.elections.tick(all_told=self._channel.is_idle)
        if self._is_loaded:
            self._partition_changes.tick()
        self._flush()

    def _begin_again(self) -> None:
        must_load = self._must_load_again or self._must_read_brokers
        must_read_brokers = self._must_read_brokers
        self._must_load_again = self._must_read_brokers = False
        if must_load and not self._is_loaded:
            self._outbox.run(self._fail_over())
        elif must_read_brokers:
            self.on_broker_change()

    def _miss_brokers(self) -> None:
        self._must_read_brokers = True
        self._pause()

    def _pause(self) -> None:
        self._retry_ms = self._config.retry_at_ms(self._outbox.now_ms)
