"""A running cluster with all that a scenario, or a test, may use of it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.clients.administrator import AdminClient
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.workload import Session, Workload
from fencepost.fault_injection.engine.driver import FaultDriver
from fencepost.fault_injection.stories.story_world import TOPIC
from fencepost.spec.trace import FINAL_READER, TraceEvent, read_trace
from fencepost.spec.znodes import TopicPartition

STEP_S = 20.0
"""How long an observed state may take when the caller does not say."""
POLL_S = 0.03


@dataclass(slots=True, kw_only=True)
class RunningCluster:
    """Brokers that run, faults that can be injected, and clients at work on a topic.

    What is not offered here is in its parts.
    """

    cluster: ClusterUnderTest
    engine: FaultDriver
    session: Session
    workload: Workload | None = None
    """Clients that are at work meanwhile."""
    partitions: list[TopicPartition]
    """Grows when topics are created; all of it is read at the end."""
    seed: int
    """What clients and drawn faults take their chance from."""
    topic: str = TOPIC
    """The topic that the clients of the workload write to and read."""
    _sent: set[str] = field(init=False, default_factory=set)
    """The values that clients of `client` have written."""
    _clients: int = field(init=False, default=0)
    _final_reader: RoutedClient | None = field(init=False, default=None)

    def renewed(self) -> "RunningCluster":
        """The same cluster for another story, which has faults, partitions and values of its own.

        Only the newest one is to be used.
        """
        fresh = replace(self, engine=FaultDriver(self.engine.world), partitions=[])
        fresh._clients, fresh._final_reader = self._clients, self.final_reader
        return fresh

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of all brokers, ascending."""
        return self.cluster.settings.broker_ids

    @property
    def session_timeout_ms(self) -> int:
        """Of the brokers' ZooKeeper sessions: a longer pause ends them."""
        return self.cluster.session_timeout_ms

    @property
    def acknowledged(self) -> int:
        """How many requests of the workload were acknowledged with acks=all so far."""
        return self.workload.acknowledged if self.workload else 0

    def others(self, *but: int | None) -> list[int]:
        """The brokers except these, ascending."""
        return [b for b in self.brokers if b not in but]

    def controller(self) -> int | None:
        """The broker that is the controller, as ZooKeeper shows it."""
        return self.cluster.state.controller()

    def leader_of(self, partition: int | TopicPartition = 0) -> int | None:
        """The published leader of a partition; a number is one of `topic`."""
        return self.cluster.state.leader_of(self._key(partition))

    def isr_of(self, partition: int | TopicPartition = 0) -> frozenset[int]:
        """The published ISR of a partition; a number is one of `topic`."""
        return self.cluster.state.isr_of(self._key(partition))

    def create_topic(
        self,
        topic: str,
        assignment: Sequence[Sequence[int]],
        administrator: AdminClient | None = None,
    ) -> list[TopicPartition]:
        """Its partitions, each in sync and served; they are read when the run is over.

        A leader is published before it hears of it, and Kafka's serves no client before it has
        heard of the topic, too. Brokers may be down that have no replica. Raises `ClusterError`.
        """
        created = self.cluster.create_topic(
            topic, assignment, may_end=True, administrator=administrator
        )
        self.partitions.extend(key for key in created if key not in self.partitions)
        transport = self.session.transport
        asking = RoutedClient(self.session.bootstrap, transport=transport, node="harness")
        self.await_state(
            lambda: all(asking.fetch(partition, 0, max_wait_ms=0).is_ok for partition in created),
            f"leaders that serve {topic}",
        )
        return created

    def client(self) -> RoutedClient:
        """A client of the caller's own; its operations are judged with those of the workload."""
        self._clients += 1
        return self.session.client(f"client-test-{self._clients}", sent=self._sent)

    @property
    def final_reader(self) -> RoutedClient:
        """The client that reads every partition to its end."""
        if self._final_reader is None:
            self._final_reader = self.session.client(FINAL_READER)
        return self._final_reader

    def await_state(
        self, holds: Callable[[], bool], what: str, *, deadline_s: float = STEP_S
    ) -> None:
        """Wait until `holds`; brokers may be down. Raises `ClusterError` at the deadline."""
        self.cluster.await_state(holds, deadline_s, what, may_end=True)

    def await_event(
        self,
        broker_id: int,
        holds: Callable[[TraceEvent], bool],
        what: str,
        *,
        deadline_s: float = STEP_S,
    ) -> TraceEvent:
        """The first line of a broker's trace that `holds`; raises `ClusterError`."""
        deadline = monotonic() + deadline_s
        wait = threading.Event()
        while True:
            found = next((event for event in self.trace_of(broker_id) if holds(event)), None)
            if found is not None:
                return found
            if monotonic() > deadline:
                raise ClusterError(f"{what} did not come within {deadline_s:g} s")
            wait.wait(POLL_S)

    def await_acknowledged(self, more: int, *, deadline_s: float = STEP_S) -> None:
        """Wait until `more` requests of the workload were acknowledged; raises `ClusterError`."""
        workload = self.workload
        if not workload or not workload.await_acknowledged(
            workload.acknowledged + more, deadline_s
        ):
            raise ClusterError(f"no {more} requests were acknowledged in {deadline_s:g} s")

    def trace_of(self, broker_id: int) -> list[TraceEvent]:
        """What the broker has told so far."""
        paths = sorted(self.session.folder.glob(f"trace-broker-{broker_id}[.-]*ndjson"))
        return [event for path in paths for event in read_trace(path).events]

    def _key(self, partition: int | TopicPartition) -> TopicPartition:
        if isinstance(partition, TopicPartition):
            return partition
        return TopicPartition(self.topic, partition)
