"""The controller as a state machine: it decides, publishes in ZooKeeper, then tells the brokers.

Procedures of V3 A, B and D are scripts that wait for ZooKeeper; each one that has waited looks
whether this controller still holds the office (`term`) before it goes on. Decisions are the pure
functions of `leadership.py`, commands go out through `commands.py`.
"""

from collections.abc import Generator, Iterable
from dataclasses import replace

from impl.core.commands import Commands
from impl.core.config import Config
from impl.core.controller_context import ControllerContext
from impl.core.effects import ActionTaken, ReportMalformed
from impl.core.leadership import elect_leader, init_leader, is_unclean
from impl.core.messages import CommandResponse, PartitionState
from impl.core.mutants import Mutant
from impl.core.outbox import Answer, Ask, Outbox, Script, list_children, read, write
from impl.core.unclean import UncleanElections
from impl.core.zookeeper import Check, Create, Rejected, SetData, Written, ZkError
from spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    Action,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    ProtocolLevel,
    ZnodeVersion,
)
from spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    broker_path,
    leader_and_isr_path,
    topic_path,
)

FIRST_VERSION = ZnodeVersion(0)
"""Of `/controller`, which nobody rewrites; of any znode at its creation."""


class Controller:
    """Holds the office while `is_active`; everything it knows was read since it was elected."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self.config = config
        self.outbox = outbox
        self.commands = Commands(config, outbox)
        self.unclean = UncleanElections(outbox, self._read_live_brokers, self._elect_outside)
        self.is_active = False
        self.term = 0
        """Counts this node's elections and resignations: a script of another term is over."""
        self.controller_epoch = ControllerEpoch(0)
        self.epoch_version = FIRST_VERSION
        self._forget()

    def _forget(self) -> None:
        self.context = ControllerContext()
        self._deciding: set[TopicPartition] = set()
        """Partitions with a write or a re-read under way."""
        self._unread: set[TopicPartition] = set()
        """Partitions whose re-read failed with the connection."""
        self._is_loaded = False
        self._missed: set[str] = set()
        """Procedures to begin again because the connection failed in the middle."""
        self._topics_changed = False
        """True when that was told while the state was being read."""
        self._with_folder: set[TopicPartition] = set()
        """Partitions whose folder is there although they have no LeaderAndISR."""
        self._retry_ms = 0
        self.unclean.clear()

    # The office

    def take_office(self, controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion) -> None:
        """This node holds `/controller`; it reads the whole state and goes on from there (V3 D)."""
        self.is_active = True
        self.term += 1
        self.controller_epoch = controller_epoch
        self.epoch_version = epoch_version
        self._forget()
        self.outbox.run(self._fail_over())

    def resign_controller(self) -> None:
        """Nothing of this term has effect any more: no script, no command (CTL-008)."""
        if not self.is_active:
            return
        self.is_active = False
        self.term += 1
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
        if (yield from self._read_live_brokers()) is None:
            return
        self._took_broker_change()
        if not (yield from self._read_topics()) or self.term != term:
            return
        keys = sorted(self.context.assignments)
        if not (yield from self._read_states(keys)) or self.term != term:
            return
        self._is_loaded = True
        self._decide_or_tell(keys)
        if self._topics_changed:
            self._topics_changed = False
            yield from self._on_topic_change()

    # Broker changes (V3 A)

    def on_broker_change(self) -> None:
        """The children of `/brokers/ids` changed."""
        if self.config.mutant is Mutant.RETRY_KEEPS_LIVE_BROKERS and self.context.undecided:
            return
        if self.is_active:
            self.outbox.run(self._on_broker_change())

    def _on_broker_change(self) -> Script:
        changed = yield from self._read_live_brokers()
        if not changed:
            return
        self._note_broker_change(changed)
        if self._is_loaded:
            yield from self._reread(self.context.partitions_of(changed))

    def _note_broker_change(self, changed: frozenset[BrokerId]) -> None:
        self._took_broker_change()
        for broker_id in sorted(changed):
            self.commands.drop(broker_id)

    def _read_live_brokers(self) -> Generator[Ask, Answer, frozenset[BrokerId] | None]:
        """The live brokers are read; returns who changed, or None when term or reading ended."""
        term = self.term
        listed = yield from list_children(BROKER_IDS, watch=True)
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
        return self.context.detect_broker_change(znodes)

    def _took_broker_change(self) -> None:
        self.outbox.took(
            ActionTaken(
                action=Action.DETECT_BROKER_CHANGE,
                controller_epoch=self.controller_epoch,
                live_brokers=frozenset(self.context.live),
            )
        )

    # Topics (V3 B)

    def on_topic_change(self) -> None:
        """The children of `/brokers/topics` changed."""
        if self.is_active and self._is_loaded:
            self.outbox.run(self._on_topic_change())
        else:
            self._topics_changed = True

    def _on_topic_change(self) -> Script:
        term = self.term
        before = set(self.context.assignments)
        if not (yield from self._read_topics()) or self.term != term:
            return
        yield from self._reread(sorted(set(self.context.assignments) - before))

    def _read_topics(self) -> Generator[Ask, Answer, bool]:
        term = self.term
        listed = yield from list_children(TOPICS, watch=True)
        if self.term != term:
            return False
        if listed is None:
            return self._miss("topics")
        known = self.context.known_topics()
        names = [name for name in listed[0].names or () if name not in known]
        znodes = yield from read(*(topic_path(name) for name in names))
        if self.term != term:
            return False
        if znodes is None:
            return self._miss("topics")
        for name, znode in zip(names, znodes, strict=True):
            self._report(self.context.learn_topic(name, znode))
        return True

    # Partition states

    def _read_states(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """`states` holds what ZooKeeper has; a partition without a znode has no state."""
        term = self.term
        znodes = yield from read(*(leader_and_isr_path(key) for key in keys))
        if self.term != term:
            return False
        if znodes is None:
            self._unread.update(keys)
            self._retry_ms = self.outbox.now_ms + self.config.retry_ms
            return False if self._is_loaded else self._miss("state")
        for key, znode in zip(keys, znodes, strict=True):
            self._report(self.context.learn_state(key, znode))
        return True

    def _report(self, error: MalformedZnodeError | None) -> None:
        if error is not None:
            self.outbox.emit(ReportMalformed(path=error.path, reason=str(error)))

    def _reread(self, keys: list[TopicPartition]) -> Script:
        """ZooKeeper's state is read anew, sent on (H4), and decided upon (V3 A.3.1)."""
        term = self.term
        keys = [key for key in keys if key not in self._deciding]
        self._deciding.update(keys)
        done = yield from self._read_states(keys)
        if self.term != term:
            return
        self._deciding.difference_update(keys)
        if not done:
            return
        self._decide_or_tell(keys)

    # Decisions

    def _decide_or_tell(self, keys: Iterable[TopicPartition]) -> None:
        """A partition that needs no decision is told as it stands; the others once it is made."""
        for key in keys:
            is_settled = self.context.is_settled_as_decided(key)
            if self.config.mutant is Mutant.FORGET_UNSETTLED_DECISION and is_settled:
                self._decide(key)
                continue
            if is_settled:
                self.publish_decision(key, *self.context.states[key], None)
            self._decide(key)
            if key not in self._deciding:
                self._tell(key)

    def _decide(self, key: TopicPartition) -> None:
        if key in self._deciding or key not in self.context.assignments:
            return
        known = self.context.states.get(key)
        if known is None or self.initialises_again(known[0]):
            self.init_leader(key)
        else:
            self.elect_leader(key, *known)

    def initialises_again(self, state: LeaderAndIsr) -> bool:
        """A mutant's wrong rule: what earlier controllers decided counts for nothing (H9b)."""
        is_older = state.controller_epoch < self.controller_epoch
        return is_older and self.config.mutant is Mutant.INIT_IS_UNCONDITIONAL

    def init_leader(self, key: TopicPartition) -> None:
        """A partition without a LeaderAndISR znode gets its first leader, by creation only (H9)."""
        decision = init_leader(
            self.context.assignments[key], self.context.live.keys(), self.controller_epoch
        )
        if decision is None:
            return
        self._took_decision(Action.INIT_LEADER, key, decision, ANY_VERSION)
        path = leader_and_isr_path(key)
        state = Create(path=path, data=decision.document())
        folder = Create(path=path.rpartition("/")[0], data=b"")
        ops: tuple[Create | SetData, ...] = (
            (state,) if key in self._with_folder else (folder, state)
        )
        if key in self.context.states:  # the mutant's way
            version = self.context.states[key][1]
            ops = (SetData(path=path, data=decision.document(), expected_version=version),)
        self._deciding.add(key)
        self.outbox.run(self._publish(key, decision, ops))

    def elect_leader(
        self,
        key: TopicPartition,
        state: LeaderAndIsr,
        znode_version: ZnodeVersion,
        *,
        confirmed: bool = False,
    ) -> None:
        """A partition whose leader or ISR is not alive gets new ones, if the version stands."""
        if self.config.mutant is Mutant.NO_ELECTION_ON_ARRIVAL and state.leader == NO_BROKER:
            return
        elected = elect_leader(
            state,
            self.context.assignments[key],
            self.context.live.keys(),
            self.context.bounced.get(key, frozenset()),
            unclean_leader_election=self.config.unclean_leader_election,
        )
        if elected is None:
            self.context.bounced.pop(key, None)
            return
        decision = replace(elected, controller_epoch=self.controller_epoch)
        outside = is_unclean(state, decision)
        on_old_list = self.config.mutant is Mutant.UNCLEAN_ON_OLD_LIVE_LIST
        if outside and not confirmed and not on_old_list:
            self._deciding.add(key)
            self.unclean.confirm(key)
            return
        if self.config.mutant is Mutant.LEADER_EPOCH_NOT_RAISED:
            decision = replace(decision, leader_epoch=state.leader_epoch)
        if self.config.mutant is Mutant.SHRINK_ON_ELECTION_EMPTIES_ISR:
            decision = replace(decision, isr=decision.isr & self.context.live.keys())
        unchecked = self.config.mutant is Mutant.NO_ZNODE_VERSION_CHECK
        expected_version = ANY_VERSION if unchecked else znode_version
        self._took_decision(Action.ELECT_LEADER, key, decision, expected_version, unclean=outside)
        write_state = SetData(
            path=leader_and_isr_path(key),
            data=decision.document(),
            expected_version=expected_version,
        )
        self._deciding.add(key)
        self.outbox.run(self._publish(key, decision, (write_state,)))

    def _elect_outside(
        self, keys: list[TopicPartition], changed: frozenset[BrokerId] | None
    ) -> None:
        """The live brokers have been read after the states of `keys` were (FAIL-002)."""
        self._deciding.difference_update(keys)
        if changed is None:
            self._unread.update(keys)
            return
        if changed:
            self._note_broker_change(changed)
        for key in keys:
            if key in self.context.states and key in self.context.assignments:
                self.elect_leader(key, *self.context.states[key], confirmed=True)
            if key not in self._deciding:
                self._tell(key)
        if changed:
            self.outbox.run(self._reread(self.context.partitions_of(changed)))

    def _publish(
        self, key: TopicPartition, decision: LeaderAndIsr, ops: tuple[Create | SetData, ...]
    ) -> Script:
        """One multi: the fence, then the write. Unless it surely succeeded, read again (ZK-004)."""
        term = self.term
        self.context.begin_decision(key)
        fence = self._fence()
        result = yield from write(*fence, *ops)
        if self.term != term:
            return
        self._deciding.discard(key)
        if isinstance(result, Written):
            self.publish_decision(key, decision, result.versions[-1], result.zxid)
            self._decide(key)
        elif self.config.mutant is Mutant.SEND_UNWRITTEN_DECISIONS and isinstance(result, Rejected):
            last = ops[-1]
            version = last.expected_version + 1 if isinstance(last, SetData) else FIRST_VERSION
            self.publish_decision(key, decision, ZnodeVersion(version), None)
        elif isinstance(result, Rejected) and self._is_deposed(result, len(fence)):
            self.resign_controller()
        elif isinstance(result, Rejected) and result.error is ZkError.NO_NODE:
            self.context.skip(key)
        else:
            if isinstance(result, Rejected) and result.error is ZkError.NODE_EXISTS:
                self._with_folder.add(key)
            yield from self._settle(key, decision)

    def _settle(self, key: TopicPartition, decision: LeaderAndIsr) -> Script:
        """A lost reply or a conflict: what ZooKeeper holds decides (ZK-006, H4)."""
        self.context.leave_undecided(key, decision)
        yield from self._reread([key])

    def publish_decision(
        self,
        key: TopicPartition,
        decision: LeaderAndIsr,
        znode_version: ZnodeVersion,
        zxid: int | None,
    ) -> None:
        """ZooKeeper holds the decision; only now may brokers be told (FAIL-006)."""
        self.context.end_decision(key, decision, znode_version)
        self.outbox.took(
            ActionTaken(
                action=Action.PUBLISH_DECISION,
                topic_partition=key,
                leader=decision.leader,
                leader_epoch=decision.leader_epoch,
                isr=decision.isr,
                controller_epoch=decision.controller_epoch,
                znode_version=znode_version,
                zxid=zxid,
            )
        )
        self._tell(key)

    def _fence(self) -> tuple[Check, ...]:
        """What makes a deposed controller's write fail (ZK-005); the second check is H8."""
        if self.config.level < ProtocolLevel.CONTROLLER_EPOCH:
            return ()
        office = Check(path=CONTROLLER, expected_version=FIRST_VERSION)
        if self.config.mutant is Mutant.NO_CONTROLLER_EPOCH_CHECK:
            return (office,)
        epoch = Check(path=CONTROLLER_EPOCH, expected_version=self.epoch_version)
        if self.config.mutant is Mutant.NO_CONTROLLER_ZNODE_CHECK:
            return (epoch,)
        return (epoch, office)

    def _is_deposed(self, result: Rejected, fence_length: int) -> bool:
        return any(error is not ZkError.ROLLED_BACK for error in result.errors[:fence_length])

    def _took_decision(
        self,
        action: Action,
        key: TopicPartition,
        decision: LeaderAndIsr,
        expected_version: ZnodeVersion,
        *,
        unclean: bool = False,
    ) -> None:
        self.outbox.took(
            ActionTaken(
                action=action,
                topic_partition=key,
                leader=decision.leader,
                leader_epoch=decision.leader_epoch,
                isr=decision.isr,
                controller_epoch=decision.controller_epoch,
                assigned_replicas=self.context.assignments[key],
                expected_version=expected_version,
                is_unclean=unclean or None,
            )
        )

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
        for refused in self.commands.on_answer(broker_id, request_id, response):
            if refused in self.context.states and self.is_active:
                self.context.add_bounced(refused, frozenset({broker_id}))
                self.outbox.run(self._reread([refused]))

    # Time

    def _miss(self, procedure: str) -> bool:
        self._missed.add(procedure)
        self._retry_ms = self.outbox.now_ms + self.config.retry_ms
        return False

    def tick(self) -> None:
        """What failed with the connection begins again; queued commands leave."""
        if not self.is_active:
            return
        if (self._missed or self._unread) and self._retry_ms <= self.outbox.now_ms:
            self._begin_again()
        self.commands.flush(self.controller_epoch)

    def _begin_again(self) -> None:
        missed, self._missed = self._missed, set()
        unread, self._unread = sorted(self._unread), set()
        if not self._is_loaded:
            self.outbox.run(self._fail_over())
            return
        if "brokers" in missed:
            self.on_broker_change()
        if "topics" in missed:
            self.on_topic_change()
        self.outbox.run(self._reread(unread))
