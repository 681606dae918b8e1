"""What the replay of one partition needs of a run: its lines as events of `TraceReplication`.

A line becomes an event of the same action with the fields that the spec knows, or nothing. Lines of
ZooKeeper become what the transaction did; reads and writes of the state count when they end.
Payload ids, session ids and zxids become small numbers, since TLC counts up to 2^31.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fencepost.spec.config_store import CONFIG_CHANGES
from fencepost.spec.replay.assignments import (
    Assignments,
    Incarnation,
    assignments_of,
    incarnations,
)
from fencepost.spec.replay.fields import (
    FIELDS,
    MISSING,
    READERS,
    Fields,
    actor,
    broker_number,
    isr_broker_epochs,
    number,
    numbers,
    state_fields,
)
from fencepost.spec.replay.limits import (
    LIFECYCLE,
    QUOTAS,
    forgetful_faults,
    has_strangers,
    up_to_the_limits,
)
from fencepost.spec.replay.offices import (
    BY_HAND,
    BY_NOBODY,
    NO_BROKER,
    Numbers,
    Offices,
    broker_sessions,
    offices_of,
)
from fencepost.spec.replay.pauses import STRIDE, pauses_of
from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome, ProtocolLevel, RefusalKind
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TopicPartition,
    leader_and_isr_path,
    topic_path,
)

Process = tuple[str, int]
"""Node and incarnation."""

UNKNOWN = "Unknown"
"""The action of an event that no step of the spec is."""

ACKS_ALL = -1

SENDS = frozenset(
    {Action.SEND_LEADER_AND_ISR, Action.SEND_STOP_REPLICA, Action.SEND_UPDATE_METADATA}
)
"""What a broker hears of a controller's epoch by, beside INITs."""

STOPS = frozenset({Action.SEND_STOP_REPLICA, Action.STOP_REPLICA, RefusalKind.REFUSE_STOP})
"""Of any partition: what they tell of a controller's epoch is the broker's, not the partition's."""

NO_LEADER = -1
"""The epoch of the leader that reads its write back, where another part of a broker reads."""


@dataclass(frozen=True, slots=True)
class Event:
    """One step of the replay, and the line that tells of it."""

    fields: Fields
    line: TraceFileLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The replay of one partition of one run."""

    run: str
    partition: TopicPartition
    level: int
    brokers: frozenset[int]
    assigned_replicas: tuple[int, ...]
    events: tuple[Event, ...]
    incarnation: int = 1
    """Of the partition, from 1."""
    ended: str = ""
    """Where and why the replay ends before the run does; empty where it does not."""
    stride: int = STRIDE
    """Events from one pause to the next (`pauses.py`)."""

    @property
    def subject(self) -> str:
        """What is replayed, in words."""
        later = f", incarnation {self.incarnation}" if self.incarnation > 1 else ""
        return f"{self.partition}{later}"

    @property
    def begins(self) -> None:
        """It begins as the spec does."""
        return

    @property
    def pauses(self) -> tuple[Fields, ...]:
        """Where records may leave the state."""
        return pauses_of([event.fields for event in self.events], self.stride)

    @property
    def facts(self) -> Fields:
        """What the replay knows beside the events."""
        return {
            "stride": self.stride,
            "pauses": self.pauses,
            "is_last": True,
        }


def project(
    run: str, level: int, lines: list[TraceFileLine], key: TopicPartition, assigned: tuple[int, ...]
) -> Projection:
    """The events of the first incarnation of `key` in `lines`, which are in order.

    They end with it, or where a client that is no broker writes the state: from there on it is no
    behaviour of this spec. Raises `ReplayError`.
    """
    return next(project_all(run, level, lines, key, assigned))


def project_all(
    run: str, level: int, lines: list[TraceFileLine], key: TopicPartition, assigned: tuple[int, ...]
) -> Iterator[Projection]:
    """The same of each incarnation, in order."""
    for place, one in enumerate(incarnations(lines, key), start=1):
        replicas = one.assigned or assigned
        yield replace(_project(run, level, lines, key, replicas, one), incarnation=place)


def _project(
    run: str,
    level: int,
    whole: list[TraceFileLine],
    key: TopicPartition,
    assigned: tuple[int, ...],
    incarnation: Incarnation,
) -> Projection:
    lines = incarnation.lines
    lines, ended = up_to_the_limits(lines, key, broker_sessions(lines))
    started = (event.broker_id for event in _brokers(lines))
    brokers = frozenset(number for number in started if number is not None) | set(assigned)
    projector = _Projector(
        key=key,
        level=level,
        brokers=brokers,
        offices=offices_of(lines),
        assignments=assignments_of(lines, key, incarnation.since),
        incarnation=incarnation,
        started=_recovered(lines, key),
        forgetful=frozenset(forgetful_faults(line.event for line in lines)),
        by_hand=BY_HAND if has_strangers(line.event for line in whole) else BY_NOBODY,
        seen=_seen(lines, key),
    )
    events = tuple(Event(fields, line) for line in lines for fields in projector.events(line))
    return Projection(
        run=run,
        partition=key,
        level=level,
        brokers=brokers,
        assigned_replicas=assigned,
        events=events,
        ended=ended,
    )


def _brokers(lines: list[TraceFileLine]) -> Iterator[TraceEvent]:
    return (line.event for line in lines if line.event.action == "NodeStarted")


def _recovered(lines: list[TraceFileLine], key: TopicPartition) -> set[Process]:
    """The starts, as (node, incarnation), that found a log of the partition."""
    return {
        process_of(line.event)
        for line in lines
        if line.event.action == "LogRecovered" and is_about(line.event, key)
    }


def _seen(lines: list[TraceFileLine], key: TopicPartition) -> dict[tuple[int, int], str]:
    found: dict[tuple[int, int], str] = {}
    for line in lines:
        event = line.event
        if event.action == Action.FOLLOWER_APPEND and is_about(event, key):
            records = zip(event.record_epochs or (), event.values or (), strict=False)
            for offset, (epoch, value) in enumerate(records, start=event.offset or 0):
                found[epoch, offset] = value
    return found


def is_about(event: TraceEvent, key: TopicPartition) -> bool:
    """True for a line that names the partition."""
    return event.topic == key.topic and event.partition == key.partition


def process_of(event: TraceEvent) -> Process:
    """Which process wrote the line."""
    return event.node, event.incarnation


@dataclass(slots=True, kw_only=True)
class _Projector:
    """Turns lines into events; knows what earlier lines said of a broker's start."""

    key: TopicPartition
    level: int
    brokers: frozenset[int]
    offices: Offices
    assignments: Assignments
    incarnation: Incarnation
    started: set[Process]
    forgetful: frozenset[str]
    """Ids of the faults by which disks lose records."""
    by_hand: frozenset[str]
    """The actions that may be of no broker."""
    seen: dict[tuple[int, int], str]
    """(leader epoch, offset) -> what some follower stored there."""
    values: Numbers = field(default_factory=Numbers)
    topics: Numbers = field(default_factory=Numbers)
    zxids: Numbers = field(default_factory=Numbers)
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Broker -> leader epoch and log end of its last line that tells them."""
    robbed: set[str] = field(default_factory=set)
    """The nodes with a disk that such a fault has hit, until they start."""
    bereft: set[Process] = field(default_factory=set)
    """The processes that started on such a disk."""
    begun: set[Process] = field(default_factory=set)
    """The processes that told of their start."""
    recovering: set[Process] = field(default_factory=set)
    """Those that told last that they read their assignment, or ask for the states because of it."""
    told: set[tuple[int, int]] = field(default_factory=set)
    """Brokers to which a controller of the epoch has sent something."""
    floors: set[tuple[Process, int | None]] = field(default_factory=set)
    """Readings by a starting process, as (process, operation): its floor, and no reading else."""

    def events(self, line: TraceFileLine) -> Iterator[Fields]:
        """The events of one line, in order: none, one, or two of an election.

        What no broker did is nothing that the spec has.
        """
        for fields in self._events(line.event):
            broker_id = fields.get("broker_id", NO_BROKER)
            is_by_hand = broker_id == NO_BROKER and fields["action"] in self.by_hand
            if "broker_id" not in fields or broker_id in self.brokers or is_by_hand:
                yield self.offices.counted(fields)
            else:
                yield {"action": UNKNOWN}

    def _events(self, event: TraceEvent) -> Iterator[Fields]:
        self._note_recovery(event)
        self._note_loss(event)
        match event.kind:
            case Kind.ZOOKEEPER:
                yield from self._zookeeper(event)
            case Kind.ACTION | Kind.REFUSAL if process_of(event) not in self.begun:
                yield {"action": UNKNOWN}
            case Kind.ACTION | Kind.REFUSAL:
                yield from self._action(event)
            case Kind.RUN if event.action in ("NodeStarted", "LogRecovered"):
                yield from self._start(event)
            case Kind.RUN if event.action == "LogFailed" and is_about(event, self.key):
                yield {"action": event.action, **numbers(event, "broker_id")}
            case Kind.INVOKE if event.action == "WriteLeaderAndIsr":
                yield from self._asked(event)
            case Kind.INVOKE | Kind.COMPLETE if event.action == "ReadController":
                yield from self._controller_read(event)
            case Kind.COMPLETE:
                yield from self._complete(event)
            case _:
                return

    def _note_recovery(self, event: TraceEvent) -> None:
        """A starting broker reads the states in the step in which it knows its assignment."""
        process = process_of(event)
        if event.action == Action.READ_ASSIGNMENT:
            self.recovering.add(process)
        elif process in self.recovering:
            if event.kind is Kind.INVOKE and event.action == "ReadLeaderAndIsr":
                self.floors.add((process, event.op_id))
            else:
                self.recovering.discard(process)

    def _note_loss(self, event: TraceEvent) -> None:
        """What a broker finds on its disk may be less than it has told of."""
        if event.kind is Kind.FAULT and event.fault_id in self.forgetful:
            if event.phase is Phase.INJECTING:
                self.robbed.add(f"broker-{event.broker_id}")
        elif event.action == "NodeStarted" and event.node in self.robbed:
            self.robbed.discard(event.node)
            self.bereft.add(process_of(event))

    @property
    def session_numbers(self) -> Numbers:
        """Of sessions."""
        return self.offices.numbers

    # ZooKeeper

    def _zookeeper(self, event: TraceEvent) -> Iterator[Fields]:
        path = event.path or ""
        if path == CONTROLLER_EPOCH:
            yield from self.offices.epoch_written(event)
            return
        parent, _, name = path.rpartition("/")
        if parent == BROKER_IDS and name.isdecimal():
            yield from self._registration(event, int(name))
        elif path == CONTROLLER:
            yield from self.offices.written(event)
        elif path == CONFIG_CHANGES:
            yield {
                "action": "ZkConfigure",
                "broker_id": self.offices.author(event),
                "zxid": self.zxids.of(event.zxid),
                "is_fenced": self.level >= ProtocolLevel.CONTROLLER_MUTATIONS,
            }
        elif path == topic_path(self.key.topic):
            yield from self._topic(event)
        elif path in self.assignments.requests:
            yield self.assignments.request(event) | {
                "broker_id": self.offices.author(event),
                "zxid": self.zxids.of(event.zxid),
            }
        elif path == leader_and_isr_path(self.key) and event.data is not None:
            moved = self.assignments.beside(event)
            yield {
                "action": "ZkMove" if moved else "ZkWriteState",
                **moved,
                "broker_id": self.offices.author(event),
                **state_fields(event.data),
                "isr_broker_epochs": isr_broker_epochs(event.data, self.zxids),
                "znode_version": number(event.znode_version),
                "zxid": self.zxids.of(event.zxid),
            }

    def _topic(self, event: TraceEvent) -> Iterator[Fields]:
        """A move changes the state in the same transaction: one event tells of both."""
        fields = self.assignments.told(event) | {"zxid": self.zxids.of(event.zxid)}
        if self.assignments.is_begin(event):
            del fields["topic_version"]
            yield {"action": "ZkCreateTopic", **fields, "is_known": event.action != "Create"}
        elif event.action == "SetData" and not self.assignments.is_beside_state(event):
            yield {"action": "ZkAssign", **fields, "broker_id": self.offices.author(event)}

    def _registration(self, event: TraceEvent, broker_id: int) -> Iterator[Fields]:
        if event.action == "Create":
            yield {
                "action": "ZkRegister",
                "broker_id": broker_id,
                "session_id": self.offices.numbers.of(event.session_id),
                "zxid": self.zxids.of(event.zxid),
            }
        elif event.action == "Delete":
            yield {"action": "ZkUnregister", "broker_id": broker_id}

    # Processes

    def _start(self, event: TraceEvent) -> Iterator[Fields]:
        """What the disk holds was there when the last process died: that comes first."""
        broker_id = number(event.broker_id)
        is_recovered = process_of(event) in self.started
        if event.action == "NodeStarted":
            self.begun.add(process_of(event))
        elif process_of(event) not in self.begun:
            yield {"action": UNKNOWN}
        begun: Fields = {
            "action": "NodeStarted",
            "broker_id": broker_id,
            "is_recovered": is_recovered,
            "is_forgetful": process_of(event) in self.bereft,
        }
        if event.action == "NodeStarted" and not is_recovered:
            yield begun
        elif event.action == "LogRecovered" and is_about(event, self.key):
            yield {
                "action": event.action,
                **numbers(event, "broker_id", "log_end_offset", "high_watermark"),
                "is_forgetful": process_of(event) in self.bereft,
                "values": self._unlogged(broker_id, number(event.log_end_offset)),
            }
            yield begun

    def _unlogged(self, broker_id: int, end: int) -> tuple[int, ...]:
        """The records above the last line of a dead leader, as other nodes read them later.

        One that was never read gets a number of its own.
        """
        leader_epoch, start = self.ends.get(broker_id, (MISSING, 0))
        return tuple(
            self.values.of(self.seen.get((leader_epoch, offset), (broker_id, leader_epoch, offset)))
            for offset in range(start, end)
        )

    # Operations

    def _asked(self, event: TraceEvent) -> Iterator[Fields]:
        """A client that is no broker decides nothing and wishes nothing: its write is a limit."""
        if is_about(event, self.key) and event.data is not None and event.broker_id is not None:
            yield {
                "action": "WriteAsked",
                **numbers(event, "broker_id", "expected_version"),
                **state_fields(event.data),
            }

    def _controller_read(self, event: TraceEvent) -> Iterator[Fields]:
        """An answer without a name says nothing that a broker could act on."""
        if event.kind is Kind.INVOKE:
            yield {"action": "ControllerAsked", **numbers(event, "broker_id")}
        elif event.controller_id is not None:
            yield {"action": "ControllerRead", **numbers(event, "broker_id", "controller_id")}

    def _complete(self, event: TraceEvent) -> Iterator[Fields]:
        if not is_about(event, self.key) or event.outcome is not Outcome.OK:
            return
        match event.action:
            case "ReadLeaderAndIsr" if event.data is not None:
                yield {
                    "action": "ReadState",
                    "broker_id": number(event.broker_id),
                    **state_fields(event.data),
                    "znode_version": number(event.znode_version),
                    "is_start": (process_of(event), event.op_id) in self.floors,
                    "asked_in": NO_LEADER if event.leader_epoch is None else event.leader_epoch,
                }
            case "WriteLeaderAndIsr" if event.data is not None:
                yield {
                    "action": "WriteHeard",
                    **numbers(event, "broker_id", "expected_version"),
                    **state_fields(event.data),
                    "znode_version": number(event.znode_version),
                    "zxid": self.zxids.of(event.zxid),
                }
            case "Produce" if event.acks == ACKS_ALL and self.level >= ProtocolLevel.LEADER_EPOCH:
                yield {
                    "action": "Acknowledge",
                    **numbers(event, "offset", "leader_epoch"),
                    "values": tuple(self.values.of(value) for value in event.values or ()),
                }

    # Actions

    def _told(self, event: TraceEvent) -> Iterator[Fields]:
        """The first command of a controller epoch to a broker, whatever it is about."""
        if event.action not in SENDS or event.controller_epoch is None:
            return
        told = (broker_number(event.peer), event.controller_epoch)
        if told not in self.told:
            self.told.add(told)
            yield {
                "action": "ControllerSends",
                "broker_id": actor(event),
                "peer": told[0],
                "controller_epoch": told[1],
            }

    def _action(self, event: TraceEvent) -> Iterator[Fields]:
        yield from self._told(event)
        if event.action in LIFECYCLE | QUOTAS:
            return
        is_elsewhere = event.partition is not None and not is_about(event, self.key)
        is_elsewhere |= event.topic is not None and event.topic != self.key.topic
        if is_elsewhere and event.action not in STOPS:
            return
        if (
            event.kind is Kind.ACTION
            and event.log_end_offset is not None
            and event.leader_epoch is not None
        ):
            self.ends[number(event.broker_id)] = (event.leader_epoch, event.log_end_offset)
        fields: Fields = {"action": event.action, "broker_id": actor(event)}
        for name in FIELDS.get(event.action, ()):
            fields[name] = READERS[name](self, event)
        if event.action in STOPS:
            is_earlier = self.incarnation.is_of_earlier(event)
            fields["is_own"] = is_about(event, self.key) and not is_earlier
        yield fields
