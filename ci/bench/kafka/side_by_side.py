"""The reference and Apache Kafka side by side, in one run.

`python -m fencepost.ci.bench.kafka.side_by_side [PARTITIONS] [TARGET]`

Each has three brokers with sessions of six seconds under a ZooKeeper of its own, one after the
other. Both are measured from outside: by ZooKeeper's transaction log, which dates the last write,
and by the metadata of all live brokers, by which clients find leaders. A change begins when it is
asked for, a failover when the session of the dead broker is over. `docs/kafka.md` has the figures.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import monotonic, time

from fencepost.ci.bench import cluster_load
from fencepost.ci.bench.cluster_load import Assignment, LookPace, assignment_of
from fencepost.ci.bench.control_plane import DEADLINE_S, PATIENT, RUN_ID, SESSION_MS
from fencepost.ci.bench.measured import quantile
from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Implementation
from fencepost.conformance.adapters.kafka.transport import KafkaConnection
from fencepost.conformance.adapters.kafka.with_zookeeper.implementation import KafkaWithZooKeeper
from fencepost.conformance.adapters.reference import REFERENCE, implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse, zookeeper_for
from fencepost.conformance.clients.transport import (
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
    RoutingView,
)
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.workload.operations import Produce
from fencepost.fault_injection.zookeeper.transaction_log import Transaction, TransactionKind
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.trace import LamportClock
from fencepost.spec.znodes import (
    TopicPartition,
    broker_path,
    parse_leader_and_isr,
    partition_of,
    topic_of,
)

PARTITIONS = 2_000
PER_TOPIC = 4
TARGET = "kafka:3.9.1"
LOG4J = Path(__file__).with_name("log4j.properties")
JAVA_OPTIONS = ("-Xms256m", "-Xmx1g", f"-Dlog4j.configuration=file:{LOG4J}")
PROPERTIES = {"num.network.threads": 3, "num.io.threads": 8, "background.threads": 10}
"""Kafka's own defaults, where the brokers of a run of faults are smaller."""
PRODUCERS = 6
RATE = 10.0
"""Records per second of each producer."""
LOAD_S = 10.0
RECORD = "x" * 1024
MS = 1000
POLL_S = 0.05
IN_SYNC_POLL_S = 1.0
COLUMNS = ("what", "reference", "Kafka", "ratio")


Found = dict[str, float]
"""What was measured: seconds, or ms where the name says so."""


@dataclass(slots=True)
class BenchSide:
    """One of the two, on a cluster that runs."""

    cluster: ClusterUnderTest
    zookeeper: ZooKeeperInUse
    topics: int
    found: Found = field(default_factory=dict)

    def measure(self) -> Found:
        """All rows, in the order of the table."""
        self._produce()
        spread = {
            f"spread-{number:05d}": assignment_of(number, PER_TOPIC, self._brokers)
            for number in range(self.topics)
        }
        self._create(spread)
        self._fail_over("failover of a third", self._other_than_controller())
        self._fail_over("controller failover", self._controller())
        self._delete(spread)
        victim = self._other_than_controller()
        order = (victim, *self._but(victim))
        self._ask_to_create({f"one-{n:05d}": [order] * PER_TOPIC for n in range(self.topics)})
        self._await_in_sync()
        self._fail_over("failover of all", victim)
        return self.found

    # What is measured

    def _produce(self) -> None:
        """Each producer sends so many records a second, and counts from when one was due."""
        name = "load"
        keys = set(self.cluster.create_topic(name, assignment_of(0, PRODUCERS, self._brokers)))
        self._await_views(self._brokers, lambda view: keys <= view.partitions.keys())
        with ThreadPoolExecutor(PRODUCERS) as producers:
            list(producers.map(self._paced, keys))  # what is compiled by then is not measured
            latencies = [ms for found in producers.map(self._paced, keys) for ms in found]
        self.found["produce acks=all, p50 in ms"] = quantile(latencies, 0.5)
        self.found["produce acks=all, p99 in ms"] = quantile(latencies, 0.99)
        self._ask_to_delete([name])

    def _paced(self, key: TopicPartition) -> list[float]:
        leader = self.cluster.state.leader_of(key)
        assert leader is not None
        connection, pause = self._connection(leader, f"producer-{key.partition}"), Event()
        begun, latencies = monotonic() + key.partition / RATE / PRODUCERS, []
        for number in range(int(LOAD_S * RATE)):
            due = begun + number / RATE
            pause.wait(max(0.0, due - monotonic()))
            answer = connection.perform(Produce(partition=key, values=(RECORD,)))
            if not answer.is_ok:
                raise SystemExit(f"a record was not acknowledged: {answer.error_code}")
            latencies.append((monotonic() - due) * 1000)
        return latencies

    def _create(self, topics: Mapping[str, Assignment]) -> None:
        keys = {TopicPartition(name, n) for name in topics for n in range(PER_TOPIC)}
        begun = time()
        self._ask_to_create(topics)
        seen = self._await_views(self._brokers, lambda view: keys <= view.partitions.keys())
        self.found["create, states written"] = self._led_at(keys, self._brokers, begun) - begun
        self.found["create, in all metadata"] = seen - begun
        self._await_in_sync()

    def _delete(self, topics: Collection[str]) -> None:
        begun = time()
        self._ask_to_delete(list(topics))
        seen = self._await_views(
            self._brokers, lambda view: not any(key.topic in topics for key in view.partitions)
        )
        gone = [
            one.wall_ms / MS
            for one in self._changes(begun, TransactionKind.DELETE)
            if topic_of(one.path or "") in topics
        ]
        self.found["delete, znodes gone"] = max(gone) - begun
        self.found["delete, in all metadata"] = seen - begun

    def _fail_over(self, what: str, victim: int) -> None:
        """The victim dies; afterwards it is back, and everything in sync."""
        rest = self._but(victim)
        partitions = self._awaited_view(rest[0]).partitions
        led = {key for key, one in partitions.items() if one.leader == victim}
        begun = time()
        self.cluster.process(victim).kill()
        seen = self._await_views(
            rest,
            lambda view: all(
                key in view.partitions and view.partitions[key].leader in rest for key in led
            ),
        )
        gone = next(
            one.wall_ms / MS
            for one in self._changes(begun, TransactionKind.DELETE)
            if one.path == broker_path(victim)
        )
        self.found[f"{what}, leaders written"] = self._led_at(led, rest, begun) - gone
        self.found[f"{what}, in all metadata"] = seen - gone
        note(f"{what}: {len(led):,} partitions were led")
        self.cluster.restart(victim)
        self._await_in_sync()

    # How it is seen

    def _led_at(self, keys: Collection[TopicPartition], by: Collection[int], since: float) -> float:
        """When the last of the partitions was given a leader among these brokers."""
        times: dict[TopicPartition, float] = {}
        for one in self._changes(since, TransactionKind.CREATE, TransactionKind.SET_DATA):
            key = partition_of(one.path or "")
            if key is None or key in times or key not in keys or not one.data:
                continue
            if parse_leader_and_isr(str(one.path), one.data).leader in by:
                times[key] = one.wall_ms / MS
        missing = len(keys) - len(times)
        if missing:
            raise SystemExit(f"ZooKeeper tells of no new leader of {missing} partitions")
        return max(times.values())

    def _changes(self, since: float, *kinds: TransactionKind) -> Iterator[Transaction]:
        in_words = self.cluster.settings.implementation.in_words
        for one in self.zookeeper.transactions() or ():
            if one.kind in kinds and one.wall_ms >= int(since * MS):
                yield in_words(one)

    def _await_views(self, brokers: Collection[int], holds: Callable[[RoutingView], bool]) -> float:
        """When the metadata of all these brokers was first seen so."""
        pace, waiting = LookPace(DEADLINE_S, "metadata of all brokers", POLL_S), set(brokers)
        while waiting:
            waiting = {b for b in waiting if not ((view := self._view(b)) and holds(view))}
            if waiting:
                pace.wait()
        return time()

    def _await_in_sync(self) -> None:
        pace = LookPace(DEADLINE_S, "full ISRs", IN_SYNC_POLL_S)
        while not self.cluster.is_in_sync():
            pace.wait()

    def _awaited_view(self, broker_id: int) -> RoutingView:
        """The next metadata that the broker answers; one that just returned may be busy."""
        pace = LookPace(DEADLINE_S, f"metadata of broker {broker_id}", POLL_S)
        while (view := self._view(broker_id)) is None:
            pace.wait()
        return view

    def _view(self, broker_id: int) -> RoutingView | None:
        try:
            return self._connection(broker_id).routing_view()
        except ClusterUnreachableError:
            return None

    # Requests

    def _ask_to_create(self, topics: Mapping[str, Assignment]) -> None:
        controller = self._connection(self._controller())
        if not isinstance(controller, KafkaConnection):
            cluster_load.create_topics(self.cluster, topics)
            return
        _require_all("created", controller.create_topics(topics, DEADLINE_S))

    def _ask_to_delete(self, topics: Sequence[str]) -> None:
        controller = self._connection(self._controller())
        if not isinstance(controller, KafkaConnection):
            cluster_load.delete_topics(self.cluster, topics)
            return
        _require_all("deleted", controller.delete_topics(topics, DEADLINE_S))

    def _connection(self, broker_id: int, client: str = "bench") -> BrokerConnection:
        registration = self.cluster.registration(broker_id)
        if registration is None:
            raise SystemExit(f"broker {broker_id} is not registered")
        caller = Caller(node=client, clock=LamportClock())
        return self.cluster.transport.connect(registration.address, caller, broker_id)

    # Brokers

    @property
    def _brokers(self) -> tuple[int, ...]:
        return self.cluster.settings.broker_ids

    def _but(self, victim: int) -> tuple[int, ...]:
        return tuple(b for b in self._brokers if b != victim)

    def _controller(self) -> int:
        pace = LookPace(DEADLINE_S, "a controller", POLL_S)
        while (found := self.cluster.state.controller()) is None:
            pace.wait()
        return found

    def _other_than_controller(self) -> int:
        return self._but(self._controller())[0]


def _require_all(what: str, answers: Mapping[str, tuple[str | None, str]]) -> None:
    for topic, (error, message) in answers.items():
        if error is not None:
            raise SystemExit(f"topic {topic} was not {what}: {error} {message}")


@contextmanager
def running_side(implementation: Implementation, topics: int) -> Iterator[BenchSide]:
    """A cluster of the implementation, gone afterwards."""
    is_own = implementation is REFERENCE
    settings = ClusterSettings(
        implementation=implementation,
        session_timeout_ms=SESSION_MS,
        replica_lag_ms=30_000,
        extra=PATIENT if is_own else (),
    )
    with (
        scratch_folder("bench") as folder,
        Supervisor(Folders(root=folder).processes, RUN_ID) as supervisor,
        zookeeper_for(RUN_ID, supervisor=supervisor, folder=folder) as zookeeper,
    ):
        cluster = ClusterUnderTest(
            settings, folder=folder, run_id=RUN_ID, supervisor=supervisor, zookeeper=zookeeper
        )
        with cluster.running():
            yield BenchSide(cluster=cluster, zookeeper=zookeeper, topics=topics)


def main(arguments: Sequence[str]) -> None:
    """Measure both, and show one beside the other."""
    partitions = next((int(text) for text in arguments if text.isdecimal()), PARTITIONS)
    target = next((text for text in arguments if not text.isdecimal()), TARGET)
    kafka = implementation_of(target)
    if not isinstance(kafka, KafkaWithZooKeeper):
        raise SystemExit(f"{target} is no release of Kafka in ZooKeeper mode")
    kafka = replace(kafka, java_options=JAVA_OPTIONS, properties=PROPERTIES)
    found: list[Found] = []
    loads = [os.getloadavg()[0]]
    for implementation in (REFERENCE, kafka):
        note(f"side by side: {implementation.name}")
        with running_side(implementation, partitions // PER_TOPIC) as side:
            found.append(side.measure())
        loads.append(os.getloadavg()[0])
    ours, theirs = found
    rows = [
        (name, f"{ours[name]:.2f}", f"{theirs[name]:.2f}", f"{theirs[name] / ours[name]:.1f}")
        for name in ours
    ]
    show_table(f"{partitions:,} partitions x RF 3, 3 brokers", COLUMNS, rows)
    say("a ratio above 1: the reference is so many times faster")
    say(f"load of the machine before, between and after: {', '.join(f'{x:.1f}' for x in loads)}")


if __name__ == "__main__":
    main(sys.argv[1:])
