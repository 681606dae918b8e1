"""`DecidedAsRegistered`: controllers decide on the brokers that are registered (FAIL-005, TOP-001).

What a controller knows of the live brokers it tells (`DetectBrokerChange`); what ZooKeeper recorded
of registrations says whether that is so, and what had to be decided.

- Each broker that it knows is one that registered so, and a broker that stood from before its epoch
  on, or that it has known before, is not left out.
- The first ISR of a partition has each of the assigned replicas that was registered all the time,
  and none that was not registered meanwhile (TOP-001).
- An election leaves no member in the ISR that is known to be gone, and has not come back.
- A controller that has read a state with a leader, or a member of the ISR, that is known to be
  gone decides about the partition before it tells any broker of that state, where another member of
  the ISR is there; so it does for a partition without a leader (FAIL-005, FAIL-008).

Left out are brokers that report a failed log, refuse what they are told, or asked to end. Where the
record tells of no registration, what controllers know is not compared with it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import broker_named, by_zxid, order, partition_of_event
from fencepost.conformance.checks.znode_history import (
    LeaderAndIsrWrite,
    epoch_of,
    leader_and_isr_writes,
    read_document,
    registrations,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import (
    NO_BROKER,
    Action,
    ErrorCode,
    Invariant,
    Outcome,
    RefusalKind,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

_READS = "ReadLeaderAndIsr"
_DECIDES = frozenset({Action.INIT_LEADER, Action.ELECT_LEADER})
JUDGED = _DECIDES | {
    Action.ELECT_CONTROLLER,
    Action.RESIGN_CONTROLLER,
    Action.DETECT_BROKER_CHANGE,
    Action.OBEY_SHUTDOWN,
    Action.PUBLISH_DECISION,
    Action.SEND_LEADER_AND_ISR,
    _READS,
    RefusalKind.REFUSE_COMMAND,
    "LogFailed",
}
"""Lines of controllers, what they read, and lines of brokers that do not serve a partition."""
_UNABLE = frozenset({ErrorCode.REPLICA_NOT_AVAILABLE.value, ErrorCode.STORAGE_ERROR.value})
_Decision = tuple[TopicPartition | None, int | None, int | None, int | None, AbstractSet[int]]
"""Partition, controller epoch, leader epoch, leader and ISR."""
_Unable = AbstractSet[tuple[int | None, TopicPartition | None]]
_Stays = Mapping[int, Sequence[tuple[int, int]]]
"""Broker -> the first and the last zxid of each registration; the first is its epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What the run tells beside the lines of one controller."""

    stays: _Stays
    begun: Mapping[int, int]
    """Controller epoch -> the zxid from which on it holds."""
    writes: Mapping[_Decision, LeaderAndIsrWrite]
    """Those that are told apart."""
    unable: _Unable

    def write_of(self, event: TraceEvent) -> LeaderAndIsrWrite | None:
        """What ZooKeeper holds of a decision; None for other lines, and of what was not written."""
        if event.action not in _DECIDES:
            return None
        decision = partition_of_event(event), event.controller_epoch, event.leader_epoch
        return self.writes.get((*decision, event.leader, frozenset(event.isr or ())))

    def stood(self, broker_id: int, since: int, until: int) -> bool:
        """One registration stood all the time."""
        return any(f <= since and until <= last for f, last in self.stays.get(broker_id, ()))

    def was_there(self, broker_id: int, since: int, until: int) -> bool:
        """A registration stood at some time."""
        return any(f <= until and since <= last for f, last in self.stays.get(broker_id, ()))


@dataclass(slots=True, kw_only=True)
class _Generation:
    """What one controller knows, and what it owes."""

    epoch: int
    since: int
    """The zxid from which on it holds; whatever it reads is not older."""
    live: Mapping[int, int] | None = None
    looked: TraceEvent | None = None
    seen: dict[int, int] = field(default_factory=dict)
    """Broker -> the last epoch under which it was known."""
    ending: set[int] = field(default_factory=set)
    """Brokers that it lets go."""
    read: dict[TopicPartition, tuple[int, LeaderAndIsr]] = field(default_factory=dict)
    """What it has read since it looked last, and not decided upon since."""
    reading: dict[TopicPartition, int] = field(default_factory=lambda: defaultdict(int))
    """How many readings of a state are under way."""
    owed: dict[TopicPartition, tuple[int, str, TraceEvent]] = field(default_factory=dict)
    """What was told undecided: of which version, what is wrong, and the line that told."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts readings of live brokers, decisions and duties."""
    evidence = Evidence(invariant=Invariant.DECIDED_AS_REGISTERED)
    world = _world(events)
    for lines in _generations(events):
        _judge(lines, world, evidence)
    return evidence.result()


def _world(events: Sequence[TraceEvent]) -> _World:
    begun: dict[int, int] = {}
    for line in by_zxid(events):
        epoch = epoch_of(line)
        if epoch is not None:
            begun.setdefault(epoch, line.zxid or 0)  # no person that writes it again
    return _World(
        stays=registrations(events),
        begun=begun,
        writes=_writes(events),
        unable=frozenset(
            (event.broker_id, partition_of_event(event))
            for event in events
            if event.action == "LogFailed" or event.error_code in _UNABLE
        ),
    )


def _writes(events: Sequence[TraceEvent]) -> dict[_Decision, LeaderAndIsrWrite]:
    found: dict[_Decision, list[LeaderAndIsrWrite]] = {}
    for write in leader_and_isr_writes(events):
        state = write.after
        if state is not None:
            decision = write.partition, state.controller_epoch, state.leader_epoch
            found.setdefault((*decision, state.leader, state.isr), []).append(write)
    return {decision: writes[0] for decision, writes in found.items() if len(writes) == 1}


def _generations(events: Sequence[TraceEvent]) -> Iterator[list[TraceEvent]]:
    """The lines of each controller, from its election until it resigns or ends."""
    current: list[TraceEvent] = []
    start: tuple[str, int] | None = None
    for event in order(one for one in events if one.action in JUDGED):
        is_elected = event.action == Action.ELECT_CONTROLLER
        if is_elected or (event.node, event.incarnation) != start:
            yield from (lines for lines in [current] if lines)
            current, start = [], (event.node, event.incarnation)
        if is_elected or current:
            current.append(event)
        if event.action == Action.RESIGN_CONTROLLER and current:
            yield current
            current = []
    yield from (lines for lines in [current] if lines)


def _judge(lines: Sequence[TraceEvent], world: _World, evidence: Evidence) -> None:
    epoch = lines[0].controller_epoch or 0
    if epoch not in world.begun:
        return
    generation = _Generation(epoch=epoch, since=world.begun[epoch])
    last_zxids = _last_zxids(lines, world)
    for place, event in enumerate(lines):
        if event.action == _READS:
            _hear(generation, event)
        elif event.controller_epoch != epoch:
            continue
        elif event.action == Action.DETECT_BROKER_CHANGE:
            _settle(generation, evidence)
            _judge_live(generation, event, last_zxids[place], world, evidence)
        elif event.action == Action.OBEY_SHUTDOWN:
            generation.ending.add(broker_named(event.peer or "") or 0)
        elif event.action in _DECIDES:
            _judge_decision(generation, event, world, evidence)
        elif event.action == Action.SEND_LEADER_AND_ISR:
            _note_told(generation, event, world)


def _last_zxids(lines: Sequence[TraceEvent], world: _World) -> list[int]:
    """For each line the last transaction that was decided upon after it; 0 where none is known."""
    found, last = [0] * len(lines), 0
    for place in range(len(lines) - 1, -1, -1):
        found[place] = last
        written = world.write_of(lines[place])
        if written is not None:
            last = max(last, written.event.zxid or 0)
    return found


# Live brokers


def _judge_live(
    generation: _Generation, event: TraceEvent, until: int, world: _World, evidence: Evidence
) -> None:
    """`until` is a transaction of this controller after it; 0: none is known."""
    brokers = event.live_brokers or ()
    live = dict(zip(brokers, event.broker_epochs or [0] * len(brokers), strict=False))
    evidence.premise_count += bool(live)
    who = f"Controller {event.broker_id} of epoch {generation.epoch}"
    for broker_id, epoch in sorted(live.items()) if world.stays and event.broker_epochs else ():
        if all(first != epoch for first, _ in world.stays.get(broker_id, ())):
            message = f"{who} knows broker {broker_id} as {epoch}, and it never registered so."
            evidence.violated(message, event)
    for broker_id in sorted(world.stays.keys() - live.keys()):
        since = generation.seen.get(broker_id, generation.since)
        if since <= until and world.stood(broker_id, since, until):
            message = f"{who} leaves out broker {broker_id}, which is registered since {since}"
            evidence.violated(f"{message} until {until} at least.", generation.looked, event)
    generation.live, generation.looked = live, event
    generation.seen |= live
    generation.read.clear()


# Decisions


def _judge_decision(
    generation: _Generation, event: TraceEvent, world: _World, evidence: Evidence
) -> None:
    key = partition_of_event(event)
    if key is None:
        return
    generation.read.pop(key, None)
    generation.owed.pop(key, None)
    write = world.write_of(event)
    if generation.live is None or write is None:
        return
    evidence.premise_count += 1
    if event.action == Action.INIT_LEADER and world.stays:
        _judge_first_isr(generation, event, write, world, evidence)
    elif event.action == Action.ELECT_LEADER and event.leader != NO_BROKER:
        _judge_election(generation, event, write, world, evidence)


def _judge_first_isr(
    generation: _Generation,
    event: TraceEvent,
    write: LeaderAndIsrWrite,
    world: _World,
    evidence: Evidence,
) -> None:
    key, isr, until = write.partition, event.isr or (), write.event.zxid or 0
    where = f"{key} at zxid {until}"
    for member in sorted(isr):
        if not world.was_there(member, generation.since, until):
            message = f"{where}: broker {member} is in the first ISR, and was not registered."
            evidence.violated(message, event, write.event)
    for replica in event.assigned_replicas or ():
        known = (generation.live or {}).get(replica)
        is_able = (replica, key) not in world.unable and replica not in generation.ending
        if replica in isr or not is_able:
            continue
        since = generation.since if known is None else max(known, generation.since)
        if world.stood(replica, since, until):
            message = f"{where}: replica {replica} is registered, and not in the first ISR"
            evidence.violated(f"{message} {sorted(isr)}.", event, write.event)


def _judge_election(
    generation: _Generation,
    event: TraceEvent,
    write: LeaderAndIsrWrite,
    world: _World,
    evidence: Evidence,
) -> None:
    """One that an administrator asked for rests on a later reading: a member may be back."""
    before, isr, live = write.before, frozenset(event.isr or ()), generation.live or {}
    if before is None or (before.isr == isr and before.leader in live):
        return
    until = write.event.zxid or 0
    for member in sorted(isr - live.keys()):
        known = generation.seen.get(member, generation.since)
        if any(known < first <= until for first, _ in world.stays.get(member, ())):
            continue
        where = f"{write.partition} at zxid {write.event.zxid}"
        message = f"{where}: broker {member} stays in the ISR, and is known to be gone."
        evidence.violated(message, generation.looked, event, write.event)


# Duties


def _hear(generation: _Generation, event: TraceEvent) -> None:
    """A reading of a state that is begun, or has ended; a leader's own says its leader epoch."""
    key = partition_of_event(event)
    if key is None or event.leader_epoch is not None:
        return
    if event.kind is Kind.INVOKE:
        generation.reading[key] += 1
        return
    generation.reading[key] -= 1
    state = read_document(event) if event.outcome is Outcome.OK else None
    generation.read.pop(key, None)
    if state is not None and event.znode_version is not None:
        generation.read[key] = event.znode_version, state


def _note_told(generation: _Generation, event: TraceEvent, world: _World) -> None:
    """Told of a state about which a decision is due: that is owed until it looks again."""
    key = partition_of_event(event)
    if key is None or key not in generation.read or generation.reading[key]:
        return
    version, state = generation.read[key]
    if version != event.znode_version or generation.live is None:
        return
    why = _why_due(key, state, generation.live, world.unable)
    if why is not None and key not in generation.owed:
        generation.owed[key] = version, why, event


def _why_due(
    key: TopicPartition, state: LeaderAndIsr, live: Mapping[int, int], unable: _Unable
) -> str | None:
    """Why a decision is due about the state, as the end of a sentence; None when none is."""
    there = {one for one in state.isr if one in live and (one, key) not in unable}
    if not there:
        return None
    gone = sorted(state.isr - live.keys())
    if state.leader == NO_BROKER:
        return f"without a leader, while {sorted(there)} of its ISR is there"
    if state.leader not in live:
        return f"with leader {state.leader}, which is gone"
    return f"with {gone} in its ISR, which is gone" if gone else None


def _settle(generation: _Generation, evidence: Evidence) -> None:
    """It looks again: what was told undecided by then is not decided upon as it was."""
    for key, (version, why, event) in sorted(generation.owed.items()):
        message = f"Controller {event.broker_id} tells {event.peer} of version {version} of {key}"
        evidence.violated(f"{message} {why}, and decides nothing.", generation.looked, event)
    generation.owed.clear()
