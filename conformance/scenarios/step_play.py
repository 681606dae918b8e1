"""Plays the steps of a story on a running cluster, by clients and an administrator of its own.

What only a simulator can do, as to stop a process at a point of the protocol, is refused before
anything is done.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import Answer
from fencepost.conformance.runs.running_cluster import POLL_S, STEP_S, RunningCluster
from fencepost.fault_injection.engine.progress import RunningFault
from fencepost.fault_injection.processes.trace_tail import TraceTail
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_file import awaited_by, fault_of
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.stories.triggers import Watch
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import TopicPartition

MS = 1000
PRODUCE_MS = 1_000
WHOLE_ANSWER_MS = 60_000
"""After it a produce has ended, whatever became of it."""
OBSERVED = frozenset({"controller", "converged", "pending", "leader", "epoch", "isr", "assigned"})
"""What `until` can see from outside."""
SETTINGS = frozenset(
    {"brokers", "session_timeout_ms", "replica_lag_ms", "first_controller", "zookeeper"}
)
"""Of a cluster of processes; others are given by the command, or by nothing."""
ACKS = {"all": -1, 1: 1, 0: 0}

Lines = list[str]


def play_steps(story: Story, stage: RunningCluster) -> None:
    """Every step is done, and has printed what the story says; raises `ClusterError`."""
    with ThreadPoolExecutor(1) as thread:
        player = StepPlayer(stage=stage, thread=thread)
        for index, step in enumerate(story.steps):
            printed = tuple(PERFORM[type(step)](player, step))
            if printed != (expected := steps.printed_in(step, "")):
                raise ClusterError(
                    f"steps[{index}] ({steps.verb_of(step)}) prints {_told(printed)} and not "
                    f"{_told(expected)}"
                )


def require_playable(story: Story) -> None:
    """Raise `StoryError` for what only a simulator can play."""
    if story.runs:
        raise StoryError("it has runs, which fencepost simulate --story plays; give one story")
    if strange := sorted({*story.cluster} - SETTINGS):
        raise StoryError(f"cluster: {strange[0]} is no setting of processes; leave it out")
    if story.steps and story.actions:
        raise StoryError("it has steps and actions, which only a simulator plays beside each other")
    for index, step in enumerate(story.steps):
        if why := _why_not(step):
            raise StoryError(f"steps[{index}] ({steps.verb_of(step)}): {why}; a simulator plays it")


def _why_not(step: steps.StoryStep) -> str:
    if type(step) not in PERFORM:
        return "no processes can do it"
    if isinstance(step, steps.OrderStep) and step.after_ms:
        return "after_ms puts it off"
    if isinstance(step, steps.ShowStep) and step.show != "results":
        return f"{step.show} is not seen from outside"
    if isinstance(step, steps.UntilStep):
        names = (steps.Observation.parsed(name).name for name in step.until)
        return next(
            (f"{name} is not seen from outside" for name in names if name not in OBSERVED), ""
        )
    return ""


def _told(lines: tuple[str, ...]) -> str:
    return repr("\n".join(lines)) if lines else "nothing"


@dataclass(slots=True, kw_only=True)
class StepPlayer:
    """What the steps of one story act upon."""

    stage: RunningCluster
    thread: ThreadPoolExecutor
    """The client does one operation after the other."""
    _client: RoutedClient | None = None
    faults: dict[str, RunningFault[str]] = field(default_factory=dict)
    begun: list[tuple[str, Future[Answer]]] = field(default_factory=list)
    """Operations that were not waited for, and what they are."""

    @property
    def client(self) -> RoutedClient:
        """Begun when it is first asked for: an idle client would leave an empty trace."""
        if self._client is None:
            self._client = self.stage.client()
        return self._client

    def comes(self, holds: Callable[[], bool], within_ms: int) -> bool:
        """Wait until it holds; false when it does not in time."""
        deadline, wait = monotonic() + within_ms / MS, threading.Event()
        while not holds():
            if monotonic() > deadline:
                return False
            wait.wait(POLL_S)
            self.stage.engine.step()
        return True


def _create_topic(player: StepPlayer, step: steps.CreateTopicStep) -> Lines:
    count = step.partitions if isinstance(step.partitions, int) else 1
    player.stage.create_topic(step.create_topic, [step.replicas] * count)
    return []


def _delete_topic(player: StepPlayer, step: steps.DeleteTopicStep) -> Lines:
    player.stage.cluster.delete_topic(step.delete_topic)
    return []


def _produce(player: StepPlayer, step: steps.ProduceStep) -> Lines:
    done = player.thread.submit(_produced, player.client, step)
    if not step.wait:
        player.begun.append((f"produce {step.produce} {' '.join(step.records)}", done))
        return []
    player.comes(done.done, WHOLE_ANSWER_MS)
    return [_outcome(done.result())]


def _outcome(answer: Answer) -> str:
    return f"ok offset={answer.offset}" if answer.is_ok else str(answer.error_code)


def _produced(client: RoutedClient, step: steps.ProduceStep) -> Answer:
    """The answer; while no leader is known or serves, the records are sent under a new name."""
    key, deadline = steps.partition_of(step.produce), monotonic() + STEP_S
    wait, attempt = threading.Event(), 1
    while True:
        answer = client.produce(
            key,
            [value if attempt == 1 else f"{value}/{attempt}" for value in step.records],
            acks=ACKS[step.acks],
            timeout_ms=step.timeout_ms or PRODUCE_MS,
        )
        if answer.outcome is not Outcome.DEFINITE_ERROR or monotonic() > deadline:
            return answer
        client.forget(key)
        wait.wait(POLL_S)
        attempt += 1


def _reassign(player: StepPlayer, step: steps.ReassignStep) -> Lines:
    """A controller refuses a broker until it has heard that the broker is back."""
    moves = {steps.partition_of(step.reassign): step.replicas}
    return _granted(player, lambda: player.stage.cluster.reassign(moves))


def _elect(player: StepPlayer, step: steps.ElectStep) -> Lines:
    key = steps.partition_of(step.elect)
    return _granted(player, lambda: player.stage.cluster.elect_preferred([key]))


def _granted(player: StepPlayer, ask: Callable[[], None]) -> Lines:
    refused: Lines = []

    def is_granted() -> bool:
        try:
            ask()
        except ClusterError as error:
            refused[:] = [str(error)]
            return False
        return True

    return [] if player.comes(is_granted, round(STEP_S * MS)) else refused


def _run(player: StepPlayer, step: steps.RunMsStep) -> Lines:
    player.comes(lambda: False, step.run_ms)
    return []


def _until(player: StepPlayer, step: steps.UntilStep) -> Lines:
    look = partial(_observe, player)
    player.comes(lambda: next(step.unmet(look), None) is None, step.within_ms)
    return list(step.unmet(look))


def _observe(player: StepPlayer, what: steps.Observation) -> str:
    """As the simulator says it."""
    cluster = player.stage.cluster
    if what.name == "controller":
        return steps.expected_text(player.stage.controller() or ())
    if what.name == "converged":
        return steps.expected_text(cluster.is_in_sync())
    if what.name == "pending":
        return str(sum(not done.done() for _, done in player.begun))
    assert what.partition is not None
    return _observe_partition(cluster, what.name, what.partition)


def _observe_partition(cluster: ClusterUnderTest, name: str, key: TopicPartition) -> str:
    if name == "assigned":
        return steps.expected_text(cluster.assignment(key.topic).get(key.partition, ()))
    state = cluster.state_of(key)
    if state is None:
        return steps.expected_text(())
    if name == "isr":
        return steps.expected_text(tuple(sorted(state.isr)))
    return str(state.leader_epoch if name == "epoch" else state.leader)


def _wait_for(player: StepPlayer, step: steps.WaitForStep) -> Lines:
    """The lines from the start of the run on count; each is read once."""
    stage, trigger = player.stage, awaited_by(step)
    watch = Watch(resolve=lambda target: target.resolve(stage.cluster.view()))
    watch.add(trigger)
    traces = TraceTail(stage.session.folder)

    def has_come() -> bool:
        for running in player.faults.values():
            watch.note(running.action.action_id, running.phase, 0)
        for event in traces.events():
            watch.observe(event, 0)
        return watch.has_come(trigger, 0)

    return [] if player.comes(has_come, step.within_ms) else [f"not within {step.within_ms} ms"]


def _show(player: StepPlayer, _: steps.ShowStep) -> Lines:
    """The outcome of what was not waited for, and has ended; each is printed once."""
    ended = [one for one in player.begun if one[1].done()]
    player.begun[:] = [one for one in player.begun if one not in ended]
    return [f"{what}: {_outcome(done.result())}" for what, done in ended]


def _begin_fault(player: StepPlayer, step: steps.FaultStep) -> Lines:
    fault_id = step.id or f"fault-{len(player.faults) + 1}"
    player.faults[fault_id] = player.stage.engine.inject(fault_id, fault_of(step))
    return []


def _heal(player: StepPlayer, step: steps.HealStep) -> Lines:
    if step.heal not in player.faults:
        raise ClusterError(f"no fault {step.heal!r} was begun")
    player.stage.engine.heal(player.faults[step.heal])
    return []


PERFORM: dict[type[steps.StoryStep], Callable[[StepPlayer, Any], Lines]] = {
    steps.CreateTopicStep: _create_topic,
    steps.DeleteTopicStep: _delete_topic,
    steps.ProduceStep: _produce,
    steps.ReassignStep: _reassign,
    steps.ElectStep: _elect,
    steps.RunMsStep: _run,
    steps.UntilStep: _until,
    steps.WaitForStep: _wait_for,
    steps.ShowStep: _show,
    steps.FaultStep: _begin_fault,
    steps.HealStep: _heal,
}
"""The steps that processes can do."""
