"""Corruptions of moves, additions and removals of partitions."""

from collections.abc import Iterator

import msgspec

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import (
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    parse_topic_document,
    topic_path,
)
from tests.spec.replay.corruptions import Corrupted, Events, IsPlace, renumbered

REMOVED = frozenset({PARTITIONS_REMOVE})
ADDED = frozenset({PARTITIONS_ADD})
MOVED = frozenset({PARTITIONS_REASSIGNED})


def is_request(kinds: frozenset[str]) -> IsPlace:
    """ZooKeeper's line about a request of these kinds, about one partition."""

    def is_place(events: Events, at: int) -> bool:
        path = events[at].path or ""
        parts = path.removeprefix("/admin/").split("/")
        return len(parts) == 3 and f"/admin/{parts[0]}" in kinds

    return is_place


def is_of_topic(events: Events, at: int) -> bool:
    """ZooKeeper's line about the znode of a topic."""
    event = events[at]
    name = (event.path or "").rpartition("/")[2]
    return event.kind is Kind.ZOOKEEPER and event.path == topic_path(name)


def is_step_of_move(events: Events, at: int) -> bool:
    """A stop after which its controller completes a move of the partition."""
    event = events[at]
    place = (event.topic, event.partition)
    later = (e for e in events[at:] if (e.topic, e.partition) == place)
    ends = next(
        (e for e in later if e.action in (Action.COMPLETE_REASSIGNMENT, "NodeStarted")), None
    )
    return event.leader_epoch != -1 and ends is not None


def with_all_assigned(event: TraceEvent) -> TraceEvent | None:
    """All that are assigned are members already, the added ones too."""
    assigned = event.assigned_replicas or []
    if not set(event.isr or ()) < set(assigned):
        return None
    return msgspec.structs.replace(event, isr=sorted(assigned))


def assigned_to_fewer(event: TraceEvent) -> TraceEvent | None:
    """The topic names each partition without its last replica."""
    path = event.path or ""
    document = parse_topic_document(path, (event.data or "").encode())
    partitions = {
        name: one[:-1] if len(one) > 1 else one for name, one in document.partitions.items()
    }
    data = msgspec.json.encode(msgspec.structs.replace(document, partitions=partitions))
    return msgspec.structs.replace(event, data=data.decode())


def stopped_before_unassigned(events: Events) -> Iterator[Corrupted]:
    """A replica is told to stop, and does, before the step of the move that takes it away."""
    for at, stop in enumerate(events):
        if stop.action != Action.STOP_REPLICA or stop.leader_epoch == -1:
            continue
        place = (stop.topic, stop.partition)
        earlier = range(at)
        sent = [n for n in earlier if _sends(events[n], stop)]
        steps = [
            n
            for n in earlier
            if events[n].action == Action.ADVANCE_REASSIGNMENT
            and (events[n].topic, events[n].partition) == place
        ]
        if not sent or not steps:
            continue
        step = events[steps[-1]]
        early = [
            msgspec.structs.replace(one, mono_ns=step.mono_ns) for one in (events[sent[0]], stop)
        ]
        left = [n for n in range(len(events)) if n not in (sent[0], at)]
        before = [events[n] for n in left if n < steps[-1]]
        after = [events[n] for n in left if n >= steps[-1]]
        yield Corrupted(renumbered([*before, *early, *after]), stop)


def _sends(line: TraceEvent, stop: TraceEvent) -> bool:
    return (
        line.action == Action.SEND_STOP_REPLICA
        and line.peer == stop.node
        and (line.topic, line.partition, line.leader_epoch)
        == (stop.topic, stop.partition, stop.leader_epoch)
    )
