"""Crashes between two writes of a sequence: the next controller must complete or undo it."""

from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.core.types.topic_messages import (
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
)
from fencepost.impl.sim.world.clients import AdministrativeRequest, TopicCreator
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TOPICS

AGAIN_MS = 100
TopicResponse = CreateTopicResponse | DeleteTopicResponse


class CrashAfterWrite:
    """The broker dies as soon as ZooKeeper has done its `number`-th write from now on.

    It gets no answer, and its session ends by silence.
    """

    def __init__(self, process: Process, number: int) -> None:
        self._process = process
        self._left = number
        process.zookeeper.on_done = self._count

    @property
    def has_happened(self) -> bool:
        return self._left == 0

    def _count(self, ask: Ask) -> None:
        if isinstance(ask, WriteZnodes):
            self._left -= 1
            if self.has_happened:
                self._process.die()


def create(cluster: VirtualCluster, topic: str, partitions: int = 1) -> AdministrativeRequest:
    """The topic is there in the end, with a replica on every broker."""
    asked = TopicCreator(cluster, topic, partitions)
    asked.begin_asking()
    return asked


def delete(cluster: VirtualCluster, topic: str) -> AdministrativeRequest:
    """The topic is not there in the end."""
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = DeleteTopicRequest(topic=topic)
    asked = AdministrativeRequest(cluster, "client-admin-2", request, is_there_already=gone)
    asked.begin_asking()
    return asked


def restart_the_dead(cluster: VirtualCluster) -> None:
    """Every broker that has died runs again on its disk."""
    for broker_id, process in list(cluster.processes.items()):
        if not process.is_alive:
            cluster.start(broker_id)


def leftovers(cluster: VirtualCluster) -> list[str]:
    """Znodes below the topics, and logs on the disks: what a deletion must not leave."""
    znodes = [f"{TOPICS}/{name}" for name in cluster.zookeeper.children(TOPICS)]
    logs = [f"broker {b}: {key}" for b, disk in cluster.disks.items() for key in disk.recover()]
    return znodes + logs
