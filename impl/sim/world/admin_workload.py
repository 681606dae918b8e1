"""A simulated administrator who does a little of everything, and somebody who writes nonsense.

Unlike those of `movers.py` and `founders.py` it asks for whatever there is to ask for: topics come
and go and come again, with replicas drawn or named, grow and shrink, and move.
"""

from collections.abc import Callable

from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectLeadersRequest,
    Reassignment,
    RemovePartitionsRequest,
    Request,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    DeleteTopicRequest,
    ReplicaList,
)
from fencepost.impl.core.types.zookeeper import Create, Delete
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, ElectionKind
from fencepost.spec.znodes import TopicPartition, topic_path

OTHER_TOPICS = ("u", "v")
PARTITIONS_MAX = 3
"""Of one topic."""
FIRST_AGAIN_MS = 300
MISTAKES = 0.1
"""Share of the lists of replicas that name somebody who is not there."""
BAD_TOPIC = topic_path("bad")
SESSION_MS = 10_000


class Administrator(SimulatedClient):
    """Asks any broker for one change after the other; once stopped, for a topic if there is none.

    A late request may delete the topic at any time: the run ends with one all the same.
    """

    def __init__(self, cluster: VirtualCluster, name: str, between_ms: tuple[int, int]) -> None:
        super().__init__(cluster, name)
        self._between_ms = between_ms

    @property
    def keys(self) -> list[TopicPartition]:
        """All partitions that there may ever be."""
        topics = (TOPIC, *OTHER_TOPICS)
        return [TopicPartition(topic, n) for topic in topics for n in range(PARTITIONS_MAX)]

    def begin_work(self) -> None:
        """Ask now and then until stopped."""
        self.cluster.scheduler.after_ms(self.random.randint(*self._between_ms), self._change)

    def found_again(self) -> None:
        """There will be a topic, whoever deletes it; without end."""
        there = any(key.topic == TOPIC for key in self.cluster.assignments())
        if not there:
            self._ask_anybody(self._creation(TOPIC), lambda: None)
        self.cluster.scheduler.after_ms(FIRST_AGAIN_MS, self.found_again)

    def _change(self) -> None:
        if not self.is_stopped:
            self._ask_anybody(self._request(), self.begin_work)

    def _ask_anybody(self, request: Request, then: Callable[[], None]) -> None:
        to = self.random.choice(sorted(self.cluster.disks))
        self.ask(to, request, lambda _: then())

    def _request(self) -> Request:
        known = sorted(self.cluster.assignments())
        if not any(key.topic == TOPIC for key in known):
            return self._creation(TOPIC)
        key = self.random.choice(known)
        draw = self.random.random()
        if draw < 0.3:
            return self._reassignment(key, self._replicas())
        if draw < 0.45:
            return self._reassignment(key, ())
        if draw < 0.55:
            one = PartitionId(topic=key.topic, partition=key.partition)
            return ElectLeadersRequest(kind=ElectionKind.PREFERRED, partitions=(one,))
        if draw < 0.75:
            return self._resizing(key.topic, known)
        return self._life_of_topics(known)

    def _life_of_topics(self, known: list[TopicPartition]) -> Request:
        topic = self.random.choice((TOPIC, *OTHER_TOPICS))
        if any(key.topic == topic for key in known):
            return DeleteTopicRequest(topic=topic)
        return self._creation(topic)

    def _creation(self, topic: str) -> Request:
        count = self.cluster.options.partitions if topic == TOPIC else self.random.choice((1, 2))
        if self.random.random() < 0.5:
            is_mistake = self.random.random() < MISTAKES
            replicas = self._mistaken if is_mistake else self._replicas
            lists = tuple(ReplicaList(replicas=replicas()) for _ in range(count))
            return CreateTopicRequest(topic=topic, assignment=lists)
        factor = self.cluster.options.replication_factor
        return CreateTopicRequest(topic=topic, partition_count=count, replication_factor=factor)

    def _resizing(self, topic: str, known: list[TopicPartition]) -> Request:
        there = [key.partition for key in known if key.topic == topic]
        if len(there) > 1 and self.random.random() < 0.5:
            return RemovePartitionsRequest(topic=topic, partitions=(max(there),))
        count = min(len(there) + 1, PARTITIONS_MAX)
        return CreatePartitionsRequest(topic=topic, partition_count=count)

    def _replicas(self) -> tuple[BrokerId, ...]:
        """As many as usual, or one."""
        factor = self.cluster.options.replication_factor
        count = factor if self.random.random() < 0.8 else 1
        return tuple(self.random.sample(sorted(self.cluster.disks), count))

    def _mistaken(self) -> tuple[BrokerId, ...]:
        """One that is not there."""
        return (BrokerId(max(self.cluster.disks) + 1),)

    def _reassignment(self, key: TopicPartition, replicas: tuple[BrokerId, ...]) -> Request:
        one = Reassignment(topic=key.topic, partition=key.partition, replicas=replicas)
        return AlterPartitionReassignmentsRequest(reassignments=(one,))


def write_nonsense(cluster: VirtualCluster) -> None:
    """Somebody writes by hand what is no topic beside the topics, if it is not there."""
    if cluster.zookeeper.peek(BAD_TOPIC).stat is None:
        _write(cluster, Create(path=BAD_TOPIC, data=b"{"))


def remove_nonsense(cluster: VirtualCluster) -> None:
    """It is gone again."""
    if cluster.zookeeper.peek(BAD_TOPIC).stat is not None:
        _write(cluster, Delete(path=BAD_TOPIC, expected_version=ANY_VERSION))


def _write(cluster: VirtualCluster, op: Create | Delete) -> None:
    if cluster.move_recorder is not None:
        cluster.move_recorder.written(op)
    session_id = cluster.zookeeper.open_session(SESSION_MS)
    cluster.zookeeper.write(session_id, (op,))
    cluster.zookeeper.end_session(session_id)
