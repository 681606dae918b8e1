"""The controller as a state machine: it decides, publishes in ZooKeeper, then tells the brokers.

Procedures of V3 A, B and D are scripts that wait for ZooKeeper; each one that has waited looks
whether this controller still holds the office (`term`) before it goes on. What is decided about
partitions, and how it gets into ZooKeeper, is in `decisions.py`; commands go out through
`commands.py`.
"""

from collections.abc import Generator

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import Commands
from fencepost.impl.core.controller.controller_context import ControllerContext, Whole
from fencepost.impl.core.controller.controller_generation import Office
from fencepost.impl.core.controller.fenced_writes import FencedWrites
from fencepost.impl.core.controller.leader_election import Decisions
from fencepost.impl.core.controller.partition_change import Agent
from fencepost.impl.core.controller.topic_discovery import TopicChanges
from fencepost.impl.core.controller.unclean import UncleanElections
from fencepost.impl.core.types.effects import ActionTaken, Reply
from fencepost.impl.core.types.failed_log_messages import LogsFailedRequest, LogsFailedResponse
from fencepost.impl.core.types.messages import CommandResponse, PartitionState, StopReplicaResponse
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, list_children, read
from fencepost.spec.vocabulary import Action, BrokerId, ControllerEpoch, ErrorCode, ZnodeVersion
from fencepost.spec.znodes import BROKER_IDS, TopicPartition, broker_path


class Controller:
    """Holds the office while `is_active`; everything it knows was read since it was elected."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self.config = config
        self.outbox = outbox
        self.office = Office(config)
        self.commands = Commands(config, outbox, self._whole)
        self.writes = FencedWrites(config, outbox, self.office, self.resign_controller)
        self.unclean = UncleanElections(outbox, self._read_live_brokers, self._elect_outside)
        self.decisions = Decisions(
            config, outbox, self.office, self.writes, self._tell, self.unclean.confirm
        )
        self.agent = Agent(self)
        self.topics = TopicChanges(
            config, outbox, self.office, self.decisions, self.commands, self.writes
        )
        self._forget()

    def _forget(self) -> None:
        self.writes.clear()
        self.unclean.clear()
        self.decisions.forget()
        self.agent.forget()
        self.is_loaded = False
        self._missed: set[str] = set()
        """Procedures to begin again because the connection failed in the middle."""
        self._retry_ms = 0
        self.topics.clear()

    # The office

    @property
    def is_active(self) -> bool:
        """True while this node holds the office, as far as it knows."""
        return self.office.is_active

    @property
    def term(self) -> int:
        """Counts this node's elections and resignations: a script of another term is over."""
        return self.office.term

    @property
    def controller_epoch(self) -> ControllerEpoch:
        """Of this node's last election."""
        return self.office.controller_epoch

    @property
    def epoch_version(self) -> ZnodeVersion:
        """Of `/controller_epoch`, as this node raised it."""
        return self.office.epoch_version

    @property
    def context(self) -> ControllerContext:
        """What is known of the cluster."""
        return self.decisions.context

    def take_office(
        self, controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion, zxid: int
    ) -> None:
        """This node holds `/controller` since `zxid`; it reads the whole state first (V3 D)."""
        self.office.begin(controller_epoch, epoch_version)
        self._forget()
        self.context.see(zxid)
        self.outbox.run(self._fail_over())

    def resign_controller(self) -> None:
        """Nothing of this term has effect any more: no script, no command (CTL-008)."""
        if not self.is_active:
            return
        self.office.end()
        self._forget()
        self.commands.clear()
        self.outbox.took(
            ActionTaken(
                action=Action.RESIGN_CONTROLLER,
                controller_id=self.config.broker_id,
                controller_epoch=self.controller_epoch,
            )
        )

    def _fail_over(self) -> Script:
        """V3 D: read all state, send it on, then treat broker changes and new partitions."""
        term = self.term
        is_blind = self.config.mutant == "fail_over_without_watches"
        if (yield from self._read_live_brokers(watch=not is_blind)) is None:
            return
        self._took_broker_change()
        if (yield from self.topics.read()) is None:
            if self.term == term:
                self._miss("topics")
            return
        keys = sorted(self.context.assignments)
        is_read = yield from self.decisions.read_all(keys)
        if self.term != term:
            return
        if not is_read:
            self._miss("state")
            return
        self.is_loaded = True
        for broker_id in self.context.live:
            self.commands.begin_init(broker_id)
        if self.config.mutant == "successor_tells_nothing":
            self.decisions.decide(keys)
        else:
            self.decisions.decide_or_tell(keys)
        self.agent.wake()
        self.topics.finish_deletions()
        if self.topics.is_due:
            self.topics.look()

    # Broker changes (V3 A)

    def on_broker_change(self) -> None:
        """The children of `/brokers/ids` changed."""
        if self.config.mutant == "retry_keeps_live_brokers" and self.context.undecided:
            return
        if self.is_active:
            self.outbox.run(self._on_broker_change())

    def _on_broker_change(self) -> Script:
        changed = yield from self._read_live_brokers()
        if not changed:
            return
        self._note_broker_change(changed)
        if self.is_loaded:
            self.decisions.reread(self.context.partitions_of(changed))

    def _whole(self, broker_id: BrokerId) -> Whole | None:
        return self.context.whole(broker_id)

    def _note_broker_change(self, changed: frozenset[BrokerId]) -> None:
        self._took_broker_change()
        for broker_id in sorted(changed):
            self.commands.drop(broker_id)
            if self.is_loaded and broker_id in self.context.live:
                self.commands.begin_init(broker_id)
        self.agent.on_broker_change(changed)

    def _elect_outside(
        self, keys: list[TopicPartition], changed: frozenset[BrokerId] | None
    ) -> None:
        """The live brokers have been read after the states of `keys` were (FAIL-002)."""
        if changed:
            self._note_broker_change(changed)
        self.decisions.decide_confirmed(keys, is_read=changed is not None)
        if changed:
            self.decisions.reread(self.context.partitions_of(changed))

    def _read_live_brokers(
        self, *, watch: bool = True
    ) -> Generator[Ask, Answer, frozenset[BrokerId] | None]:
        """The live brokers are read; returns who changed, or None when term or reading ended."""
        term = self.term
        listed = yield from list_children(BROKER_IDS, watch=watch)
        if self.term != term:
            return None
        znodes = None
        if listed is not None:
            names = [name for name in listed[0].names or () if name.isdecimal()]
            znodes = yield from read(*(broker_path(int(name)) for name in names))
        if self.term != term:
            return None
        if znodes is None:
            self._miss("brokers")
            return None
        return self.context.detect_broker_change(
            znodes, ids_only=self.config.mutant == "compare_broker_ids_only"
        )

    def _took_broker_change(self) -> None:
        self.outbox.took(
            ActionTaken(
                action=Action.DETECT_BROKER_CHANGE,
                controller_epoch=self.controller_epoch,
                live_brokers=frozenset(self.context.live),
            )
        )

    # Topics (V3 B)

    def on_topic_change(self, topic: str | None = None) -> None:
        """The children of `/brokers/topics` changed, or the znode of `topic`."""
        self.topics.note(topic)
        if self.is_active and self.is_loaded:
            self.topics.look()

    # Commands

    def _tell(self, key: TopicPartition) -> None:
        known = self.context.states.get(key)
        if known is None:
            return
        state, znode_version = known
        command = PartitionState(
            topic=key.topic,
            partition=key.partition,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=tuple(sorted(state.isr)),
            znode_version=znode_version,
            assigned_replicas=self.context.assignments[key],
            topic_id=state.topic_id,
            partition_incarnation=self.context.incarnation(key),
        )
        for broker_id in self.context.assignments[key]:
            if broker_id in self.context.live:
                self.commands.put(broker_id, command)

    def on_answer(self, broker_id: BrokerId, request_id: int, response: CommandResponse) -> None:
        """A broker obeyed or refused; what it could not obey is read anew, decided and told."""
        if response.error_code is ErrorCode.STALE_CONTROLLER_EPOCH:
            if self.commands.is_expected(broker_id, request_id):
                self.resign_controller()
            return
        refused = self.commands.on_answer(broker_id, request_id, response)
        if not self.is_active:
            return
        known = [(key, error) for key, error in refused if key in self.context.states]
        for key, error in known:
            if error is ErrorCode.REPLICA_NOT_AVAILABLE:
                self.context.add_bounced(key, frozenset({broker_id}))
        lost = [key for key, error in known if error is ErrorCode.REPLICA_NOT_AVAILABLE]
        failed = [key for key, error in known if error is ErrorCode.STORAGE_ERROR]
        self.decisions.reread(lost + self.context.add_offline(broker_id, failed))
        if isinstance(response, StopReplicaResponse):
            self.agent.wake()

    def on_logs_failed(self, token: int, request: LogsFailedRequest) -> None:
        """What a broker cannot serve is led by others, as if it were gone (START-006)."""
        error = ErrorCode.NONE
        if not self.is_active or not self.is_loaded:
            error = ErrorCode.NOT_CONTROLLER
        elif self.context.live.get(request.broker_id) != request.broker_epoch:
            error = ErrorCode.BROKER_NOT_AVAILABLE
        response = LogsFailedResponse(error_code=error, controller_epoch=self.controller_epoch)
        self.outbox.emit(Reply(token=token, response=response))
        if error is ErrorCode.NONE:
            failed = [one.key for one in request.partitions]
            self.decisions.reread(self.context.add_offline(request.broker_id, failed))

    # Time

    def _miss(self, procedure: str) -> None:
        self._missed.add(procedure)
        self._retry_ms = self.outbox.now_ms + self.config.retry_ms

    def tick(self) -> None:
        """What failed with the connection begins again; queued commands leave."""
        if not self.is_active:
            return
        if self._missed and self._retry_ms <= self.outbox.now_ms:
            self._begin_again()
        if self.is_loaded:
            self.topics.tick()
        self.decisions.tick(all_told=self.commands.is_idle)
        self.agent.tick()
        self.commands.flush(self.controller_epoch)

    def _begin_again(self) -> None:
        missed, self._missed = self._missed, set()
        if not self.is_loaded:
            self.outbox.run(self._fail_over())
            return
        if "brokers" in missed:
            self.on_broker_change()
