"""`ControllerInOrder`: a controller takes office, looks around, decides, tells, and resigns.

Judged by the lines of each broker in their own order, beside ZooKeeper's own record.

- A broker that has read another's name in `/controller` takes no office before it has read again
  (CTL-003). Where people write to that znode, what it says is no broker's, and is not judged.
- In office it looks at the live brokers before anything else, and has read each state that stood in
  ZooKeeper when its epoch began before it decides or tells anything (CTL-010). Left out are topics
  and partitions that go, and what cannot be parsed.
- To each broker, and to each that came since, its first command is an INIT (CTL-010, CMD-007).
  Where a topic or a state cannot be parsed, none can be told all, and it may be owed.
- Before it learns of another controller, or of none, it resigns, and out of office, or for another
  epoch than its own, it neither decides nor tells (CTL-008).

Of each kind of lines, a run that has none is not judged by it: not all implementations tell all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import by_zxid, order, partition_of_event
from fencepost.conformance.checks.znode_history import (
    assignment_of,
    brokers_by_session,
    document_of,
    epoch_of,
    replicas_named,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action, Invariant, Outcome
from fencepost.spec.znodes import CONTROLLER, TOPICS, TopicPartition, partition_of

_LOOKS = Action.DETECT_BROKER_CHANGE
_TELLS = frozenset(
    {
        Action.SEND_INIT,
        Action.SEND_LEADER_AND_ISR,
        Action.SEND_STOP_REPLICA,
        Action.SEND_UPDATE_METADATA,
    }
)
_ACTS = _TELLS | {
    Action.INIT_LEADER,
    Action.ELECT_LEADER,
    Action.PUBLISH_DECISION,
    Action.OBEY_SHUTDOWN,
}
_OFFICE = frozenset({Action.ELECT_CONTROLLER, Action.RESIGN_CONTROLLER, Action.LEARN_CONTROLLER})
_READS_STATE, _READS_CONTROLLER = "ReadLeaderAndIsr", "ReadController"
JUDGED = _OFFICE | _ACTS | {_LOOKS, _READS_STATE, _READS_CONTROLLER, Action.REGISTER_BROKER}
"""Lines of controllers, and what ZooKeeper answered them."""

_LISTED_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What ZooKeeper's own record tells of the run."""

    standing: Mapping[int, AbstractSet[TopicPartition]]
    """Controller epoch -> the states that a new controller finds, and that stay."""
    is_parsed: bool
    """True when every topic and every state can be."""
    told: AbstractSet[str]
    """The actions of which there are lines: what an implementation never tells is not missed."""
    is_written_by_hand: bool
    """True when a client that is no broker has written `/controller`."""


@dataclass(slots=True, kw_only=True)
class _Office:
    """What a controller has done since its election."""

    elected: TraceEvent
    live: Mapping[int, int] | None = None
    """None before it has looked."""
    read: set[TopicPartition] = field(default_factory=set)
    has_acted: bool = False
    begun: set[str] = field(default_factory=set)
    """The peers that were sent an INIT."""

    def look(self, event: TraceEvent) -> None:
        """A broker that is not the one before is told anew."""
        before = self.live or {}
        self.live = dict(zip(event.live_brokers or (), event.broker_epochs or (), strict=False))
        came = {b for b, epoch in self.live.items() if before.get(b) != epoch}
        self.begun -= {f"broker-{broker_id}" for broker_id in came}


@dataclass(slots=True)
class _Process:
    """One start of a broker."""

    office: _Office | None = None
    holder: TraceEvent | None = None
    """What it has read last in `/controller`."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts elections, and the first lines of a controller."""
    evidence = Evidence(invariant=Invariant.CONTROLLER_IN_ORDER)
    record = _record(events)
    processes: dict[tuple[str, int], _Process] = {}
    for event in order(one for one in events if one.action in JUDGED):
        process = processes.setdefault((event.node, event.incarnation), _Process())
        if event.kind is Kind.ACTION:
            _judge(process, event, record, evidence)
        elif event.kind is Kind.COMPLETE and event.outcome is Outcome.OK:
            _hear(process, event)
    return evidence.result()


def _hear(process: _Process, event: TraceEvent) -> None:
    partition = partition_of_event(event)
    if event.action == _READS_CONTROLLER:
        process.holder = event
    elif process.office is not None and partition is not None and event.leader_epoch is None:
        process.office.read.add(partition)


def _judge(process: _Process, event: TraceEvent, record: _Record, evidence: Evidence) -> None:
    office = process.office
    if event.action == Action.ELECT_CONTROLLER:
        evidence.premise_count += 1
        _judge_standing(process.holder, event, record, evidence)
        process.office = _Office(elected=event)
    elif event.action == Action.RESIGN_CONTROLLER:
        process.office = None
    elif event.action == Action.LEARN_CONTROLLER:
        _judge_learning(office, event, evidence)
    elif event.action == _LOOKS or event.action in _ACTS:
        if office is None or office.elected.controller_epoch != event.controller_epoch:
            _judge_outside(office, event, record, evidence)
        elif event.action == _LOOKS:
            office.look(event)
        else:
            _judge_act(office, event, record, evidence)


def _judge_standing(
    holder: TraceEvent | None, elected: TraceEvent, record: _Record, evidence: Evidence
) -> None:
    if holder is None or record.is_written_by_hand:
        return
    if holder.controller_id not in {None, NO_BROKER, elected.broker_id}:
        who = _named(holder.controller_id)
        message = f"Broker {elected.broker_id} takes office after it has read {who}."
        evidence.violated(message, holder, elected)


def _judge_learning(office: _Office | None, event: TraceEvent, evidence: Evidence) -> None:
    if office is not None and event.controller_id != office.elected.broker_id:
        message = f"Broker {event.broker_id} learns of {_named(event.controller_id)}"
        evidence.violated(f"{message} before it resigns.", office.elected, event)


def _judge_outside(
    office: _Office | None, event: TraceEvent, record: _Record, evidence: Evidence
) -> None:
    if Action.ELECT_CONTROLLER not in record.told:
        return
    where = f"in epoch {office.elected.controller_epoch}" if office else "out of office"
    evidence.violated(
        f"{event.action} of broker {event.broker_id} is of controller epoch"
        f" {event.controller_epoch}, while it is {where}.",
        office.elected if office else None,
        event,
    )


def _judge_act(office: _Office, event: TraceEvent, record: _Record, evidence: Evidence) -> None:
    if not office.has_acted:
        office.has_acted = True
        _judge_first(office, event, record, evidence)
    if event.action == Action.SEND_INIT:
        office.begun.add(event.peer or "")
        return
    is_judged = record.is_parsed and Action.SEND_INIT in record.told
    is_told = event.action == Action.SEND_LEADER_AND_ISR
    if is_told and is_judged and event.peer not in office.begun:
        message = f"{_controller(event)} tells {event.peer} a state before its INIT."
        evidence.violated(message, office.elected, event)


def _judge_first(office: _Office, event: TraceEvent, record: _Record, evidence: Evidence) -> None:
    evidence.premise_count += 1
    begins = f"{_controller(event)} begins with {event.action}"
    if office.live is None and _LOOKS in record.told:
        message = f"{begins}, and has not looked for live brokers."
        evidence.violated(message, office.elected, event)
    standing = record.standing.get(office.elected.controller_epoch or 0, frozenset())
    unread = sorted(standing - office.read) if _READS_STATE in record.told else ()
    if unread:
        named = ", ".join(map(str, unread[:_LISTED_MAX]))
        more = f" and {len(unread) - _LISTED_MAX} more" * (len(unread) > _LISTED_MAX)
        message = f"{begins} before it has read {named}{more}."
        evidence.violated(message, office.elected, event)


def _controller(event: TraceEvent) -> str:
    return f"Controller {event.broker_id} of epoch {event.controller_epoch}"


def _named(broker_id: int | None) -> str:
    return "none" if broker_id in (None, NO_BROKER) else f"broker {broker_id}"


def _record(events: Sequence[TraceEvent]) -> _Record:
    own = brokers_by_session(events)
    lines = by_zxid(events)
    return _Record(
        standing=dict(_standing(lines)),
        is_parsed=all(map(_is_parsed, lines)),
        told={event.action for event in events},
        is_written_by_hand=any(
            line.path == CONTROLLER and line.action != "Delete" and line.session_id not in own
            for line in lines
        ),
    )


def _is_parsed(line: TraceEvent) -> bool:
    if line.action == "Delete":
        return True
    if partition_of(line.path or "") is not None:
        return document_of(line) is not None
    return not _is_topic(line) or assignment_of(line) is not None


def _is_topic(line: TraceEvent) -> bool:
    return (line.path or "").rpartition("/")[0] == TOPICS


def _standing(
    lines: Iterable[TraceEvent],
) -> Iterator[tuple[int, AbstractSet[TopicPartition]]]:
    """By epoch the states that were there when it began and go no more, of topics that name them.

    A state that goes later does not count, for it may have gone before it could be read.
    """
    stood: dict[int, set[TopicPartition]] = {}
    states: set[TopicPartition] = set()
    for line in lines:
        epoch, key = epoch_of(line), partition_of(line.path or "")
        if epoch is not None:
            stood.setdefault(epoch, {*states})
        if key is not None and line.action == "Delete":
            states.discard(key)
            _leave(stood.values(), {key})
        elif key is not None:
            states.add(key)
        elif _is_topic(line):
            named, topic = replicas_named(line), (line.path or "").rpartition("/")[2]
            unnamed = {one for one in states if one.topic == topic and one.partition not in named}
            _leave(stood.values(), unnamed)
    yield from stood.items()


def _leave(stood: Iterable[set[TopicPartition]], gone: AbstractSet[TopicPartition]) -> None:
    for states in stood:
        states.difference_update(gone)
