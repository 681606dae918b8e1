"""What steps do to processes, to ZooKeeper and to messages."""

from collections.abc import Callable
from functools import partial

from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.fault_injection.stories.story_file import fault_of
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.core.types.effects import Effect, WriteZnodes
from fencepost.impl.core.types.zookeeper import Create, Delete, Rejected
from fencepost.impl.sim.stories.stage import Stage, is_at, writes
from fencepost.impl.sim.world.network import RequestRule
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import ANY_VERSION

Lines = list[str]


# Processes


def kill(stage: Stage, step: steps.KillStep) -> Lines:
    """The process is gone, now or just before it performs what `at` names."""

    def die(process: Process) -> None:
        stage.killed.add(process.broker_id)
        process.die()

    return _stop(stage.process(step.kill), step, die)


def pause(stage: Stage, step: steps.PauseStep) -> Lines:
    """The process stands still, from now or from what `at` names on."""
    return _stop(stage.process(step.pause), step, Process.pause)


def _stop(process: Process, step: steps.StopStep, stop: Callable[[Process], None]) -> Lines:
    """At once, or just before the process performs what `at` names."""
    if not step.at:
        stop(process)
        return []
    is_there = is_at(steps.Point.parsed(step.at))
    left = [step.nth]

    def before(effect: Effect) -> None:
        if is_there(effect):
            left[0] -= 1
            if left[0] == 0:
                process.before = None
                stop(process)

    process.before = before
    return []


def restart(stage: Stage, step: steps.RestartStep) -> Lines:
    """The broker starts anew on its disk; it dies first if it lives."""
    process = stage.process(step.restart, alive=False)
    process.die()
    stage.start_broker(process.broker_id)
    return []


def resume(stage: Stage, step: steps.ResumeStep) -> Lines:
    """The process goes on with all that came meanwhile."""
    stage.process(step.resume).resume()
    return []


def begin_fault(stage: Stage, step: steps.FaultStep) -> Lines:
    """A fault of the catalogue, recorded and healed as in any run."""
    stage.faults += 1
    action_id = step.id or f"fault-{stage.faults}"
    timed = StoryAction.at(action_id=action_id, at_ms=step.after_ms, fault=fault_of(step))
    stage.injector.plan_fault(timed, stage.now_ms)
    return []


def heal(stage: Stage, step: steps.HealStep) -> Lines:
    """End the fault of that id."""
    if not stage.injector.heal(step.heal):
        raise StoryError(f"no fault {step.heal!r} is active")
    return []


# ZooKeeper


def expire(stage: Stage, step: steps.ExpireStep) -> Lines:
    """ZooKeeper ends the session of the broker, which may be dead."""
    process = stage.process(step.expire, alive=False)
    if not process.zookeeper.session_id:
        raise StoryError(f"broker {process.broker_id} has no session")
    stage.cluster.zookeeper.end_session(process.zookeeper.session_id)
    return []


def disconnect(stage: Stage, step: steps.DisconnectStep) -> Lines:
    """The broker has no connection to ZooKeeper, for a time or until `connect`."""
    process = stage.process(step.disconnect)
    process.zookeeper.is_cut = True
    process.zookeeper.break_connection()
    if step.for_ms:
        stage.cluster.scheduler.after_ms(step.for_ms, partial(_reconnect, process))
    return []


def connect(stage: Stage, step: steps.ConnectStep) -> Lines:
    """The broker may connect to ZooKeeper again."""
    _reconnect(stage.process(step.connect))
    return []


def _reconnect(process: Process) -> None:
    process.zookeeper.is_cut = False


def lose_reply(stage: Stage, step: steps.LoseReplyStep) -> Lines:
    """The next write to such a path is done, and its reply lost."""
    process = stage.process(step.lose_reply)
    zookeeper = process.zookeeper
    usual = zookeeper.loses_reply

    def loses(ask: WriteZnodes) -> bool:
        if not writes(ask, step.path):
            return usual(ask)
        zookeeper.loses_reply = usual
        if step.for_ms:
            zookeeper.is_cut = True
            stage.cluster.scheduler.after_ms(step.for_ms, partial(_reconnect, process))
        return True

    zookeeper.loses_reply = loses
    return []


def delete_znode(stage: Stage, step: steps.DeleteZnodeStep) -> Lines:
    """Delete a znode, as an operator does."""
    return _write(stage, step, Delete(path=step.delete_znode, expected_version=ANY_VERSION))


def create_znode(stage: Stage, step: steps.CreateZnodeStep) -> Lines:
    """Create a znode, as an operator does."""
    return _write(stage, step, Create(path=step.create_znode, data=step.data.encode()))


def _write(stage: Stage, step: steps.StoryStep, op: Create | Delete) -> Lines:
    """Write a znode in a session that no broker has."""
    if isinstance(op, Delete) and stage.cluster.zookeeper.peek(op.path).stat is None:
        raise StoryError(f"there is no znode {op.path}")
    result = stage.cluster.write_by_hand(op)
    if isinstance(result, Rejected):
        raise StoryError(f"ZooKeeper refuses to {steps.verb_of(step)} {op.path}: {result.error}")
    return []


# Messages


def add_rule(stage: Stage, step: steps.RequestsStep) -> Lines:
    """Every request that the step describes obeys it."""
    verb = steps.verb_of(step)
    rule = stage.rule(step, getattr(step, verb), RULES[verb])
    stage.rules.append(rule)
    stage.cluster.network.rules.append(rule)
    return []


RULES = {
    "hold_request": "hold",
    "drop_request": "drop_request",
    "hold_response": "hold_response",
    "drop_response": "drop_response",
}
"""Verb -> that of the `RequestRule`."""


def deliver(stage: Stage, step: steps.DeliverStep) -> Lines:
    """What is held arrives now, in order; nothing more is held unless the step keeps the rules."""
    rules = stage.rules_for(step, step.deliver)
    if not step.keep:
        stage.lift(rules)
    for rule in rules:
        release(rule)
    return []


def release(rule: RequestRule) -> None:
    """What the rule holds arrives, in order."""
    held, rule.held = rule.held, []
    for deliver in held:
        deliver()


def lift(stage: Stage, step: steps.LiftStep) -> Lines:
    """The rules end; what they hold is lost."""
    stage.lift(stage.rules_for(step, step.lift))
    return []
