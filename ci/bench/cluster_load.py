"""Many topics for a bench: created through brokers or planted in ZooKeeper, and waited for."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import msgspec

from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.spec import znodes
from fencepost.spec.vocabulary import NO_BROKER, NO_CONTROLLER_EPOCH, BrokerId, LeaderEpoch
from fencepost.spec.znodes import TopicDocument, TopicPartition, document_bytes

Assignment = Sequence[Sequence[int]]
"""Per partition its replicas, the preferred one first."""
PATIENCE_MS = 120_000
POLL_S = 0.1
LOOK_S = 0.5
PLANTED_TOPICS = 100
PLANTED_TOGETHER = 200
Answer = TypeVar("Answer")
ABSENT = (91, 92, 93)
"""Brokers that there are not."""


class LookPace:
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


def administer(cluster: ClusterUnderTest, change: Callable[[Any], Awaitable[Answer]]) -> Answer:
    """What the reference's admin client answers; it waits long enough for many topics."""
    client = import_module("fencepost.impl.client")  # this room knows `impl` by name alone
    options = client.ClientOptions(api_timeout_ms=PATIENCE_MS, request_timeout_ms=PATIENCE_MS)

    async def ask() -> Answer:
        async with client.Admin(cluster.addresses(), options=options) as admin:
            return await change(admin)

    return asyncio.run(ask())


def create_topics(cluster: ClusterUnderTest, topics: Mapping[str, Assignment]) -> None:
    """The topics exist, asked for in one request; leaders follow."""
    new_topic = import_module("fencepost.impl.client").NewTopic
    wanted = [new_topic(topic=name, assignment=listed) for name, listed in topics.items()]
    require_all("created", administer(cluster, lambda admin: admin.create_topics(wanted)))


def delete_topics(cluster: ClusterUnderTest, topics: Sequence[str]) -> None:
    """The topics are gone, asked for in one request; their replicas follow."""
    require_all("deleted", administer(cluster, lambda admin: admin.delete_topics(topics)))


def require_all(what: str, results: Mapping[str, Exception | None]) -> None:
    """Raises `SystemExit` for the first error."""
    for error in results.values():
        if error is not None:
            raise SystemExit(f"a topic was not {what}: {error}")


class BrokerStep(msgspec.Struct, frozen=True):
    """What is looked at of a trace line."""

    mono_ns: int
    action: str = ""
    kind: str = ""
    node: str = ""
    partition: int | None = None


class BrokerTraces:
    """The lines that the brokers have written so far; each is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._decoder = msgspec.json.Decoder(BrokerStep)

    def more(self) -> list[BrokerStep]:
        """The lines since the last call, in order of time."""
        found = []
        for path in sorted(self._folder.glob("trace-broker-*.ndjson")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            found += [self._decoder.decode(line) for line in whole.splitlines()]
        return sorted(found, key=lambda step: step.mono_ns)

    def until(
        self,
        actions: Collection[str],
        count: int,
        deadline_s: float,
        only: Callable[[BrokerStep], bool] = lambda _: True,
    ) -> list[BrokerStep]:
        """All lines that are looked at, from the last call to one that has so many such actions."""
        pace = LookPace(deadline_s, f"{count} of {', '.join(sorted(actions))}", poll_s=LOOK_S)
        steps: list[BrokerStep] = []
        seen = 0
        while True:
            more = [step for step in self.more() if only(step)]
            steps += more
            seen += sum(step.action in actions for step in more)
            if seen >= count:
                return steps
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


def resident_megabytes(cluster: ClusterUnderTest, broker_id: int) -> float:
    """The memory of the broker's process that is not swapped out."""
    status = Path(f"/proc/{cluster.process(broker_id).pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def cpu_seconds(cluster: ClusterUnderTest) -> float:
    """The processor time that all brokers which run have used."""
    seconds = 0.0
    for broker_id in {*cluster.settings.broker_ids} - {*cluster.ended()}:
        text = Path(f"/proc/{cluster.process(broker_id).pid}/stat").read_text()
        user, system = text.rpartition(")")[2].split()[11:13]
        seconds += (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return seconds
