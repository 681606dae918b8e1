"""Targets of faults: a broker by id or by role, resolved when the fault is injected."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from fencepost.spec.znodes import TOPIC_NAME, LeaderAndIsr, TopicPartition


class FaultError(ValueError):
    """A fault or schedule that is not valid; one sentence says what, where and what to do."""


class TargetRole(StrEnum):
    """How a target names its broker."""

    BROKER = "broker"
    CONTROLLER = "controller"
    LEADER = "leader"
    FOLLOWER = "follower"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The controller, leaders and replicas at one moment, as ZooKeeper shows them."""

    controller_id: int | None = None
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    assigned_replicas: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)

    def followers(self, partition: TopicPartition) -> tuple[int, ...]:
        """The assigned replicas that do not lead, in order of preference."""
        leader = self.leaders.get(partition)
        return tuple(r for r in self.assigned_replicas.get(partition, ()) if r != leader)


class ClusterState(Protocol):
    """The state that the protocol publishes, read where every client could read it."""

    def controller(self) -> int | None:
        """The active controller; None while there is none."""

    def live_brokers(self) -> list[int]:
        """The registered brokers, ascending."""

    def topics(self) -> list[str]:
        """All topics, ascending."""

    def assignment(self, topic: str) -> Mapping[int, tuple[int, ...]]:
        """The assigned replicas of each partition; empty for an unknown topic."""

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The published leader, epoch and ISR of a partition."""

    def view(self) -> ClusterView:
        """The roles of all brokers now."""


class StateVersion(NamedTuple):
    """Which writing of a partition's state is published."""

    znode_version: int
    partition_incarnation: int
    """Of the first one; 0 when that is unknown."""


class VersionedState(ClusterState, Protocol):
    """That state with what fences its writers."""

    def controller_epoch(self) -> int | None:
        """Of the last controller; None when none is published."""

    def version_of(self, partition: TopicPartition, /) -> StateVersion | None:
        """The version of a partition's state; None when none is published."""


class Target:
    """A broker, by id or by role; `ANY` is every broker and only receives. Never changed.

    A plain class, which msgspec reads and writes as its text; a dataclass would be an object.
    """

    __slots__ = ("broker_id", "partition", "position", "role")

    def __init__(
        self,
        *,
        role: TargetRole,
        broker_id: int = -1,
        partition: TopicPartition | None = None,
        position: int = 0,
    ) -> None:
        """`position` is that of a follower among the followers, from 0."""
        self.role = role
        self.broker_id = broker_id
        self.partition = partition
        self.position = position

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"Target({self})"

    def __str__(self) -> str:
        match self.role:
            case TargetRole.BROKER:
                return str(self.broker_id)
            case TargetRole.LEADER:
                return f"leader({self.partition})"
            case TargetRole.FOLLOWER:
                return f"follower({self.partition},{self.position})"
            case _:
                return self.role.value

    def resolve(self, view: ClusterView) -> int | None:
        """The broker that this is under `view`; None when no broker has the role now."""
        if self.role is TargetRole.BROKER:
            return self.broker_id
        if self.role is TargetRole.CONTROLLER:
            return view.controller_id
        if self.partition is None:
            return None
        if self.role is TargetRole.LEADER:
            leader = view.leaders.get(self.partition)
            return None if leader is None or leader < 0 else leader
        followers = view.followers(self.partition)
        return followers[self.position] if self.position < len(followers) else None


CONTROLLER = Target(role=TargetRole.CONTROLLER)
ANY_BROKER = Target(role=TargetRole.ANY)


def any_broker() -> Target:
    """Every broker, as a receiver."""
    return ANY_BROKER


def broker(broker_id: int) -> Target:
    """The broker of that id."""
    return Target(role=TargetRole.BROKER, broker_id=broker_id)


def leader(topic: str, partition: int = 0) -> Target:
    """The leader of the partition when the fault is injected."""
    return Target(role=TargetRole.LEADER, partition=TopicPartition(topic, partition))


def follower(topic: str, partition: int = 0, position: int = 0) -> Target:
    """The follower at `position` of the partition when the fault is injected."""
    return Target(
        role=TargetRole.FOLLOWER, partition=TopicPartition(topic, partition), position=position
    )


_TARGET = re.compile(
    rf"(?P<broker>\d+)|(?P<role>controller|any)"
    rf"|leader\((?P<topic>{TOPIC_NAME.pattern})/(?P<partition>\d+)\)"
    rf"|follower\((?P<followed>{TOPIC_NAME.pattern})/(?P<number>\d+),(?P<position>\d+)\)"
)


def parse_target(text: str) -> Target:
    """Read what `str(target)` writes; raises `FaultError`."""
    match = _TARGET.fullmatch(text)
    if match is None:
        raise FaultError(
            f"target {text!r} is none; write a broker id, controller, any, leader(<topic>/<p>) "
            "or follower(<topic>/<p>,<n>)"
        )
    if match["broker"]:
        return broker(int(match["broker"]))
    if match["role"]:
        return Target(role=TargetRole(match["role"]))
    if match["topic"]:
        return leader(match["topic"], int(match["partition"]))
    return follower(match["followed"], int(match["number"]), int(match["position"]))
