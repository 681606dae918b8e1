"""Decisions about partitions: read, decide, publish in ZooKeeper, and only then tell (V3 A, B, D).

Any number of partitions at a time, each on its own: `fenced_writes.py` puts many into one multi and
sorts out which write was refused. The decisions are pure functions, in `rules/controller`.
An election outside the ISR waits until the live brokers have been read once more (FAIL-002): those
that the controller knows may be older than the state that it is about to replace, and tell of an
absence of the ISR that is over (H8c). Many partitions share one reading.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from fencepost.impl.core.controller.broker_discovery import Changed, read_live_brokers
from fencepost.impl.core.controller.controller_generation import ControllerResources
from fencepost.impl.core.controller.fenced_writes import Ended, FencedWrite
from fencepost.impl.core.rules.controller.leadership import Decided
from fencepost.impl.core.rules.controller.publication import AfterReading
from fencepost.impl.core.rules.tables import PartitionEvent, PartitionStage, PartitionStep
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.scripts import Answer, Ask, Script, read
from fencepost.impl.core.types.zookeeper import (
    Check,
    Rejected,
    SetData,
    WriteOp,
    WriteResult,
    ZkError,
)
from fencepost.spec.vocabulary import ZnodeVersion
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition, leader_and_isr_path

LATER_MS = 10_000
"""How long partitions with a leader wait at most when many have lost theirs."""
FIRST_READS = 4
"""So many times as many states are asked for at once at the begin of a generation, when there is
little else to do."""


class DecisionOutcome(Enum):
    """What becomes of a decision of which it is not sure that ZooKeeper holds it."""

    READ_AGAIN = "the state in ZooKeeper will tell what holds (ZK-004, ZK-006)"
    DROP = "the topic is gone, or another one: its watch will tell (TOP-003)"
    SKIP = "the topic stands and the partition's folder is gone: not managed (ZK-002)"
    READ_FOLDER = "the folder is there already: created without it the next time (H9)"


REFUSALS: Mapping[ZkError, DecisionOutcome] = {
    # why ZooKeeper refused -> what becomes of the decision; other errors: READ_AGAIN
    ZkError.NO_NODE: DecisionOutcome.SKIP,
    ZkError.NODE_EXISTS: DecisionOutcome.READ_FOLDER,
    ZkError.BAD_VERSION: DecisionOutcome.READ_AGAIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(FencedWrite):
    """The next state of a partition, and how it is written."""

    key: TopicPartition
    state: LeaderAndIsr


@dataclass(frozen=True, slots=True)
class LiveBrokersRead:
    """The live brokers were read after the states of these partitions were."""

    keys: list[TopicPartition]
    changed: Changed
    """None when they could not be read."""


class LeaderElections:
    """At most one decision or reading per partition is under way; what is published is told."""

    def __init__(self, resources: ControllerResources) -> None:
        self._resources = resources
        self._config = resources.config
        self._outbox = resources.outbox
        self._context = resources.context
        self._channel = resources.channel
        self._controller_epoch = resources.generation.controller_epoch
        self._busy: set[TopicPartition] = set()
        """Partitions with a write or a re-read under way."""
        self._held: set[TopicPartition] = set()
        """The part of them that a partition change writes: it tells no broker that came since."""
        self._unread: set[TopicPartition] = set()
        """Partitions with a re-read that failed with the connection."""
        self._retry_ms = 0
        self._unlearnt: set[TopicPartition] = set()
        """Partitions with an ISR that their leader has changed."""
        self._learning: set[TopicPartition] = set()
        """Partitions with a reading under way that changes nothing for their brokers."""
        self._later: set[TopicPartition] = set()
        """Partitions that wait for those without a leader."""
        self._later_ms = 0
        self._made: list[Decision] = []
        """Decided in this step, and not yet submitted."""
        self._unconfirmed: set[TopicPartition] = set()
        """Partitions that wait for a reading of the live brokers newer than their state."""
        self.is_confirming = False
        """True while the live brokers are read for them."""
        self._brokers_read: LiveBrokersRead | None = None

    def tick(self, *, all_told: bool) -> None:
        """What could not be read is read again; what waited for leaders is too."""
        self._learn()
        is_free = all_told and not self._busy
        if self._later and (is_free or self._later_ms <= self._outbox.now_ms):
            later, self._later = sorted(self._later), set()
            self.reread(later)
        if self._unread and self._retry_ms <= self._outbox.now_ms:
            unread, self._unread = sorted(self._unread), set()
            self.reread(unread)

    # Reading

    def reread(self, keys: Iterable[TopicPartition]) -> None:
        """ZooKeeper's state will be read anew, sent on (H4), and decided upon (V3 A.3.1).

        Of more than one reading, partitions without a live leader come first, and the rest when
        the brokers have answered about those.
        """
        keys = list(keys)
        self._learning.difference_update(keys)
        self._unread |= self._held.intersection(keys)
        wanted = [key for key in keys if key not in self._busy]
        if len(wanted) > self._config.reads_max:
            first = [key for key in wanted if not self._context.has_live_leader(key)]
            if first:
                self._later |= {*wanted} - {*first}
                self._later_ms = self._outbox.now_ms + LATER_MS
                wanted = first
        self._begin(wanted)

    def learn(self, keys: Iterable[TopicPartition]) -> None:
        """As `reread`, of states that need not be told to their brokers as roles."""
        self._unlearnt.update(keys)
        self._learn()

    def _learn(self) -> None:
        if not self._unlearnt:
            return
        free = sorted(self._unlearnt - self._busy)
        self._unlearnt.difference_update(free)
        known = [key for key in free if key in self._context.assignments]
        self._learning.update(known)
        self._begin(known)

    def _begin(self, keys: list[TopicPartition]) -> None:
        if keys:
            self._outbox.run(self._reread(keys))

    def _reread(self, keys: list[TopicPartition]) -> Script:
        assert self._busy.isdisjoint(keys), "at most one write or reading of a partition"
        self._busy.update(keys)
        for chunk in _chunks(keys, self._config.reads_max):
            is_read = yield from self._read(chunk)
            if self._resources.generation.is_over():
                return
            self._busy.difference_update(chunk)
            if is_read:
                self._on_states_read(chunk)
            else:
                self._unread.update(chunk)
                self._retry_ms = self._config.retry_at_ms(self._outbox.now_ms)

    def read_all(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """The context has all states; false when the connection or the generation ended."""
        for chunk in _chunks(keys, FIRST_READS * self._config.reads_max):
            if not (yield from self._read(chunk)):
                return False
        return True

    def _read(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """A partition without a znode has no state; a malformed one is reported and skipped."""
        znodes = yield from read(*(leader_and_isr_path(key) for key in keys))
        if znodes is None:
            return False
        for key, znode in zip(keys, znodes, strict=True):
            self._resources.report(self._context.learn_state(key, znode))
        return True

    # Deciding

    def _on_states_read(self, keys: Iterable[TopicPartition]) -> None:
        """A partition that needs no decision is told as it stands; the others once it is made."""
        for key in keys:
            undecided, state = self._context.take_undecided(key), self._context.state(key)
            after = self._config.rules.after_reading(undecided, state)
            if after is AfterReading.PUBLISH:
                self.publish_decision(key, *self._context.states[key], None)
            self._decide(key)
            if after is not AfterReading.DECIDE_ONLY and key not in self._learning:
                self.tell((key,))
            self._learning.discard(key)
        self._submit()

    def tell(self, keys: Iterable[TopicPartition]) -> None:
        """The brokers are told the states of partitions about which no decision is under way."""
        for key in keys:
            if key not in self._busy:
                self._channel.tell(self._context, key)
            else:
                self._learning.discard(key)

    def decide(self, keys: Iterable[TopicPartition]) -> None:
        """Decisions about these partitions are made and written where any are due."""
        for key in keys:
            self._decide(key)
        self._submit()

    def _decide(self, key: TopicPartition) -> None:
        if key not in self._context.assignments:
            return
        rules, state = self._config.rules, self._context.state(key)
        is_new = rules.is_uninitialised(state, self._controller_epoch)
        stage = PartitionStage.NEW if is_new else PartitionStage.UNSETTLED
        step = rules.partitions[stage, PartitionEvent.BROKERS_CHANGED]
        if step is PartitionStep.INIT_LEADER:
            self._init(key)
        else:
            self._elect(key)

    def _init(self, key: TopicPartition) -> None:
        """A partition without a LeaderAndISR znode gets its first leader."""
        facts = self._context.facts(key)
        decided = self._config.rules.init_leader(facts, self._controller_epoch)
        if decided is not None:
            decided = self._named(decided)
            ops = self._config.rules.first_state_operations(facts, decided[0])
            self._take(key, decided, *ops)

    def _elect(self, key: TopicPartition, *, confirmed: bool = False) -> None:
        """A partition without a live leader or ISR gets new ones, if the version stands."""
        is_allowed = self._config.unclean_leader_election
        facts = self._context.facts(key, unclean_leader_election=is_allowed, is_confirmed=confirmed)
        decided = self._config.rules.elect_leader(facts, self._controller_epoch)
        if decided is None:
            self._context.bounced.pop(key, None)
            return
        if self._config.rules.needs_newer_brokers(facts, decided):
            self._busy.add(key)
            self._unconfirmed.add(key)
            self._confirm_live_brokers()
            return
        state, taken = self._named(decided)
        assert taken.expected_version is not None
        op = SetData(
            path=leader_and_isr_path(key),
            data=state.document(),
            expected_version=taken.expected_version,
        )
        self._take(key, (state, taken), op)

    def _named(self, decided: Decided) -> Decided:
        """The decision names incarnations, where the level has it so."""
        state, taken = decided
        return self._config.rules.with_incarnations(state, self._context.live), taken

    def _take(self, key: TopicPartition, decided: Decided, *ops: WriteOp) -> None:
        """The decision will be written, only to the known incarnation of the topic (H12)."""
        state, taken = decided
        self._outbox.took(taken)
        self._context.begin_decision(key)
        self._busy.add(key)
        ops = (*self._context.id_check(key.topic), *ops)
        self._made.append(Decision(key=key, state=state, ops=ops))

    # Elections outside the ISR

    def _confirm_live_brokers(self) -> None:
        if not self.is_confirming:
            self.is_confirming = True
            self._outbox.run(self._read_live_brokers())

    def _read_live_brokers(self) -> Script:
        keys, self._unconfirmed = sorted(self._unconfirmed), set()
        changed = yield from read_live_brokers(self._resources)
        if not self._resources.generation.is_over():
            self._brokers_read = LiveBrokersRead(keys, changed)

    def take_brokers_read(self) -> LiveBrokersRead | None:
        """Once per reading: the partitions for which `decide_confirmed` is due."""
        brokers_read, self._brokers_read = self._brokers_read, None
        return brokers_read

    def decide_confirmed(self, brokers_read: LiveBrokersRead) -> None:
        """Elections outside the ISR are decided on live brokers newer than the state (FAIL-002)."""
        keys = brokers_read.keys
        self._busy.difference_update(keys)
        if brokers_read.changed is None:
            self._unread.update(keys)
        else:
            for key in keys:
                if key in self._context.assignments:
                    self._elect(key, confirmed=True)
                self.tell((key,))
            self._submit()
            self.reread(self._context.partitions_of(brokers_read.changed))
        self.is_confirming = False
        if self._unconfirmed:
            self._confirm_live_brokers()

    # Beside partition changes

    @property
    def busy(self) -> AbstractSet[TopicPartition]:
        """Partitions with a decision or a reading under way."""
        return self._busy

    def hold(self, keys: Iterable[TopicPartition]) -> None:
        """A partition change writes their states; nothing is decided about them until `release`.

        Nor is anything under way: what ends would free them for others before that.
        """
        assert self._busy.isdisjoint(keys), "at most one write or reading of a partition"
        self._busy.update(keys)
        self._held.update(keys)

    def release(self, keys: Iterable[TopicPartition]) -> None:
        """The write of the partition change is over."""
        self._busy.difference_update(keys)
        self._held.difference_update(keys)

    # Publishing

    def _submit(self) -> None:
        made, self._made = self._made, []
        self._resources.writes.submit(made, self._publish)

    def _publish(self, ended: Ended[Decision]) -> None:
        """What surely succeeded is told; what may have, or met a conflict, is read (ZK-004)."""
        undecided = []
        for decision, result in ended:
            key = decision.key
            self._busy.discard(key)
            published = self._config.rules.published_as(decision.ops[-1], result)
            if published is not None:
                self.publish_decision(key, decision.state, *published)
                self._decide(key)
                continue
            match self._outcome(decision, result):
                case DecisionOutcome.DROP:
                    continue
                case DecisionOutcome.SKIP:
                    self._context.skip(key)
                    continue
                case DecisionOutcome.READ_FOLDER:
                    self._context.with_folder.add(key)
                case DecisionOutcome.READ_AGAIN:
                    pass
            self._context.leave_undecided(key, decision.state)
            undecided.append(key)
        self._submit()
        if undecided:
            self.reread(undecided)

    def _outcome(self, decision: Decision, result: WriteResult) -> DecisionOutcome:
        if not isinstance(result, Rejected):
            return DecisionOutcome.READ_AGAIN
        if decision.state.topic_id != self._context.topic_id(decision.key.topic):
            is_managed = decision.key in self._context.assignments
            return DecisionOutcome.READ_AGAIN if is_managed else DecisionOutcome.DROP
        if isinstance(decision.ops[0], Check) and result.errors[0] is ZkError.NO_NODE:
            return DecisionOutcome.DROP
        return REFUSALS.get(result.error, DecisionOutcome.READ_AGAIN)

    @action
    def publish_decision(
        self,
        key: TopicPartition,
        state: LeaderAndIsr,
        znode_version: ZnodeVersion,
        zxid: int | None,
    ) -> None:
        """ZooKeeper holds the decision; only now may brokers be told (FAIL-006)."""
        self._context.end_decision(key, state, znode_version, zxid)
        line = taken(
            self.publish_decision,
            state,
            topic_partition=key,
            partition_incarnation=self._context.incarnation(key),
            znode_version=znode_version,
            zxid=zxid,
        )
        self._outbox.took(line)
        self._channel.tell(self._context, key)


def _chunks(keys: list[TopicPartition], size: int) -> Iterator[list[TopicPartition]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))
