"""What the lines about a topic's znode say of a partition: its replicas, and its incarnations.

A partition that is deleted and created again is two. They share the brokers, sessions and
controllers of the run: lines that are about no partition belong to each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.spec.replay.fields import MISSING, Fields, number
from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.znodes import (
    PARTITIONS_ADD,
    REQUEST_PATHS,
    MalformedZnodeError,
    TopicPartition,
    leader_and_isr_path,
    parse_replicas,
    parse_topic,
    parse_topic_document,
    request_path,
    topic_ids_path,
    topic_path,
)


def partitions_of_run(lines: list[TraceFileLine]) -> dict[TopicPartition, tuple[int, ...]]:
    """The partitions that topics named, and the replicas that each had first.

    A topic has none while its znode cannot be read: brokers skip it, too, until it is repaired.
    """
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for line in lines:
        topic = (line.event.path or "").rpartition("/")[2]
        for partition, replicas in _named(line.event, topic_path(topic)).items():
            found.setdefault(TopicPartition(topic, partition), replicas)
    return dict(sorted(found.items()))


def _named(event: TraceEvent, path: str) -> Mapping[int, tuple[int, ...]]:
    """The replicas by partition, where the line writes the topic at `path` as can be read."""
    if event.kind is not Kind.ZOOKEEPER or event.path != path or event.data is None:
        return {}
    try:
        return parse_topic(path, event.data.encode())
    except MalformedZnodeError:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignments:
    """Turns lines about the topic's znode, and requests below `/admin`, into fields of events."""

    key: TopicPartition
    requests: dict[str, str]
    """Path of a request about the partition -> its kind."""
    topics: dict[int, TraceEvent]
    """zxid -> the line that writes the topic."""
    states: frozenset[int]
    """The transactions that write the state."""
    since: int
    """The transaction that begins the incarnation; 0 where that is the topic's own creation."""
    first_version: int
    """Of the topic when it does: the spec counts from there."""

    def is_begin(self, event: TraceEvent) -> bool:
        """True for the write of the topic with which all begins."""
        return event.zxid == self.since or event.action == "Create"

    def told(self, event: TraceEvent) -> Fields:
        """What the topic says of the partition; of one that it does not name only what leaves."""
        name, path = str(self.key.partition), event.path or ""
        fields: Fields = {"topic_version": number(event.znode_version) - self.first_version}
        try:
            document = parse_topic_document(path, (event.data or "").encode())
        except MalformedZnodeError:
            return fields | {"assigned": (MISSING,), "adding": frozenset(), "removing": frozenset()}
        return fields | {
            "assigned": tuple(document.partitions.get(name, ())),
            "adding": frozenset((document.adding or {}).get(name, ())),
            "removing": frozenset((document.removing or {}).get(name, ())),
        }

    def is_beside_state(self, event: TraceEvent) -> bool:
        """True where the same transaction writes the state."""
        return event.zxid in self.states

    def beside(self, event: TraceEvent) -> Fields:
        """What the topic says that the same transaction writes; nothing where it writes none."""
        topic = self.topics.get(event.zxid or 0)
        return self.told(topic) if topic is not None and event.action == "SetData" else {}

    def request(self, event: TraceEvent) -> Fields:
        """What is asked for; brokers that cannot be read are none of ours."""
        path = event.path or ""
        replicas: tuple[int, ...] = ()
        if event.data is not None and "replicas" in event.data:
            try:
                replicas = tuple(parse_replicas(path, event.data.encode()))
            except MalformedZnodeError:
                replicas = (MISSING,)
        return {
            "action": "ZkRequest",
            "kind": self.requests[path],
            "replicas": replicas,
            "is_there": event.action != "Delete",
        }


def assignments_of(lines: list[TraceFileLine], key: TopicPartition, since: int) -> Assignments:
    """Those of one incarnation of a partition."""
    begins = (one for one in _changes(lines, topic_path(key.topic)) if one.zxid == since)
    return Assignments(
        key=key,
        since=since,
        first_version=next((one.znode_version or 0 for one in begins), 0),
        requests={request_path(kind, key): kind.rpartition("/")[2] for kind in REQUEST_PATHS},
        topics={
            event.zxid or 0: event
            for event in _changes(lines, topic_path(key.topic))
            if event.action == "SetData"
        },
        states=frozenset(
            event.zxid or 0
            for event in _changes(lines, leader_and_isr_path(key))
            if event.action == "SetData"
        ),
    )


def _changes(lines: list[TraceFileLine], path: str) -> Iterator[TraceEvent]:
    own = (line.event for line in lines if line.event.kind is Kind.ZOOKEEPER)
    return (event for event in own if event.path == path)


# Incarnations

REQUESTS = "/admin/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incarnation:
    """One of a partition."""

    lines: list[TraceFileLine]
    """In order, up to its end."""
    assigned: tuple[int, ...] = ()
    """The replicas with which it began; those of the run's first are known."""
    since: int = 0
    """The transaction that created it; 0 for the first."""

    def is_of_earlier(self, event: TraceEvent) -> bool:
        """True for a line that says that it is about an incarnation before."""
        return 0 < (event.partition_incarnation or 0) < self.since


def first_incarnation(lines: list[TraceFileLine], key: TopicPartition) -> list[TraceFileLine]:
    """What was before the first deletion of the state, or of the topic's id or znode."""
    end = _end(lines, key, 0)
    return lines if end is None else lines[:end]


def incarnations(lines: list[TraceFileLine], key: TopicPartition) -> Iterator[Incarnation]:
    """Each that a topic named, in order."""
    end = _end(lines, key, 0)
    yield Incarnation(lines=first_incarnation(lines, key))
    while end is not None and (found := _begin(lines, key, end)) is not None:
        begin, assigned = found
        next_end = _end(lines, key, begin)
        since = lines[begin].event.zxid or 0
        one = Incarnation(lines=[], assigned=assigned, since=since)
        asked = {operation_of(line.event) for line in lines[:begin]} - {None}
        kept = [
            line
            for at, line in enumerate(lines[:next_end])
            if (
                not (one.is_of_earlier(line.event) and _is_about(line.event, key))
                and operation_of(line.event) not in asked
                if at >= begin
                else not _is_about(line.event, key)
                or (at > end and line.event.path == request_path(PARTITIONS_ADD, key))
            )
        ]
        yield Incarnation(lines=kept, assigned=assigned, since=since)
        end = next_end


def operation_of(event: TraceEvent) -> tuple[str, int, int | None] | None:
    """What tells operations of the run apart; None for a line of none."""
    is_one = event.kind in (Kind.INVOKE, Kind.COMPLETE) and event.partition is not None
    return (event.node, event.incarnation, event.op_id) if is_one else None


def _is_about(event: TraceEvent, key: TopicPartition) -> bool:
    """A line about the partition, or about its topic alone."""
    if event.kind is Kind.ZOOKEEPER:
        path, below = event.path or "", f"/{key.topic}/{key.partition}"
        is_request = path.startswith(REQUESTS) and path.endswith(below)
        return path in (topic_path(key.topic), leader_and_isr_path(key)) or is_request
    return event.topic == key.topic and event.partition in (key.partition, None)


def _end(lines: list[TraceFileLine], key: TopicPartition, begin: int) -> int | None:
    topic, state = topic_path(key.topic), leader_and_isr_path(key)
    ids = f"{topic_ids_path(key.topic)}/"
    for index in range(begin, len(lines)):
        event = lines[index].event
        if event.kind is not Kind.ZOOKEEPER or event.action != "Delete" or event.path is None:
            continue
        if event.path in (topic, state) or event.path.startswith(ids):
            return index
    return None


def _begin(
    lines: list[TraceFileLine], key: TopicPartition, end: int
) -> tuple[int, tuple[int, ...]] | None:
    """The write of the topic that names the partition again, and its replicas."""
    for index in range(end, len(lines)):
        assignment = _named(lines[index].event, topic_path(key.topic))
        if key.partition in assignment:
            return index, assignment[key.partition]
    return None
