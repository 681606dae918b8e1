"""What the coarse replay of one partition needs of a run: its lines as events of `TraceObserved`.

It goes by what any implementation shows from outside: writes of the state, the roles that brokers
take, answers to clients, and what disks hold after the run. When records moved is not asked.
"""

import heapq
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from fencepost.spec.replay.assignments import first_incarnation, partitions_of_run
from fencepost.spec.replay.committed_log import CommittedLog, Disks, is_of_disk
from fencepost.spec.replay.fields import MISSING, Fields, Value, number, state_fields
from fencepost.spec.replay.limits import forgetful_faults
from fencepost.spec.replay.offices import NO_BROKER, Numbers, broker_sessions
from fencepost.spec.replay.projection import (
    ACKS_ALL,
    Event,
    is_about,
)
from fencepost.spec.replay.recorded_run import EXACT, RecordedRun, ReplayError, TraceFileLine
from fencepost.spec.trace import FINAL_READER, Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome
from fencepost.spec.znodes import (
    ADMIN,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TopicPartition,
    leader_and_isr_path,
    topic_path,
)

LOG, DISK = "log", "disk"
ROLES = (Action.BECOME_LEADER, Action.BECOME_FOLLOWER)
READS = ("Fetch", "ListOffsets")
CHANGES = ("Create", "SetData", "Delete")
NO_LEADER = -1
UNCLEAN = "a leader outside the ISR was elected"
LATE_NS = 50_000_000
"""A line of a text log is dated to a millisecond by another clock: it counts so much later, so that
no answer that came before it seems to come after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedProjection:
    """The coarse replay of one partition of one run."""

    run: str
    partition: TopicPartition
    brokers: frozenset[int]
    assigned: frozenset[int]
    has_states: bool
    leaders: tuple[tuple[int, int], ...]
    """(broker, leader epoch) that roles tell; none where the states do."""
    log: CommittedLog
    events: tuple[Event, ...]
    ended: str = ""
    """Where and why the replay ends before the run does; empty where it does not."""

    @property
    def facts(self) -> Fields:
        """What the replay knows beside the events."""
        return {
            "assigned": self.assigned,
            "has_states": self.has_states,
            "leaders": self.leaders,
            "records": tuple(self.log.records()),
            "places": tuple(self.log.places()),
        }


def is_observed(run: RecordedRun) -> bool:
    """What clients are answered is known, and which broker leads when."""
    seen = run.detail.observes
    return seen.get("clients") == EXACT and seen.get("roles") in (EXACT, LOG)


def project_observed(run: RecordedRun, lines: list[TraceFileLine]) -> list[ObservedProjection]:
    """Each partition of the run; `lines` are in order. Raises `ReplayError`."""
    has_states = run.detail.observes.get("state_writes") == EXACT
    started = {number(line.event.broker_id) for line in lines if _is_brokers(line.event)}
    brokers = frozenset(started) | frozenset(range(1, run.detail.brokers + 1))
    if has_states:
        assigned = {key: frozenset(found) for key, found in partitions_of_run(lines).items()}
    else:
        assigned = dict.fromkeys(sorted(_partitions_of_roles(lines)), brokers)
    if not assigned:
        raise ReplayError(f"{run.name} has no topic: nothing can be replayed")
    return [
        _project(run, lines, key, brokers | replicas, replicas)
        for key, replicas in assigned.items()
    ]


def _project(
    run: RecordedRun,
    lines: list[TraceFileLine],
    key: TopicPartition,
    brokers: frozenset[int],
    assigned: frozenset[int],
) -> ObservedProjection:
    has_states = run.detail.observes.get("state_writes") == EXACT
    limits = _Limits(
        key=key,
        has_states=has_states,
        may_be_unclean=run.detail.unclean_leader_election,
        sessions=broker_sessions(lines),
        forgetful=frozenset(forgetful_faults(line.event for line in lines)),
    )
    lines, ended = limits.up_to(first_incarnation(lines, key))
    has_disks = run.detail.observes.get("appends") == DISK
    projector = _Projector(
        key=key,
        has_states=has_states,
        sessions=broker_sessions(lines),
        completed=_completed(lines),
        attempts=_attempts(lines, key),
        disks=Disks.of(lines, key) if has_disks and not ended else Disks(),
    )
    events = tuple(projector.all_events(lines))
    roles = {
        (number(line.event.leader), number(line.event.leader_epoch))
        for line in lines
        if line.event.action in ROLES and is_about(line.event, key)
    }
    return ObservedProjection(
        run=run.name,
        partition=key,
        brokers=brokers,
        assigned=assigned,
        has_states=has_states,
        leaders=() if has_states else tuple(sorted(roles)),
        log=projector.log,
        events=events,
        ended=ended,
    )


def _is_brokers(event: TraceEvent) -> bool:
    return event.node.startswith("broker-") and event.broker_id is not None


def _partitions_of_roles(lines: Iterable[TraceFileLine]) -> set[TopicPartition]:
    return {
        TopicPartition(line.event.topic or "", number(line.event.partition))
        for line in lines
        if line.event.action in ROLES
    }


@dataclass(slots=True, kw_only=True)
class _Limits:
    """Finds where no behaviour of the spec goes on, and why."""

    key: TopicPartition
    has_states: bool
    may_be_unclean: bool
    sessions: Container[int]
    """The brokers'."""
    forgetful: frozenset[str]
    """Ids of the faults by which disks may lose records."""
    _isr: Value = frozenset[int]()
    """Of the last state that was written."""
    _version: int = -1
    """The largest that a role told."""
    _first: set[tuple[str, int]] = field(default_factory=set)
    """The processes that told of the first version: none does so twice."""

    def up_to(self, lines: list[TraceFileLine]) -> tuple[list[TraceFileLine], str]:
        """The lines before the first limit, and what that is."""
        for at, line in enumerate(lines):
            if why := self._why_it_ends(line.event):
                return lines[:at], f"replayed up to {line.file}, line {line.number}: {why}"
        return lines, ""

    def _why_it_ends(self, event: TraceEvent) -> str:
        if event.kind is Kind.FAULT:
            is_forgetful = event.fault_id in self.forgetful and event.phase is Phase.INJECTING
            return f"the disk of broker {event.broker_id} may lose records" if is_forgetful else ""
        if event.kind is Kind.ZOOKEEPER and event.action in CHANGES:
            return self._why_by_zookeeper(event) if self.has_states else ""
        if event.action in ROLES and is_about(event, self.key) and not self.has_states:
            return self._why_by_role(event)
        return ""

    def _why_by_role(self, event: TraceEvent) -> str:
        process = event.node, event.incarnation
        if event.znode_version == 0:
            if self._version > 0 or process in self._first:
                return f"{self.key} was created again"
            self._first.add(process)
        self._version = max(self._version, number(event.znode_version))
        return ""

    def _why_by_zookeeper(self, event: TraceEvent) -> str:
        path = event.path or ""
        if path == topic_path(self.key.topic) and event.action == "SetData":
            return "an administrator asks for other replicas"
        if path.startswith(f"{ADMIN}/") and event.action == "Create" and event.data:
            return f"{path} asks for what the spec does not have"
        is_state = path == leader_and_isr_path(self.key)
        if (is_state or path == CONTROLLER) and (event.session_id or 0) not in self.sessions:
            return f"a client that is no broker wrote {path}"
        if is_state and event.data is not None:
            state = state_fields(event.data)
            members, leader = self._isr, state["leader"]
            self._isr = state["isr"]
            if self.may_be_unclean and event.action == "SetData" and isinstance(leader, int):
                assert isinstance(members, frozenset)
                return "" if leader in {NO_LEADER, *members} else UNCLEAN
        return ""


def _completed(lines: Iterable[TraceFileLine]) -> dict[tuple[str, int | None], Outcome | None]:
    """How each operation ended."""
    return {
        (line.event.node, line.event.op_id): line.event.outcome
        for line in lines
        if line.event.kind is Kind.COMPLETE
    }


def _attempts(lines: Iterable[TraceFileLine], key: TopicPartition) -> Counter[str]:
    """How often each record was sent: an idempotent producer repeats itself."""
    return Counter(
        value
        for line in lines
        if line.event.kind is Kind.INVOKE and line.event.action == "Produce"
        if is_about(line.event, key)
        for value in line.event.values or ()
    )


@dataclass(slots=True, kw_only=True)
class _Projector:
    """Turns lines into events."""

    key: TopicPartition
    has_states: bool
    sessions: dict[int, int]
    completed: dict[tuple[str, int | None], Outcome | None]
    attempts: Counter[str]
    disks: Disks
    log: CommittedLog = field(default_factory=CommittedLog)
    starts: set[tuple[str, int]] = field(default_factory=set)
    operations: Numbers = field(default_factory=Numbers)
    version: int = -1
    """Of the last state that was written."""
    late: list[tuple[int, int, TraceFileLine]] = field(default_factory=list)
    """Lines about roles that count later, by time."""

    def all_events(self, lines: list[TraceFileLine]) -> Iterator[Event]:
        """The events of the run, and its disks after them."""
        for at, line in enumerate(lines):
            yield from self._events_of_roles(until=line.event.mono_ns)
            if _is_brokers(line.event):
                if not is_of_disk(line.event):
                    heapq.heappush(self.late, (line.event.mono_ns + LATE_NS, at, line))
                continue
            for fields in self._events(line.event):
                yield Event(fields, line)
        yield from self._events_of_roles(until=None)
        for disk in self.disks.found:
            values = self._values(disk.values)
            self.log.tell(0, values, disk.epochs)
            told: Fields = {
                "action": "Disk",
                "broker_id": number(disk.line.event.broker_id),
                "values": values,
                "high_watermark": number(disk.line.event.high_watermark),
            }
            yield Event(told, disk.line)

    # Brokers

    def _events_of_roles(self, until: int | None) -> Iterator[Event]:
        """Of the lines that are old enough and of states that were written, in order."""
        while self.late and (until is None or 0 < self.late[0][0] <= until):
            version = number(self.late[0][2].event.znode_version)
            if until is not None and self.has_states and version > self.version:
                return
            line = heapq.heappop(self.late)[2]
            for fields in self._of_broker(line.event):
                yield Event(fields, line)

    def _of_broker(self, event: TraceEvent) -> Iterator[Fields]:
        broker_id = number(event.broker_id)
        start = event.node, event.incarnation
        if start not in self.starts:
            self.starts.add(start)
            yield {"action": "NodeStarted", "broker_id": broker_id}
        if event.action in ROLES and is_about(event, self.key):
            yield {
                "action": event.action,
                "broker_id": broker_id,
                "leader": number(event.leader),
                "leader_epoch": number(event.leader_epoch),
                "isr": frozenset(event.isr or ()),
                "znode_version": number(event.znode_version),
                "controller_epoch": event.controller_epoch or 0,
            }

    # ZooKeeper

    def _events(self, event: TraceEvent) -> Iterator[Fields]:
        if event.kind is Kind.ZOOKEEPER and self.has_states:
            yield from self._zookeeper(event)
        elif is_about(event, self.key):
            if event.kind is Kind.INVOKE:
                yield from self._begin(event)
            elif event.kind is Kind.COMPLETE:
                yield from self._complete(event)

    def _zookeeper(self, event: TraceEvent) -> Iterator[Fields]:
        author = self.sessions.get(event.session_id or 0, NO_BROKER)
        if event.path == CONTROLLER and event.action == "Create":
            yield {"action": "ZkElect", "broker_id": author}
        elif event.path == CONTROLLER and event.action == "Delete":
            yield {"action": "ZkDismiss"}
        elif event.path == CONTROLLER_EPOCH and event.data is not None:
            epoch = int(event.data) if event.data.isdecimal() else MISSING
            yield {"action": "ZkRaiseEpoch", "controller_epoch": epoch}
        elif event.path == leader_and_isr_path(self.key) and event.data is not None:
            self.version = number(event.znode_version)
            yield {
                "action": "ZkWriteState",
                "broker_id": author,
                **state_fields(event.data),
                "znode_version": self.version,
            }

    # Clients

    def _begin(self, event: TraceEvent) -> Iterator[Fields]:
        if event.action == "Produce" or event.action in READS:
            self._values(event.values if event.action == "Produce" else ())
            is_told = self.completed.get((event.node, event.op_id)) is Outcome.OK
            yield {
                "action": "Begin",
                "op": self._operation(event) if is_told else MISSING,
                "sent": len(self.log.values.known),
            }

    def _complete(self, event: TraceEvent) -> Iterator[Fields]:
        if event.action in READS and event.outcome is Outcome.OK:
            yield self._answer("Read", event) | {
                "high_watermark": number(event.high_watermark),
                "log_end_offset": number(event.log_end_offset),
                "is_final": event.node == FINAL_READER,
            }
            self.log.end = max(self.log.end, event.high_watermark or 0)
        elif event.action != "Produce":
            return
        elif event.outcome is Outcome.OK and event.acks == ACKS_ALL:
            yield self._answer("Acknowledge", event) | {"is_repeated": self._is_repeated(event)}
        elif event.outcome is Outcome.DEFINITE_ERROR and not self._is_repeated(event):
            yield {"action": "Refuse", "values": self._values(event.values)}

    def _answer(self, action: str, event: TraceEvent) -> Fields:
        values = self._values(event.values)
        offset = event.offset or 0
        epochs = tuple(event.record_epochs or ()) or (MISSING,) * len(values)
        if action == "Acknowledge" and not self._is_repeated(event):
            epochs = (number(event.leader_epoch),) * len(values)
        self.log.tell(offset, values, epochs)
        return {
            "action": action,
            "op": self._operation(event),
            "broker_id": number(event.broker_id),
            "leader_epoch": number(event.leader_epoch),
            "offset": offset,
            "values": values,
            "record_epochs": epochs,
        }

    def _is_repeated(self, event: TraceEvent) -> bool:
        """The records may be there from an earlier attempt."""
        is_again = any(self.attempts[value] > 1 for value in event.values or ())
        return is_again or event.producer_id is not None

    def _operation(self, event: TraceEvent) -> int:
        return self.operations.of((event.node, event.op_id))

    def _values(self, values: Iterable[str] | None) -> tuple[int, ...]:
        return tuple(self.log.values.of(value) for value in values or ())
