"""The actions of the specs: how each is read from their states, and performed on the core.

Performing one is to deliver held messages. Every step ends with the core having taken that action,
or unable to; `replay.py` then compares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fencepost.impl.sim.stepped import step_reader
from fencepost.impl.sim.stepped.cluster import is_state_read
from fencepost.impl.sim.stepped.controller_steps import ControllerSteps
from fencepost.impl.sim.stepped.observed_state import pending_write
from fencepost.impl.sim.stepped.replica_steps import ReplicaSteps
from fencepost.impl.sim.stepped.schedule import ScheduleError, SpecStep
from fencepost.impl.sim.stepped.spec_state import KEY, Abstract, Plain
from fencepost.impl.sim.stepped.step_context import ImpossibleStepError, repeat
from fencepost.impl.sim.stepped.step_reader import Reader, spending
from fencepost.spec.vocabulary import Action, EnvironmentAction


class StepPerformer(ControllerSteps, ReplicaSteps):
    """The actions on one cluster."""

    def take(self, step: SpecStep) -> None:
        """Take the action; raises `ImpossibleStepError` when the core has no way to."""
        SPEC_ACTIONS[step.action].perform(self, step)

    # The environment

    def create_topic(self, _: SpecStep) -> None:
        """Create the topic znode."""
        self.cluster.create_topic()

    def crash_broker(self, step: SpecStep) -> None:
        """Kill the process; its session goes on."""
        self.broker(step).crash()
        self.cluster.drop_answers(step.actor)

    def restart_broker(self, step: SpecStep) -> None:
        """Start the process on its disk, with the checkpoint that the specs chose."""
        broker = self.broker(step)
        if KEY in broker.disk.recover():
            broker.checkpoint(step.parameters["checkpoint"])
        broker.start()

    def expire_session(self, step: SpecStep) -> None:
        """Delete the ephemeral znode of the session, without notifying its process."""
        self.cluster.expire(step.actor)

    def lose_reply(self, step: SpecStep) -> None:
        """Apply the write, and lose its answer."""
        self._lose_write(step, is_applied=True)

    def lose_request(self, step: SpecStep) -> None:
        """Lose the write itself."""
        self._lose_write(step, is_applied=False)

    def _lose_write(self, step: SpecStep, *, is_applied: bool) -> None:
        broker = self.broker(step)
        if not step.parameters["is_controller"] and pending_write(broker) is None:
            repeat(lambda: pending_write(broker) is None and broker.release(is_state_read))
        held = pending_write(broker)
        if held is None:
            raise ImpossibleStepError("no write of the state is on its way")
        if is_applied:
            broker.serve(held)
        broker.lose(held)
        broker.is_reply_lost = True

    def lose_message(self, step: SpecStep) -> None:
        """Drop a command or an answer."""
        if "fetches" in step.parameters:
            self.cluster.answers.remove(self.answer(step.parameters["fetches"]))
        elif step.parameters["messages"] in self.never_sent:
            self.never_sent.remove(step.parameters["messages"])
        else:
            self.cluster.commands.remove(self.command(step.parameters["messages"]))

    def duplicate_message(self, step: SpecStep) -> None:
        """Copy a command or an answer."""
        if "fetches" in step.parameters:
            first = self.answer({**step.parameters["fetches"], "copy": 1})
            self.cluster.answers.append(replace(first, copy=2))
            return
        told = {**step.parameters["messages"], "copy": 1}
        if told in self.never_sent:
            self.never_sent.append(step.parameters["messages"])
            return
        command = self.command(told)
        self.cluster.commands.append(replace(command, copy=2))


@dataclass(frozen=True, slots=True)
class SpecAction:
    """One action of the specs: how it is seen in their states, and what makes the core take it."""

    read: Reader
    perform: Callable[[StepPerformer, SpecStep], None]
    reports: frozenset[Action] = frozenset()
    """What the core may report in the same step, besides the action itself."""
    is_reported: bool = False
    """True when the core reports it in this step.

    Otherwise it may have reported it before, or reports nothing because nothing changes.
    """


SPEC_ACTIONS: Mapping[str, SpecAction] = {
    EnvironmentAction.LOSE_MESSAGE: SpecAction(
        step_reader.lose_message, StepPerformer.lose_message
    ),
    EnvironmentAction.DUPLICATE_MESSAGE: SpecAction(
        step_reader.duplicate_message, StepPerformer.duplicate_message
    ),
    EnvironmentAction.LOSE_REPLY: SpecAction(step_reader.lose_reply, StepPerformer.lose_reply),
    EnvironmentAction.LOSE_REQUEST: SpecAction(
        step_reader.lose_request, StepPerformer.lose_request
    ),
    EnvironmentAction.CRASH_BROKER: SpecAction(
        step_reader.crash_broker, StepPerformer.crash_broker
    ),
    EnvironmentAction.RESTART_BROKER: SpecAction(
        step_reader.restart_broker, StepPerformer.restart_broker
    ),
    EnvironmentAction.EXPIRE_SESSION: SpecAction(
        step_reader.expire_session, StepPerformer.expire_session
    ),
    Action.REGISTER_BROKER: SpecAction(
        step_reader.register_broker, StepPerformer.register_broker, is_reported=True
    ),
    Action.CREATE_TOPIC: SpecAction(step_reader.create_topic, StepPerformer.create_topic),
    Action.ELECT_CONTROLLER: SpecAction(
        step_reader.elect_controller,
        StepPerformer.elect_controller,
        frozenset({Action.DETECT_BROKER_CHANGE, Action.LEARN_CONTROLLER}),
    ),
    Action.RESIGN_CONTROLLER: SpecAction(
        step_reader.resign_controller,
        StepPerformer.resign_controller,
        frozenset({Action.LEARN_CONTROLLER}),
    ),
    Action.DETECT_BROKER_CHANGE: SpecAction(
        step_reader.detect_broker_change, StepPerformer.detect_broker_change
    ),
    Action.INIT_LEADER: SpecAction(
        spending("elections", step_reader.decide, is_spent=False), StepPerformer.decide
    ),
    Action.ELECT_LEADER: SpecAction(
        spending("elections", step_reader.decide), StepPerformer.decide
    ),
    Action.PUBLISH_DECISION: SpecAction(
        step_reader.publish_decision,
        StepPerformer.publish_decision,
        frozenset({Action.SEND_LEADER_AND_ISR, Action.ELECT_LEADER, Action.RESIGN_CONTROLLER}),
    ),
    Action.SEND_LEADER_AND_ISR: SpecAction(
        step_reader.send_leader_and_isr, StepPerformer.send_leader_and_isr
    ),
    Action.BECOME_LEADER: SpecAction(
        step_reader.become(is_leader=True), StepPerformer.become, is_reported=True
    ),
    Action.BECOME_FOLLOWER: SpecAction(
        step_reader.become(is_leader=False), StepPerformer.become, is_reported=True
    ),
    Action.SHRINK_ISR: SpecAction(
        step_reader.ask_isr(grows=False), StepPerformer.shrink_isr, is_reported=True
    ),
    Action.EXPAND_ISR: SpecAction(
        step_reader.ask_isr(grows=True), StepPerformer.expand_isr, is_reported=True
    ),
    Action.ADOPT_ISR: SpecAction(
        step_reader.end_isr_write("leader", is_fencing=False),
        StepPerformer.end_isr_write,
        is_reported=True,
    ),
    Action.FENCE_LEADER: SpecAction(
        step_reader.end_isr_write("fenced", "leader", is_fencing=True),
        StepPerformer.end_isr_write,
        frozenset({Action.ADOPT_ISR}),
    ),
    Action.TRUNCATE_LOG: SpecAction(step_reader.truncate_log, StepPerformer.truncate_log),
    Action.LEADER_APPEND: SpecAction(
        step_reader.leader_append, StepPerformer.leader_append, is_reported=True
    ),
    Action.SERVE_FETCH: SpecAction(step_reader.serve_fetch, StepPerformer.serve_fetch),
    Action.FOLLOWER_APPEND: SpecAction(step_reader.follower_append, StepPerformer.follower_append),
    Action.ADVANCE_HIGH_WATERMARK: SpecAction(
        step_reader.advance_high_watermark,
        StepPerformer.advance_high_watermark,
        is_reported=True,
    ),
    Action.LEARN_CONTROLLER: SpecAction(
        step_reader.learn_controller, StepPerformer.learn_controller, is_reported=True
    ),
}
"""In an order in which the first reader that finds something is right."""


def read_step(before: Abstract, after: Abstract) -> tuple[str, int, dict[str, Plain]]:
    """The action, its actor and its parameters; raises `ScheduleError`."""
    for name, action in SPEC_ACTIONS.items():
        found = action.read(before, after)
        if found is not None:
            return str(name), *found
    raise ScheduleError("no known action leads from one state to the next")
