"""`MetadataInOrder`: brokers tell clients what is published, never older, and know it before roles.

Judged from level 4 on, by the lines of brokers that take metadata (`UpdateMetadata`), against
ZooKeeper's own record.

- What a broker takes of a partition is a state that ZooKeeper held (UMD-002), and what it takes of
  brokers are registrations that ZooKeeper held.
- The version of its znode never goes back while the broker runs.
- No body is taken twice, and none after a later one of the controllers (UMD-002); what is taken of
  a partition is of the body that was taken last.
- A broker takes a role from a controller that has told it which brokers there are (KAFKA-4443).
  While brokers are upgraded to level 4, controllers that speak a level below tell nothing.
"""

from collections.abc import Iterable, Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import is_recorded, partition_of_event
from fencepost.conformance.checks.spoken_protocols import SpokenProtocols, spoken_protocols
from fencepost.conformance.checks.znode_history import (
    LeaderAndIsrWrite,
    leader_and_isr_writes,
    read_document,
    registrations,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, ProtocolLevel
from fencepost.spec.znodes import TopicPartition

ROLES = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})
_Start = tuple[str, int]
"""A node and its incarnation."""
_Place = tuple[TopicPartition | None, int | None, int | None]
"""A partition, its incarnation, and a version of its state."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts what was taken, and roles where metadata are told."""
    evidence = Evidence(invariant=Invariant.METADATA_IN_ORDER)
    told = [event for event in events if event.action == Action.UPDATE_METADATA]
    if not told or not is_recorded(events):
        return evidence.result()
    published = _published(leader_and_isr_writes(events))
    protocols = spoken_protocols(events)
    by_start: dict[_Start, list[TraceEvent]] = {}
    for event in events:
        if event.action == Action.UPDATE_METADATA or _is_judged_role(event, protocols):
            by_start.setdefault((event.node, event.incarnation), []).append(event)
    for lines in by_start.values():
        _check_start(sorted(lines, key=lambda event: event.seq), published, evidence)
    _check_brokers(told, registrations(events), evidence)
    return evidence.result()


def _is_judged_role(event: TraceEvent, protocols: SpokenProtocols) -> bool:
    speaks = protocols.of_controller(event.controller_epoch)
    return event.action in ROLES and speaks >= ProtocolLevel.MAX_BROKER_EPOCH


def _check_brokers(
    told: Iterable[TraceEvent],
    registered: Mapping[int, Sequence[tuple[int, int]]],
    evidence: Evidence,
) -> None:
    """The brokers that are told are registrations that there were."""
    for event in told:
        live = zip(event.live_brokers or (), event.broker_epochs or (), strict=False)
        strangers = [
            member
            for member, epoch in live
            if epoch not in [first for first, _ in registered.get(member, ())]
        ]
        if strangers:
            message = f"Broker {event.broker_id} was told of brokers {strangers}, which ZooKeeper"
            evidence.violated(f"{message} never held so.", event)


def _published(writes: Iterable[LeaderAndIsrWrite]) -> Mapping[_Place, TraceEvent]:
    """Which line stored each version of each state."""
    created: dict[TopicPartition, int | None] = {}
    found: dict[_Place, TraceEvent] = {}
    for write in writes:
        if write.event.action == "Create":
            created[write.partition] = write.event.zxid
        place = write.partition, created.get(write.partition), write.event.znode_version
        found[place] = write.event
    return found


def _check_start(
    lines: Iterable[TraceEvent], published: Mapping[_Place, TraceEvent], evidence: Evidence
) -> None:
    """The lines of one start of a broker, in order."""
    newest: dict[tuple[TopicPartition | None, int | None], TraceEvent] = {}
    brokers: TraceEvent | None = None
    for event in lines:
        evidence.premise_count += 1
        if event.action in ROLES:
            if brokers is None or (brokers.controller_epoch or 0) < (event.controller_epoch or 0):
                message = (
                    f"Broker {event.broker_id} took a role in {partition_of_event(event)} from the "
                    f"controller of epoch {event.controller_epoch}, which had told it of none."
                )
                evidence.violated(message, brokers, event)
        elif event.partition is None:
            _check_body(event, brokers, evidence)
            brokers = event
        else:
            key = partition_of_event(event), event.partition_incarnation
            stored = published.get((*key, event.znode_version))
            _check_state(event, newest.get(key), stored, evidence)
            newest[key] = event
            _check_part(event, brokers, evidence)


def _check_part(event: TraceEvent, body: TraceEvent | None, evidence: Evidence) -> None:
    """What is taken of a partition is a part of a body that is taken."""
    if event.metadata_version is None or (body is not None and _body(event) == _body(body)):
        return
    message = "Broker {} took a state of {} with body {} of controller epoch {}, which it did not"
    told = message.format(event.broker_id, partition_of_event(event), *_body(event)[::-1])
    evidence.violated(f"{told} take last.", body, event)


def _check_body(event: TraceEvent, before: TraceEvent | None, evidence: Evidence) -> None:
    """A body comes after the one before it; those without a number are not judged."""
    if before is None or event.metadata_version is None:
        return
    if _body(event) <= _body(before):
        message = "Broker {} took body {} of controller epoch {} after body {} of epoch {}."
        told = message.format(event.broker_id, *_body(event)[::-1], *_body(before)[::-1])
        evidence.violated(told, before, event)


def _check_state(
    event: TraceEvent, before: TraceEvent | None, stored: TraceEvent | None, evidence: Evidence
) -> None:
    where = f"Broker {event.broker_id} tells of {partition_of_event(event)}"
    if before is not None and _version(event) < _version(before):
        message = f"{where} version {event.znode_version} after {before.znode_version}."
        evidence.violated(message, before, event)
    held = read_document(stored) if stored is not None else None
    told = event.leader, event.leader_epoch, frozenset(event.isr or ())
    if held is None or (held.leader, held.leader_epoch, held.isr) != told:
        message = f"{where} version {event.znode_version}, which ZooKeeper never held so."
        evidence.violated(message, stored, event)


def _version(event: TraceEvent) -> int:
    return known(event.znode_version, -1)


def _body(event: TraceEvent) -> tuple[int, int]:
    """Controller epoch, and the number of the body in it."""
    return known(event.controller_epoch, -1), known(event.metadata_version, -1)
