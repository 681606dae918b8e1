"""What administrators ask for: seen in ZooKeeper when it begins, and over when it is reached.

One class for each kind does it on real processes and in the simulator, over the port `AdminPort`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.targets import ClusterState
from fencepost.fault_injection.injectors.injection import (
    AnyFault,
    FaultTarget,
    TargetAdministrator,
    read,
)
from fencepost.fault_injection.injectors.injector import Evidence, Evidence_co, InjectionError
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TopicPartition

Assignment = Mapping[int, Sequence[int]]
"""Partition -> its replicas, the preferred leader first."""


class AdminPort(Protocol[Evidence_co]):
    """An administrator of one cluster, and what the cluster publishes."""

    @property
    def administrator(self) -> TargetAdministrator:
        """Where requests are sent; to ask again for what is asked already changes nothing."""

    def stop_asking(self) -> None:
        """A request that is not granted yet is not repeated."""

    @property
    def state(self) -> ClusterState:
        """The published state."""

    def topic_zxid(self, topic: str) -> int | None:
        """Of the creation of the topic; None when there is no such topic."""

    def tell(self, says: str, /, **fields: object) -> Evidence_co:
        """Evidence: a sentence on processes, the fields of a trace line in the simulator."""

    def nothing_to_act_on(self, why: str, /) -> InjectionError:
        """What is raised when the request makes no sense now."""


@dataclass(slots=True)
class ChangeInjector(Generic[AnyFault, Evidence]):
    """A change that the controller carries out, and that ends by itself."""

    fault: AnyFault
    port: AdminPort[Evidence]

    def heal(self) -> None:
        """Ask for it no more; what is granted is carried out."""
        self.port.stop_asking()

    def is_in_sync(self, key: TopicPartition, replicas: Sequence[int]) -> bool:
        """True when these replicas, no more and no less, are the ISR, and one of them leads."""
        state = self.port.state.state_of(key)
        return state is not None and state.leader in state.isr and state.isr == frozenset(replicas)

    def led_by_all(self, topic: str, wanted: Assignment) -> Evidence | None:
        """What shows that all these partitions are led with all replicas in sync."""
        keys = {TopicPartition(topic, number): replicas for number, replicas in wanted.items()}
        if not keys or not all(self.is_in_sync(key, replicas) for key, replicas in keys.items()):
            return None
        says = f"{len(keys)} partitions of {topic} are led, with all replicas in sync"
        return self.port.tell(says, in_sync=len(keys))


@dataclass(slots=True)
class ReassignmentInjector(ChangeInjector[ReassignPartition, Evidence]):
    """`admin.reassign`."""

    _before: Sequence[int] | None = field(init=False, default=None)

    def inject(self) -> None:
        """Ask for other replicas."""
        before, wanted = self._now(), tuple(self.fault.replicas)
        if before is None or before == wanted:
            raise self.port.nothing_to_act_on(
                f"{self._key} has replicas {before}, and is to have {wanted}"
            )
        self._before = before
        self.port.administrator.reassign(self._key, wanted)

    def evidence(self) -> Evidence | None:
        """Other replicas are assigned than before."""
        before, now = self._before, self._now()
        if before is None or now in (None, before):
            return None
        return self.port.tell(f"{before} became {now}", before=before, after=now)

    def healed(self) -> Evidence | None:
        """The partition is where it was to go, and in sync there."""
        wanted = tuple(self.fault.replicas)
        if self._now() != wanted or not self.is_in_sync(self._key, wanted):
            return None
        return self.port.tell(f"{wanted} are in sync", in_sync=wanted)

    @property
    def _key(self) -> TopicPartition:
        return TopicPartition(self.fault.topic, self.fault.partition)

    def _now(self) -> Sequence[int] | None:
        return self.port.state.assignment(self.fault.topic).get(self.fault.partition)


@dataclass(slots=True)
class PartitionAdditionInjector(ChangeInjector[AddPartitions, Evidence]):
    """`admin.add_partitions`; none is taken back, for clients may have written to it."""

    _before: int = field(init=False, default=0)

    def inject(self) -> None:
        """Ask for more partitions."""
        topic, before = self.fault.topic, len(self._now())
        if not before:
            raise self.port.nothing_to_act_on(f"there is no topic {topic} to add partitions to")
        self._before = before
        self.port.administrator.set_partition_count(topic, before + self.fault.count)

    def evidence(self) -> Evidence | None:
        """All the new partitions are published."""
        now = len(self._now())
        if not self._before or now < self._before + self.fault.count:
            return None
        return self.port.tell(f"{self._before} partitions became {now}", partitions=now)

    def healed(self) -> Evidence | None:
        """All partitions are led and in sync."""
        return self.led_by_all(self.fault.topic, self._now())

    def _now(self) -> Assignment:
        return self.port.state.assignment(self.fault.topic)


@dataclass(slots=True)
class TopicRecreationInjector(ChangeInjector[RecreateTopic, Evidence]):
    """`admin.delete_recreate_topic`: it goes, and comes again with the same assignment."""

    _before: int | None = field(init=False, default=None)
    _assignment: Assignment = field(init=False, default_factory=dict)

    def inject(self) -> None:
        """Ask for the deletion of the topic."""
        before, self._assignment = self._now(), self.port.state.assignment(self.fault.topic)
        if before is None or not self._assignment:
            raise self.port.nothing_to_act_on(f"there is no topic {self.fault.topic} to delete")
        self._before = before
        self.port.administrator.delete_topic(self.fault.topic)

    def evidence(self) -> Evidence | None:
        """It is not published any more."""
        if self._before is None or self._now() == self._before:
            return None
        says = f"the topic of zxid {self._before} is gone"
        return self.port.tell(says, czxid=self._before)

    def heal(self) -> None:
        """Ask for its creation, once it is gone; refused while the deletion is being ended."""
        if self._before is None:
            return
        if self._now() is not None:
            self.port.stop_asking()
            return
        replicas = [self._assignment[number] for number in sorted(self._assignment)]
        try:
            self.port.administrator.create_topic(self.fault.topic, replicas)
        except InjectionError as refused:
            if ErrorCode.TOPIC_ALREADY_EXISTS.name not in str(refused):
                raise

    def healed(self) -> Evidence | None:
        """Another topic of that name is led and in sync; until then it may be deleted again."""
        self.heal()
        if self._now() in (None, self._before):
            return None
        return self.led_by_all(self.fault.topic, self._assignment)

    def _now(self) -> int | None:
        return self.port.topic_zxid(self.fault.topic)


@dataclass(slots=True)
class PreferredElectionInjector(ChangeInjector[ElectPreferred, Evidence]):
    """`admin.preferred_leader`."""

    _before: int | None = field(init=False, default=None)
    _preferred: int | None = field(init=False, default=None)

    def inject(self) -> None:
        """Ask for the election of the first assigned replica."""
        state = self.port.state.state_of(self._key)
        replicas = self.port.state.assignment(self.fault.topic).get(self.fault.partition)
        if state is None or not replicas:
            raise self.port.nothing_to_act_on(
                f"there is no partition {self._key} to elect a leader of"
            )
        if state.leader == replicas[0]:
            raise self.port.nothing_to_act_on(f"broker {replicas[0]} leads {self._key} already")
        self._before, self._preferred = state.leader, replicas[0]
        self.port.administrator.elect_preferred(self._key)

    def evidence(self) -> Evidence | None:
        """The preferred replica leads."""
        state, before = self.port.state.state_of(self._key), self._before
        if before is None or state is None or state.leader != self._preferred:
            return None
        says = f"broker {state.leader} leads instead of {before}"
        return self.port.tell(says, before=before, leader=state.leader)

    def healed(self) -> Evidence | None:
        """The partition has a leader that is in its ISR."""
        state = self.port.state.state_of(self._key)
        if state is None or state.leader not in state.isr:
            return None
        leader, epoch = state.leader, state.leader_epoch
        says = f"broker {leader} leads in epoch {epoch}"
        return self.port.tell(says, leader=leader, leader_epoch=epoch)

    @property
    def _key(self) -> TopicPartition:
        return TopicPartition(self.fault.topic, self.fault.partition)


@dataclass(frozen=True, slots=True)
class ProcessAdmin:
    """`AdminPort` on processes."""

    target: FaultTarget

    @property
    def administrator(self) -> TargetAdministrator:
        """Asks once: a refusal is raised."""
        return self.target.administrator

    def stop_asking(self) -> None:
        """Nothing is repeated."""

    @property
    def state(self) -> ClusterState:
        """As ZooKeeper shows it."""
        return self.target.state

    def topic_zxid(self, topic: str) -> int | None:
        """Of the znode of the topic."""
        znode = read(self.target.znodes, self.target.paths.topic_path(topic))
        return znode.czxid if znode else None

    def tell(self, says: str, /, **_: object) -> str:
        """The sentence."""
        return says

    def nothing_to_act_on(self, why: str, /) -> InjectionError:
        """It says why."""
        return InjectionError(why)
