"""The client of a story: the operations of its steps, each recorded as any client's."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    ReplicaList,
)
from fencepost.impl.sim.world.clients import (
    FETCH_RECORDS,
    PRODUCE_TIMEOUT_MS,
    SimulatedClient,
)
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.operations import Operation, fetched, produced
from fencepost.spec.vocabulary import NO_PRODUCER, BrokerId, ErrorCode, Offset, Outcome, ProducerId
from fencepost.spec.znodes import TopicPartition

NO_ANSWER = "no answer"


@dataclass(slots=True)
class Pending:
    """An operation that was begun, and what came of it."""

    what: str
    outcome: list[str] = field(default_factory=list)
    """One line when it has ended."""

    @property
    def is_done(self) -> bool:
        """True when it has ended."""
        return bool(self.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """How an idempotent producer names its records; without an id it is none."""

    producer_id: ProducerId = NO_PRODUCER
    producer_epoch: int = 0
    base_sequence: int = 0


NOT_NUMBERED = Numbered()


class StepClient(SimulatedClient):
    """Sends single requests to named brokers, and keeps those without an answer."""

    def __init__(self, cluster: VirtualCluster) -> None:
        super().__init__(cluster, "client-script")
        self.pending: list[Pending] = []
        """Not waited for, in order; `show: results` prints their outcomes."""
        self._tried: dict[TopicPartition, tuple[Operation, ProduceRequest]] = {}
        """Of numbered producers, the last operation on each partition while it is open."""

    def create_topic(
        self, topic: str, assignment: tuple[tuple[BrokerId, ...], ...], to: BrokerId
    ) -> Pending:
        """Ask for a topic with these replicas."""
        request = CreateTopicRequest(
            topic=topic,
            partition_count=len(assignment),
            replication_factor=len(assignment[0]),
            assignment=tuple(ReplicaList(replicas=replicas) for replicas in assignment),
        )

        def told(response: Response | None) -> str:
            if not isinstance(response, CreateTopicResponse):
                return NO_ANSWER
            return "ok" if response.error_code is ErrorCode.NONE else response.error_code.value

        return self.ask_for(f"create-topic {topic}", to, request, told)

    def produce(
        self,
        key: TopicPartition,
        values: tuple[str, ...],
        acks: int,
        to: BrokerId,
        numbered: Numbered = NOT_NUMBERED,
        timeout_ms: int = PRODUCE_TIMEOUT_MS,
    ) -> Pending:
        """Append the values in one request; a numbered one that has no answer stays open."""
        request = ProduceRequest(
            topic=key.topic,
            partition=key.partition,
            acks=acks,
            values=values,
            timeout_ms=timeout_ms,
            producer_id=numbered.producer_id,
            producer_epoch=numbered.producer_epoch,
            base_sequence=numbered.base_sequence,
        )
        operation = self.begin(request)
        what = f"produce {key} {' '.join(values)}"
        if numbered.producer_id == NO_PRODUCER:
            return self.ask_for(what, to, request, lambda answer: _produced(operation, answer))
        self._tried[key] = operation, request
        return self._try(what, key, to)

    def retry(self, key: TopicPartition, to: BrokerId) -> Pending | None:
        """Send the open produce to the partition again, as it was; None when there is none."""
        return self._try(f"retry {key}", key, to) if key in self._tried else None

    def _try(self, what: str, key: TopicPartition, to: BrokerId) -> Pending:
        operation, request = self._tried[key]

        def told(response: Response | None) -> str:
            if not isinstance(response, ProduceResponse):
                return NO_ANSWER
            is_open = self._tried.get(key) == (operation, request)
            if response.error_code is not ErrorCode.NONE or not is_open:
                return response.error_code.value
            del self._tried[key]
            return _produced(operation, response)

        return self.ask_for(what, to, request, told)

    def consume(self, key: TopicPartition, offset: Offset, to: BrokerId) -> Pending:
        """Read committed records from `offset` on."""
        request = FetchRequest(
            topic=key.topic,
            partition=key.partition,
            fetch_offset=offset,
            max_records=FETCH_RECORDS,
        )
        operation = self.begin(request)
        what = f"consume {key}"
        return self.ask_for(what, to, request, lambda response: _fetched(operation, response))

    def ask_for(
        self,
        what: str,
        to: BrokerId,
        request: Request,
        told: Callable[[Response | None], str],
    ) -> Pending:
        """Send the request; `told` makes the outcome of its answer."""
        pending = Pending(what)
        self.ask(to, request, lambda response: pending.outcome.append(told(response)))
        return pending


def _produced(operation: Operation, response: Response | None) -> str:
    outcome, fields = produced(response)
    operation.end(outcome, fields)
    if not isinstance(response, ProduceResponse):
        return NO_ANSWER
    ok = f"ok offset={response.base_offset}"
    return ok if outcome is Outcome.OK else response.error_code.value


def _fetched(operation: Operation, response: Response | None) -> str:
    outcome, fields = fetched(response)
    operation.end(outcome, fields)
    if not isinstance(response, FetchResponse):
        return NO_ANSWER
    if outcome is not Outcome.OK:
        return response.error_code.value
    values = " ".join(fields["values"]) or "nothing"
    return f"ok {values}, high_watermark={response.high_watermark}"
