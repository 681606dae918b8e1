"""Many topics for a bench: created through brokers or planted in ZooKeeper, and waited for."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from conformance.client import Client, ClusterUnreachableError, Connections
from conformance.cluster import Cluster
from fault_injection.zookeeper_client import ZooKeeperClient
from spec import znodes
from spec.vocabulary import NO_BROKER, NO_CONTROLLER_EPOCH, BrokerId, LeaderEpoch
from spec.znodes import TopicDocument, TopicPartition, document_bytes

Assignment = Sequence[Sequence[int]]
"""Per partition its replicas, the preferred one first."""
CALLERS = 16
POLL_S = 0.1
PLANTED_TOPICS = 100
PLANTED_TOGETHER = 200
ABSENT = (91, 92, 93)
"""Brokers that there are not."""


class Pace:
    """Waits between two looks, until a deadline."""

    def __init__(self, deadline_s: float, what: str, poll_s: float = POLL_S) -> None:
        self._deadline = monotonic() + deadline_s
        self._what = what
        self._poll_s = poll_s
        self._event = threading.Event()

    def wait(self) -> None:
        """It is time to look again; raises `SystemExit` after the deadline."""
        if monotonic() > self._deadline:
            raise SystemExit(f"{self._what} did not come in time")
        self._event.wait(self._poll_s)


def assignment_of(number: int, partitions: int, broker_ids: Sequence[int]) -> Assignment:
    """Three brokers per partition, all of them in turn."""
    ring = len(broker_ids)
    return [
        [broker_ids[(number + partition + i) % ring] for i in range(3)]
        for partition in range(partitions)
    ]


def create_topics(cluster: Cluster, topics: Mapping[str, Assignment], deadline_s: float) -> None:
    """The topics exist and each partition has a leader, its whole assignment in the ISR."""
    addresses = cluster.addresses()
    connections = Connections()
    local = threading.local()

    def create(item: tuple[str, Assignment]) -> None:
        if not hasattr(local, "client"):
            local.client = Client(lambda: addresses, connections=connections, node="bench")
            local.client.refresh()
        error, message = local.client.create_topic(item[0], assignment=item[1])
        if error is not None:
            raise SystemExit(f"topic {item[0]} was refused: {error} {message}")

    try:
        with ThreadPoolExecutor(CALLERS) as pool:
            for _ in pool.map(create, topics.items()):
                pass
    except ClusterUnreachableError as error:
        raise SystemExit(f"topics were not created: {error}") from error
    finally:
        connections.close()
    await_leaders(cluster, {name: len(a) for name, a in topics.items()}, None, deadline_s)


def await_leaders(
    cluster: Cluster, topics: Mapping[str, int], without: int | None, deadline_s: float
) -> None:
    """Every partition has a leader, and it is not `without`."""
    pace = Pace(deadline_s, "leaders of all partitions")
    for topic, count in topics.items():
        for number in range(count):
            partition = TopicPartition(topic, number)
            while cluster.leader_of(partition) in (None, without):
                pace.wait()


def plant_partitions(address: str, count: int) -> None:
    """So many partitions stand in ZooKeeper, of brokers that there are not, without leader."""
    per_topic = count // PLANTED_TOPICS
    state = znodes.LeaderAndIsr(
        leader=NO_BROKER,
        leader_epoch=LeaderEpoch(1),
        isr=frozenset(map(BrokerId, ABSENT)),
        controller_epoch=NO_CONTROLLER_EPOCH,
    ).document()
    with ZooKeeperClient(address) as client:
        for path in znodes.PERSISTENT_PATHS:
            client.create_path(path)
        for number in range(PLANTED_TOPICS):
            topic = f"planted-{number:03d}"
            partitions = {str(p): list(ABSENT) for p in range(per_topic)}
            document = document_bytes(TopicDocument(partitions=partitions))
            client.create(znodes.topic_path(topic), document)
            for begin in range(0, per_topic, PLANTED_TOGETHER):
                planted: list[tuple[str, bytes]] = []
                for partition in range(begin, min(begin + PLANTED_TOGETHER, per_topic)):
                    path = znodes.leader_and_isr_path(TopicPartition(topic, partition))
                    planted += [(path.rpartition("/")[0], b""), (path, state)]
                client.create_all(planted)


def resident_megabytes(cluster: Cluster, broker_id: int) -> float:
    """The memory of the broker's process that is not swapped out."""
    status = Path(f"/proc/{cluster.process(broker_id).pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
