"""The client of a story: the operations of its steps, each recorded as any client's."""

from collections.abc import Callable

from msgspec.structs import replace

from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.operations import (
    PRODUCE_TIMEOUT_MS,
    Answer,
    Fetch,
    Produce,
)
from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    ACKS_ALL,
    ElectLeadersRequest,
    ProduceResponse,
    RemovePartitionsRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    DeleteTopicRequest,
    ReplicaList,
)
from fencepost.impl.sim.world.admin_workload import addition, reassignment
from fencepost.impl.sim.world.clients import SimulatedClient, error_codes
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.operations import TracedOperation, request_of
from fencepost.spec.vocabulary import NO_PRODUCER, BrokerId, ErrorCode, ProducerId
from fencepost.spec.znodes import TopicPartition

NO_ANSWER = "no answer"

Ended = Callable[[str], None]
"""Is told the outcome of an operation."""


class StepClient(SimulatedClient):
    """Sends single requests to named brokers, and keeps produces without an answer."""

    def __init__(self, cluster: VirtualCluster) -> None:
        super().__init__(cluster, "client-script")
        self._tried: dict[TopicPartition, TracedOperation] = {}
        """Of numbered producers, the last operation on each partition while it is open."""

    def create_topic(
        self,
        topic: str,
        assignment: tuple[tuple[BrokerId, ...], ...],
        to: BrokerId,
        ended: Ended,
    ) -> None:
        """Ask for a topic with these replicas."""
        request = CreateTopicRequest(
            topic=topic,
            partition_count=len(assignment),
            replication_factor=len(assignment[0]),
            assignment=tuple(ReplicaList(replicas=replicas) for replicas in assignment),
        )
        self.ask(to, request, lambda answer: ended(_granted(answer)))

    def administer(self, step: steps.AdminStep, to: BrokerId, ended: Ended) -> None:
        """Send the request of an administrator."""
        self.ask(to, _request(step), lambda answer: ended(_granted(answer)))

    def produce(
        self, step: steps.ProduceStep, key: TopicPartition, to: BrokerId, ended: Ended
    ) -> None:
        """Append the records in one request; a numbered one that has no answer stays open."""
        operation = Produce(
            partition=key,
            acks=ACKS_ALL if step.acks == "all" else step.acks,
            values=step.records,
            timeout_ms=step.timeout_ms or PRODUCE_TIMEOUT_MS,
            producer_id=ProducerId(step.producer_id),
            producer_epoch=step.producer_epoch,
            base_sequence=step.base_sequence,
        )
        traced = self.begin(operation)
        if operation.producer_id == NO_PRODUCER:
            self.ask(to, request_of(operation), lambda answer: ended(_produced(traced, answer)))
            return
        self._tried[key] = traced
        self.retry(key, to, ended)

    def retry(self, key: TopicPartition, to: BrokerId, ended: Ended) -> None:
        """Send the open produce to the partition again, as it was; raises `StoryError`."""
        if key not in self._tried:
            raise StoryError(f"no produce to {key} is open; give one a producer_id first")
        traced = self._tried[key]

        def hear(response: Response | None) -> None:
            is_open = self._tried.get(key) is traced
            if not isinstance(response, ProduceResponse):
                ended(NO_ANSWER)
            elif response.error_code is not ErrorCode.NONE or not is_open:
                ended(response.error_code.value)
            else:
                del self._tried[key]
                ended(_produced(traced, response))

        self.ask(to, request_of(traced.operation), hear)

    def consume(self, key: TopicPartition, offset: int, to: BrokerId, ended: Ended) -> None:
        """Read committed records from `offset` on."""
        operation = Fetch(partition=key, offset=offset)
        traced = self.begin(operation)
        self.ask(to, request_of(operation), lambda answer: ended(_fetched(traced, answer)))


def _request(step: steps.AdminStep) -> Request:
    """What the step asks for."""
    match step:
        case steps.DeleteTopicStep():
            return DeleteTopicRequest(topic=step.delete_topic)
        case steps.CreatePartitionsStep(create_partitions=topic, partition_count=count):
            return addition(topic, count)
        case steps.RemovePartitionsStep(remove_partitions=topic, partitions=partitions):
            return RemovePartitionsRequest(topic=topic, partitions=partitions)
        case steps.ElectStep():
            topic, partition = steps.partition_of(step.elect)
            one = PartitionId(topic=topic, partition=partition)
            return ElectLeadersRequest(kind=step.election, partitions=(one,))
        case steps.ReassignStep():
            return reassignment(steps.partition_of(step.reassign), step.replicas)
        case _:
            raise AssertionError(step)


def _granted(response: Response | None) -> str:
    if response is None:
        return NO_ANSWER
    errors = (code.value for code in error_codes(response) if code is not ErrorCode.NONE)
    return next(errors, "ok")


def _produced(traced: TracedOperation, response: Response | None) -> str:
    answer = _ended(traced, response)
    return f"ok offset={answer.offset}" if answer.is_ok else str(answer.error_code)


def _fetched(traced: TracedOperation, response: Response | None) -> str:
    answer = _ended(traced, response)
    if not answer.is_ok:
        return str(answer.error_code)
    values = " ".join(answer.values) or "nothing"
    return f"ok {values}, high_watermark={answer.high_watermark}"


def _ended(traced: TracedOperation, response: Response | None) -> Answer:
    """The answer, which is in the trace."""
    answer = traced.answer(response)
    traced.end(answer)
    return answer if response else replace(answer, error_code=NO_ANSWER)
