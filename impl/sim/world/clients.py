"""Simulated clients: their scripts in virtual time, and requests of administrators.

They route by trying: after an answer from a broker that does not lead, they ask another one, so
that zombie leaders are asked as well.
"""

from abc import ABC
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from msgspec import structs

from fencepost.fault_injection.workload.operations import Answer, Operation, Produce
from fencepost.fault_injection.workload.producer_window import UNJUSTIFIED, ProducerWindow
from fencepost.fault_injection.workload.scripts import (
    UNBOUNDED,
    ClientHabits,
    Pause,
    Script,
    consume,
    produce,
    read_to_end,
)
from fencepost.impl.core.types.asker import Asker, asker_of
from fencepost.impl.core.types.config_messages import MutationResponse
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsResponse,
    ElectLeadersResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    LeaderAndIsrResponse,
    Request,
    Response,
    StopReplicaResponse,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsResponse,
    DeleteTopicsResponse,
    ReplicaList,
)
from fencepost.impl.sim.engine.listener import CertifiedCaller
from fencepost.impl.sim.engine.options import BATCH_RECORDS_MAX, RunOptions
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.operations import TracedClient, TracedOperation, request_of
from fencepost.spec.trace import FINAL_READER
from fencepost.spec.vocabulary import NO_PRODUCER, BrokerId, ErrorCode, Outcome
from fencepost.spec.znodes import TopicPartition

TIMEOUT_MS = 1_500
REWINDS = 0.02
"""How often a consumer begins again."""
RETRIES = 8
"""How often an idempotent producer sends a request again."""
RETRY_PAUSE_MS = (5, 150)
POLL_MS = 5
"""Between two tries of the final reader."""
AGAIN_MS = 100
"""Before an administrator asks again."""


class SimulatedClient(TracedClient):
    """One client process: requests in turn, each with a deadline."""

    def __init__(self, cluster: VirtualCluster, name: str) -> None:
        super().__init__(cluster, name)
        self.cluster = cluster
        self.random: Random = cluster.random(name)
        self.is_stopped = False
        self._leaders: dict[TopicPartition, BrokerId] = {}
        self._own_asker = asker_of(name)

    def any_broker(self) -> BrokerId:
        """A broker, alive or not."""
        return self.random.choice(sorted(self.cluster.disks))

    def guess(self, key: TopicPartition) -> BrokerId:
        """The broker that gets the next request about the partition."""
        if key not in self._leaders:
            self._leaders[key] = self.any_broker()
        return self._leaders[key]

    def forget(self, key: TopicPartition) -> None:
        """Forget the broker asked last, which does not lead or did not answer."""
        self._leaders.pop(key, None)

    def ask(
        self,
        to: BrokerId,
        request: Request,
        then: Callable[[Response | None], None],
        caller: CertifiedCaller | Asker | None = None,
    ) -> None:
        """Send one request; `then` runs exactly once, with None when no answer came in time.

        It comes from the `caller`, if one is given, or else from this client.
        """
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
            asker=caller or self._own_asker,
            receiver=to,
            request=request,
            lamport=self.trace.clock.now,
            on_answer=finish,
            origin=origin,
        )
        self.cluster.scheduler.after_ms(TIMEOUT_MS, lambda: finish(None, 0))


def habits_of(options: RunOptions, think_ms: tuple[int, int]) -> ClientHabits:
    """How clients of a simulated run work, with these pauses."""
    return ClientHabits(
        think_ms=think_ms,
        back_off_ms=think_ms,
        operations=options.operations or UNBOUNDED,
        batch_records_max=BATCH_RECORDS_MAX if options.idempotent else 1,
        unacknowledged=0.0 if options.idempotent else options.unacknowledged,
        rewinds=REWINDS,
    )


class ScriptedClient(SimulatedClient, ABC):
    """Does what its script says, until the script ends or the client is stopped."""

    script: Script[None]
    is_done = False
    """True when the script has ended."""
    retries = 0
    on_crash: Callable[[], None] | None = None
    """When set, the next answer ends the client unrecorded, and this is called."""
    _traced: TracedOperation
    """Under way."""
    _retries_left = 0
    _may_be_there = False
    """An earlier try may be in the log."""

    def __init__(
        self, cluster: VirtualCluster, name: str, think_ms: tuple[int, int] | None = None
    ) -> None:
        """`think_ms`: between two operations, if not as the options say."""
        super().__init__(cluster, name)
        self.habits = habits_of(cluster.options, think_ms or cluster.options.think_ms)

    def go_on_later(self) -> None:
        """Go on after the time between two operations."""
        self.pause(self.random.randint(*self.habits.think_ms))

    def go_on(self, answer: Answer | None = None) -> None:
        """Do the next step of the script, given the answer to the operation before it."""
        try:
            step = next(self.script) if answer is None else self.script.send(answer)
        except StopIteration:
            self.is_done = True
            return
        if isinstance(step, Pause):
            self.pause(step.ms)
        else:
            self.perform(step)

    def pause(self, ms: int) -> None:
        """Go on after a while, unless stopped by then."""
        self.cluster.scheduler.after_ms(ms, lambda: None if self.is_stopped else self.go_on())

    def perform(self, operation: Operation) -> None:
        """Ask for the operation, again if need be, and go on with the answer."""
        self._traced = self.begin(operation)
        self._retries_left = self.retries
        self._may_be_there = False
        self._send()

    def _send(self) -> None:
        operation = self._traced.operation
        self.ask(self.guess(operation.partition), request_of(operation), self._hear)

    def _hear(self, response: Response | None) -> None:
        if self.on_crash is not None and not self.is_stopped:
            self.is_stopped = True
            self.on_crash()
            return
        answer = self._traced.answer(response)
        if not answer.is_ok:
            self.forget(self._traced.operation.partition)
        self._may_be_there |= answer.outcome is Outcome.INDEFINITE
        may_try = self.may_try(answer) and (not self.is_stopped or self.owes_try(answer))
        if answer.is_ok or not may_try:
            self.end(self._traced.operation, answer)
            return
        self.cluster.scheduler.after_ms(self.random.randint(*RETRY_PAUSE_MS), self._send)

    def may_try(self, _: Answer) -> bool:
        """True for the number of retries of this client."""
        self._retries_left -= 1
        return self._retries_left >= 0

    def owes_try(self, _: Answer) -> bool:
        """True of an answer with which not even a stopped client may end."""
        return False

    def end(self, _: Operation, answer: Answer) -> None:
        """Record the answer to the last try, and go on with it."""
        if self._may_be_there and not answer.is_ok:
            answer = structs.replace(answer, outcome=Outcome.INDEFINITE)
        self._traced.end(answer)
        self.go_on(answer)


class SimulatedProducer(ScriptedClient):
    """Appends values to partitions in random order.

    An idempotent one tries again with the same values under the same sequence; when it gives up,
    it goes on under the next producer epoch, so that nothing late is taken for something new. One
    that has several batches in flight is several senders with one window.
    """

    def __init__(
        self,
        cluster: VirtualCluster,
        name: str,
        keys: Sequence[TopicPartition],
        think_ms: tuple[int, int] | None = None,
        window: ProducerWindow | None = None,
    ) -> None:
        super().__init__(cluster, name, think_ms)
        self.keys = keys
        self.acknowledged = 0
        """How many requests were acknowledged."""
        self.script = produce(name, keys, self.random, self.habits)
        self.retries = RETRIES if cluster.options.idempotent else 0
        self.window = window or ProducerWindow()
        self._is_due = False
        """Everything before the batch was acknowledged when it was last sent."""

    def go_on(self, answer: Answer | None = None) -> None:
        """As any client, once an idempotent producer has its id."""
        if self.retries and self.window.producer_id == NO_PRODUCER:
            self.ask(self.any_broker(), InitProducerIdRequest(), self._note_id)
            return
        super().go_on(answer)

    def _note_id(self, response: Response | None) -> None:
        if isinstance(response, InitProducerIdResponse) and self.window.producer_id == NO_PRODUCER:
            self.window.producer_id = response.producer_id
        self.go_on_later()

    def perform(self, operation: Operation) -> None:
        """Number the values, and send them; not too far ahead of what is unanswered."""
        assert isinstance(operation, Produce)
        if not self.retries:
            super().perform(operation)
        elif not self.window.is_full(operation.partition):
            super().perform(self.window.number(operation))
        elif not self.is_stopped:
            again = partial(self.perform, operation)
            self.cluster.scheduler.after_ms(self.random.randint(*RETRY_PAUSE_MS), again)

    def _send(self) -> None:
        self._is_due = self.window.is_first(self._sent)
        super()._send()

    @property
    def _sent(self) -> Produce:
        assert isinstance(self._traced.operation, Produce)
        return self._traced.operation

    def may_try(self, answer: Answer) -> bool:
        """A batch that overtook another one is sent again, however often; others RETRIES times."""
        if not self.window.is_current(self._sent):
            return False
        if answer.error_code in UNJUSTIFIED:
            return self.owes_try(answer)
        return super().may_try(answer)

    def owes_try(self, answer: Answer) -> bool:
        """True of a refusal because the batch overtook another one: it says nothing of it."""
        return answer.error_code in UNJUSTIFIED and not self._is_due

    def end(self, done: Operation, answer: Answer) -> None:
        """Note what was appended; after a failure, begin a new producer epoch."""
        assert isinstance(done, Produce)
        if answer.is_ok:
            self.acknowledged += 1
        if self.retries and answer.is_ok:
            self.window.acknowledged(done)
        elif not answer.is_ok:
            self.window.give_up(done)
            # What the network has doubled may still come, though the first one was refused.
            self._may_be_there |= self.cluster.network.may_double(request_of(done))
        super().end(done, answer)


def senders_of(
    cluster: VirtualCluster, name: str, keys: Sequence[TopicPartition]
) -> list[SimulatedProducer]:
    """The senders of one producer, with one window; the first one has its name."""
    in_flight = cluster.options.in_flight
    window = ProducerWindow(in_flight)
    names = [name, *(f"{name}-{number}" for number in range(2, in_flight + 1))]
    return [SimulatedProducer(cluster, one, keys, window=window) for one in names]


class SimulatedConsumer(ScriptedClient):
    """Reads partitions in random order."""

    def __init__(self, cluster: VirtualCluster, name: str, keys: Sequence[TopicPartition]) -> None:
        super().__init__(cluster, name)
        self.script = consume(keys, self.random, self.habits)


class FinalReader(ScriptedClient):
    """Reads every partition from its start to its high watermark, once all is healed."""

    def __init__(self, cluster: VirtualCluster, keys: Sequence[TopicPartition]) -> None:
        super().__init__(cluster, FINAL_READER)
        self.script = self._read_all(keys)

    def _read_all(self, keys: Sequence[TopicPartition]) -> Script[None]:
        for key in keys:
            yield from read_to_end(key, partial(self._is_read, key), POLL_MS)

    def _is_read(self, key: TopicPartition, offset: int, answer: Answer) -> bool:
        """True at the high watermark, and when a late request has removed the partition."""
        if answer.is_ok:
            return offset >= (answer.high_watermark or 0)
        return key not in self.cluster.assignments()


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
        if not self.is_stopped:
            self.ask(self.any_broker(), self.request, self._hear)

    def _hear(self, response: Response | None) -> None:
        self.is_granted = all(code in self._granting for code in error_codes(response))
        if not self.is_granted:
            self.cluster.scheduler.after_ms(AGAIN_MS, self.begin_asking)


def error_codes(response: Response | None) -> list[ErrorCode]:
    """Of the answer to an administrator or a command, and of each partition or topic in it."""
    match response:
        case (
            AlterPartitionReassignmentsResponse()
            | ElectLeadersResponse()
            | LeaderAndIsrResponse()
            | StopReplicaResponse()
        ):
            return [one.error_code for one in (response, *response.partitions)]
        case CreateTopicsResponse() | DeleteTopicsResponse():
            return [one.error_code for one in (response, *response.topics)]
        case MutationResponse():
            return [one.error_code for one in (response, *response.results)]
        case None:
            return [ErrorCode.REQUEST_TIMED_OUT]
        case _:
            return [response.error_code]


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
