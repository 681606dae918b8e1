"""Cluster metadata as a client sees it: leaders of partitions and addresses of brokers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.znodes import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    """The published state of one partition; `leader` is -1 without one."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    assigned_replicas: tuple[int, ...]
    """In order; the first is the preferred leader."""
    topic_id: str = ""
    """Changes when a topic is deleted and created again; "" at levels without topic ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The cluster as one broker read it in ZooKeeper; possibly stale."""

    broker_id: int = -1
    """The broker that answered; -1 before the first answer."""
    controller_id: int = -1
    controller_epoch: int = 0
    brokers: dict[int, str] = field(default_factory=dict)
    """Live brokers: broker id -> `host:port`."""
    partitions: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)

    def topics(self) -> dict[str, list[int]]:
        """Topic -> its partition numbers, both ascending."""
        found: dict[str, list[int]] = {}
        for key in sorted(self.partitions):
            found.setdefault(key.topic, []).append(key.partition)
        return found

    def leader_of(self, partition: TopicPartition) -> tuple[int, str] | None:
        """Broker id and `host:port` of the leader; None without a live one."""
        known = self.partitions.get(partition)
        address = self.brokers.get(known.leader) if known else None
        return (known.leader, address) if known and address else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentStatus:
    """The progress of a reassignment (KIP-455); replicas are broker ids."""

    replicas: tuple[int, ...]
    """The target replicas; empty when the reassignment is being cancelled."""
    assigned_replicas: tuple[int, ...]
    """The current assignment: old and new replicas."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    """Replicas that are still to be stopped."""


class Coordinator(NamedTuple):
    """The broker that coordinates a group or a transaction."""

    broker_id: int
    address: str
    """`host:port`."""


def metadata_of(response: wire.MetadataResponse) -> Metadata:
    """Decode an answer to Metadata."""
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
    """Split `host:port,host:port` into addresses; raises `ValueError`."""
    words = servers.split(",") if isinstance(servers, str) else list(servers)
    addresses = tuple(word.strip() for word in words if word.strip())
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise ValueError(f"{address!r} is no bootstrap server: give host:port[,host:port ...]")
    if not addresses:
        raise ValueError("no bootstrap server is given: give host:port[,host:port ...]")
    return addresses
