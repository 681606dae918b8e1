"""The published state as a client sees it: who leads what, and where brokers listen."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.znodes import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    """One partition; -1 as `leader` means none."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    assigned_replicas: tuple[int, ...]
    """The first is the preferred leader."""
    topic_id: str = ""
    """Another one when the topic was deleted and created again; empty: it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What one broker read in ZooKeeper; possibly stale."""

    broker_id: int = -1
    """Who read it."""
    controller_id: int = -1
    controller_epoch: int = 0
    brokers: dict[int, str] = field(default_factory=dict)
    """Live brokers and their addresses, `host:port`."""
    partitions: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)

    def topics(self) -> dict[str, list[int]]:
        """The partitions of each topic, both ascending."""
        found: dict[str, list[int]] = {}
        for key in sorted(self.partitions):
            found.setdefault(key.topic, []).append(key.partition)
        return found

    def leader_of(self, partition: TopicPartition) -> tuple[int, str] | None:
        """Broker id and address of the leader, if there is one that is live."""
        known = self.partitions.get(partition)
        address = self.brokers.get(known.leader) if known else None
        return (known.leader, address) if known and address else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentStatus:
    """How far a partition has moved."""

    replicas: tuple[int, ...]
    """Where it is to be; none when it goes back to where it was."""
    assigned_replicas: tuple[int, ...]
    """Where it is: old and new replicas while it moves."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    """Still to be stopped."""


def metadata_of(response: wire.MetadataResponse) -> Metadata:
    """The values of an answer to Metadata."""
    return Metadata(
        broker_id=response.broker_id,
        controller_id=response.controller_id,
        controller_epoch=response.controller_epoch,
        brokers={b.broker_id: f"{b.host}:{b.port}" for b in response.brokers},
        partitions={
            TopicPartition(state.topic, state.partition): PartitionInfo(
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=tuple(state.isr),
                assigned_replicas=tuple(state.assigned_replicas),
                topic_id=state.topic_id,
            )
            for state in response.partitions
        },
    )


def parse_servers(servers: str | Iterable[str]) -> tuple[str, ...]:
    """`host:port,host:port` as addresses; raises `ValueError` with a sentence."""
    words = servers.split(",") if isinstance(servers, str) else list(servers)
    addresses = tuple(word.strip() for word in words if word.strip())
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise ValueError(f"{address!r} is no bootstrap server: give host:port[,host:port ...]")
    if not addresses:
        raise ValueError("no bootstrap server is given: give host:port[,host:port ...]")
    return addresses
