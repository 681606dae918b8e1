"""The client of a story: the operations of its steps, each recorded as any client's."""

from collections.abc import Mapping
from typing import Any

from msgspec import UnsetType

from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.config_step import (
    ChangeStep,
    TokenStep,
    change_of,
)
from fencepost.fault_injection.stories.steps.observation import partition_of
from fencepost.fault_injection.stories.steps.story_cluster import (
    Ended,
    answer_line,
)
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.commands import ControlAnswer, ControlCommand, error_of
from fencepost.fault_injection.workload.config_operations import (
    ALTER_CONFIGS,
    answered_config,
)
from fencepost.fault_injection.workload.operations import Operation, Produce
from fencepost.fault_injection.workload.producer_window import UNJUSTIFIED
from fencepost.impl.core.types.broker_reports import ControlledShutdownResponse
from fencepost.impl.core.types.messages import (
    CommandResponse,
    RemovePartitionsRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicRequest,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    FindCoordinatorRequest,
    ReplicaList,
)
from fencepost.impl.sim.stories.command import command_request
from fencepost.impl.sim.stories.token_client import TokenClient
from fencepost.impl.sim.world.admin_workload import addition, alteration, election, reassignment
from fencepost.impl.sim.world.clients import AGAIN_MS, SimulatedClient, error_codes
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.operations import TracedOperation, request_of
from fencepost.spec.vocabulary import NO_PRODUCER, BrokerId, ErrorCode
from fencepost.spec.znodes import TopicPartition

NO_ANSWER = "no answer"
CONTROLLER_MS = 5_000
"""So long a request waits for a controller that its broker knows, as those of real clients do."""


class StepClient(SimulatedClient):
    """Sends single requests to named brokers, and keeps produces without an answer."""

    def __init__(self, cluster: VirtualCluster) -> None:
        super().__init__(cluster, "client-script")
        self._tried: dict[TopicPartition, tuple[Produce, TracedOperation]] = {}
        """Of numbered producers, the last operation on each partition while it is open."""
        self._tokens = TokenClient(self, _granted)

    def create_topics(
        self,
        step: steps.CreateTopicStep,
        assignment: tuple[tuple[BrokerId, ...], ...],
        to: BrokerId,
        ended: Ended,
    ) -> None:
        """Ask for the step's topic with these replicas, or for many such in one request.

        A broker that the step has named is asked once.
        """
        counted: Mapping[str, Any] = {
            "user": step.user,
            "client_id": step.client_id,
            "api_version": step.api_version,
            "validate_only": step.validate_only,
        }
        asked = tuple(
            CreateTopicRequest(
                topic=topic,
                partition_count=len(assignment),
                replication_factor=len(assignment[0]),
                assignment=tuple(ReplicaList(replicas=replicas) for replicas in assignment),
                **counted,
            )
            for topic in (step.create_topic, *step.also)
        )
        request = CreateTopicsRequest(topics=asked, **counted) if asked[1:] else asked[0]
        if isinstance(step.broker, UnsetType):
            self.ask_controller(to, request, ended)
        else:
            self.ask(to, request, lambda answer: ended(_granted(answer)))

    def ask_controller(self, to: BrokerId, request: Request, ended: Ended) -> None:
        """Ask the controller by way of a broker, again while that knows none, for some seconds."""
        scheduler = self.cluster.scheduler
        deadline_ms = scheduler.now_ms + CONTROLLER_MS

        def hear(response: Response | None) -> None:
            answer = _granted(response)
            if answer == ErrorCode.NOT_CONTROLLER.value and scheduler.now_ms < deadline_ms:
                scheduler.after_ms(AGAIN_MS, lambda: self.ask(to, request, hear))
            else:
                ended(answer)

        self.ask(to, request, hear)

    def administer(self, step: steps.AdminStep, to: BrokerId, ended: Ended) -> None:
        """Send the request of an administrator; a change of a configuration is traced."""
        if isinstance(step, TokenStep):
            self._tokens.ask(step, to, ended)
        elif isinstance(step, ChangeStep):
            self._alter(step, to, ended)
        elif isinstance(step.broker, UnsetType):
            self.ask_controller(to, _request(step), ended)
        else:
            self.ask(to, _request(step), lambda answer: ended(_granted(answer)))

    def _alter(self, step: ChangeStep, to: BrokerId, ended: Ended) -> None:
        asked, request = alteration(change_of(step), RequestHeader(principal=step.claims))
        line, inv_ns = self.invoke(ALTER_CONFIGS, asked)

        def hear(response: Response | None) -> None:
            self.complete(line, inv_ns, answered_config(ALTER_CONFIGS, response))
            ended(_granted(response))

        self.ask(to, request, hear)

    def command(self, command: ControlCommand, to: BrokerId, ended: Ended) -> None:
        """Send the command of a controller; raises `StoryError` for one that the core lacks."""
        request = command_request(command)
        self.cluster.harness.write(command.told(to))
        self.ask(to, request, lambda answer: ended(_answered(answer)))

    def operate(self, operation: Operation, to: BrokerId, ended: Ended) -> None:
        """Send one request; a numbered produce stays open until it is answered for good."""
        traced = self.begin(operation)
        if isinstance(operation, Produce) and operation.producer_id != NO_PRODUCER:
            self._tried[operation.partition] = operation, traced
            self.retry(operation.partition, to, ended)
            return

        def hear(response: Response | None) -> None:
            answer = traced.answer(response)
            traced.end(answer)
            ended(answer_line(operation, answer) if response else NO_ANSWER)

        self.ask(to, request_of(operation), hear)

    def retry(self, key: TopicPartition, to: BrokerId, ended: Ended) -> None:
        """Send the open produce to the partition again, as it was; raises `StoryError`."""
        if key not in self._tried:
            raise StoryError(f"no produce to {key} is open; give one a producer_id first")
        operation, traced = self._tried[key]

        def hear(response: Response | None) -> None:
            answer = traced.answer(response)
            is_over = answer.is_ok or answer.error_code in UNJUSTIFIED
            if is_over and self._tried.get(key) == (operation, traced):
                del self._tried[key]
                traced.end(answer)
            ended(answer_line(operation, answer) if response else NO_ANSWER)

        self.ask(to, request_of(operation), hear)


def _request(step: steps.AdminStep) -> Request:
    """What the step asks for."""
    match step:
        case steps.DeleteTopicStep(delete_topic=topic, also=also) if also:
            return DeleteTopicsRequest(topics=(topic, *also))
        case steps.DeleteTopicStep():
            return DeleteTopicRequest(topic=step.delete_topic)
        case steps.CreatePartitionsStep(create_partitions=topic, partition_count=count):
            return addition(topic, count)
        case steps.RemovePartitionsStep(remove_partitions=topic, partitions=partitions):
            return RemovePartitionsRequest(topic=topic, partitions=partitions)
        case steps.ElectStep():
            return election(partition_of(step.elect), step.election)
        case steps.FindCoordinatorStep(find_coordinator=key):
            return FindCoordinatorRequest(key=key)
        case steps.ReassignStep():
            return reassignment(partition_of(step.reassign), step.replicas)
        case _:
            raise AssertionError(step)


def _answered(response: Response | None) -> str:
    if response is None:
        return NO_ANSWER
    assert isinstance(response, CommandResponse | ControlledShutdownResponse)
    answered = () if isinstance(response, ControlledShutdownResponse) else response.partitions
    found = {one.key: error_of(one.error_code) for one in answered}
    return ControlAnswer(error_code=error_of(response.error_code), partitions=found).line


def _granted(response: Response | None) -> str:
    if response is None:
        return NO_ANSWER
    if isinstance(response, CreateTopicsResponse | DeleteTopicsResponse):
        codes = [one.error_code for one in response.topics] or [response.error_code]
        return (
            "ok" if {*codes} == {ErrorCode.NONE} else " ".join(code.value or "ok" for code in codes)
        )
    errors = (code.value for code in error_codes(response) if code is not ErrorCode.NONE)
    return next(errors, "ok")
