"""A simulated administrator who moves partitions, changes leaders, and adds and removes partitions.

Only partitions that it has added itself are removed, which the clients have no records in, and none
is added after that: partitions that come again are the matter of `founders.py`.
"""

from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectLeadersRequest,
    Reassignment,
    RemovePartitionsRequest,
    Request,
)
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import BrokerId, ElectionKind
from fencepost.spec.znodes import TopicPartition

BETWEEN_MS = (100, 1_500)
ADDED_MAX = 2


class Mover(SimulatedClient):
    """Asks any broker for one change after the other; what becomes of it is the controller's."""

    def __init__(self, cluster: VirtualCluster, keys: list[TopicPartition]) -> None:
        super().__init__(cluster, "client-mover")
        self._keys = keys
        self._has_removed = False

    def begin_moving(self) -> None:
        """Ask now and then until stopped."""
        delay_ms = self.random.randint(*BETWEEN_MS)
        self.cluster.scheduler.after_ms(delay_ms, self._move)

    def _move(self) -> None:
        if self.is_stopped:
            return
        to = self.random.choice(sorted(self.cluster.disks))
        self.ask(to, self._request(), lambda _: self.begin_moving())

    def _request(self) -> Request:
        key = self.random.choice(self._keys)
        draw = self.random.random()
        if draw < 0.55:
            return self._reassignment(key, self._target())
        if draw < 0.7:
            return self._reassignment(key, ())
        if draw < 0.85 or self._has_removed:
            one = PartitionId(topic=key.topic, partition=key.partition)
            return ElectLeadersRequest(kind=ElectionKind.PREFERRED, partitions=(one,))
        return self._resizing(key.topic)

    def _target(self) -> tuple[BrokerId, ...]:
        brokers = sorted(self.cluster.disks)
        return tuple(self.random.sample(brokers, self.cluster.options.replication_factor))

    def _reassignment(self, key: TopicPartition, replicas: tuple[BrokerId, ...]) -> Request:
        one = Reassignment(topic=key.topic, partition=key.partition, replicas=replicas)
        return AlterPartitionReassignmentsRequest(reassignments=(one,))

    def _resizing(self, topic: str) -> Request:
        known = {key.partition for key in self.cluster.assignments() if key.topic == topic}
        added = sorted(known - {key.partition for key in self._keys})
        if added and self.random.random() < 0.6:
            self._has_removed = True
            return RemovePartitionsRequest(topic=topic, partitions=(added[-1],))
        count = min(len(known) + 1, len(self._keys) + ADDED_MAX)
        return CreatePartitionsRequest(topic=topic, partition_count=count)
