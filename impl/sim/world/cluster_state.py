"""The published state of a simulated cluster, as faults and stories read it."""

from fencepost.fault_injection.faults.targets import ClusterView
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TOPICS, LeaderAndIsr, TopicPartition, broker_path


class VirtualState:
    """What the simulated ZooKeeper publishes."""

    def __init__(self, world: VirtualCluster) -> None:
        self._world = world

    def controller(self) -> int | None:
        """The broker that acts as controller."""
        process = self._world.controller()
        return process.broker_id if process else None

    def live_brokers(self) -> list[int]:
        """The registered brokers."""
        peek = self._world.zookeeper.peek
        return [b for b in self._world.disks if peek(broker_path(b)).stat is not None]

    def topics(self) -> list[str]:
        """All topics, ascending; malformed ones too."""
        return [*self._world.zookeeper.children(TOPICS)]

    def assignment(self, topic: str) -> dict[int, tuple[BrokerId, ...]]:
        """The assigned replicas of each partition; empty for an unknown topic."""
        assigned = self._world.assignments()
        return {key.partition: replicas for key, replicas in assigned.items() if key.topic == topic}

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The published leader, epoch and ISR of a partition."""
        known = self._world.state(partition)
        return known[0] if known else None

    def view(self) -> ClusterView:
        """The roles of all brokers now."""
        return self._world.view()
