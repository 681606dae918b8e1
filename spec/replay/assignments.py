"""Which brokers have a replica of a partition, as the lines about its topic's znode say."""

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.spec.replay.fields import MISSING, Fields, number
from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.znodes import (
    REQUEST_PATHS,
    MalformedZnodeError,
    TopicPartition,
    leader_and_isr_path,
    parse_replicas,
    parse_topic,
    parse_topic_document,
    request_path,
    topic_path,
)


def partitions_of_run(lines: list[TraceFileLine]) -> dict[TopicPartition, tuple[int, ...]]:
    """The partitions that topics named, and the replicas that each had first.

    A topic has none while its znode cannot be read: brokers skip it, too, until it is repaired.
    """
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for line in lines:
        event = line.event
        if event.kind is not Kind.ZOOKEEPER or event.path is None or event.data is None:
            continue
        topic = event.path.rpartition("/")[2]
        if event.path != topic_path(topic):
            continue
        try:
            assignment = parse_topic(event.path, event.data.encode())
        except MalformedZnodeError:
            continue
        for partition, replicas in assignment.items():
            found.setdefault(TopicPartition(topic, partition), replicas)
    return dict(sorted(found.items()))


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

    def told(self, event: TraceEvent) -> Fields:
        """What the topic says of the partition; of one that it does not name only what leaves."""
        name, path = str(self.key.partition), event.path or ""
        fields: Fields = {"topic_version": number(event.znode_version)}
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


def assignments_of(lines: list[TraceFileLine], key: TopicPartition) -> Assignments:
    """Those of one partition."""
    return Assignments(
        key=key,
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
