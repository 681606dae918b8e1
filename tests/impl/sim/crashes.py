"""Crashes between two writes of a sequence: whoever comes next must complete or undo it."""

from collections.abc import Callable

from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
)
from fencepost.impl.core.types.zookeeper import Rejected, WriteOp, Written
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import BrokerId, ErrorCode, SessionId
from fencepost.spec.znodes import TOPICS, parse_controller

AGAIN_MS = 100
TopicResponse = CreateTopicResponse | DeleteTopicResponse


class CrashAfterWrite:
    """The broker dies as soon as ZooKeeper has done its `number`-th write from now on.

    It hears of no answer, and its session ends by silence. `is_counted` picks the writes.
    """

    def __init__(
        self,
        cluster: VirtualCluster,
        broker_id: BrokerId,
        number: int,
        is_counted: Callable[[tuple[WriteOp, ...]], bool] = lambda _: True,
    ) -> None:
        self.has_happened = False
        self._process = cluster.processes[broker_id]
        self._cluster = cluster
        self._left = number
        self._is_counted = is_counted
        self._write = cluster.zookeeper.write
        cluster.zookeeper.write = self._count  # type: ignore[method-assign]  # the one way in

    def _count(self, session_id: SessionId, ops: tuple[WriteOp, ...]) -> Written | Rejected:
        result = self._write(session_id, ops)
        is_its_own = session_id == self._process.zookeeper.session_id
        if is_its_own and isinstance(result, Written) and self._is_counted(ops):
            self._left -= 1
            if self._left == 0:
                self.has_happened = True
                self._process.die()
        return result


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


def controller_of(cluster: VirtualCluster) -> BrokerId | None:
    """Who holds the office, alive and knowing it."""
    for broker_id, process in cluster.processes.items():
        if process.is_alive and process.node.controller.is_active:
            znode = cluster.zookeeper.peek("/controller")
            if znode.stat and parse_controller(znode.path, znode.data).brokerid == broker_id:
                return broker_id
    return None


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
