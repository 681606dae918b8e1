"""Decisions about partitions: read, decide, publish in ZooKeeper, and only then tell (V3 A, B, D).

Any number of partitions at a time, each on its own: `fenced_writes.py` puts many into one multi and
sorts out which write was refused. The decisions are pure functions, in `rules/controller`.
An election outside the ISR waits until the live brokers have been read once more (FAIL-002): those
that the controller knows may be older than the state that it is about to replace, and tell of an
absence of the ISR that is over (H8c). Many partitions share one reading.
"""

from collections.abc import Generator, Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from msgspec.structs import replace

from fencepost.impl.core.controller.broker_discovery import Changed, read_live_brokers
from fencepost.impl.core.controller.controller_actions import publish_decision
from fencepost.impl.core.controller.controller_generation import FIRST_VERSION, ControllerResources
from fencepost.impl.core.controller.fenced_writes import Ended, FencedWrite
from fencepost.impl.core.rules.controller.leadership import Decided, elect_leader, init_leader
from fencepost.impl.core.types.scripts import Answer, Ask, Script, read
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Rejected,
    SetData,
    WriteOp,
    WriteResult,
    Written,
    ZkError,
)
from fencepost.spec.vocabulary import ANY_VERSION, NO_BROKER, ZnodeVersion
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition, leader_and_isr_path

READS_MAX = 1000
"""States that are asked for at once: the node has other things to do in between."""
LATER_MS = 10_000
"""How long the others wait at most when many partitions have lost their leader."""
FIRST_READS_MAX = 4000
"""The same at the begin of a generation, when there is little else to do."""


class DecisionOutcome(Enum):
    """What becomes of a decision after its write."""

    PUBLISH = "ZooKeeper holds it: the brokers are told (FAIL-006)"
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
        self._busy: set[TopicPartition] = set()
        """Partitions with a write or a re-read under way."""
        self._held: set[TopicPartition] = set()
        """The part of them that a partition change writes: it tells no broker that came since."""
        self._unread: set[TopicPartition] = set()
        """Partitions whose re-read failed with the connection."""
        self._retry_ms = 0
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
        """What could not be read is read again; what waited for others no longer does."""
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

        Of more than one reading, partitions without a live leader come first, and the others when
        the brokers have answered about those.
        """
        keys = list(keys)
        self._unread |= self._held.intersection(keys)
        wanted = [key for key in keys if key not in self._busy]
        if len(wanted) > READS_MAX:
            led = {key for key in wanted if self._context.has_live_leader(key)}
            if 0 < len(led) < len(wanted):
                wanted = [key for key in wanted if key not in led]
                self._later |= led
                self._later_ms = self._outbox.now_ms + LATER_MS
        self._outbox.run(self._reread(wanted))

    def _reread(self, keys: list[TopicPartition]) -> Script:
        self._busy.update(keys)
        for start in range(0, len(keys), READS_MAX):
            chunk = keys[start : start + READS_MAX]
            is_read = yield from self._read(chunk)
            if self._resources.generation.is_over():
                return
            self._busy.difference_update(chunk)
            if is_read:
                self.decide_or_tell(chunk)
            else:
                self._unread.update(chunk)
                self._retry_ms = self._outbox.now_ms + self._config.retry_ms

    def read_all(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """The context has all states; false when the connection or the generation ended."""
        for start in range(0, len(keys), FIRST_READS_MAX):
            if not (yield from self._read(keys[start : start + FIRST_READS_MAX])):
                return False
        return True

    def _read(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """A partition without a znode has no state; a malformed one is reported and skipped."""
        znodes = yield from read(*(leader_and_isr_path(key) for key in keys))
        if self._resources.generation.is_over() or znodes is None:
            return False
        for key, znode in zip(keys, znodes, strict=True):
            self._resources.report(self._context.learn_state(key, znode))
        return True

    # Deciding

    def decide_or_tell(self, keys: Iterable[TopicPartition]) -> None:
        """A partition that needs no decision is told as it stands; the others once it is made."""
        for key in keys:
            is_confirmed = self._context.is_confirmed(key)
            if self._config.mutant == "forget_unsettled_decision" and is_confirmed:
                self._decide(key)
                continue
            if is_confirmed:
                self.publish(key, *self._context.states[key], None)
            self._decide(key)
            if key not in self._busy:
                self._tell(key)
        self._submit()

    def decide(self, keys: Iterable[TopicPartition]) -> None:
        """Decisions about these partitions are made and written where any are due."""
        for key in keys:
            self._decide(key)
        self._submit()

    def _decide(self, key: TopicPartition) -> None:
        if key in self._busy or key not in self._context.assignments:
            return
        known = self._context.states.get(key)
        if known is None or self.initialises_again(known[0]):
            self._init(key)
        else:
            self._elect(key)

    def initialises_again(self, state: LeaderAndIsr) -> bool:
        """A mutant's wrong rule: what earlier controllers decided counts for nothing (H9b)."""
        is_older = state.controller_epoch < self._resources.generation.controller_epoch
        return is_older and self._config.mutant == "init_is_unconditional"

    def _init(self, key: TopicPartition) -> None:
        """A partition without a LeaderAndISR znode gets its first leader, by creation only (H9)."""
        facts = self._context.facts(key)
        if self._config.mutant == "last_replica_is_preferred":
            facts = replace(facts, assigned_replicas=facts.assigned_replicas[::-1])
        decided = init_leader(facts, self._resources.generation.controller_epoch)
        if decided is None:
            return
        if self._config.mutant == "last_replica_is_preferred":
            right = replace(decided[1], assigned_replicas=facts.assigned_replicas[::-1])
            decided = decided[0], right
        path, data = leader_and_isr_path(key), decided[0].document()
        creation = Create(path=path, data=data)
        folder = Create(path=path.rpartition("/")[0], data=b"")
        ops: tuple[WriteOp, ...] = (folder, creation)
        if key in self._context.with_folder:
            ops = (creation,)
        if key in self._context.states:  # the mutant's way
            version = self._context.states[key][1]
            ops = (SetData(path=path, data=data, expected_version=version),)
        self._take(key, decided, *ops)

    def _elect(self, key: TopicPartition, *, confirmed: bool = False) -> None:
        """A partition whose leader or ISR is not alive gets new ones, if the version stands."""
        facts = self._context.facts(key)
        state = facts.state
        assert state is not None
        if self._config.mutant == "no_election_on_arrival" and state.leader == NO_BROKER:
            return
        if self._config.mutant == "no_znode_version_check":
            facts = replace(facts, znode_version=ANY_VERSION)
        decided = elect_leader(
            facts,
            self._resources.generation.controller_epoch,
            unclean_leader_election=self._config.unclean_leader_election,
        )
        if decided is None:
            self._context.bounced.pop(key, None)
            return
        after, taken = decided
        if self._config.mutant == "leave_isr_to_leader" and after.leader == state.leader:
            return
        on_old_list = self._config.mutant == "unclean_on_old_live_list"
        if taken.is_unclean and not confirmed and not on_old_list:
            self._busy.add(key)
            self._unconfirmed.add(key)
            self._confirm_live_brokers()
            return
        if self._config.mutant == "leader_epoch_not_raised":
            after = replace(after, leader_epoch=state.leader_epoch)
        if self._config.mutant == "shrink_on_election_empties_isr":
            after = replace(after, isr=after.isr & self._context.live.keys())
        taken = replace(taken, leader_epoch=after.leader_epoch, isr=after.isr)
        path = leader_and_isr_path(key)
        data = after.document()
        op = SetData(path=path, data=data, expected_version=facts.znode_version)
        self._take(key, (after, taken), op)

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
                if key in self._context.states and key in self._context.assignments:
                    self._elect(key, confirmed=True)
                if key not in self._busy:
                    self._tell(key)
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
        """A partition change writes their states; nothing is decided about them until `release`."""
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
            match self._outcome(decision, result):
                case DecisionOutcome.PUBLISH:
                    assert isinstance(result, Written)
                    self.publish(key, decision.state, result.versions[-1], result.zxid)
                    self._decide(key)
                    continue
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
        if isinstance(result, Written):
            return DecisionOutcome.PUBLISH
        if not isinstance(result, Rejected):
            return DecisionOutcome.READ_AGAIN
        if self._config.mutant == "send_unwritten_decisions":
            op = decision.ops[-1]
            version = op.expected_version + 1 if isinstance(op, SetData) else FIRST_VERSION
            self.publish(decision.key, decision.state, ZnodeVersion(version), None)
            return DecisionOutcome.DROP
        if decision.state.topic_id != self._context.topic_id(decision.key.topic):
            is_managed = decision.key in self._context.assignments
            return DecisionOutcome.READ_AGAIN if is_managed else DecisionOutcome.DROP
        if isinstance(decision.ops[0], Check) and result.errors[0] is ZkError.NO_NODE:
            return DecisionOutcome.DROP
        return REFUSALS.get(result.error, DecisionOutcome.READ_AGAIN)

    def publish(
        self,
        key: TopicPartition,
        state: LeaderAndIsr,
        znode_version: ZnodeVersion,
        zxid: int | None,
    ) -> None:
        """ZooKeeper holds the decision; only now may brokers be told (FAIL-006)."""
        self._context.end_decision(key, state, znode_version, zxid)
        incarnation = self._context.incarnation(key)
        self._outbox.took(publish_decision(key, incarnation, state, znode_version, zxid))
        self._tell(key)

    def _tell(self, key: TopicPartition) -> None:
        self._resources.channel.tell(self._context, key)
