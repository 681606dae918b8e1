"""The cluster of one test, as the test sees it: roles, clients, and waits for observed state."""

from collections.abc import Callable, Sequence

from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.transport import Answer, Transport
from fencepost.conformance.runs.scenario import TOPIC, ScenarioStage
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import TopicPartition

STEP_S = 20.0
"""How long an observed state may take when the test does not say."""


class UniqueClient(RoutedClient):
    """A client of a test; no value is sent twice, since a value names the request that wrote it."""

    def __init__(
        self,
        bootstrap: Callable[[], Sequence[str]],
        *,
        transport: Transport,
        recorder: TraceWriter,
        sent: set[str],
    ) -> None:
        """`sent` is shared by the clients of one run."""
        super().__init__(bootstrap, transport=transport, recorder=recorder)
        self._sent = sent

    def produce(
        self,
        partition: TopicPartition,
        values: Sequence[str],
        *,
        acks: int = -1,
        timeout_ms: int = 1000,
    ) -> Answer:
        """As `RoutedClient.produce`; raises `ChoiceError` for a value that was sent before."""
        for value in values:
            if value in self._sent:
                raise ChoiceError(f"the value {value!r} was sent before; give each request its own")
            self._sent.add(value)
        return super().produce(partition, values, acks=acks, timeout_ms=timeout_ms)


class RunningCluster:
    """Brokers and a ZooKeeper that run, a topic, and clients at work on it."""

    def __init__(self, stage: ScenarioStage) -> None:
        self.stage = stage
        """What scenarios play on: for what is not offered here."""
        self.topic = TOPIC
        """The topic that the clients of the workload write to and read."""
        self._sent: set[str] = set()
        self._clients = 0

    @property
    def seed(self) -> int:
        """What clients and drawn faults take their chance from."""
        return self.stage.seed

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of all brokers, ascending."""
        return self.stage.cluster.settings.broker_ids

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """All partitions that are read in full when the test is over."""
        return tuple(self.stage.partitions)

    @property
    def session_timeout_ms(self) -> int:
        """Of the brokers' ZooKeeper sessions: a longer pause ends them."""
        return self.stage.cluster.session_timeout_ms

    @property
    def acknowledged(self) -> int:
        """How many requests of the workload were acknowledged with acks=all so far."""
        return self.stage.workload.acknowledged if self.stage.workload else 0

    def controller(self) -> int | None:
        """The broker that is the controller, as ZooKeeper shows it."""
        return self.stage.cluster.controller()

    def leader_of(self, partition: int | TopicPartition = 0) -> int | None:
        """The published leader of a partition; a number is one of `topic`."""
        return self.stage.cluster.leader_of(self._key(partition))

    def isr_of(self, partition: int | TopicPartition = 0) -> frozenset[int]:
        """The published ISR of a partition; a number is one of `topic`."""
        return self.stage.cluster.isr_of(self._key(partition))

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> list[TopicPartition]:
        """Its partitions, each in sync and served; they are read when the test is over.

        Brokers may be down that have no replica of it. Raises `ClusterError`.
        """
        return self.stage.create_topic(topic, assignment)

    def client(self) -> RoutedClient:
        """A client of the test's own; its operations are judged with those of the workload."""
        self._clients += 1
        session = self.stage.session
        recorder = TraceWriter(
            session.folder,
            run_id=session.run_id,
            node=f"client-test-{self._clients}",
            clock=session.clock,
        )
        session.recorders.append(recorder)
        return UniqueClient(
            session.bootstrap,
            transport=session.transport,
            recorder=recorder,
            sent=self._sent,
        )

    def await_state(
        self, holds: Callable[[], bool], what: str, *, deadline_s: float = STEP_S
    ) -> None:
        """Wait until `holds`; brokers may be down. Raises `ClusterError` at the deadline."""
        self.stage.cluster.await_state(holds, deadline_s, what, may_end=True)

    def await_event(
        self,
        broker_id: int,
        holds: Callable[[TraceEvent], bool],
        what: str,
        *,
        deadline_s: float = STEP_S,
    ) -> TraceEvent:
        """The first line of a broker's trace that `holds`; raises `ClusterError`."""
        return self.stage.await_event(broker_id, holds, deadline_s, what)

    def await_acknowledged(self, more: int, *, deadline_s: float = STEP_S) -> None:
        """Wait until `more` requests of the workload were acknowledged; raises `ClusterError`."""
        workload = self.stage.workload
        if workload is None or not workload.await_acknowledged(
            workload.acknowledged + more, deadline_s
        ):
            raise ClusterError(f"no {more} requests were acknowledged in {deadline_s:g} s")

    def _key(self, partition: int | TopicPartition) -> TopicPartition:
        if isinstance(partition, TopicPartition):
            return partition
        return TopicPartition(self.topic, partition)
