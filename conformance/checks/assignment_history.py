"""What ZooKeeper held about assignments and states, transaction by transaction."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from fencepost.conformance.checks.ordering import by_zxid
from fencepost.conformance.checks.znode_history import assignment_of, document_of
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import TOPICS, LeaderAndIsr, TopicPartition, partition_of


@dataclass(slots=True)
class Held:
    """What ZooKeeper holds; the same object is brought up to date by the next transaction."""

    assigned: dict[str, dict[int, frozenset[int]]] = field(default_factory=dict)
    """Topic -> partition -> its replicas."""
    states: dict[TopicPartition, tuple[LeaderAndIsr, TraceEvent]] = field(default_factory=dict)
    incarnations: dict[TopicPartition, int] = field(default_factory=dict)
    """The zxid at which the state was created."""
    changed: set[TopicPartition] = field(default_factory=set)
    """By the last transaction."""

    def replicas(self, key: TopicPartition) -> frozenset[int] | None:
        """The assigned replicas; None when no topic names the partition."""
        return self.assigned.get(key.topic, {}).get(key.partition)

    def apply(self, event: TraceEvent) -> None:
        """Bring it to what it is after the line."""
        path = event.path or ""
        key = partition_of(path)
        parent, _, topic = path.rpartition("/")
        if key is not None:
            self._apply_state(key, event)
        elif parent == TOPICS:
            stored = assignment_of(event) or {}
            self.assigned[topic] = {key: frozenset(replicas) for key, replicas in stored.items()}
            self.changed |= {key for key in self.states if key.topic == topic}

    def _apply_state(self, key: TopicPartition, event: TraceEvent) -> None:
        self.changed.add(key)
        document = document_of(event)
        if document is None:
            self.states.pop(key, None)
            self.incarnations.pop(key, None)
            return
        self.states[key] = (document, event)
        if event.action == "Create":
            self.incarnations[key] = event.zxid or 0


def transactions(events: Iterable[TraceEvent]) -> Iterator[Held]:
    """What ZooKeeper held after each transaction."""
    held = Held()
    for _, lines in groupby(by_zxid(events), key=lambda event: event.zxid):
        held.changed = set()
        for event in lines:
            held.apply(event)
        yield held
