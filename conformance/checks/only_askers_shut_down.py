"""`OnlyAskersShutDown`: a broker that is let go, or left out, has asked to end (BEP-005).

Judged by the lines of each controller in their own order, which tell what registrations it knows
(`DetectBrokerChange`), which of them it lets end (`ObeyShutdown`) and what it decides, and by
ZooKeeper's own record of the states that it decided upon. From level 3 on these name incarnations.

- A consent names the present registration, as the controller knows it: an earlier one is over, and
  the request is a late copy.
- From the consent on, no election names the broker leader or member while another member of the ISR
  could lead: its leaderships have moved before it goes.
- Where an election has left it out after a consent, its leader does not let it in again (KIP-841).
- No election takes another out of the ISR that the controller knows to be the incarnation that
  joined. Left out of this are brokers that report a failed log, or refuse what they are told, and
  those that this controller saw come before its last decision about the partition.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import broker_named, order, partition_of_event
from fencepost.conformance.checks.znode_history import LeaderAndIsrWrite, leader_and_isr_writes
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import (
    NO_BROKER,
    Action,
    BrokerId,
    ErrorCode,
    Invariant,
    RefusalKind,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

_DECIDED = frozenset({Action.INIT_LEADER, Action.ELECT_LEADER, Action.PUBLISH_DECISION})
_TOLD = _DECIDED | {Action.ELECT_CONTROLLER, Action.DETECT_BROKER_CHANGE, Action.OBEY_SHUTDOWN}
JUDGED = _TOLD | {RefusalKind.REFUSE_COMMAND, "LogFailed"}
"""Lines of controllers, and those of brokers that do not serve a partition."""
_UNABLE = frozenset({ErrorCode.REPLICA_NOT_AVAILABLE.value, ErrorCode.STORAGE_ERROR.value})
_Registrations = Mapping[int, int]
"""Broker -> the epoch under which it is registered."""
_ElectionKey = tuple[TopicPartition | None, int | None, int | None]
"""Partition, controller epoch, and the znode version that was expected."""
_Left = dict[tuple[int | None, TopicPartition, int], TraceEvent]
"""Zxid, partition and member -> the consent after which the write leaves the member out."""


@dataclass(frozen=True, slots=True)
class _Election:
    """A write of a new leader epoch."""

    before: LeaderAndIsr
    after: LeaderAndIsr
    write: LeaderAndIsrWrite


@dataclass(slots=True)
class _Generation:
    """What a controller knows, from its election on."""

    live: _Registrations = field(default_factory=dict)
    consents: dict[tuple[int, int], TraceEvent] = field(default_factory=dict)
    """By the broker and its epoch."""
    steady: dict[TopicPartition | None, _Registrations] = field(default_factory=dict)
    """What it knew at its last decision that was published; None: at first."""
    decided: dict[TopicPartition | None, _Registrations] = field(default_factory=dict)
    """At the last one, published or not."""

    def learn(self, event: TraceEvent) -> None:
        """Take in a line about brokers, or about a decision."""
        partition = partition_of_event(event)
        if event.action == Action.DETECT_BROKER_CHANGE:
            self.live = dict(zip(event.live_brokers or (), event.broker_epochs or (), strict=False))
            self.steady.setdefault(None, self.live)
        elif event.action == Action.PUBLISH_DECISION:
            self.steady[partition] = self.decided.get(partition, {})
        elif event.action in _DECIDED:
            self.decided[partition] = self.live

    def is_live(self, state: LeaderAndIsr, member: int) -> bool:
        """The member is registered as the incarnation that joined."""
        return self.live.get(member) == state.isr_broker_epochs.get(BrokerId(member), 0)

    def consent(self, member: int) -> TraceEvent | None:
        """That to its present registration."""
        return self.consents.get((member, self.live.get(member, 0)))

    def is_steady(self, partition: TopicPartition | None, member: int) -> bool:
        """It was known as it is before the last decision."""
        known = self.steady.get(partition, self.steady.get(None, {}))
        return known.get(member) == self.live.get(member)


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts consents, and elections among known incarnations."""
    evidence = Evidence(invariant=Invariant.ONLY_ASKERS_SHUT_DOWN)
    writes = leader_and_isr_writes(events)
    elections = _elections(writes)
    left: _Left = {}
    unable = {
        (event.broker_id, partition_of_event(event))
        for event in events
        if event.action == "LogFailed" or event.error_code in _UNABLE
    }
    for generation, event in _told(events):
        if event.action == Action.OBEY_SHUTDOWN:
            _judge_consent(generation, event, evidence)
        elif event.action == Action.ELECT_LEADER:
            partition = partition_of_event(event)
            key = partition, event.controller_epoch, event.expected_version
            election = elections.get(key)
            if election is not None:
                able = {one for one in election.before.isr if (one, partition) not in unable}
                _judge_election(generation, event, election, able, evidence)
                left |= _left_by(generation, election)
    _judge_returns(writes, left, evidence)
    return evidence.result()


def _told(events: Iterable[TraceEvent]) -> Iterator[tuple[_Generation, TraceEvent]]:
    """The lines of controllers, each with what is known before it."""
    generations: dict[tuple[str, int], _Generation] = defaultdict(_Generation)
    for event in order(events):
        start = event.node, event.incarnation
        if event.action == Action.ELECT_CONTROLLER:
            generations[start] = _Generation()
        yield generations[start], event
        generations[start].learn(event)


def _elections(writes: Iterable[LeaderAndIsrWrite]) -> Mapping[_ElectionKey, _Election]:
    """Those that are told apart; topics of one name may follow each other."""
    found: dict[_ElectionKey, list[_Election]] = {}
    for write in writes:
        before, after = write.before, write.after
        if before is not None and after is not None and before.leader_epoch < after.leader_epoch:
            key = write.partition, after.controller_epoch, (write.event.znode_version or 0) - 1
            found.setdefault(key, []).append(_Election(before, after, write))
    return {key: writes[0] for key, writes in found.items() if len(writes) == 1}


def _judge_consent(generation: _Generation, event: TraceEvent, evidence: Evidence) -> None:
    if not generation.live:
        return
    evidence.premise_count += 1
    broker_id, epoch = broker_named(event.peer or "") or 0, event.broker_epoch or 0
    known = generation.live.get(broker_id)
    if known != epoch:
        evidence.violated(
            f"Controller {event.broker_id} lets broker {broker_id} go by a request of its"
            f" registration {epoch}, and knows it {f'as {known}' if known else 'to be gone'}.",
            event,
        )
    generation.consents[broker_id, epoch] = event


def _judge_election(
    generation: _Generation,
    event: TraceEvent,
    election: _Election,
    able: AbstractSet[BrokerId],
    evidence: Evidence,
) -> None:
    """`able` are the members before that can serve the partition."""
    before, after, write = election.before, election.after, election.write
    partition, assigned = write.partition, event.assigned_replicas or ()
    if after.leader == NO_BROKER or event.is_unclean or event.is_loss_possible:
        return
    staying = [
        member
        for member in sorted(able & {*assigned})
        if generation.is_live(before, member) and generation.consent(member) is None
    ]
    evidence.premise_count += bool(staying)
    where = f"{partition} at zxid {write.event.zxid}"
    for member in staying:
        if member not in after.isr and generation.is_steady(partition, member):
            epoch = generation.live[member]
            message = f"{where}: broker {member}, registered as {epoch}, is left out of the ISR."
            evidence.violated(message, event, write.before_event, write.event)
    for member in sorted(after.isr) if staying else ():
        consent = generation.consent(member)
        if consent is not None:
            message = f"{where}: broker {member} was let go, and stays while {staying} could lead."
            evidence.violated(message, consent, event, write.event)


def _left_by(generation: _Generation, election: _Election) -> _Left:
    """The members that were let go, and that the election leaves out."""
    before, after, write = election.before, election.after, election.write
    gone = {one: generation.consent(one) for one in before.isr - after.isr}
    zxid, partition = write.event.zxid, write.partition
    return {(zxid, partition, one): consent for one, consent in gone.items() if consent is not None}


def _judge_returns(writes: Iterable[LeaderAndIsrWrite], left: _Left, evidence: Evidence) -> None:
    """Until another election, none of these comes back under the same registration."""
    out: dict[tuple[TopicPartition, int], TraceEvent] = {}
    for write in writes:
        partition, before, after = write.partition, write.before, write.after
        if before is None or after is None or before.leader_epoch < after.leader_epoch:
            out = {key: consent for key, consent in out.items() if key[0] != partition}
        if before is None or after is None:
            continue
        for member in sorted(before.isr - after.isr):
            if (write.event.zxid, partition, member) in left:
                out[partition, member] = left[write.event.zxid, partition, member]
        for member in sorted(after.isr - before.isr):
            consent = out.get((partition, member))
            joined = after.isr_broker_epochs.get(BrokerId(member))
            if consent is not None and joined == consent.broker_epoch:
                where = f"{partition} at zxid {write.event.zxid}"
                message = f"{where}: broker {member} was let go, and is in the ISR again."
                evidence.violated(message, consent, write.before_event, write.event)
