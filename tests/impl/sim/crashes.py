"""Crashes between two writes of a sequence: the next controller must complete or undo it."""

from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
)
from fencepost.impl.sim.world.clients import SimulatedClient
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


class Administrator(SimulatedClient):
    """Creates and deletes topics, and asks until it is done."""

    def __init__(self, cluster: VirtualCluster) -> None:
        super().__init__(cluster, "client-admin")
        self.is_done = False

    def create(self, topic: str, partitions: int) -> None:
        """The topic is there in the end, with a replica on every broker."""
        request = CreateTopicRequest(
            topic=topic,
            partition_count=partitions,
            replication_factor=self.cluster.options.brokers,
        )
        self._ask(request, CreateTopicResponse, ErrorCode.TOPIC_ALREADY_EXISTS)

    def delete(self, topic: str) -> None:
        """The topic is not there in the end."""
        request = DeleteTopicRequest(topic=topic)
        self._ask(request, DeleteTopicResponse, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _ask(self, request: Request, answer: type[TopicResponse], done: ErrorCode) -> None:
        self.is_done = False

        def then(response: Response | None) -> None:
            if isinstance(response, answer) and response.error_code in (ErrorCode.NONE, done):
                self.is_done = True
                return
            self.cluster.scheduler.after_ms(AGAIN_MS, lambda: self._ask(request, answer, done))

        living = [b for b, process in self.cluster.processes.items() if process.is_alive]
        self.ask(self.random.choice(sorted(living)), request, then)


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
