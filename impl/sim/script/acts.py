"""What verbs do to processes, to ZooKeeper and to messages."""

from collections.abc import Callable
from functools import partial

from fencepost.fault_injection.faults.fault_json import fault_from_json
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.impl.core.types.effects import Effect, WriteZnodes
from fencepost.impl.core.types.zookeeper import Create, Delete, Rejected, SetData
from fencepost.impl.sim.script.language import Command, milliseconds
from fencepost.impl.sim.script.stage import Stage, number, point, writes
from fencepost.impl.sim.world.network import RequestRule
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import ANY_VERSION

Lines = list[str]


# Processes


def kill(stage: Stage, command: Command) -> Lines:
    """The process is gone, now or just before it performs what `at=` names."""

    def die(process: Process) -> None:
        stage.killed.add(process.broker_id)
        process.die()

    return _stop(stage, command, die)


def pause(stage: Stage, command: Command) -> Lines:
    """The process stands still, from now or from what `at=` names on."""
    return _stop(stage, command, Process.pause)


def _stop(stage: Stage, command: Command, stop: Callable[[Process], None]) -> Lines:
    """At once, or just before the process performs what `at=` names."""
    process = stage.process(command)
    if "at" not in command.options:
        stop(process)
        return []
    is_there = point(command, command.options["at"])
    left = [number(command, "nth", 1)]

    def before(effect: Effect) -> None:
        if is_there(effect):
            left[0] -= 1
            if left[0] == 0:
                process.before = None
                stop(process)

    process.before = before
    return []


def restart(stage: Stage, command: Command) -> Lines:
    """The broker starts anew on its disk; it dies first if it lives."""
    process = stage.process(command, alive=False)
    process.die()
    stage.start_broker(process.broker_id)
    return []


def resume(stage: Stage, command: Command) -> Lines:
    """The process goes on with all that came meanwhile."""
    stage.process(command).resume()
    return []


def fault(stage: Stage, command: Command) -> Lines:
    """A fault of the catalogue, recorded and healed as in any run."""
    stage.faults += 1
    given = {name: _plain(name, text) for name, text in command.options.items()}
    try:
        fault = fault_from_json({"fault": command.words[0], **given})
    except FaultError as error:
        raise command.error(str(error)) from error
    at_ms = command.at_ms or 0
    timed = StoryAction.at(action_id=f"fault-{stage.faults}", at_ms=at_ms, fault=fault)
    stage.injector.plan_fault(timed, stage.now_ms)
    return []


def _plain(name: str, text: str) -> object:
    if text == "none":
        return None
    if name == "side":
        return [int(word) if word.isdecimal() else word for word in text.split(",")]
    return int(text) if text.isdecimal() else text


# ZooKeeper


def expire(stage: Stage, command: Command) -> Lines:
    """ZooKeeper ends the session of the broker, which may be dead."""
    process = stage.process(command, alive=False)
    if not process.zookeeper.session_id:
        raise command.error(f"broker {process.broker_id} has no session")
    stage.cluster.zookeeper.end_session(process.zookeeper.session_id)
    return []


def disconnect(stage: Stage, command: Command) -> Lines:
    """The broker has no connection to ZooKeeper, for a time or until `connect`."""
    process = stage.process(command)
    process.zookeeper.is_cut = True
    process.zookeeper.break_connection()
    if "for" in command.options:
        stage.cluster.scheduler.after_ms(
            milliseconds(command.options["for"]), partial(_reconnect, process)
        )
    return []


def connect(stage: Stage, command: Command) -> Lines:
    """The broker may connect to ZooKeeper again."""
    _reconnect(stage.process(command))
    return []


def _reconnect(process: Process) -> None:
    process.zookeeper.is_cut = False


def lose_reply(stage: Stage, command: Command) -> Lines:
    """Of the next write, or the next one to a path that has this in it."""
    process = stage.process(command)
    zookeeper = process.zookeeper
    usual = zookeeper.loses_reply
    path = command.options.get("path", "/")

    def loses(ask: WriteZnodes) -> bool:
        if not writes(ask, path):
            return usual(ask)
        zookeeper.loses_reply = usual
        if "for" in command.options:
            zookeeper.is_cut = True
            for_ms = milliseconds(command.options["for"])
            stage.cluster.scheduler.after_ms(for_ms, partial(_reconnect, process))
        return True

    zookeeper.loses_reply = loses
    return []


def delete_znode(stage: Stage, command: Command) -> Lines:
    """Delete a znode, as an operator does."""
    return _write(stage, command, Delete(path=command.words[0], expected_version=ANY_VERSION))


def set_znode(stage: Stage, command: Command) -> Lines:
    """Overwrite a znode, as an operator does."""
    data = " ".join(command.words[1:]).encode()
    op = SetData(path=command.words[0], data=data, expected_version=ANY_VERSION)
    return _write(stage, command, op)


def create_znode(stage: Stage, command: Command) -> Lines:
    """Create a znode, as an operator does."""
    data = " ".join(command.words[1:]).encode()
    return _write(stage, command, Create(path=command.words[0], data=data))


def _write(stage: Stage, command: Command, op: Create | Delete | SetData) -> Lines:
    """Write a znode in a session that no broker has."""
    if isinstance(op, Delete | SetData) and stage.cluster.zookeeper.peek(op.path).stat is None:
        raise command.error(f"there is no znode {op.path}")
    result = stage.cluster.write_by_hand(op)
    if isinstance(result, Rejected):
        raise command.error(f"ZooKeeper refuses to {command.verb} {op.path}: {result.error}")
    return []


# Messages


def make_rule(verb: str) -> Callable[[Stage, Command], Lines]:
    """The verb that adds a rule of this kind; every request that it describes obeys it."""

    def add(stage: Stage, command: Command) -> Lines:
        rule = stage.rule(command, verb)
        stage.rules.append(rule)
        stage.cluster.network.rules.append(rule)
        return []

    return add


def deliver(stage: Stage, command: Command) -> Lines:
    """What is held arrives now, in order; nothing is held any more unless `keep=yes`."""
    rules = stage.rules_for(command)
    if command.options.get("keep") != "yes":
        stage.lift(rules)
    for rule in rules:
        release(rule)
    return []


def release(rule: RequestRule) -> None:
    """What the rule holds arrives, in order."""
    held, rule.held = rule.held, []
    for deliver in held:
        deliver()


def lift(stage: Stage, command: Command) -> Lines:
    """The rules are no longer; what they hold is lost."""
    stage.lift(stage.rules_for(command))
    return []
