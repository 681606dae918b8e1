"""The orders that a check may rely on, and the partition that an event is about.

Events of one node follow `(incarnation, seq)`. Between nodes there are only ZooKeeper's `zxid` and
`znode_version`, the epochs, Lamport clocks and, for operations of clients on one host, `mono_ns`
compared strictly: equal stamps are concurrent. Wall clocks order nothing.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import attrgetter

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.znodes import TopicPartition, partition_of

NODES_KEPT = 4096
"""Names of nodes that are taken apart once."""
_PLACE = attrgetter("node", "incarnation", "seq")
_TRANSACTION = attrgetter("zxid", "incarnation", "seq")


def order(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """Events by `(node, incarnation, seq)`: each node's own order, nodes one after the other."""
    return sorted(events, key=_PLACE)


def actions(events: Iterable[TraceEvent], *names: str) -> list[TraceEvent]:
    """The lines of the protocol's actions of these names, or of all, in `order`."""
    told = (event for event in events if event.kind is Kind.ACTION)
    return order(event for event in told if not names or event.action in names)


def by_zxid(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """ZooKeeper's own lines in the order of their transactions; other lines are left out."""
    lines = [event for event in events if event.kind is Kind.ZOOKEEPER and event.zxid is not None]
    return sorted(lines, key=_TRANSACTION)


def is_recorded(events: Iterable[TraceEvent]) -> bool:
    """ZooKeeper's own record is among the events, so that something can be missed in it."""
    return any(event.kind is Kind.ZOOKEEPER and event.zxid is not None for event in events)


def partition_of_event(event: TraceEvent) -> TopicPartition | None:
    """The partition that `event` is about; a ZooKeeper line says it by the path of its znode."""
    if event.topic is not None and event.partition is not None:
        return TopicPartition(event.topic, event.partition)
    return partition_of(event.path or "")


def split_by_partition(
    events: Iterable[TraceEvent],
) -> Mapping[TopicPartition, list[TraceEvent]]:
    """The events of each partition, partitions ascending; events about none are left out."""
    parts: dict[TopicPartition, list[TraceEvent]] = {}
    for event in events:
        partition = partition_of_event(event)
        if partition is not None:
            parts.setdefault(partition, []).append(event)
    return dict(sorted(parts.items()))


def broker_of(event: TraceEvent) -> int | None:
    """The broker that wrote `event`; None for clients, ZooKeeper and the harness."""
    return broker_named(event.node)


@lru_cache(maxsize=NODES_KEPT)
def broker_named(node: str) -> int | None:
    """The broker that a node is, `broker-2` or the like; None of another node."""
    name, _, number = node.partition("-")
    return int(number) if name == "broker" and number.isdecimal() else None
