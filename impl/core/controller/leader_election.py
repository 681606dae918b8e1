"""Decisions about partitions: read, decide, publish in ZooKeeper, and only then tell (V3 A, B, D).

Any number of partitions at a time, each on its own: `fenced_writes.py` puts many into one multi and
sorts out whose write was refused. What is decided are the pure functions of `leadership.py`.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_context import ControllerContext
from fencepost.impl.core.controller.controller_generation import FIRST_VERSION, Office
from fencepost.impl.core.controller.fenced_writes import Ended, FencedWrite, FencedWrites
from fencepost.impl.core.rules.leadership import elect_leader, init_leader, is_unclean
from fencepost.impl.core.types.effects import ActionTaken, ReportMalformed
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
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
from fencepost.spec.vocabulary import ANY_VERSION, NO_BROKER, Action, ZnodeVersion
from fencepost.spec.znodes import (
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    leader_and_isr_path,
)

READS_MAX = 1000
"""States that are asked for at once: the node has other things to do in between."""
LATER_MS = 10_000
"""How long the others wait at most when many partitions have lost their leader."""
FIRST_READS_MAX = 4000
"""The same at the begin of a term, when there is little else to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(FencedWrite):
    """The next state of a partition, and how it is written."""

    key: TopicPartition
    state: LeaderAndIsr


class Decisions:
    """At most one decision or reading per partition is under way; what is published is told."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        office: Office,
        writes: FencedWrites,
        tell: Callable[[TopicPartition], None],
        confirm: Callable[[TopicPartition], None],
    ) -> None:
        """`confirm` asks for `decide_confirmed`: the live brokers may be older than the state."""
        self._config = config
        self._outbox = outbox
        self._office = office
        self._writes = writes
        self._tell = tell
        self._confirm = confirm
        self.forget()

    def forget(self) -> None:
        """A new term begins, or none: nothing is known, nothing is under way."""
        self.context = ControllerContext()
        self._busy: set[TopicPartition] = set()
        """Partitions with a write or a re-read under way."""
        self._held: set[TopicPartition] = set()
        """Those of them that the agent writes: it tells nobody who came meanwhile."""
        self._unread: set[TopicPartition] = set()
        """Partitions whose re-read failed with the connection."""
        self._retry_ms = 0
        self._later: set[TopicPartition] = set()
        """Partitions that wait for those without a leader."""
        self._later_ms = 0
        self._with_folder: set[TopicPartition] = set()
        """Partitions whose folder is there although they have no LeaderAndISR."""
        self._made: list[Decision] = []
        """Decided in this step, and not yet submitted."""

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

        Of more than one reading, partitions that nobody can write to come first, and the others
        when the brokers have answered about those.
        """
        keys = list(keys)
        self._unread |= self._held.intersection(keys)
        wanted = [key for key in keys if key not in self._busy]
        if len(wanted) > READS_MAX:
            led = {key for key in wanted if self.context.has_live_leader(key)}
            if 0 < len(led) < len(wanted):
                wanted = [key for key in wanted if key not in led]
                self._later |= led
                self._later_ms = self._outbox.now_ms + LATER_MS
        self._outbox.run(self._reread(wanted))

    def _reread(self, keys: list[TopicPartition]) -> Script:
        term = self._office.term
        self._busy.update(keys)
        for start in range(0, len(keys), READS_MAX):
            chunk = keys[start : start + READS_MAX]
            is_read = yield from self._read(chunk)
            if self._office.term != term:
                return
            self._busy.difference_update(chunk)
            if is_read:
                self.decide_or_tell(chunk)
            else:
                self._unread.update(chunk)
                self._retry_ms = self._outbox.now_ms + self._config.retry_ms

    def read_all(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """The context has the states of all; false when the connection failed or the term ended."""
        for start in range(0, len(keys), FIRST_READS_MAX):
            if not (yield from self._read(keys[start : start + FIRST_READS_MAX])):
                return False
        return True

    def _read(self, keys: list[TopicPartition]) -> Generator[Ask, Answer, bool]:
        """A partition without a znode has no state; a malformed one is reported and skipped."""
        term = self._office.term
        znodes = yield from read(*(leader_and_isr_path(key) for key in keys))
        if self._office.term != term or znodes is None:
            return False
        for key, znode in zip(keys, znodes, strict=True):
            self.report(self.context.learn_state(key, znode))
        return True

    def forget_folders(self, topic: str) -> None:
        """The topic is gone, and what was below it, also of partitions that went before."""
        self._with_folder = {key for key in self._with_folder if key.topic != topic}

    def report(self, error: MalformedZnodeError | None) -> None:
        """The operator hears of a malformed znode (ZK-002)."""
        if error is not None:
            self._outbox.emit(ReportMalformed(path=error.path, reason=str(error)))

    # Deciding

    def decide_or_tell(self, keys: Iterable[TopicPartition]) -> None:
        """A partition that needs no decision is told as it stands; the others once it is made."""
        for key in keys:
            is_settled = self.context.is_settled_as_decided(key)
            if self._config.mutant == "forget_unsettled_decision" and is_settled:
                self._decide(key)
                continue
            if is_settled:
                self.publish_decision(key, *self.context.states[key], None)
            self._decide(key)
            if key not in self._busy:
                self._tell(key)
        self._submit()

    def _decide(self, key: TopicPartition) -> None:
        if key in self._busy or key not in self.context.assignments:
            return
        known = self.context.states.get(key)
        if known is None or self.initialises_again(known[0]):
            self.init_leader(key)
        else:
            self.elect_leader(key, *known)

    def initialises_again(self, state: LeaderAndIsr) -> bool:
        """A mutant's wrong rule: what earlier controllers decided counts for nothing (H9b)."""
        is_older = state.controller_epoch < self._office.controller_epoch
        return is_older and self._config.mutant == "init_is_unconditional"

    def init_leader(self, key: TopicPartition) -> None:
        """A partition without a LeaderAndISR znode gets its first leader, by creation only (H9)."""
        replicas = self.context.assignments[key]
        if self._config.mutant == "last_replica_is_preferred":
            replicas = replicas[::-1]
        live = self.context.live_for(key)
        state = init_leader(replicas, live, self._office.controller_epoch)
        if state is None:
            return
        state = replace(state, topic_id=self.context.topic_id(key.topic))
        path, data = leader_and_isr_path(key), state.document()
        creation = Create(path=path, data=data)
        folder = Create(path=path.rpartition("/")[0], data=b"")
        ops: tuple[WriteOp, ...] = (folder, creation)
        if key in self._with_folder:
            ops = (creation,)
        if key in self.context.states:  # the mutant's way
            version = self.context.states[key][1]
            ops = (SetData(path=path, data=data, expected_version=version),)
        self._made_decision(Action.INIT_LEADER, self._decision(key, state, *ops), ANY_VERSION)

    def decide_confirmed(self, keys: list[TopicPartition], *, is_read: bool) -> None:
        """The live brokers were read after the states of `keys` (FAIL-002), or could not be."""
        self._busy.difference_update(keys)
        if not is_read:
            self._unread.update(keys)
            return
        for key in keys:
            if key in self.context.states and key in self.context.assignments:
                self.elect_leader(key, *self.context.states[key], confirmed=True)
            if key not in self._busy:
                self._tell(key)
        self._submit()

    def elect_leader(
        self,
        key: TopicPartition,
        state: LeaderAndIsr,
        znode_version: ZnodeVersion,
        *,
        confirmed: bool = False,
    ) -> None:
        """A partition whose leader or ISR is not alive gets new ones, if the version stands."""
        if self._config.mutant == "no_election_on_arrival" and state.leader == NO_BROKER:
            return
        elected = elect_leader(
            state,
            self.context.assignments[key],
            self.context.live_for(key),
            self.context.bounced.get(key, frozenset()),
            unclean_leader_election=self._config.unclean_leader_election,
        )
        if elected is None:
            self.context.bounced.pop(key, None)
            return
        if self._config.mutant == "leave_isr_to_leader" and elected.leader == state.leader:
            return
        after = replace(elected, controller_epoch=self._office.controller_epoch)
        outside = is_unclean(state, after)
        on_old_list = self._config.mutant == "unclean_on_old_live_list"
        if outside and not confirmed and not on_old_list:
            self._busy.add(key)
            self._confirm(key)
            return
        if self._config.mutant == "leader_epoch_not_raised":
            after = replace(after, leader_epoch=state.leader_epoch)
        if self._config.mutant == "shrink_on_election_empties_isr":
            after = replace(after, isr=after.isr & self.context.live.keys())
        unchecked = self._config.mutant == "no_znode_version_check"
        expected_version = ANY_VERSION if unchecked else znode_version
        path = leader_and_isr_path(key)
        op = SetData(path=path, data=after.document(), expected_version=expected_version)
        decision = self._decision(key, after, op)
        self._made_decision(Action.ELECT_LEADER, decision, expected_version, unclean=outside)

    def _decision(self, key: TopicPartition, state: LeaderAndIsr, *ops: WriteOp) -> Decision:
        """Written only to the incarnation of the topic that is known (H12)."""
        return Decision(key=key, state=state, ops=(*self.context.id_check(key.topic), *ops))

    def _made_decision(
        self,
        action: Action,
        decision: Decision,
        expected_version: ZnodeVersion,
        *,
        unclean: bool = False,
    ) -> None:
        key, state = decision.key, decision.state
        self._outbox.took(
            ActionTaken(
                action=action,
                topic_partition=key,
                partition_incarnation=self.context.incarnation(key),
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                controller_epoch=state.controller_epoch,
                assigned_replicas=self.context.assignments[key],
                expected_version=expected_version,
                is_unclean=unclean or None,
            )
        )
        self.context.begin_decision(key)
        self._busy.add(key)
        self._made.append(decision)

    # Beside the agent

    def is_busy(self, key: TopicPartition) -> bool:
        """True while a decision about the partition, or a reading of it, is under way."""
        return key in self._busy

    def hold(self, keys: Iterable[TopicPartition]) -> None:
        """Another writes their states; nothing is decided about them before `release`."""
        self._busy.update(keys)
        self._held.update(keys)

    def release(self, keys: Iterable[TopicPartition]) -> None:
        """The other's write is over."""
        self._busy.difference_update(keys)
        self._held.difference_update(keys)

    def decide(self, keys: Iterable[TopicPartition]) -> None:
        """What changed while the partitions were held is decided upon."""
        for key in keys:
            self._decide(key)
        self._submit()

    # Publishing

    def _submit(self) -> None:
        made, self._made = self._made, []
        self._writes.submit(made, self._publish)

    def _publish(self, ended: Ended[Decision]) -> None:
        """What surely succeeded is told; what may have, or met a conflict, is read (ZK-004)."""
        unsettled = []
        for decision, result in ended:
            key = decision.key
            self._busy.discard(key)
            if isinstance(result, Written):
                self.publish_decision(key, decision.state, result.versions[-1], result.zxid)
                self._decide(key)
            elif not self._is_dropped(decision, result):
                self.context.leave_undecided(key, decision.state)
                unsettled.append(key)
        self._submit()
        if unsettled:
            self.reread(unsettled)

    def _is_dropped(self, decision: Decision, result: WriteResult) -> bool:
        """True when nothing more is to be known of it: its topic is gone."""
        if not isinstance(result, Rejected):
            return False
        if self._config.mutant == "send_unwritten_decisions":
            op = decision.ops[-1]
            version = op.expected_version + 1 if isinstance(op, SetData) else FIRST_VERSION
            self.publish_decision(decision.key, decision.state, ZnodeVersion(version), None)
            return True
        if decision.state.topic_id != self.context.topic_id(decision.key.topic):
            return decision.key not in self.context.assignments
        if isinstance(decision.ops[0], Check) and result.errors[0] is ZkError.NO_NODE:
            return True  # the topic's watch will tell
        if result.error is ZkError.NO_NODE:
            self.context.skip(decision.key)
            return True
        if result.error is ZkError.NODE_EXISTS:
            self._with_folder.add(decision.key)
        return False

    def publish_decision(
        self,
        key: TopicPartition,
        state: LeaderAndIsr,
        znode_version: ZnodeVersion,
        zxid: int | None,
    ) -> None:
        """ZooKeeper holds the decision; only now may brokers be told (FAIL-006)."""
        self.context.end_decision(key, state, znode_version, zxid)
        self._outbox.took(
            ActionTaken(
                action=Action.PUBLISH_DECISION,
                topic_partition=key,
                partition_incarnation=self.context.incarnation(key),
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                controller_epoch=state.controller_epoch,
                znode_version=znode_version,
                zxid=zxid,
            )
        )
        self._tell(key)
