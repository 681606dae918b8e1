"""A run's leadership in small rows: tenures, faults, and acknowledged writes per pixel.

A tenure is one leader epoch of one incarnation of a partition. All events of a partition are in
one bucket, so each Spark task gathers the rows of its own; they are bounded by the number of
elections, faults and pixels, never by the number of records.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.conformance.runs.host_interference import HostInterference
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome

T = TypeVar("T")
BINS = 240
"""Columns of a timeline picture, in which acknowledged writes are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """When each step towards one leader epoch was first seen; None where it was not."""

    folder: int
    topic: str
    partition: int
    partition_incarnation: int = 0
    """0: the only one."""
    leader_epoch: int
    leader: int | None
    isr: tuple[int, ...] = ()
    """As the leader had it when it began."""
    decided_ns: int | None
    published_ns: int | None
    told_ns: int | None
    leading_ns: int | None
    first_acknowledged_ns: int | None
    last_acknowledged_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRow:
    """A line about no partition that tells of faults, brokers or controllers."""

    folder: int
    action: str
    mono_ns: int
    node: str
    broker_id: int | None
    controller_id: int | None
    live_brokers: list[int] | None
    fault_id: str | None
    fault: str | None
    phase: str | None
    target: str | None
    says: str = ""
    """What proved the phase, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A broker wrote a topic; the controller has yet to see it."""

    folder: int
    topic: str
    mono_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """What clients were answered by one partition, column by column of the picture."""

    folder: int
    topic: str
    partition: int
    columns: tuple[int, ...]
    """In which they were answered, ascending."""
    records: tuple[int, ...]
    """In each: acknowledged with acks=all."""
    unanswered: tuple[int, ...]
    """In each: writes without a known outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How far one partition was, column by column of the picture, as its leader told."""

    folder: int
    topic: str
    partition: int
    columns: tuple[int, ...]
    """In which it is told, ascending."""
    high_watermarks: tuple[int, ...]
    """At the end of each."""
    log_end_offsets: tuple[int, ...]
    """At the end of each."""


LEVEL_ACTIONS = (Action.BECOME_LEADER, Action.LEADER_APPEND, Action.ADVANCE_HIGH_WATERMARK)
"""With which a leader tells its high watermark and its log end offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A replica learned of a new ISR or of the end of its leadership, or cut its log."""

    folder: int
    topic: str
    partition: int
    mono_ns: int
    broker_id: int
    action: str
    isr: tuple[int, ...] = ()
    offset: int = -1
    """The new end of a log that was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """Clients asked one partition for writes with acks=all, and none was acknowledged any more."""

    folder: int
    topic: str
    partition: int
    first_ns: int
    """When they first asked after the last acknowledgement."""
    last_ns: int
    """The last moment at which one is known to have waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """All of it, sorted."""

    tenures: tuple[Tenure, ...] = ()
    shared: tuple[SharedRow, ...] = ()
    writes: tuple[Writes, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    turns: tuple[Turn, ...] = ()
    levels: tuple[Levels, ...] = ()
    creations: tuple[Creation, ...] = ()
    noise: Mapping[int, HostInterference] = field(default_factory=dict)
    """By folder, what the host did to its run."""


def together(parts: Iterable[Leadership]) -> Leadership:
    """The rows of all tasks in one, in an order that depends on the rows alone."""
    found = tuple(parts)
    place = ("folder", "topic", "partition")
    turn = ("folder", "mono_ns", "broker_id", "topic", "partition", "action")
    tenure = (*place, "partition_incarnation", "leader_epoch")
    return Leadership(
        tenures=_sorted((t for part in found for t in part.tenures), *tenure),
        shared=tuple(sorted((row for part in found for row in part.shared), key=_shared_order)),
        writes=_sorted((w for part in found for w in part.writes), *place),
        unserved=_sorted((t for part in found for t in part.unserved), *place),
        turns=_sorted((t for part in found for t in part.turns), *turn),
        levels=_sorted((levels for part in found for levels in part.levels), *place),
        creations=_sorted((c for part in found for c in part.creations), "folder", "mono_ns"),
        noise={folder: noise for part in found for folder, noise in sorted(part.noise.items())},
    )


def _sorted(rows: Iterable[T], *names: str) -> tuple[T, ...]:
    return tuple(sorted(rows, key=attrgetter(*names)))


def _shared_order(row: SharedRow) -> tuple[int, int, str, str, str, str]:
    return (row.folder, row.mono_ns, row.node, row.action, row.fault_id or "", row.phase or "")


_STEPS: Mapping[str, str] = {
    Action.INIT_LEADER: "decided",
    Action.ELECT_LEADER: "decided",
    Action.PUBLISH_DECISION: "published",
    Action.BECOME_LEADER: "leading",
}


@dataclass(slots=True)
class _Steps:
    """The first stamp of each step, the first leader named, and the last acknowledgement."""

    leader: int | None = None
    isr: tuple[int, ...] = ()
    named_ns: int | None = None
    last_acknowledged_ns: int | None = None
    stamps: dict[str, int] = field(default_factory=dict)

    def see(self, event: TraceEvent, step: str) -> None:
        if step == "leading" and event.mono_ns < self.stamps.get(step, event.mono_ns + 1):
            self.isr = tuple(event.isr or ())
        self.stamps[step] = min(event.mono_ns, self.stamps.get(step, event.mono_ns))
        is_first = self.named_ns is None or event.mono_ns < self.named_ns
        if event.leader is not None and is_first:
            self.leader, self.named_ns = event.leader, event.mono_ns
        if step == "first_acknowledged":
            self.last_acknowledged_ns = max(event.mono_ns, self.last_acknowledged_ns or 0)


class _Term(NamedTuple):
    topic: str
    partition: int
    partition_incarnation: int
    leader_epoch: int


def tenures_of(folder: int, events: Iterable[TraceEvent]) -> tuple[Tenure, ...]:
    """The tenures in the events of these partitions, each with its first stamps."""
    found: dict[_Term, _Steps] = {}
    for key, lines in split_by_partition(event for event in events if _step(event)).items():
        for incarnation, part in split_by_incarnation(lines):
            begun = [event for event in part if event.action == Action.BECOME_LEADER]
            for event in part:
                step, epoch = _step(event), _epoch(event, begun)
                if step is not None and epoch is not None:
                    term = _Term(key.topic, key.partition, incarnation, epoch)
                    found.setdefault(term, _Steps()).see(event, step)
    return tuple(_tenure(folder, term, steps) for term, steps in sorted(found.items()))


def _epoch(event: TraceEvent, begun: Iterable[TraceEvent]) -> int | None:
    """The leader epoch of an event; of an answer without one, that in which its broker led last.

    Kafka's answers to Produce name none. `begun` are the beginnings of leaders.
    """
    if event.leader_epoch is not None or event.kind is not Kind.COMPLETE:
        return event.leader_epoch
    own = (
        one for one in begun if one.broker_id == event.broker_id and one.mono_ns <= event.mono_ns
    )
    latest = max(own, key=attrgetter("mono_ns"), default=None)
    return None if latest is None else latest.leader_epoch


def _tenure(folder: int, term: _Term, steps: _Steps) -> Tenure:
    return Tenure(
        folder=folder,
        **term._asdict(),
        leader=steps.leader,
        isr=steps.isr,
        decided_ns=steps.stamps.get("decided"),
        published_ns=steps.stamps.get("published"),
        told_ns=steps.stamps.get("told"),
        leading_ns=steps.stamps.get("leading"),
        first_acknowledged_ns=steps.stamps.get("first_acknowledged"),
        last_acknowledged_ns=steps.last_acknowledged_ns,
    )


def _step(event: TraceEvent) -> str | None:
    """Which step towards a tenure `event` is, by the names of the budgets; None: no step."""
    if event.kind is Kind.COMPLETE:
        return "first_acknowledged" if is_acknowledged(event) else None
    if event.kind is not Kind.ACTION:
        return None
    if event.action == Action.SEND_LEADER_AND_ISR:
        return "told" if event.peer == f"broker-{event.leader}" else None
    return _STEPS.get(event.action)


def is_acknowledged(event: TraceEvent) -> bool:
    """True of the answer to a write with acks=all that took effect."""
    return event.kind is Kind.COMPLETE and event.outcome is Outcome.OK and is_write(event)


def is_write(event: TraceEvent) -> bool:
    """True of a client's request for a write with acks=all, and of any answer to one."""
    is_of_client = event.kind in (Kind.INVOKE, Kind.COMPLETE)
    return is_of_client and event.action == "Produce" and event.acks == -1


def unserved_of(folder: int, events: Iterable[TraceEvent]) -> tuple[Unserved, ...]:
    """The partitions with last writes that were never acknowledged; one row for each."""
    served: dict[tuple[str, int], int] = {}
    asked: dict[tuple[str, int], list[int]] = {}
    for event in events:
        if event.topic is None or event.partition is None or not is_write(event):
            continue
        key = (event.topic, event.partition)
        if is_acknowledged(event):
            served[key] = max(event.mono_ns, served.get(key, 0))
        else:
            asked.setdefault(key, []).append(event.mono_ns)
    in_vain = {
        key: [stamp for stamp in stamps if stamp > served.get(key, -1)]
        for key, stamps in asked.items()
    }
    return tuple(
        Unserved(folder=folder, topic=key[0], partition=key[1], first_ns=min(own), last_ns=max(own))
        for key, own in sorted(in_vain.items())
        if own
    )


def writes_of(
    folder: int, events: Iterable[TraceEvent], span_ns: tuple[int, int]
) -> tuple[Writes, ...]:
    """What clients were answered per column of a picture that spans `span_ns`."""
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])
    found: dict[tuple[str, int], dict[int, tuple[int, int]]] = {}
    for event in events:
        if event.topic is None or event.partition is None or not _is_told(event):
            continue
        column = min(BINS - 1, (event.mono_ns - first_ns) * BINS // length_ns)
        own = found.setdefault((event.topic, event.partition), {})
        records, unanswered = own.get(column, (0, 0))
        if is_acknowledged(event):
            own[column] = records + len(event.values or ()), unanswered
        else:
            own[column] = records, unanswered + 1
    return tuple(
        Writes(
            folder=folder,
            topic=topic,
            partition=partition,
            columns=columns,
            records=records,
            unanswered=unanswered,
        )
        for (topic, partition), own in sorted(found.items())
        for columns, records, unanswered in [_by_column(own)]
    )


def _by_column(own: Mapping[int, tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The columns, ascending, and each of the figures in all of them."""
    return zip(*((column, *figures) for column, figures in sorted(own.items())), strict=True)


def _is_told(event: TraceEvent) -> bool:
    is_open = event.kind is Kind.COMPLETE and event.outcome is Outcome.INDEFINITE
    return is_acknowledged(event) or (is_open and is_write(event))


def levels_of(
    folder: int, events: Iterable[TraceEvent], span_ns: tuple[int, int]
) -> tuple[Levels, ...]:
    """How far each partition was at the end of each column of a picture that spans `span_ns`."""
    first_ns, length_ns = span_ns[0], max(1, span_ns[1] - span_ns[0])
    found: dict[tuple[str, int], dict[int, tuple[int, ...]]] = {}
    for event in events:
        if event.topic is None or event.partition is None or event.kind is not Kind.ACTION:
            continue
        high_watermark, end = event.high_watermark, event.log_end_offset
        if event.action not in LEVEL_ACTIONS or high_watermark is None or end is None:
            continue
        column = min(BINS - 1, (event.mono_ns - first_ns) * BINS // length_ns)
        own = found.setdefault((event.topic, event.partition), {})
        order = (event.mono_ns, event.seq, -1 if event.broker_id is None else event.broker_id)
        if column not in own or order >= own[column][:3]:
            own[column] = (*order, high_watermark, end)
    return tuple(
        Levels(
            folder=folder,
            topic=topic,
            partition=partition,
            columns=columns,
            high_watermarks=high_watermarks,
            log_end_offsets=log_end_offsets,
        )
        for (topic, partition), own in sorted(found.items())
        for columns, *_, high_watermarks, log_end_offsets in [_by_column(own)]
    )


_TURNS = (Action.ADOPT_ISR, Action.TRUNCATE_LOG, Action.FENCE_LEADER)


def turns_of(folder: int, events: Iterable[TraceEvent]) -> tuple[Turn, ...]:
    """The turns in the events of these partitions."""
    return tuple(
        Turn(
            folder=folder,
            topic=event.topic or "",
            partition=-1 if event.partition is None else event.partition,
            mono_ns=event.mono_ns,
            broker_id=-1 if event.broker_id is None else event.broker_id,
            action=event.action,
            isr=tuple(event.isr or ()),
            offset=-1 if event.offset is None else event.offset,
        )
        for event in events
        if event.kind is Kind.ACTION and event.action in _TURNS
    )


_SHARED_ACTIONS = (Action.DETECT_BROKER_CHANGE, Action.ELECT_CONTROLLER, Action.REGISTER_BROKER)


def shared_rows(folder: int, events: Iterable[TraceEvent]) -> tuple[SharedRow, ...]:
    """What events about no partition tell of faults, brokers and controllers."""
    return tuple(
        SharedRow(
            folder=folder,
            action=event.action,
            mono_ns=event.mono_ns,
            node=event.node,
            broker_id=event.broker_id,
            controller_id=event.controller_id,
            live_brokers=event.live_brokers,
            fault_id=event.fault_id,
            fault=event.fault,
            phase=event.phase,
            target=event.target,
            says=_proof(event),
        )
        for event in events
        if event.kind is Kind.FAULT or event.action in _SHARED_ACTIONS
    )


def creations_of(folder: int, events: Iterable[TraceEvent]) -> tuple[Creation, ...]:
    """The topics that brokers have written."""
    return tuple(
        Creation(folder=folder, topic=event.topic, mono_ns=event.mono_ns)
        for event in events
        if event.action == Action.CREATE_TOPIC and event.topic is not None
    )


def _proof(event: TraceEvent) -> str:
    """What the harness says of a phase of a fault."""
    if event.kind is not Kind.FAULT or event.detail is None:
        return ""
    try:
        told = msgspec.json.decode(event.detail, type=dict[str, Any])
    except msgspec.MsgspecError:
        return ""
    return str(told.get("says") or "")
