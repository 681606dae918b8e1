"""Simulated clients: each does one operation after the other and records what it saw.

They route by trying: after an answer from a broker that does not lead, they ask another one, so
that zombie leaders are asked as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from fencepost.impl.core.types.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsResponse,
    ElectLeadersResponse,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicResponse,
    ReplicaList,
)
from fencepost.impl.sim.engine.options import BATCH_RECORDS_MAX
from fencepost.impl.sim.world.cluster import CLIENT, VirtualCluster
from fencepost.impl.sim.world.operations import Operation, TracedClient, fetched, produced
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import FINAL_READER
from fencepost.spec.vocabulary import (
    NO_INCARNATION,
    NO_PRODUCER,
    BrokerId,
    ErrorCode,
    Offset,
    Outcome,
    PartitionIncarnation,
)
from fencepost.spec.znodes import TopicPartition

TIMEOUT_MS = 1_500
PRODUCE_TIMEOUT_MS = 1_200
FETCH_RECORDS = 500
RETRIES = 8
"""How often an idempotent producer sends a request again."""
RETRY_PAUSE_MS = (5, 150)
AGAIN_MS = 100
"""Before an administrator asks again."""


class SimulatedClient(TracedClient):
    """One client process: requests in turn, each with a deadline."""

    def __init__(self, cluster: VirtualCluster, name: str) -> None:
        super().__init__(cluster, name)
        self.cluster = cluster
        self.random: Random = cluster.random(name)
        self.is_stopped = False
        self.think_ms = cluster.options.think_ms
        """Between two operations."""
        self._leaders: dict[TopicPartition, BrokerId] = {}

    def guess(self, key: TopicPartition) -> BrokerId:
        """The broker that gets the next request about the partition."""
        if key not in self._leaders:
            self._leaders[key] = self.random.choice(sorted(self.cluster.disks))
        return self._leaders[key]

    def forget(self, key: TopicPartition) -> None:
        """Forget the broker asked last, which does not lead or did not answer."""
        self._leaders.pop(key, None)

    def later(self, callback: Callable[[], None]) -> None:
        """Call back after the think time, unless stopped by then."""
        delay_ms = self.random.randint(*self.think_ms)
        self.cluster.scheduler.after_ms(delay_ms, lambda: None if self.is_stopped else callback())

    @property
    def has_done_its_work(self) -> bool:
        """True when all operations of the options are done."""
        return 0 < self.cluster.options.operations <= self.operations

    def ask(self, to: BrokerId, request: Request, then: Callable[[Response | None], None]) -> None:
        """Send one request; `then` runs exactly once, with None when no answer came in time."""
        pending = [True]
        move_recorder = self.move_recorder
        origin = move_recorder.asks(self.name) if move_recorder else None

        def finish(response: Response | None, lamport: int) -> None:
            if pending:
                pending.clear()
                self.trace.clock.observe(lamport)
                if move_recorder and origin:
                    move_recorder.hears(origin, response)
                then(response)

        self.cluster.send_request(
            sender=CLIENT,
            receiver=to,
            request=request,
            lamport=self.trace.clock.now,
            on_answer=finish,
            origin=origin,
        )
        self.cluster.scheduler.after_ms(TIMEOUT_MS, lambda: finish(None, 0))


@dataclass(frozen=True, slots=True)
class Try:
    """One produce on its way; every try of it is the same request."""

    operation: Operation
    request: ProduceRequest
    left: int
    """How often it may be sent again."""
    is_indefinite: bool = False
    """An earlier try may be in the log."""

    @property
    def key(self) -> TopicPartition:
        """The partition that it is for."""
        return TopicPartition(self.request.topic, self.request.partition)


class SimulatedProducer(SimulatedClient):
    """Appends unique values to partitions in random order.

    An idempotent one tries again with the same values under the same sequence; when it gives up,
    it goes on under the next producer epoch, so that nothing late is taken for something new.
    """

    def __init__(self, cluster: VirtualCluster, name: str, keys: list[TopicPartition]) -> None:
        super().__init__(cluster, name)
        self.keys = keys
        self.acknowledged = 0
        """How many requests were acknowledged."""
        self._on_crash: Callable[[], None] | None = None
        self._values = 0
        self._is_idempotent = cluster.options.idempotent
        self._producer_id = NO_PRODUCER
        self._producer_epoch = 0
        self._sequences: dict[TopicPartition, int] = {}

    def crash(self, then: Callable[[], None]) -> None:
        """Stop at the next answer, without recording it; then call `then`."""
        self._on_crash = then

    def spare(self) -> None:
        """Cancel `crash`."""
        self._on_crash = None

    def produce(self) -> None:
        """Append some values; go on after the answer."""
        if self.has_done_its_work:
            return
        if self._is_idempotent and self._producer_id == NO_PRODUCER:
            to = self.random.choice(sorted(self.cluster.disks))
            self.ask(to, InitProducerIdRequest(), self._begin)
            return
        key = self.random.choice(self.keys)
        request = ProduceRequest(
            topic=key.topic,
            partition=key.partition,
            acks=self._acks(),
            values=self._new_values(),
            timeout_ms=PRODUCE_TIMEOUT_MS,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._sequences.get(key, 0),
        )
        self._send(Try(self.begin(request), request, RETRIES if self._is_idempotent else 0))

    def _begin(self, response: Response | None) -> None:
        if isinstance(response, InitProducerIdResponse):
            self._producer_id = response.producer_id
        self.later(self.produce)

    def _new_values(self) -> tuple[str, ...]:
        count = self.random.randint(1, BATCH_RECORDS_MAX) if self._is_idempotent else 1
        self._values += count
        first = self._values - count + 1
        return tuple(f"{self.name}/{number}/1" for number in range(first, first + count))

    def _acks(self) -> int:
        share = 0.0 if self._is_idempotent else self.cluster.options.unacknowledged
        return ACKS_LEADER if share and self.random.random() < share else ACKS_ALL

    def _send(self, tried: Try) -> None:
        self.ask(self.guess(tried.key), tried.request, lambda answer: self._went(tried, answer))

    def _went(self, tried: Try, response: Response | None) -> None:
        if self._on_crash is not None and not self.is_stopped:
            self.is_stopped = True
            self._on_crash()
            return
        outcome, fields = produced(response)
        if outcome is not Outcome.OK:
            self.forget(tried.key)
            tried = replace(tried, left=tried.left - 1)
        if outcome is Outcome.INDEFINITE:
            tried = replace(tried, is_indefinite=True)
        if outcome is Outcome.OK or tried.left < 0 or self.is_stopped:
            self._end(tried, outcome, fields)
            return
        pause_ms = self.random.randint(*RETRY_PAUSE_MS)
        self.cluster.scheduler.after_ms(pause_ms, lambda: self._send(tried))

    def _end(self, tried: Try, outcome: Outcome, fields: Line) -> None:
        if outcome is Outcome.OK:
            request = tried.request
            self.acknowledged += 1
            self._sequences[tried.key] = request.base_sequence + len(request.values)
        else:
            self._producer_epoch += 1
            self._sequences.clear()
            # What the network has doubled may still come, though the first one was refused.
            is_indefinite = tried.is_indefinite or self.cluster.network.may_double(tried.request)
            outcome = Outcome.INDEFINITE if is_indefinite else outcome
        tried.operation.end(outcome, fields)
        self.later(self.produce)


class SimulatedConsumer(SimulatedClient):
    """Reads each partition from its start, and begins again now and then."""

    def __init__(self, cluster: VirtualCluster, name: str, keys: list[TopicPartition]) -> None:
        super().__init__(cluster, name)
        self._keys = keys
        self._offsets: dict[TopicPartition, Offset] = {}
        self._incarnations: dict[TopicPartition, PartitionIncarnation] = {}
        self._created_again: set[TopicPartition] = set()

    def consume(self) -> None:
        """Fetch once; go on after the answer."""
        if self.has_done_its_work:
            return
        key = self.random.choice(self._keys)
        if self.random.random() < 0.02:
            self._offsets[key] = Offset(0)
        self.fetch(key, self._offsets.get(key, Offset(0)), lambda answer: self._went(key, answer))

    def _went(self, key: TopicPartition, answer: FetchResponse | None) -> None:
        if answer is not None:
            self._offsets[key] = Offset(answer.fetch_offset + len(answer.records))
        if key in self._created_again:
            self._created_again.discard(key)
            self._offsets[key] = Offset(0)
        self.later(self.consume)

    def _note_incarnation(self, key: TopicPartition, incarnation: PartitionIncarnation) -> None:
        """A partition that was created again is read from its start."""
        if incarnation == NO_INCARNATION:
            return
        if self._incarnations.setdefault(key, incarnation) != incarnation:
            self._created_again.add(key)
            self._incarnations[key] = incarnation

    def fetch(
        self, key: TopicPartition, offset: Offset, then: Callable[[FetchResponse | None], None]
    ) -> None:
        """Fetch from `offset`; `then` gets the answer, or None after an error."""
        request = FetchRequest(
            topic=key.topic,
            partition=key.partition,
            fetch_offset=offset,
            max_records=FETCH_RECORDS,
        )
        operation = self.begin(request)
        self.ask(self.guess(key), request, lambda answer: then(self._end(operation, key, answer)))

    def _end(
        self, operation: Operation, key: TopicPartition, response: Response | None
    ) -> FetchResponse | None:
        outcome, fields = fetched(response)
        if isinstance(response, FetchResponse):
            self._note_incarnation(key, response.partition_incarnation)
        operation.end(outcome, fields)
        if isinstance(response, FetchResponse) and outcome is Outcome.OK:
            return response
        self.forget(key)
        return None


class FinalReader(SimulatedConsumer):
    """Reads every partition from its start to its high watermark, once all is healed."""

    def __init__(self, cluster: VirtualCluster, keys: list[TopicPartition]) -> None:
        super().__init__(cluster, FINAL_READER, keys)
        self._left = list(keys)

    @property
    def is_done(self) -> bool:
        """True when every partition has been read."""
        return not self._left

    def read_all(self) -> None:
        """Begin with the first partition, if there is one."""
        if self._left:
            self._read(Offset(0))

    def _read(self, offset: Offset) -> None:
        key = self._left[0]

        def then(answer: FetchResponse | None) -> None:
            if answer is None and key in self.cluster.assignments():
                self.cluster.scheduler.after_ms(RETRY_PAUSE_MS[0], lambda: self._read(offset))
                return
            if answer is None:  # a late request has removed it
                self._next()
                return
            end = Offset(answer.fetch_offset + len(answer.records))
            if end < answer.high_watermark:
                self._read(end)
                return
            self._next()

        self.fetch(key, offset, then)

    def _next(self) -> None:
        self._left.pop(0)
        if self._left:
            self._read(Offset(0))


class AdministrativeRequest(SimulatedClient):
    """One change, asked of any broker until it is granted or the client is stopped."""

    def __init__(
        self,
        cluster: VirtualCluster,
        name: str,
        request: Request,
        *,
        is_there_already: ErrorCode = ErrorCode.NONE,
    ) -> None:
        """`is_there_already` is the error of a cluster in which nothing is left to do."""
        super().__init__(cluster, name)
        self.request = request
        self.is_granted = False
        self._granting = (ErrorCode.NONE, is_there_already)

    def begin_asking(self) -> None:
        """Send the request, and again after a refusal or without an answer."""
        if self.is_stopped:
            return
        to = self.random.choice(sorted(self.cluster.disks))
        self.ask(to, self.request, self._hear)

    def _hear(self, response: Response | None) -> None:
        self.is_granted = all(code in self._granting for code in _error_codes(response))
        if not self.is_granted:
            self.cluster.scheduler.after_ms(AGAIN_MS, self.begin_asking)


def _error_codes(response: Response | None) -> list[ErrorCode]:
    """Of the answer to an administrator, and of each partition in it."""
    match response:
        case AlterPartitionReassignmentsResponse() | ElectLeadersResponse():
            return [one.error_code for one in (response, *response.partitions)]
        case CreatePartitionsResponse() | CreateTopicResponse() | DeleteTopicResponse():
            return [response.error_code]
        case _:
            return [ErrorCode.REQUEST_TIMED_OUT]


class TopicCreator(AdministrativeRequest):
    """Creates one topic, with these replicas or with drawn ones."""

    def __init__(
        self,
        cluster: VirtualCluster,
        topic: str,
        partitions: int,
        name: str = "client-admin",
        assignment: tuple[ReplicaList, ...] = (),
    ) -> None:
        request = CreateTopicRequest(
            topic=topic,
            partition_count=partitions,
            replication_factor=cluster.options.replication_factor,
            assignment=assignment,
        )
        super().__init__(cluster, name, request, is_there_already=ErrorCode.TOPIC_ALREADY_EXISTS)
        self.keys = [TopicPartition(topic, partition) for partition in range(partitions)]
        """The partitions that the topic has, or will have."""
