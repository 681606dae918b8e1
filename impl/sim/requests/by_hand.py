"""What people write into ZooKeeper while brokers work: elections, requests, and mistakes.

All that is malformed, or names nothing that there is, is taken away after a while: what it left
undone must be done then.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial

from fencepost.impl.core.types.zookeeper import Create, Delete, SetData
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.world.admin_workload import delete_controller
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.config_store import (
    CONFIG_CHANGES,
    ConfigChangesDocument,
    ConfigEntity,
    config_bytes,
    folders_above,
)
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, ElectionKind
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    REQUEST_PATHS,
    ControllerDocument,
    ElectionDocument,
    TopicDocument,
    TopicPartition,
    broker_path,
    document_bytes,
    leader_and_isr_path,
    request_path,
    topic_path,
)

BETWEEN_MS = (300, 2_500)
"""Between two writes by hand."""
STAYS_MS = (20, 800)
"""How long what is created by hand stays."""
NO_DOCUMENTS = (b"", b"{", b"[]", b'{"version":1}', b'{"version":1,"replicas":["1"],"kind":"best"}')
HALF_MADE = "half"
"""A topic of which not all znodes are there."""
STRANGE_PLACES = (TopicPartition(TOPIC, 9), TopicPartition("missing", 0))


class _HandWriter(SimulatedClient, ABC):
    """Writes one thing after the other until it is stopped."""

    between_ms = BETWEEN_MS

    @abstractmethod
    def acts(self) -> tuple[Callable[[], None], ...]:
        """What it may do next."""

    def begin_work(self) -> None:
        """Write the next thing after a while."""
        self._later(self.between_ms, self._act)

    def _act(self) -> None:
        if self.is_stopped:
            return
        self.random.choice(self.acts())()
        self.begin_work()

    def _later(self, range_ms: tuple[int, int], act: Callable[[], None]) -> None:
        self.cluster.scheduler.after_ms(self.random.randint(*range_ms), act)

    def _is_there(self, path: str) -> bool:
        return self.cluster.zookeeper.peek(path).stat is not None

    def _create(self, path: str, data: bytes) -> None:
        self.cluster.write_by_hand(Create(path=path, data=data))

    def _set(self, path: str, data: bytes) -> None:
        op = SetData(path=path, data=data, expected_version=ANY_VERSION)
        self.cluster.write_by_hand(op)

    def _delete(self, path: str) -> None:
        """Delete the znode if it is there and has no children."""
        if self._is_there(path):
            self.cluster.write_by_hand(Delete(path=path, expected_version=ANY_VERSION))


def write_config_by_hand(
    cluster: VirtualCluster, entity: ConfigEntity, entries: Mapping[str, str]
) -> None:
    """The entries of the entity are these; brokers are told, as the configs command tells them."""
    told = document_bytes(ConfigChangesDocument(changes=[[entity.path]]))
    for path, data in ((entity.path, config_bytes(entries)), (CONFIG_CHANGES, told)):
        for folder in (*folders_above(path), path):
            if cluster.zookeeper.peek(folder).stat is None:
                cluster.write_by_hand(Create(path=folder, data=b""))
        cluster.write_by_hand(SetData(path=path, data=data, expected_version=ANY_VERSION))


class ElectionWriter(_HandWriter):
    """Deletes, occupies and overwrites the znodes of the controller's election.

    What it creates is taken away after a while, and the epoch never falls.
    """

    def acts(self) -> tuple[Callable[[], None], ...]:
        """One of the two znodes is written."""
        return self._remove, self._occupy, self._overwrite, self._raise

    def _remove(self) -> None:
        delete_controller(self.cluster)

    def _occupy(self) -> None:
        """The znode names a broker, and belongs to no session."""
        self._remove()
        self._create(CONTROLLER, self._document())
        self._later(STAYS_MS, self._free)

    def _free(self) -> None:
        """What was put there by hand is deleted, if it is there still."""
        stat = self.cluster.zookeeper.peek(CONTROLLER).stat
        if stat is not None and not stat.ephemeral_owner:
            self._remove()

    def _overwrite(self) -> None:
        """The controller's own znode names a broker, perhaps another one."""
        self._set(CONTROLLER, self._document())

    def _raise(self) -> None:
        """The epoch is raised, or written as it is."""
        found = self.cluster.zookeeper.peek(CONTROLLER_EPOCH)
        if found.stat is not None and found.data.isdigit():
            step = self.random.randint(0, 2)
            self._set(CONTROLLER_EPOCH, str(int(found.data) + step).encode())

    def _document(self) -> bytes:
        broker_id = BrokerId(self.any_broker())
        return document_bytes(ControllerDocument(brokerid=broker_id, timestamp="0"))


class RequestWriter(_HandWriter):
    """Asks below `/admin` without asking a broker, deletes what it should not, and makes mistakes.

    What it leaves is well-formed and of partitions that there are; or it is taken away.
    """

    between_ms = (100, 1_200)

    def acts(self) -> tuple[Callable[[], None], ...]:
        """What is asked for twice comes twice as often."""
        return (
            self._elect,
            self._elect,
            self._ask_strangely,
            self._ask_strangely,
            self._withdraw,
            self._unregister,
            self._half_make,
            self._garble_controller,
        )

    def _elect(self) -> None:
        """An election is asked for, of a partition that there is."""
        known = sorted(self.cluster.assignments())
        if known:
            data = document_bytes(ElectionDocument(kind=ElectionKind.PREFERRED))
            self._ask(LEADER_ELECTION, self.random.choice(known), data)

    def _ask_strangely(self) -> None:
        """A request is no document, or about no partition."""
        known = sorted(self.cluster.assignments())
        key = self.random.choice((*known, *STRANGE_PLACES))
        kinds = (LEADER_ELECTION, PARTITIONS_ADD, PARTITIONS_REASSIGNED)
        kind = self.random.choice(kinds if key in known else (*kinds, PARTITIONS_REMOVE))
        path = self._ask(kind, key, self.random.choice(NO_DOCUMENTS))
        self._later(STAYS_MS, lambda: self._delete(path))

    def _ask(self, kind: str, key: TopicPartition, data: bytes) -> str:
        path = request_path(kind, key)
        folder = path.rpartition("/")[0]
        if not self._is_there(folder):
            self._create(folder, b"")
        if self._is_there(path):
            self._set(path, data)
        else:
            self._create(path, data)
        return path

    def _withdraw(self) -> None:
        """A request of another person is taken back, whatever the controller is about to do."""
        children = self.cluster.zookeeper.children
        paths = [
            f"{kind}/{topic}/{name}"
            for kind in REQUEST_PATHS
            for topic in children(kind)
            for name in children(f"{kind}/{topic}")
        ]
        if paths:
            self._delete(self.random.choice(paths))

    def _unregister(self) -> None:
        """A broker's znode goes, and the broker lives; its session ends after a while.

        Until then it does not come back: as Kafka's, it registers once per session.
        """
        path = broker_path(BrokerId(self.any_broker()))
        stat = self.cluster.zookeeper.peek(path).stat
        if stat is not None:
            self._delete(path)
            end = partial(self.cluster.zookeeper.end_session, stat.ephemeral_owner)
            self._later(STAYS_MS, end)

    def _half_make(self) -> None:
        """A topic has a partition with a folder and without a state, or with neither."""
        path, key = topic_path(HALF_MADE), TopicPartition(HALF_MADE, 0)
        if self._is_there(path):
            return
        replicas = sorted(self.cluster.disks)[:2]
        self._create(path, document_bytes(TopicDocument(partitions={"0": [*replicas]})))
        folder = leader_and_isr_path(key).rpartition("/")[0]
        if not self._is_there(folder) and self.random.random() < 0.7:
            self._create(folder, b"")
        self._later(STAYS_MS, self._unmake)

    def _unmake(self) -> None:
        """The topic goes, from its leaves on; brokers may have made more of it meanwhile."""
        for path in reversed(self._tree(topic_path(HALF_MADE))):
            self._delete(path)

    def _tree(self, path: str) -> list[str]:
        below = [f"{path}/{name}" for name in self.cluster.zookeeper.children(path)]
        return [path, *(one for child in below for one in self._tree(child))]

    def _garble_controller(self) -> None:
        """The controller's own znode holds no document, until it is written again or goes."""
        if not self._is_there(CONTROLLER):
            return
        self._set(CONTROLLER, b"{")
        self._later(STAYS_MS, lambda: self._delete(CONTROLLER))


def start_hand_writers(cluster: VirtualCluster) -> list[SimulatedClient]:
    """Those of the options; they work until they are stopped."""
    options = cluster.options
    writers: list[_HandWriter] = []
    if options.by_hand:
        writers.append(ElectionWriter(cluster, "client-hand"))
    if options.asks_by_hand:
        writers.append(RequestWriter(cluster, "client-hand-2"))
    for writer in writers:
        writer.begin_work()
    return [*writers]
