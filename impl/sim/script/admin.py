"""What verbs ask of topics and partitions, of any broker that lives."""

from collections.abc import Iterator

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
from fencepost.impl.sim.script.language import Command
from fencepost.impl.sim.script.look import is_registered
from fencepost.impl.sim.script.stage import Stage, key_of, number
from fencepost.impl.sim.world.clients import TIMEOUT_MS
from fencepost.spec.vocabulary import BrokerId, ElectionKind, ErrorCode

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


def remove_partitions(stage: Stage, command: Command) -> Lines:
    """The partitions `numbers=` of the topic are to go."""
    words = command.options.get("numbers", "").split(",")
    if not all(word.isdecimal() for word in words):
        raise command.error("write the partitions that go as in numbers=1,2")
    request = RemovePartitionsRequest(topic=command.words[0], partitions=tuple(map(int, words)))
    return _ask(stage, command, request)


def elect(stage: Stage, command: Command) -> Lines:
    """The preferred replica is to lead, or with `kind=unclean` any replica."""
    key = key_of(command, command.words[0])
    kind = command.options.get("kind", ElectionKind.PREFERRED)
    if kind not in {*ElectionKind}:
        raise command.error(f"kind={kind} is none; write {' or '.join(ElectionKind)}")
    one = PartitionId(topic=key.topic, partition=key.partition)
    request = ElectLeadersRequest(kind=ElectionKind(kind), partitions=(one,))
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
        raise command.error("no broker is alive to ask")
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
