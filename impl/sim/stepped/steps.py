"""How each action of the specs is performed on the core: which held messages to deliver.

Every step ends with the core having taken that action, or unable to; `replay.py` then compares.
"""

from collections.abc import Callable
from dataclasses import replace

from fencepost.impl.sim.stepped.cluster import is_state_read
from fencepost.impl.sim.stepped.controller_steps import ControllerSteps
from fencepost.impl.sim.stepped.observed_state import pending_write
from fencepost.impl.sim.stepped.replica_steps import ReplicaSteps
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.step_context import ImpossibleStepError, repeat
from fencepost.spec.vocabulary import Action, EnvironmentAction

Move = Callable[["StepPerformer", SpecStep], None]


class StepPerformer(ControllerSteps, ReplicaSteps):
    """The actions on one cluster."""

    def take(self, step: SpecStep) -> None:
        """Take the action; raises `ImpossibleStepError` when the core has no way to."""
        _MOVES[step.action](self, step)

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
        key = self.cluster.key
        if key in broker.disk.recover():
            broker.checkpoint(step.parameters["checkpoint"])
        broker.start()

    def expire_session(self, step: SpecStep) -> None:
        """Delete the ephemeral znode of the session, without notifying its process."""
        self.cluster.expire(step.actor)

    def lose_reply(self, step: SpecStep) -> None:
        """Apply the write, and lose its answer."""
        broker = self.broker(step)
        if not step.parameters["is_controller"] and pending_write(broker) is None:
            repeat(lambda: pending_write(broker) is None and broker.release(is_state_read))
        held = pending_write(broker)
        if held is None:
            raise ImpossibleStepError("no write of the state is on its way")
        broker.serve(held)
        broker.lose(held)
        broker.is_reply_lost = True

    def lose_message(self, step: SpecStep) -> None:
        """Drop a command or an answer."""
        if "fetches" in step.parameters:
            self.cluster.answers.remove(self.answer(step.parameters["fetches"]))
        elif step.parameters["messages"] in self.untold:
            self.untold.remove(step.parameters["messages"])
        else:
            self.cluster.commands.remove(self.command(step.parameters["messages"]))

    def duplicate_message(self, step: SpecStep) -> None:
        """Copy a command or an answer."""
        if "fetches" in step.parameters:
            first = self.answer({**step.parameters["fetches"], "copy": 1})
            self.cluster.answers.append(replace(first, copy=2))
            return
        told = {**step.parameters["messages"], "copy": 1}
        if told in self.untold:
            self.untold.append(step.parameters["messages"])
            return
        command = self.command(told)
        self.cluster.commands.append(replace(command, copy=2))


_MOVES: dict[str, Move] = {
    EnvironmentAction.LOSE_MESSAGE.value: StepPerformer.lose_message,
    EnvironmentAction.DUPLICATE_MESSAGE.value: StepPerformer.duplicate_message,
    EnvironmentAction.LOSE_REPLY.value: StepPerformer.lose_reply,
    EnvironmentAction.CRASH_BROKER.value: StepPerformer.crash_broker,
    EnvironmentAction.RESTART_BROKER.value: StepPerformer.restart_broker,
    EnvironmentAction.EXPIRE_SESSION.value: StepPerformer.expire_session,
    Action.REGISTER_BROKER.value: StepPerformer.register_broker,
    Action.CREATE_TOPIC.value: StepPerformer.create_topic,
    Action.ELECT_CONTROLLER.value: StepPerformer.elect_controller,
    Action.RESIGN_CONTROLLER.value: StepPerformer.resign_controller,
    Action.DETECT_BROKER_CHANGE.value: StepPerformer.detect_broker_change,
    Action.INIT_LEADER.value: StepPerformer.decide,
    Action.ELECT_LEADER.value: StepPerformer.decide,
    Action.PUBLISH_DECISION.value: StepPerformer.publish_decision,
    Action.SEND_LEADER_AND_ISR.value: StepPerformer.send_leader_and_isr,
    Action.BECOME_LEADER.value: StepPerformer.become,
    Action.BECOME_FOLLOWER.value: StepPerformer.become,
    Action.SHRINK_ISR.value: StepPerformer.shrink_isr,
    Action.EXPAND_ISR.value: StepPerformer.expand_isr,
    Action.ADOPT_ISR.value: StepPerformer.end_isr_write,
    Action.FENCE_LEADER.value: StepPerformer.end_isr_write,
    Action.TRUNCATE_LOG.value: StepPerformer.truncate_log,
    Action.LEADER_APPEND.value: StepPerformer.leader_append,
    Action.FOLLOWER_APPEND.value: StepPerformer.follower_append,
    Action.SERVE_FETCH.value: StepPerformer.serve_fetch,
    Action.ADVANCE_HIGH_WATERMARK.value: StepPerformer.advance_high_watermark,
    Action.LEARN_CONTROLLER.value: StepPerformer.learn_controller,
}
