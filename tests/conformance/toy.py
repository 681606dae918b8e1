"""A stranger's implementation in memory, over the port: replication in one lock, no ZooKeeper.

The broken twin acknowledges a record that its leader alone has, until the next record comes.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from fencepost.conformance.adapters import implementation as port
from fencepost.conformance.clients import transport as wire
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.workload import operations as ops
from fencepost.spec.vocabulary import BrokerId, ErrorCode, LeaderEpoch
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition


@dataclass
class Partition:
    replicas: tuple[int, ...]
    leader: int
    epoch: int = 0
    log: list[str] = field(default_factory=list)  # on every live replica
    tail: list[str] = field(default_factory=list)  # on the leader alone

    def replicate(self) -> None:
        self.log, self.tail = self.log + self.tail, []

    def view(self) -> wire.PartitionView:
        return wire.PartitionView(leader=self.leader, leader_epoch=self.epoch)


class ToyBroker(port.StartedBroker, wire.BrokerConnection):
    """One run of a broker, and what clients ask it."""

    pid, is_running, returncode = 0, True, None

    def __init__(self, cluster: "ToyCluster", broker_id: int, run: int) -> None:
        self.cluster, self.broker_id, self.run = cluster, broker_id, run

    def kill(self) -> None:
        with self.cluster.lock:
            self.is_running = False
            self.cluster.elect()

    def routing_view(self) -> wire.RoutingView:
        with self.cluster.lock:
            views = {key: one.view() for key, one in self.cluster.partitions.items()}
            addresses = {live: str(live) for live in self.cluster.live_brokers()}
        return wire.RoutingView(broker_id=self.broker_id, addresses=addresses, partitions=views)

    def perform(self, operation: ops.Operation) -> ops.Answer:
        with self.cluster.lock:
            one = self.cluster.partitions[operation.partition]
            if isinstance(operation, ops.Fetch):
                return self._answer(one, operation.offset, operation.max_records)
            at = len(one.log + one.tail)
            is_leader = self.is_running and one.leader == self.broker_id
            if isinstance(operation, ops.Produce) and is_leader:
                one.replicate()
                one.tail = list(operation.values)
                if self.cluster.replicates_first:
                    one.replicate()
            return self._answer(one, at)

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> tuple[None, str]:
        with self.cluster.lock:
            for number, replicas in enumerate(assignment):
                one = Partition(replicas=tuple(replicas), leader=replicas[0])
                self.cluster.partitions[TopicPartition(topic, number)] = one
        return None, ""

    def _answer(self, one: Partition, offset: int = 0, size: int = 0) -> ops.Answer:
        log = one.log + one.tail
        error = None if offset <= len(log) else ErrorCode.OFFSET_OUT_OF_RANGE
        if not self.is_running or one.leader != self.broker_id:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ops.Answer(
            outcome=ops.outcome_of(error),
            error_code=error,
            broker_id=self.broker_id,
            leader_epoch=one.epoch,
            offset=offset,
            high_watermark=len(log),
            log_end_offset=len(log),
            values=tuple(log[offset : offset + size]),
        )


class ToyCluster(port.BrokerLifecycle, port.PublishedState, wire.Transport):
    def __init__(self, replicates_first: bool) -> None:
        self.lock = threading.RLock()
        self.replicates_first = replicates_first
        self.brokers: dict[int, ToyBroker] = {}
        self.partitions: dict[TopicPartition, Partition] = {}
        self._runs = count(1)

    def connect(self, address: str, /, *_: object) -> ToyBroker:
        return self.brokers[int(address)]

    def start(self, broker_id: int, *_: str) -> None:
        self.brokers[broker_id] = ToyBroker(self, broker_id, next(self._runs))

    def started(self, broker_id: int) -> ToyBroker | None:
        return self.brokers.get(broker_id)

    def in_sync(self, one: Partition) -> list[int]:
        return [replica for replica in one.replicas if replica in self.live_brokers()]

    def elect(self) -> None:
        for one in self.partitions.values():
            live = self.in_sync(one)
            if one.leader not in live and live:
                one.leader, one.epoch, one.tail = live[0], one.epoch + 1, []

    def live_brokers(self) -> list[int]:
        return sorted(number for number, broker in self.brokers.items() if broker.is_running)

    def registration(self, broker_id: int) -> Registration | None:
        run = self.brokers[broker_id].run if broker_id in self.live_brokers() else 0
        return Registration(session_id=run, zxid=run, address=str(broker_id)) if run else None

    def controller(self) -> int | None:
        return next(iter(self.live_brokers()), None)

    def topics(self) -> list[str]:
        return sorted({key.topic for key in self.partitions})

    def assignment(self, topic: str) -> dict[int, tuple[int, ...]]:
        found = self.partitions.items()
        return {key.partition: one.replicas for key, one in found if key.topic == topic}

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr:
        one = self.partitions[partition]
        isr = frozenset(map(BrokerId, self.in_sync(one)))
        epoch = LeaderEpoch(one.epoch)
        return LeaderAndIsr(leader=BrokerId(one.leader), leader_epoch=epoch, isr=isr)


@dataclass(frozen=True, kw_only=True)
class Toy(port.Implementation):
    name: str = "toy"
    levels: tuple[int, ...] = (2,)
    replicates_first: bool = True

    def open(self, _: port.Site, /) -> port.ClusterParts:
        cluster = ToyCluster(self.replicates_first)
        return port.ClusterParts(lifecycle=cluster, state=cluster, transport=cluster)
