"""Plays steps on a running cluster, virtual or of processes: step class -> function.

A cluster that can do more, or be looked into, brings larger tables.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.config_step import (
    AlterConfigStep,
    AlterQuotaStep,
    CreateAclsStep,
    DeleteAclsStep,
)
from fencepost.fault_injection.stories.steps.control import chosen_epoch, command_of
from fencepost.fault_injection.stories.steps.observation import (
    Observation,
    Observed,
    expected_text,
    is_as_wanted,
    partition_of,
)
from fencepost.fault_injection.stories.steps.story_cluster import (
    BrokerStep,
    Ended,
    Lines,
    StoryCluster,
)
from fencepost.fault_injection.stories.story_file import awaited_by, fault_of
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.stories.triggers import Watch
from fencepost.fault_injection.workload.operations import (
    ACKS_ALL,
    PRODUCE_TIMEOUT_MS,
    Fetch,
    ListOffsets,
    Produce,
)
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch, ProducerId
from fencepost.spec.znodes import LeaderAndIsr

Cluster_co = TypeVar("Cluster_co", bound=StoryCluster, covariant=True)


@dataclass(slots=True)
class BegunOperation:
    """An operation that was begun."""

    what: str
    outcome: str = ""
    """One line when it has ended."""

    def end(self, outcome: str) -> None:
        """It has ended so."""
        self.outcome = outcome


@dataclass(slots=True)
class StepPlayer(Generic[Cluster_co]):
    """Performs the steps of one story on one cluster."""

    cluster: Cluster_co
    performed: "StepTable" = field(default_factory=lambda: PERFORMED)
    observed: "ObservationTable" = field(default_factory=lambda: OBSERVED)
    begun: list[BegunOperation] = field(init=False, default_factory=list)
    """Operations that are not waited for; `show: results` prints their outcomes."""
    faults: int = field(init=False, default=0)
    """How many steps have begun one."""
    noted: dict[str, str] = field(init=False, default_factory=dict)
    """Observation -> what was seen when it was noted last."""

    def perform(self, step: steps.StoryStep) -> Lines:
        """Do what a step says, now or when its time comes; raises `ValueError`."""
        act = partial(self.performed[type(step)], self, step)
        is_fault = isinstance(step, steps.FaultStep)  # the engine puts it off
        if isinstance(step, steps.OrderStep) and step.after_ms and not is_fault:
            self.cluster.later(step.after_ms, act)
            return []
        return act()


def broker_of(cluster: StoryCluster, target: Target) -> BrokerId:
    """The broker that a target is now; raises `StoryError`."""
    found = target.resolve(cluster.state.view())
    if found is None or found not in cluster.broker_ids:
        raise StoryError(f"no broker is {target} now")
    return BrokerId(found)


Player = StepPlayer[StoryCluster]
StepTable = Mapping[type[steps.StoryStep], Callable[[StepPlayer[Any], Any], Lines]]
"""What each step does, by its class."""
ObservationTable = Mapping[str, Callable[[StepPlayer[Any], Observation], Observed]]
"""What `until` can see, by its name."""


def _say(_: Player, __: steps.SayStep) -> Lines:
    """Words are for what shows the story."""
    return []


# Time


def _run(player: Player, step: steps.RunMsStep) -> Lines:
    player.cluster.wait(step.run_ms, lambda: False)
    return []


def _until(player: Player, step: steps.UntilStep) -> Lines:
    return _awaited(player, step.until, step.within_ms)


def _must(player: Player, step: steps.MustStep) -> Lines:
    lines = _awaited(player, step.must, step.within_ms)

    def has_changed() -> bool:
        lines.extend(_unmet(player, step.must, f"for {step.for_ms} ms"))
        return bool(lines)

    if not lines:
        player.cluster.wait(step.for_ms, has_changed)
    return lines


def _awaited(player: Player, wanted: Mapping[str, Observed], within_ms: int) -> Lines:
    unmet = partial(_unmet, player, wanted, f"within {within_ms} ms")
    came = player.cluster.wait(within_ms, lambda: next(unmet(), None) is None)
    return [] if came else list(unmet())


def _unmet(player: Player, wanted: Mapping[str, Observed], when: str) -> Iterator[str]:
    """What is not so, each as a line that tells what is seen."""
    for name, value in wanted.items():
        seen, text = _observe(player, Observation.parsed(name)), expected_text(value)
        if not is_as_wanted(text, seen, player.noted.get(name)):
            yield f"not {when}: {name}={text}; it is {seen}"


def _note(player: Player, step: steps.NoteStep) -> Lines:
    for name in step.note:
        player.noted[name] = _observe(player, Observation.parsed(name))
    return []


def _wait_for(player: Player, step: steps.WaitForStep) -> Lines:
    """The lines from the start of the run on count."""
    cluster, trigger = player.cluster, awaited_by(step)
    watch = Watch(resolve=lambda target: target.resolve(cluster.state.view()))
    watch.add(trigger)
    traces = cluster.traces()

    def has_come() -> bool:
        for event in traces.events():
            watch.tell(event, cluster.now_ms)
        return watch.has_come(trigger, cluster.now_ms)

    came = cluster.wait(step.within_ms, has_come)
    return [] if came else [f"not within {step.within_ms} ms"]


# What is seen


def _observe(player: Player, what: Observation) -> str:
    broker_id = what.broker_id
    if broker_id is not None and broker_id not in player.cluster.broker_ids:
        raise StoryError(f"{what}: there is no broker {broker_id}")
    if what.name not in player.observed:
        raise StoryError(f"{what} is not seen here")
    return expected_text(player.observed[what.name](player, what))


def _pending(player: Player, _: Observation) -> Observed:
    return str(sum(not operation.outcome for operation in player.begun))


def _assigned(player: Player, what: Observation) -> Observed:
    key = what.partition
    assert key is not None
    return player.cluster.state.assignment(key.topic).get(key.partition, ())


def _version(player: Player, what: Observation) -> Observed:
    assert what.partition is not None
    found = player.cluster.state.version_of(what.partition)
    return found.znode_version if found else ()


def _controller_epoch(player: Player, _: Observation) -> Observed:
    epoch = player.cluster.state.controller_epoch()
    return () if epoch is None else epoch


def _of_partition(
    read: Callable[[LeaderAndIsr], Observed],
) -> Callable[[Player, Observation], Observed]:
    def look(player: Player, what: Observation) -> Observed:
        assert what.partition is not None
        state = player.cluster.state.state_of(what.partition)
        return () if state is None else read(state)

    return look


OBSERVED: ObservationTable = {
    "controller": lambda player, _: player.cluster.state.controller() or (),
    "controller_epoch": _controller_epoch,
    "converged": lambda player, _: player.cluster.is_converged(),
    "pending": _pending,
    "topics": lambda player, _: tuple(player.cluster.state.topics()),
    "registered": lambda player, what: what.broker_id in player.cluster.state.live_brokers(),
    "assigned": _assigned,
    "leader": _of_partition(lambda state: state.leader),
    "version": _version,
    "epoch": _of_partition(lambda state: state.leader_epoch),
    "isr": _of_partition(lambda state: tuple(sorted(state.isr))),
}
"""What can be seen of every cluster."""


def show_results(player: Player, _: steps.ShowStep) -> Lines:
    """The outcome of operations in the background; each is printed once."""
    lines = [f"{one.what}: {one.outcome or 'pending'}" for one in player.begun]
    player.begun = [one for one in player.begun if not one.outcome]
    return lines


# Clients and administrators


def _create_topic(player: Player, step: steps.CreateTopicStep) -> Lines:
    return player.cluster.create_topic(step)


def begin(
    player: StepPlayer[Any],
    step: steps.ProduceStep
    | steps.RetryStep
    | steps.ConsumeStep
    | steps.ListOffsetsStep
    | steps.AdminStep
    | steps.ControlStep,
    ask: Callable[[Ended], None],
) -> Lines:
    """Ask; returns the outcome, unless the step was put off or does not wait."""
    verb = steps.verb_of(step)
    records = step.records if isinstance(step, steps.ProduceStep) else ()
    operation = BegunOperation(" ".join((verb, getattr(step, verb) or "", *records)))
    ask(operation.end)
    if step.after_ms or not step.wait:
        player.begun.append(operation)
        return []
    player.cluster.wait(player.cluster.answer_ms, lambda: bool(operation.outcome))
    return [operation.outcome]


def _produce(player: Player, step: steps.ProduceStep) -> Lines:
    operation = Produce(
        partition=partition_of(step.produce),
        values=step.records,
        acks=ACKS_ALL if step.acks == "all" else step.acks,
        timeout_ms=step.timeout_ms or PRODUCE_TIMEOUT_MS,
        producer_id=ProducerId(step.producer_id),
        producer_epoch=step.producer_epoch,
        base_sequence=step.base_sequence,
    )
    return begin(player, step, partial(player.cluster.operate, operation, step.broker))


def _consume(player: Player, step: steps.ConsumeStep) -> Lines:
    key, epoch = partition_of(step.consume), step.leader_epoch
    if isinstance(epoch, str):
        state = player.cluster.state.state_of(key)
        published = None if state is None else state.leader_epoch
        epoch = chosen_epoch(epoch, published, f"{key} has no published state")
    operation = Fetch(partition=key, offset=step.offset, leader_epoch=LeaderEpoch(epoch))
    return begin(player, step, partial(player.cluster.operate, operation, step.broker))


def _list_offsets(player: Player, step: steps.ListOffsetsStep) -> Lines:
    operation = ListOffsets(partition=partition_of(step.list_offsets))
    return begin(player, step, partial(player.cluster.operate, operation, step.broker))


def administer(player: Player, step: steps.AdminStep) -> Lines:
    """The answer is printed unless it is good."""
    answer = begin(player, step, partial(player.cluster.administer, step))
    return [] if answer == ["ok"] else answer


def _control(player: Player, step: steps.ControlStep) -> Lines:
    to = broker_of(player.cluster, step.to)
    command = command_of(player.cluster, step, to)
    return begin(player, step, partial(player.cluster.command, command, to))


# Faults and processes


def _begin_fault(player: Player, step: steps.FaultStep) -> Lines:
    """A fault of the catalogue, recorded and healed as in any run."""
    player.faults += 1
    fault_id = step.id or f"fault-{player.faults}"
    player.cluster.begin_fault(fault_id, fault_of(step), step.after_ms)
    return []


def _heal(player: Player, step: steps.HealStep) -> Lines:
    if not player.cluster.heal_fault(step.heal):
        raise StoryError(f"no fault {step.heal!r} is active")
    return []


def _act_on(player: Player, step: BrokerStep) -> Lines:
    target: Target = getattr(step, steps.verb_of(step))
    player.cluster.act_on(broker_of(player.cluster, target), step)
    return []


PERFORMED: StepTable = {
    steps.CreateTopicStep: _create_topic,
    steps.ProduceStep: _produce,
    steps.ConsumeStep: _consume,
    steps.ListOffsetsStep: _list_offsets,
    steps.DeleteTopicStep: administer,
    steps.CreatePartitionsStep: administer,
    steps.ElectStep: administer,
    steps.ReassignStep: administer,
    **dict.fromkeys((AlterConfigStep, AlterQuotaStep, CreateAclsStep, DeleteAclsStep), administer),
    steps.ControlStep: _control,
    steps.RunMsStep: _run,
    steps.UntilStep: _until,
    steps.MustStep: _must,
    steps.NoteStep: _note,
    steps.WaitForStep: _wait_for,
    steps.SayStep: _say,
    steps.ShowStep: show_results,
    steps.FaultStep: _begin_fault,
    steps.HealStep: _heal,
    steps.KillStep: _act_on,
    steps.PauseStep: _act_on,
    steps.ResumeStep: _act_on,
    steps.RestartStep: _act_on,
    steps.ExpireStep: _act_on,
}
"""The steps that every cluster can do."""
