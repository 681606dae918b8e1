"""What each step does on the stage, by its class; the classes say what a step may be given."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UnsetType, structs

from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.story_file import awaited_by
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.stories.triggers import Watch
from fencepost.impl.core.types.messages import ACKS_ALL
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.run import FINAL_READ_MS
from fencepost.impl.sim.stepped.replay import replay
from fencepost.impl.sim.stepped.schedule import SCHEDULES, read_schedule
from fencepost.impl.sim.stories import acts, admin
from fencepost.impl.sim.stories.client import Numbered
from fencepost.impl.sim.stories.look import (
    is_registered,
    observe,
    show_log,
    show_results,
    show_state,
)
from fencepost.impl.sim.stories.stage import Stage
from fencepost.impl.sim.world.clients import PRODUCE_TIMEOUT_MS, FinalReader
from fencepost.impl.sim.world.workload import break_connections, create_topic, start_clients
from fencepost.spec.vocabulary import BrokerId, Offset, ProducerId
from fencepost.spec.znodes import TopicPartition

Lines = list[str]
START_MS = 10_000
"""How long a step waits for a first controller, or for brokers that register."""


def perform(stage: Stage, step: steps.StoryStep) -> Lines:
    """Do what a step says, now or when its time comes; raises `ValueError`."""
    act = PERFORM[type(step)]
    if (
        isinstance(step, steps.OrderStep)
        and step.after_ms
        and not isinstance(step, steps.FaultStep)
    ):
        stage.cluster.scheduler.after_ms(step.after_ms, partial(_at_last, act, stage, step))
        return []
    return act(stage, step)


def _at_last(act: Callable[[Stage, Any], Lines], stage: Stage, step: steps.StoryStep) -> None:
    act(stage, step)


# Cluster and time


def elect_controller(stage: Stage, wanted: int) -> None:
    """Wait until that broker is the controller."""
    processes = stage.cluster.processes
    if wanted not in processes:
        raise StoryError(f"first_controller is {wanted}; choose one of 1 to {len(processes)}")
    others = [process for broker_id, process in processes.items() if broker_id != wanted]
    for process in others:
        process.pause()
    stage.run(START_MS, lambda: stage.cluster.controller() is processes[BrokerId(wanted)])
    for process in others:
        process.resume()


def _run(stage: Stage, step: steps.RunMsStep) -> Lines:
    stage.run(step.run_ms)
    return []


def _until(stage: Stage, step: steps.UntilStep) -> Lines:
    look = partial(observe, stage)
    stage.run(step.within_ms, lambda: next(step.unmet(look), None) is None)
    return list(step.unmet(look))


def _wait_for(stage: Stage, step: steps.WaitForStep) -> Lines:
    """The lines from the start of the run on count."""
    trigger = awaited_by(step)
    watch = Watch(resolve=lambda target: target.resolve(stage.cluster.view()))
    watch.add(trigger)
    events = stage.cluster.recorder.events
    seen = 0

    def has_come() -> bool:
        nonlocal seen
        for event in events[seen:]:
            watch.tell(event, stage.now_ms)
        seen = len(events)
        return watch.has_come(trigger, stage.now_ms)

    came = stage.run(step.within_ms, has_come)
    return [] if came else [f"not within {step.within_ms} ms"]


# Topics and clients


def _create_topic(stage: Stage, step: steps.CreateTopicStep) -> Lines:
    topic, count = step.create_topic, step.partitions
    partitions = stage.cluster.options.partitions if isinstance(count, UnsetType) else count
    replicas = tuple(map(BrokerId, step.replicas))
    if not replicas:
        create_topic(stage.cluster, topic, partitions)
        return []
    to = replicas[0] if isinstance(step.broker, UnsetType) else stage.broker(step.broker)
    stage.run(START_MS, lambda: all(is_registered(stage, broker_id) for broker_id in replicas))
    pending = stage.client.create_topic(topic, (replicas,) * partitions, to)
    stage.run(admin.ANSWER_MS, lambda: pending.is_done)
    if pending.outcome != ["ok"]:
        return pending.outcome
    if step.wait:
        stage.run(START_MS, partial(is_converged, stage.cluster))
    return []


def _produce(stage: Stage, step: steps.ProduceStep) -> Lines:
    key = steps.partition_of(step.produce)
    numbered = Numbered(
        producer_id=ProducerId(step.producer_id),
        producer_epoch=step.producer_epoch,
        base_sequence=step.base_sequence,
    )
    acks = ACKS_ALL if step.acks == "all" else step.acks
    to = _asked(stage, step.broker, key)
    timeout_ms = step.timeout_ms or PRODUCE_TIMEOUT_MS
    pending = stage.client.produce(key, step.records, acks, to, numbered, timeout_ms)
    return admin.wait_for(stage, step, pending)


def _retry(stage: Stage, step: steps.RetryStep) -> Lines:
    """The last produce of a numbered producer to the partition is sent again, as it was."""
    key = steps.partition_of(step.retry)
    pending = stage.client.retry(key, _asked(stage, step.broker, key))
    if pending is None:
        raise StoryError(f"no produce to {key} is open; give one a producer_id first")
    return admin.wait_for(stage, step, pending)


def _consume(stage: Stage, step: steps.ConsumeStep) -> Lines:
    key = steps.partition_of(step.consume)
    pending = stage.client.consume(key, Offset(step.offset), _asked(stage, step.broker, key))
    return admin.wait_for(stage, step, pending)


def _asked(stage: Stage, named: Target | UnsetType, key: TopicPartition) -> BrokerId:
    """The broker that is named, or else the leader that ZooKeeper names."""
    if not isinstance(named, UnsetType):
        return stage.broker(named)
    leader = stage.cluster.view().leaders.get(key)
    if leader not in stage.cluster.disks:
        raise StoryError(f"{key} has no leader; name a broker")
    return BrokerId(leader)


def _workload(stage: Stage, _: steps.WorkloadStep) -> Lines:
    keys = sorted(stage.cluster.assignments())
    if not keys:
        raise StoryError("there is no partition to work on; create_topic comes first")
    stage.simulated.clients += start_clients(stage.cluster, keys)
    return []


def _break_connections(stage: Stage, _: steps.BreakConnectionsStep) -> Lines:
    break_connections(stage.cluster)
    return []


# The end


def _heal_all(stage: Stage, step: steps.HealAllStep) -> Lines:
    """End all faults, start every broker, and wait for what must come to hold."""
    absent = frozenset(map(BrokerId, step.without))
    rules = list(stage.rules)
    stage.lift(rules)
    for rule in rules:
        acts.release(rule)
    stopped = (stage.cluster.processes.keys() - stage.injector.victims) | stage.killed
    for broker_id in sorted(stopped):
        process = stage.cluster.processes[broker_id]
        process.before = None
        while process.is_paused:  # as often as it was paused
            process.resume()
        process.zookeeper.is_cut = False
        if not process.is_alive and broker_id not in absent:
            stage.start_broker(broker_id)
    stage.cluster.absent = absent
    owed = stage.simulated.heal()
    return [f"unhealed: {', '.join(sorted(owed))}"] if owed else []


def _read(stage: Stage, _: steps.ReadStep) -> Lines:
    """Every partition is read from its start to its high watermark, as the last client does."""
    if stage.is_read:
        raise StoryError("all was read already; read comes once, at the end of a run")
    stage.is_read = True
    keys = sorted(stage.cluster.assignments())
    if not keys:
        return ["there is no partition to read"]
    reader = FinalReader(stage.cluster, keys)
    reader.read_all()
    done = stage.run(FINAL_READ_MS, lambda: reader.is_done)
    return [] if done else ["not all could be read"]


def _check(stage: Stage, _: steps.CheckStep) -> Lines:
    return list(stage.judge(stage.cluster.recorder.events))


def _show(stage: Stage, step: steps.ShowStep) -> Lines:
    if step.show == "state":
        return list(show_state(stage))
    if step.show == "results":
        return list(show_results(stage))
    return list(show_log(stage, steps.partition_of(step.show[len("log(") : -1])))


def _replay(stage: Stage, step: steps.ReplayStep) -> Lines:
    """Play a counterexample of the specs on the core, with its mutant if the run has one."""
    schedule = read_schedule(SCHEDULES / f"{step.replay}.json")
    if stage.cluster.options.mutant is None:
        setting = structs.replace(schedule.setting, mutants=())
        schedule = structs.replace(schedule, setting=setting)
    done = replay(schedule)
    lines = [f"{done.steps} of {len(schedule.steps)} steps"]
    if done.mismatch is not None:
        lines.append(f"then the core does not take {done.mismatch.action} as the specs do")
    return [*lines, *(f"violated: {name}" for name in sorted(done.violated))]


PERFORM: dict[type[steps.StoryStep], Callable[[Stage, Any], Lines]] = {
    steps.CreateTopicStep: _create_topic,
    steps.ProduceStep: _produce,
    steps.RetryStep: _retry,
    steps.ConsumeStep: _consume,
    steps.WorkloadStep: _workload,
    steps.DeleteTopicStep: admin.delete_topic,
    steps.CreatePartitionsStep: admin.create_partitions,
    steps.RemovePartitionsStep: admin.remove_partitions,
    steps.ElectStep: admin.elect,
    steps.ReassignStep: admin.reassign,
    steps.RunMsStep: _run,
    steps.UntilStep: _until,
    steps.WaitForStep: _wait_for,
    steps.KillStep: acts.kill,
    steps.PauseStep: acts.pause,
    steps.ResumeStep: acts.resume,
    steps.RestartStep: acts.restart,
    steps.ExpireStep: acts.expire,
    steps.DisconnectStep: acts.disconnect,
    steps.ConnectStep: acts.connect,
    steps.LoseReplyStep: acts.lose_reply,
    steps.BreakConnectionsStep: _break_connections,
    steps.DeleteZnodeStep: acts.delete_znode,
    steps.CreateZnodeStep: acts.create_znode,
    steps.HoldRequestStep: acts.add_rule,
    steps.DropRequestStep: acts.add_rule,
    steps.HoldResponseStep: acts.add_rule,
    steps.DropResponseStep: acts.add_rule,
    steps.DeliverStep: acts.deliver,
    steps.LiftStep: acts.lift,
    steps.FaultStep: acts.begin_fault,
    steps.HealStep: acts.heal,
    steps.HealAllStep: _heal_all,
    steps.ShowStep: _show,
    steps.ReadStep: _read,
    steps.CheckStep: _check,
    steps.ReplayStep: _replay,
}
