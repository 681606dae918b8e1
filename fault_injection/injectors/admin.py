"""What administrators ask for: seen in ZooKeeper when it begins, and over when it is reached."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.injectors.injection import ResolvedFault, Znodes
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZnodeContent
from fencepost.spec import znodes
from fencepost.spec.znodes import LeaderAndIsr, MalformedZnodeError, TopicPartition

Assignment = Mapping[int, tuple[int, ...]]
"""Partition -> its replicas, the preferred leader first."""


@dataclass(slots=True)
class ReassignmentInjector:
    """`admin.reassign`: asked of a broker, as any administrator does."""

    resolved: ResolvedFault[ReassignPartition]
    _before: Assignment = field(init=False, default_factory=dict)

    def inject(self) -> None:
        """The move was granted."""
        key = self._key()
        self._before = assignment(self.resolved.target.znodes, key.topic)
        self.resolved.target.administrator.reassign(key, self.resolved.fault.replicas)

    def evidence(self) -> str | None:
        """Other replicas are assigned than before."""
        before, now = self._before.get(self._key().partition), self._now()
        return None if before is None or now in (None, before) else f"{before} became {now}"

    def heal(self) -> None:
        """Nothing: the move ends by itself."""

    def healed(self) -> str | None:
        """The partition is where it was to go, and in sync there."""
        wanted = self.resolved.fault.replicas
        if self._now() != wanted or not in_sync(self.resolved.target.znodes, self._key(), wanted):
            return None
        return f"{wanted} are in sync"

    def _key(self) -> TopicPartition:
        return TopicPartition(self.resolved.fault.topic, self.resolved.fault.partition)

    def _now(self) -> tuple[int, ...] | None:
        key = self._key()
        return assignment(self.resolved.target.znodes, key.topic).get(key.partition)


@dataclass(slots=True)
class PartitionAdditionInjector:
    """`admin.add_partitions`: the topic is to have more of them."""

    resolved: ResolvedFault[AddPartitions]
    _before: int = field(init=False, default=0)

    def inject(self) -> None:
        """The addition was granted."""
        fault, target = self.resolved.fault, self.resolved.target
        self._before = len(assignment(target.znodes, fault.topic))
        if not self._before:
            raise InjectionError(f"there is no topic {fault.topic} to add partitions to")
        target.administrator.set_partition_count(fault.topic, self._before + fault.count)

    def evidence(self) -> str | None:
        """All the new partitions are published."""
        now = len(self._now())
        if not self._before or now < self._before + self.resolved.fault.count:
            return None
        return f"{self._before} partitions became {now}"

    def heal(self) -> None:
        """Nothing: partitions are not taken back, for clients may have written to them."""

    def healed(self) -> str | None:
        """All partitions are led and in sync."""
        return led_by_all(self.resolved.target.znodes, self.resolved.fault.topic, self._now())

    def _now(self) -> Assignment:
        return assignment(self.resolved.target.znodes, self.resolved.fault.topic)


@dataclass(slots=True)
class TopicRecreationInjector:
    """`admin.delete_recreate_topic`: it goes, and comes again with the same assignment."""

    resolved: ResolvedFault[RecreateTopic]
    _before: ZnodeContent | None = field(init=False, default=None)
    _assignment: Assignment = field(init=False, default_factory=dict)

    def inject(self) -> None:
        """The deletion was granted."""
        target, topic = self.resolved.target, self.resolved.fault.topic
        self._before = read(target.znodes, znodes.topic_path(topic))
        self._assignment = assignment(target.znodes, topic)
        if self._before is None or not self._assignment:
            raise InjectionError(f"there is no topic {topic} to delete")
        target.administrator.delete_topic(topic)

    def evidence(self) -> str | None:
        """It is not published any more."""
        if self._before is None or self._is_there():
            return None
        return f"the topic of zxid {self._before.czxid} is gone"

    def heal(self) -> None:
        """It is there again; raises `InjectionError` until it can be."""
        topic = self.resolved.fault.topic
        if self._before is None or self._is_another():
            return
        if self._is_there():
            raise InjectionError(f"topic {topic} is not gone yet")
        self.resolved.target.administrator.create_topic(topic, list(self._assignment.values()))

    def healed(self) -> str | None:
        """Another topic of that name is led and in sync."""
        topic = self.resolved.fault.topic
        return led_by_all(self.resolved.target.znodes, topic, self._assignment)

    def _znode(self) -> ZnodeContent | None:
        return read(self.resolved.target.znodes, znodes.topic_path(self.resolved.fault.topic))

    def _is_there(self) -> bool:
        now = self._znode()
        return now is not None and self._before is not None and now.czxid == self._before.czxid

    def _is_another(self) -> bool:
        now = self._znode()
        return now is not None and self._before is not None and now.czxid != self._before.czxid


@dataclass(slots=True)
class PreferredElectionInjector:
    """`admin.preferred_leader`: asked of a broker, as any administrator does."""

    resolved: ResolvedFault[ElectPreferred]
    _before: int | None = field(init=False, default=None)

    def inject(self) -> None:
        """The election was granted."""
        key, target = self._key(), self.resolved.target
        state, preferred = state_of(target.znodes, key), self._preferred()
        if state is None or preferred is None:
            raise InjectionError(f"there is no partition {key} to elect a leader of")
        if state.leader == preferred:
            raise InjectionError(f"broker {preferred} leads {key} already")
        self._before = state.leader
        target.administrator.elect_preferred(key)

    def evidence(self) -> str | None:
        """The preferred replica leads."""
        state, preferred = state_of(self.resolved.target.znodes, self._key()), self._preferred()
        if self._before is None or state is None or state.leader != preferred:
            return None
        return f"broker {state.leader} leads instead of {self._before}"

    def heal(self) -> None:
        """Nothing: that is how it was to be."""

    def healed(self) -> str | None:
        """The partition has a leader that is in its ISR."""
        state = state_of(self.resolved.target.znodes, self._key())
        if state is None or state.leader not in state.isr:
            return None
        return f"broker {state.leader} leads in epoch {state.leader_epoch}"

    def _key(self) -> TopicPartition:
        return TopicPartition(self.resolved.fault.topic, self.resolved.fault.partition)

    def _preferred(self) -> int | None:
        key = self._key()
        replicas = assignment(self.resolved.target.znodes, key.topic).get(key.partition)
        return replicas[0] if replicas else None


def assignment(source: Znodes, topic: str) -> dict[int, tuple[int, ...]]:
    """The published replicas of each partition; empty when there is no such topic."""
    path = znodes.topic_path(topic)
    znode = read(source, path)
    with suppress(MalformedZnodeError):
        found = znodes.parse_topic(path, znode.data) if znode else {}
        return {partition: tuple(map(int, replicas)) for partition, replicas in found.items()}
    return {}


def state_of(source: Znodes, key: TopicPartition) -> LeaderAndIsr | None:
    """The published leader and ISR."""
    path = znodes.leader_and_isr_path(key)
    znode = read(source, path)
    with suppress(MalformedZnodeError):
        return znodes.parse_leader_and_isr(path, znode.data) if znode else None
    return None


def in_sync(source: Znodes, key: TopicPartition, replicas: tuple[int, ...]) -> bool:
    """True when these replicas, no more and no less, are the ISR, and one of them leads."""
    state = state_of(source, key)
    return state is not None and state.leader in state.isr and state.isr == frozenset(replicas)


def led_by_all(source: Znodes, topic: str, replicas: Assignment) -> str | None:
    """What shows that all these partitions are led with all replicas in sync; None: not yet."""
    keys = {TopicPartition(topic, number): wanted for number, wanted in replicas.items()}
    if not keys or not all(in_sync(source, key, wanted) for key, wanted in keys.items()):
        return None
    return f"{len(keys)} partitions of {topic} are led, with all replicas in sync"


def read(source: Znodes, path: str) -> ZnodeContent | None:
    """The znode there, or None."""
    try:
        return source.read(path)
    except NoZnodeError:
        return None
