"""What verbs ask of topics and partitions, of any broker that lives."""

from collections.abc import Iterator

from impl.core.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    Reassignment,
    Request,
    Response,
)
from impl.core.topic_messages import (
    DeleteTopicRequest,
)
from impl.sim.clients import TIMEOUT_MS
from impl.sim.script.language import Command
from impl.sim.script.look import is_registered
from impl.sim.script.stage import Stage, key_of, number
from spec.vocabulary import BrokerId, ErrorCode

Lines = list[str]
ANSWER_MS = TIMEOUT_MS + 1
"""After it every operation has ended, if only for want of an answer."""


def brokers(command: Command, text: str) -> Iterator[BrokerId]:
    """The brokers of `1,2,3`; raises `ScriptError`."""
    for word in text.split(","):
        if not word.isdecimal():
            raise command.error(f"{text} is no list of brokers; write it as in 1,2,3")
        yield BrokerId(int(word))


def delete_topic(stage: Stage, command: Command) -> Lines:
    """The topic is to go; `until topics=none` waits until it has."""
    return _ask(stage, command, DeleteTopicRequest(topic=command.words[0]))


def add_partitions(stage: Stage, command: Command) -> Lines:
    """The topic is to have `count=` partitions, the new ones wherever the broker puts them."""
    count = number(command, "count", 0)
    request = CreatePartitionsRequest(topic=command.words[0], partition_count=count)
    return _ask(stage, command, request)


def reassign(stage: Stage, command: Command) -> Lines:
    """The partition is to move to `replicas=`; without them a move is cancelled."""
    key = key_of(command, command.words[0])
    given = command.options.get("replicas")
    replicas = tuple(brokers(command, given)) if given else ()
    move = Reassignment(topic=key.topic, partition=key.partition, replicas=replicas)
    return _ask(stage, command, AlterPartitionReassignmentsRequest(reassignments=(move,)))


def _ask(stage: Stage, command: Command, request: Request) -> Lines:
    """The answer is printed unless it is good."""
    what = f"{command.verb} {command.words[0]}"
    pending = stage.client.ask_for(what, _anybody(stage, command), request, _told)
    if command.at_ms is not None or command.options.get("wait") == "no":
        stage.client.pending.append(pending)
        return []
    stage.run(ANSWER_MS, lambda: pending.is_done)
    return [] if pending.outcome == ["ok"] else [f"{what}: {pending.outcome[0]}"]


def _anybody(stage: Stage, command: Command) -> BrokerId:
    if "broker" in command.options:
        return stage.broker(command)
    alive = [
        broker_id
        for broker_id, process in stage.cluster.processes.items()
        if process.is_alive and not process.is_paused and is_registered(stage, broker_id)
    ]
    if not alive:
        raise command.error("nobody lives whom to ask")
    return min(alive)


def _told(response: Response | None) -> str:
    error: ErrorCode | None = getattr(response, "error_code", None)
    if error is None:
        return "no answer"
    return "ok" if error is ErrorCode.NONE else error.value
