"""What administrators ask for in the simulated world; as `fault_injection/injectors/admin.py`.

A request is asked of one broker after the other until one grants it, or until nobody wants it any
more. What becomes of it is the controller's affair.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    Reassignment,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ReplicaList,
)
from fencepost.impl.sim.injectors.awaited import Wish, World
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.vocabulary import BrokerId, ElectionKind, ErrorCode
from fencepost.spec.znodes import TopicPartition, topic_path

AGAIN_MS = 100
"""After a refusal, or without an answer."""

Replicas = tuple[BrokerId, ...]


def wish_of(fault: Fault, world: World) -> Wish | None:
    """The change is asked for; None when there is nothing to change."""
    match fault:
        case ReassignPartition():
            return _reassign(fault, world)
        case AddPartitions():
            return _add(fault, world)
        case RecreateTopic():
            return _recreate(fault, world)
        case ElectPreferred():
            return _elect(fault, world)
        case _:
            raise AssertionError(f"{fault.kind} is nothing that an administrator asks for")


class Asker(SimulatedClient):
    """Asks for one change, of any broker, until it is granted or not wanted any more."""

    def __init__(self, world: World, request: Request) -> None:
        super().__init__(world.cluster, world.next_name())
        self._request = request
        self.is_granted = False
        self._ask()

    def _ask(self) -> None:
        if self.is_stopped:
            return
        to = self.random.choice(sorted(self.cluster.disks))
        self.ask(to, self._request, self._hear)

    def _hear(self, response: Response | None) -> None:
        self.is_granted = _grants(response)
        if not self.is_granted:
            self.cluster.scheduler.after_ms(AGAIN_MS, self._ask)


def _grants(response: Response | None) -> bool:
    match response:
        case AlterPartitionReassignmentsResponse() | ElectLeadersResponse():
            each = [response, *response.partitions]
            return all(one.error_code is ErrorCode.NONE for one in each)
        case CreatePartitionsResponse() | CreateTopicResponse() | DeleteTopicResponse():
            return response.error_code is ErrorCode.NONE
        case _:
            return False


@dataclass(slots=True)
class _Change:
    """What changes have in common: they end by themselves."""

    cluster: VirtualCluster
    asker: Asker

    def heal(self) -> None:
        """Nobody asks for it any more."""
        self.asker.is_stopped = True


@dataclass(slots=True)
class _Move(_Change):
    """`admin.reassign`."""

    key: TopicPartition
    wanted: Replicas
    before: Replicas

    def evidence(self) -> Line | None:
        """Other replicas are assigned than before."""
        now = self.cluster.assignments().get(self.key)
        return None if now in (None, self.before) else {"before": self.before, "after": now}

    def healed(self) -> Line | None:
        """The partition is where it was to go, and in sync there."""
        is_there = self.cluster.assignments().get(self.key) == self.wanted
        if not is_there or not _is_in_sync(self.cluster, self.key, self.wanted):
            return None
        return {"in_sync": self.wanted}


@dataclass(slots=True)
class _Addition(_Change):
    """`admin.add_partitions`."""

    topic: str
    wanted: int

    def evidence(self) -> Line | None:
        """All the new partitions are published."""
        now = len(_partitions(self.cluster, self.topic))
        return {"partitions": now} if now >= self.wanted else None

    def healed(self) -> Line | None:
        """All partitions are led and in sync."""
        return _led_by_all(self.cluster, _partitions(self.cluster, self.topic))


@dataclass(slots=True)
class _Recreation(_Change):
    """`admin.delete_recreate_topic`."""

    world: World
    topic: str
    assigned: dict[TopicPartition, Replicas]
    czxid: int
    founder: Asker | None = field(init=False, default=None)

    def evidence(self) -> Line | None:
        """It is not published any more."""
        return None if self._czxid() == self.czxid else {"czxid": self.czxid}

    def heal(self) -> None:
        """It is there again, as soon as it is gone."""
        self.asker.is_stopped = True
        now = self._czxid()
        if self.founder is not None and (now or self.founder.is_granted):
            self.founder.is_stopped = True
            self.founder = None
        if now is None and self.founder is None:
            lists = tuple(ReplicaList(replicas=self.assigned[key]) for key in sorted(self.assigned))
            again = CreateTopicRequest(topic=self.topic, assignment=lists)
            self.founder = Asker(self.world, again)

    def healed(self) -> Line | None:
        """Another topic of that name is led and in sync."""
        if self._czxid() in (None, self.czxid):
            return None
        return _led_by_all(self.cluster, self.assigned)

    def _czxid(self) -> int | None:
        stat = self.cluster.zookeeper.peek(topic_path(self.topic)).stat
        return None if stat is None else stat.czxid


@dataclass(slots=True)
class _Election(_Change):
    """`admin.preferred_leader`."""

    key: TopicPartition
    preferred: BrokerId
    before: BrokerId

    def evidence(self) -> Line | None:
        """The preferred replica leads."""
        known = self.cluster.state(self.key)
        if known is None or known[0].leader != self.preferred:
            return None
        return {"before": self.before, "leader": self.preferred}

    def healed(self) -> Line | None:
        """The partition has a leader that is in its ISR."""
        known = self.cluster.state(self.key)
        if known is None or known[0].leader not in known[0].isr:
            return None
        return {"leader": known[0].leader, "leader_epoch": known[0].leader_epoch}


def _reassign(fault: ReassignPartition, world: World) -> Wish | None:
    key = TopicPartition(fault.topic, fault.partition)
    before = world.cluster.assignments().get(key)
    wanted = tuple(map(BrokerId, fault.replicas))
    if before in (None, wanted):
        return None
    one = Reassignment(topic=key.topic, partition=key.partition, replicas=wanted)
    asker = Asker(world, AlterPartitionReassignmentsRequest(reassignments=(one,)))
    return _Move(world.cluster, asker, key, wanted, before)


def _add(fault: AddPartitions, world: World) -> Wish | None:
    before = len(_partitions(world.cluster, fault.topic))
    if not before:
        return None
    wanted = before + fault.count
    asker = Asker(world, CreatePartitionsRequest(topic=fault.topic, partition_count=wanted))
    return _Addition(world.cluster, asker, fault.topic, wanted)


def _recreate(fault: RecreateTopic, world: World) -> Wish | None:
    assigned = _partitions(world.cluster, fault.topic)
    stat = world.cluster.zookeeper.peek(topic_path(fault.topic)).stat
    if stat is None or not assigned:
        return None
    asker = Asker(world, DeleteTopicRequest(topic=fault.topic))
    return _Recreation(world.cluster, asker, world, fault.topic, assigned, stat.czxid)


def _elect(fault: ElectPreferred, world: World) -> Wish | None:
    key = TopicPartition(fault.topic, fault.partition)
    known, replicas = world.cluster.state(key), world.cluster.assignments().get(key)
    if known is None or replicas is None or known[0].leader == replicas[0]:
        return None
    one = PartitionId(topic=key.topic, partition=key.partition)
    asker = Asker(world, ElectLeadersRequest(kind=ElectionKind.PREFERRED, partitions=(one,)))
    return _Election(world.cluster, asker, key, replicas[0], known[0].leader)


def _partitions(cluster: VirtualCluster, topic: str) -> dict[TopicPartition, Replicas]:
    return {key: found for key, found in cluster.assignments().items() if key.topic == topic}


def _is_in_sync(cluster: VirtualCluster, key: TopicPartition, wanted: Iterable[BrokerId]) -> bool:
    """These replicas, no more and no less, are the ISR, and one of them leads."""
    known = cluster.state(key)
    return known is not None and (
        known[0].leader in known[0].isr and known[0].isr == frozenset(wanted)
    )


def _led_by_all(cluster: VirtualCluster, wanted: dict[TopicPartition, Replicas]) -> Line | None:
    if not wanted or not all(_is_in_sync(cluster, key, each) for key, each in wanted.items()):
        return None
    return {"in_sync": len(wanted)}
