"""`OnlyAuthorisedWrites`: only authors that may write LeaderAndISR do (ZK-003, 005; FAIL-001, 004).

Judged in the order of ZooKeeper's transactions. The author is the broker of the session that wrote.

- The author is the controller of the current controller epoch (level 0: the owner of
  `/controller`), or the leader that the document before names.
- A leader that is not the controller changes the ISR and nothing else, and stays in it; it signs
  with the epoch of the controller that it obeys, which never falls.
- A decision of the controller raises the leader epoch by exactly 1 and carries its controller
  epoch; only the controller creates the znode, and it names the first replica that is in the ISR,
  in the order of an assignment that the topic has had (ZK-008).
- The leader that it names is from the ISR before, and so is the whole new ISR: an election outside
  it may lose records. One that is decided as such (`is_unclean`) makes its leader the whole ISR; no
  member of the ISR before has been registered since that was written (FAIL-002), except those
  with a log that failed at any time: they cannot lead (START-006). No other one says so.
- One that says that its leader was away, and so may have lost records (`is_loss_possible`), makes
  that the whole ISR; no member of the ISR before has been registered since before that was
  decided, except one that started and read that very state first: it obeys nothing of its epoch
  (START-002).

A broker claims producer ids that no other has (`producer_id_blocks`, CLI-005).

Where the controller writes what leaders ask for (`TraceDialect`), it may change the ISR as well, to
one that has the leader, under the epochs that are there; and where the same transaction assigns the
partition anew, that may end a reassignment, with a leader from the ISR asked for. Where a partition
without a leader may have an empty ISR, the leaders that are eligible beside the ISR count like its
members, and where there is neither, the last ISR does.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import is_flagged, may_have_lost
from fencepost.conformance.checks.ordering import broker_of, by_zxid, partition_of_event
from fencepost.conformance.checks.producer_id_blocks import overlapping_blocks
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.checks.znode_history import (
    LeaderAndIsrWrite,
    assignment_of,
    brokers_by_session,
    leader_and_isr_writes,
    read_document,
    registrations,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action, BrokerId, Invariant, Outcome
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

_Decision = tuple[TopicPartition | None, int | None, int | None, int | None]
"""Partition, controller epoch, leader epoch and leader."""
_Decisions = Mapping[_Decision, AbstractSet[int]]
"""Of which incarnations of the partition it was; 0 where that is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What the run tells beside the writes."""

    sessions: Mapping[int, int]
    strangers: AbstractSet[int | None]
    """Sessions that own up to their writes: where no broker does, a harness."""
    unclean: _Decisions
    lossy: _Decisions
    """Those that say that records may be lost with a member of the ISR that was away."""
    begun: Mapping[tuple[TopicPartition, int], int]
    """Leader epoch of a partition -> the zxid of the state on which it was decided."""
    registered: Mapping[int, Sequence[tuple[int, int]]]
    """Broker -> the first and the last zxid of each of its registrations."""
    restarted: AbstractSet[tuple[int | None, TopicPartition | None, int]]
    """Brokers, partitions, and the leader epoch that is the first one they read after a restart."""
    failed: AbstractSet[tuple[int | None, TopicPartition | None]]
    """Brokers, and partitions with a log that failed there."""
    assigned: Mapping[TopicPartition, Sequence[tuple[int, Sequence[int]]]]
    """Partition -> since which zxid, to which replicas, the preferred one first."""
    dialect: TraceDialect


def check(events: Sequence[TraceEvent], dialect: TraceDialect = SPEC) -> CheckResult:
    """Judge a whole run; the premise counts writes that took effect."""
    evidence = Evidence(invariant=Invariant.ONLY_AUTHORISED_WRITES)
    world = _World(
        sessions=brokers_by_session(events),
        strangers={event.session_id for event in events if _is_success(event)},
        unclean=_decisions(event for event in events if is_flagged(event)),
        lossy=_decisions(event for event in events if may_have_lost(event)),
        begun=_begun(leader_and_isr_writes(events)),
        registered=registrations(events),
        restarted=frozenset(_restarted(events)),
        failed={(e.broker_id, partition_of_event(e)) for e in events if e.action == "LogFailed"},
        assigned=_assignments(events),
        dialect=dialect,
    )
    writes = leader_and_isr_writes(events)
    evidence.premise_count = len(writes)
    if not writes and any(_is_success(event) for event in events):
        evidence.doubt("ZooKeeper's own record of the run is missing: no author can be named.")
    for write in writes if dialect.keeps_last_isr else map(_with_eligible, writes):
        fault = _fault(write, world)
        if fault is not None:
            where = f"{write.partition} at zxid {write.event.zxid}"
            evidence.violated(f"{where}: {fault}.", write.before_event, write.event)
    for (first, block), (second, claimed) in overlapping_blocks(events):
        ids = f"Producer ids from {claimed.block_start} on were claimed"
        evidence.violated(f"{ids}, and those up to {block.block_end} were before.", first, second)
    return evidence.result()


def _with_eligible(write: LeaderAndIsrWrite) -> LeaderAndIsrWrite:
    if write.before is None:
        return write
    before = replace(write.before, isr=frozenset(map(BrokerId, write.eligible)))
    return dataclasses.replace(write, before=before)


def _is_success(event: TraceEvent) -> bool:
    return event.action == "WriteLeaderAndIsr" and event.outcome is Outcome.OK


def _decision(event: TraceEvent) -> _Decision:
    key = partition_of_event(event)
    return key, event.controller_epoch, event.leader_epoch, event.leader


def _decisions(events: Iterable[TraceEvent]) -> _Decisions:
    found: dict[_Decision, set[int]] = {}
    for event in events:
        found.setdefault(_decision(event), set()).add(event.partition_incarnation or 0)
    return found


def _says_so(told: _Decisions, write: LeaderAndIsrWrite, after: LeaderAndIsr) -> bool:
    decision = (write.partition, after.controller_epoch, after.leader_epoch, after.leader)
    of = told.get(decision, frozenset[int]())
    return bool(of) and (not write.incarnation or not of.isdisjoint({0, write.incarnation}))


def _fault(write: LeaderAndIsrWrite, world: _World) -> str | None:
    """Why the write was not allowed, as the end of a sentence; None when it was."""
    session = write.event.session_id
    author = world.sessions.get(session or 0)
    if write.after is None:
        return "the document is malformed"
    if author is None and session in world.strangers and write.before == write.after:
        return None
    if author is None:
        return f"session {session} belongs to no broker"
    if write.after.leader not in {NO_BROKER, *write.after.isr}:
        return f"leader {write.after.leader} is not in ISR {sorted(write.after.isr)}"
    if write.before is not None and not write.after.eligible <= write.before.isr:
        return f"{sorted(write.after.eligible)} became eligible, of {sorted(write.before.isr)}"
    if _is_leaders_change(write.before, write.after, author):
        return None
    if session == write.reign.session_id:
        if world.dialect.controller_changes_isr and _is_isr_change(write.before, write.after):
            return None
        return _decision_fault(write, write.after, world)
    if write.before is not None and write.before.leader == author:
        return f"leader {author} changed more than the ISR"
    return f"broker {author} was neither the controller nor the leader"


def _assignments(
    events: Sequence[TraceEvent],
) -> dict[TopicPartition, list[tuple[int, Sequence[int]]]]:
    assigned: dict[TopicPartition, list[tuple[int, Sequence[int]]]] = {}
    for event in by_zxid(events):
        topic = (event.path or "").rpartition("/")[2]
        for partition, replicas in (assignment_of(event) or {}).items():
            key = TopicPartition(topic, partition)
            assigned.setdefault(key, []).append((event.zxid or 0, replicas))
    return assigned


def _first_leader_fault(write: LeaderAndIsrWrite, after: LeaderAndIsr, world: _World) -> str | None:
    """The controller may have read any assignment up to its write."""
    until = write.event.zxid or 0
    known = [r for since, r in world.assigned.get(write.partition, ()) if since <= until]
    firsts = {next((b for b in replicas if b in after.isr), NO_BROKER) for replicas in known}
    if not firsts or after.leader in firsts:
        return None
    return f"{after.leader} leads first, and {sorted(firsts)} comes first of those assigned"


def _is_leaders_change(before: LeaderAndIsr | None, after: LeaderAndIsr, author: int) -> bool:
    """True when the leader that `before` names changed its ISR and nothing else."""
    return before is not None and before.leader == author and _is_isr_change(before, after)


def _is_isr_change(before: LeaderAndIsr | None, after: LeaderAndIsr) -> bool:
    """True when nothing but the ISR is new, and perhaps the epoch of the controller."""
    if before is None or after.controller_epoch < before.controller_epoch:
        return False
    own = ("isr", "isr_broker_epochs", "eligible", "controller_epoch")
    return replace(before, **{name: getattr(after, name) for name in own}) == after


def _decision_fault(write: LeaderAndIsrWrite, after: LeaderAndIsr, world: _World) -> str | None:
    before, epoch = write.before, write.reign.controller_epoch
    if after.controller_epoch != epoch:
        return f"controller epoch {epoch} signed as {after.controller_epoch}"
    if before is not None and after.leader_epoch != before.leader_epoch + 1:
        change = f"{before.leader_epoch} to {after.leader_epoch}"
        return f"a decision took the leader epoch from {change} instead of one up"
    if before is None:
        return _first_leader_fault(write, after, world)
    if _says_so(world.lossy, write, after):
        return _lossy_fault(write, before, after, world)
    is_unclean = _says_so(world.unclean, write, after)
    if is_unclean and after.isr <= before.isr:
        return f"leader {after.leader} is unclean, it says, and ISR {sorted(after.isr)} is not"
    if after.isr <= before.isr or _ends_reassignment(write, before, after, world):
        return None
    if not is_unclean or after.isr != {after.leader}:
        return f"a decision made ISR {sorted(after.isr)} of ISR {sorted(before.isr)}"
    assert write.before_event is not None
    since = write.before_event.zxid or 0
    there = sorted(member for member in before.isr if _was_there(member, write, world, since))
    if there:
        return (
            f"leader {after.leader} is outside ISR {sorted(before.isr)}, of which {there} is there"
        )
    return None


def _lossy_fault(
    write: LeaderAndIsrWrite, before: LeaderAndIsr, after: LeaderAndIsr, world: _World
) -> str | None:
    """Whoever says that records may be lost needs a reason: all members were away meanwhile."""
    if after.isr != {after.leader} or after.leader not in before.isr:
        return f"leader {after.leader} was away, and ISR {sorted(after.isr)} is not it alone"
    since = world.begun.get((write.partition, before.leader_epoch), 0)
    there = sorted(
        member
        for member in before.isr
        if (member, write.partition, before.leader_epoch) not in world.restarted
        and _was_there(member, write, world, since)
        and _is_the_one_that_joined(member, write, before, world)
    )
    if there and before.leader != NO_BROKER:
        return f"leader {after.leader} may have lost records, it says, and {there} was never away"
    return None


def _begun(writes: Sequence[LeaderAndIsrWrite]) -> dict[tuple[TopicPartition, int], int]:
    found: dict[tuple[TopicPartition, int], int] = {}
    for write in writes:
        if write.after is not None:
            zxid = (write.before_event.zxid or 0) if write.before_event is not None else 0
            found.setdefault((write.partition, write.after.leader_epoch), zxid)
    return found


def _restarted(
    events: Sequence[TraceEvent],
) -> Iterator[tuple[int | None, TopicPartition | None, int]]:
    seen: set[tuple[str, int, TopicPartition | None]] = set()
    for event in events:
        if event.action == Action.REGISTER_BROKER:
            # What a start has read before its registration, it reads again.
            seen = {one for one in seen if one[:2] != (event.node, event.incarnation)}
        is_read = event.action == "ReadLeaderAndIsr" and event.outcome is Outcome.OK
        key = partition_of_event(event)
        if not is_read or (event.node, event.incarnation, key) in seen:
            continue
        seen.add((event.node, event.incarnation, key))
        state = read_document(event)
        if event.incarnation > 1 and state is not None:
            yield broker_of(event), key, state.leader_epoch


def _ends_reassignment(
    write: LeaderAndIsrWrite, before: LeaderAndIsr, after: LeaderAndIsr, world: _World
) -> bool:
    """True when a leader's wish for another ISR may end a reassignment in the same transaction."""
    if not world.dialect.controller_changes_isr or before.leader == NO_BROKER:
        return False
    zxid = write.event.zxid or 0
    known = world.assigned.get(write.partition, ())
    former = [replicas for since, replicas in known if since < zxid]
    latter = [replicas for since, replicas in known if since == zxid]
    is_new = bool(former and latter) and set(former[-1]) != set(latter[-1])
    return is_new and after.isr <= set(latter[-1])


def _is_the_one_that_joined(
    member: int, write: LeaderAndIsrWrite, before: LeaderAndIsr, world: _World
) -> bool:
    """False of a member that stands as another incarnation than the state names (BEP-006)."""
    named, zxid = before.isr_broker_epochs.get(BrokerId(member)), write.event.zxid or 0
    stands = [first for first, last in world.registered.get(member, ()) if first <= zxid <= last]
    return named is None or named in stands


def _was_there(member: int, write: LeaderAndIsrWrite, world: _World, since: int) -> bool:
    """Registered from that zxid until the write: no reading could miss it."""
    until = write.event.zxid or 0
    if (member, write.partition) in world.failed:
        return False
    return any(first <= since and until <= last for first, last in world.registered.get(member, ()))
