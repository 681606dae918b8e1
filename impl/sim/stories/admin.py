"""The steps of an administrator: what they ask of a broker, and the answer."""

from msgspec import UnsetType

from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.core.types.failed_log_messages import PartitionId
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectLeadersRequest,
    PartitionResult,
    Reassignment,
    RemovePartitionsRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import DeleteTopicRequest
from fencepost.impl.sim.stories.client import Pending
from fencepost.impl.sim.stories.look import is_registered
from fencepost.impl.sim.stories.stage import Stage
from fencepost.impl.sim.world.clients import TIMEOUT_MS
from fencepost.spec.vocabulary import BrokerId, ErrorCode

Lines = list[str]
ANSWER_MS = TIMEOUT_MS + 1
"""After it every operation has ended, if only for want of an answer."""


def delete_topic(stage: Stage, step: steps.DeleteTopicStep) -> Lines:
    """Ask for the deletion; it is done when the topic is gone."""
    return _ask(stage, step, DeleteTopicRequest(topic=step.delete_topic))


def create_partitions(stage: Stage, step: steps.CreatePartitionsStep) -> Lines:
    """Ask for so many partitions, the new ones wherever the broker puts them."""
    request = CreatePartitionsRequest(
        topic=step.create_partitions, partition_count=step.partition_count
    )
    return _ask(stage, step, request)


def remove_partitions(stage: Stage, step: steps.RemovePartitionsStep) -> Lines:
    """Ask for the removal of these partitions."""
    request = RemovePartitionsRequest(topic=step.remove_partitions, partitions=step.partitions)
    return _ask(stage, step, request)


def elect(stage: Stage, step: steps.ElectStep) -> Lines:
    """Ask for an election."""
    topic, partition = steps.partition_of(step.elect)
    one = PartitionId(topic=topic, partition=partition)
    return _ask(stage, step, ElectLeadersRequest(kind=step.election, partitions=(one,)))


def reassign(stage: Stage, step: steps.ReassignStep) -> Lines:
    """Ask for other replicas; without any a move is cancelled."""
    topic, partition = steps.partition_of(step.reassign)
    replicas = tuple(map(BrokerId, step.replicas))
    move = Reassignment(topic=topic, partition=partition, replicas=replicas)
    return _ask(stage, step, AlterPartitionReassignmentsRequest(reassignments=(move,)))


def _ask(stage: Stage, step: steps.AdminStep, request: Request) -> Lines:
    """The answer is printed unless it is good."""
    verb = steps.verb_of(step)
    to = _live_broker(stage) if isinstance(step.broker, UnsetType) else stage.broker(step.broker)
    pending = stage.client.ask_for(f"{verb} {getattr(step, verb)}", to, request, _told)
    found = wait_for(stage, step, pending)
    return [] if found == ["ok"] else found


def wait_for(
    stage: Stage,
    step: steps.AdminStep | steps.ProduceStep | steps.RetryStep | steps.ConsumeStep,
    pending: Pending,
) -> Lines:
    """The outcome of an operation, unless its step was put off or does not wait."""
    if step.after_ms or not step.wait:
        stage.client.pending.append(pending)
        return []
    stage.run(ANSWER_MS, lambda: pending.is_done)
    return [pending.outcome[0]]


def _live_broker(stage: Stage) -> BrokerId:
    alive = [
        broker_id
        for broker_id, process in stage.cluster.processes.items()
        if process.is_alive and not process.is_paused and is_registered(stage, broker_id)
    ]
    if not alive:
        raise StoryError("no broker is alive to ask")
    return min(alive)


def _told(response: Response | None) -> str:
    error: ErrorCode | None = getattr(response, "error_code", None)
    if error is None:
        return "no answer"
    results: tuple[PartitionResult, ...] = getattr(response, "partitions", ())
    errors = [
        code for code in (error, *(r.error_code for r in results)) if code is not ErrorCode.NONE
    ]
    return errors[0].value if errors else "ok"
