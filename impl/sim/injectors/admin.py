"""Requests of administrators in the simulated world.

A request goes to one broker after the other until one grants it, or until the fault ends. The
controller carries it out.
"""

from collections.abc import Iterable

from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    ReassignPartition,
    RecreateTopic,
)
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
from fencepost.impl.sim.injectors.injector import (
    AnyFault,
    FaultedWorld,
    SimulatedInjector,
    nothing_to_act_on,
)
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.vocabulary import BrokerId, ElectionKind, ErrorCode
from fencepost.spec.znodes import TopicPartition, topic_path

AGAIN_MS = 100
"""After a refusal, or without an answer."""

Replicas = tuple[BrokerId, ...]


class AdminRequest(SimulatedClient):
    """One change, asked of any broker until it is granted or not wanted any more."""

    def __init__(self, world: FaultedWorld, request: Request) -> None:
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


class SimulatedChange(SimulatedInjector[AnyFault]):
    """A change that the controller carries out, which ends by itself."""

    asker: AdminRequest

    def heal(self) -> None:
        """Ask for it no more."""
        self.asker.is_stopped = True


class SimulatedReassignment(SimulatedChange[ReassignPartition]):
    """`admin.reassign`."""

    key: TopicPartition
    wanted: Replicas
    before: Replicas

    def inject(self) -> None:
        """Ask for other replicas."""
        self.key = TopicPartition(self.fault.topic, self.fault.partition)
        before = self.cluster.assignments().get(self.key)
        self.wanted = tuple(map(BrokerId, self.fault.replicas))
        if before is None or before == self.wanted:
            raise nothing_to_act_on()
        self.before = before
        one = Reassignment(topic=self.key.topic, partition=self.key.partition, replicas=self.wanted)
        request = AlterPartitionReassignmentsRequest(reassignments=(one,))
        self.asker = AdminRequest(self.world, request)

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


class SimulatedPartitionAddition(SimulatedChange[AddPartitions]):
    """`admin.add_partitions`."""

    wanted: int

    def inject(self) -> None:
        """Ask for more partitions."""
        topic = self.fault.topic
        before = len(_partitions(self.cluster, topic))
        if not before:
            raise nothing_to_act_on()
        self.wanted = before + self.fault.count
        request = CreatePartitionsRequest(topic=topic, partition_count=self.wanted)
        self.asker = AdminRequest(self.world, request)

    def evidence(self) -> Line | None:
        """All the new partitions are published."""
        now = len(_partitions(self.cluster, self.fault.topic))
        return {"partitions": now} if now >= self.wanted else None

    def healed(self) -> Line | None:
        """All partitions are led and in sync."""
        return _led_by_all(self.cluster, _partitions(self.cluster, self.fault.topic))


class SimulatedTopicRecreation(SimulatedChange[RecreateTopic]):
    """`admin.delete_recreate_topic`."""

    assigned: dict[TopicPartition, Replicas]
    czxid: int
    creation: AdminRequest | None = None

    def inject(self) -> None:
        """Ask for the deletion of the topic."""
        self.assigned = _partitions(self.cluster, self.fault.topic)
        czxid = self._czxid()
        if czxid is None or not self.assigned:
            raise nothing_to_act_on()
        self.czxid = czxid
        self.asker = AdminRequest(self.world, DeleteTopicRequest(topic=self.fault.topic))

    def evidence(self) -> Line | None:
        """It is not published any more."""
        return None if self._czxid() == self.czxid else {"czxid": self.czxid}

    def heal(self) -> None:
        """Ask for its creation, as soon as it is gone."""
        self.asker.is_stopped = True
        self._create()

    def _create(self) -> None:
        now = self._czxid()
        if self.creation is not None and (now or self.creation.is_granted):
            self.creation.is_stopped = True
            self.creation = None
        if now is None and self.creation is None:
            lists = tuple(ReplicaList(replicas=self.assigned[key]) for key in sorted(self.assigned))
            again = CreateTopicRequest(topic=self.fault.topic, assignment=lists)
            self.creation = AdminRequest(self.world, again)

    def healed(self) -> Line | None:
        """Another topic of that name is led and in sync; each look takes the step that is due."""
        self._create()
        if self._czxid() in (None, self.czxid):
            return None
        return _led_by_all(self.cluster, self.assigned)

    def _czxid(self) -> int | None:
        stat = self.cluster.zookeeper.peek(topic_path(self.fault.topic)).stat
        return None if stat is None else stat.czxid


class SimulatedPreferredElection(SimulatedChange[ElectPreferred]):
    """`admin.preferred_leader`."""

    key: TopicPartition
    preferred: BrokerId
    before: BrokerId

    def inject(self) -> None:
        """Ask for the election of the first assigned replica."""
        self.key = TopicPartition(self.fault.topic, self.fault.partition)
        known = self.cluster.state(self.key)
        replicas = self.cluster.assignments().get(self.key)
        if known is None or replicas is None or known[0].leader == replicas[0]:
            raise nothing_to_act_on()
        self.preferred, self.before = replicas[0], known[0].leader
        one = PartitionId(topic=self.key.topic, partition=self.key.partition)
        request = ElectLeadersRequest(kind=ElectionKind.PREFERRED, partitions=(one,))
        self.asker = AdminRequest(self.world, request)

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
