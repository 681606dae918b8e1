"""A simulated administrator who deletes the topic and creates it again, and resizes it.

Partitions come, go, and come again under their old names, with clients at work on them.
"""

from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    CreatePartitionsRequest,
    ElectLeadersRequest,
    RemovePartitionsRequest,
    Request,
)
from fencepost.impl.core.types.topic_messages import CreateTopicRequest, DeleteTopicRequest
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import ElectionKind
from fencepost.spec.znodes import TopicPartition

BETWEEN_MS = (100, 1_500)
ADDED_MAX = 2


class Founder(SimulatedClient):
    """Asks any broker for one change after the other; once stopped, for a topic if there is none.

    A late request may delete the topic at any time: the run ends with one all the same.
    """

    def __init__(self, cluster: VirtualCluster) -> None:
        super().__init__(cluster, "client-founder")

    @property
    def keys(self) -> list[TopicPartition]:
        """All partitions that there may ever be."""
        count = self.cluster.options.partitions + ADDED_MAX
        return [TopicPartition(TOPIC, partition) for partition in range(count)]

    def begin_founding(self) -> None:
        """Ask now and then, without end."""
        delay_ms = self.random.randint(*BETWEEN_MS)
        self.cluster.scheduler.after_ms(delay_ms, self._change)

    def _change(self) -> None:
        there = [key for key in self.cluster.assignments() if key.topic == TOPIC]
        if there and self.is_stopped:
            self.begin_founding()
            return
        to = self.random.choice(sorted(self.cluster.disks))
        self.ask(to, self._request(there), lambda _: self.begin_founding())

    def _request(self, there: list[TopicPartition]) -> Request:
        options = self.cluster.options
        if not there:
            return CreateTopicRequest(
                topic=TOPIC,
                partition_count=options.partitions,
                replication_factor=options.replication_factor,
            )
        draw = self.random.random()
        if draw < 0.3:
            return DeleteTopicRequest(topic=TOPIC)
        if draw < 0.6 and len(there) > 1:
            return RemovePartitionsRequest(topic=TOPIC, partitions=(max(there).partition,))
        if draw < 0.9:
            count = min(len(there) + 1, options.partitions + ADDED_MAX)
            return CreatePartitionsRequest(topic=TOPIC, partition_count=count)
        key = self.random.choice(there)
        one = PartitionId(topic=key.topic, partition=key.partition)
        return ElectLeadersRequest(kind=ElectionKind.PREFERRED, partitions=(one,))
