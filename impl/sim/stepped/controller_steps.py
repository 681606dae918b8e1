"""How the specs' actions of controllers are brought about on the core."""

from fencepost.impl.core.rules.controller.leadership import choose_leader
from fencepost.impl.core.rules.tables import ElectionCause
from fencepost.impl.core.types.events import ZnodesRead
from fencepost.impl.sim.stepped.broker import HeldAsk, SteppedBroker
from fencepost.impl.sim.stepped.cluster import (
    RETRY_MS,
    is_answered_state_read,
    is_listing,
    is_read,
    is_registration_read,
    is_state_read,
)
from fencepost.impl.sim.stepped.observed_state import message, pending_write
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.spec_state import KEY, STATE, Abstract
from fencepost.impl.sim.stepped.step_context import (
    TRIES_MAX,
    ImpossibleStepError,
    StepContext,
    release_controller,
    repeat,
)
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    parse_leader_and_isr,
    topic_path,
)


class ControllerSteps(StepContext):
    """Controller elections, decisions, and the commands that follow."""

    def elect_controller(self, step: SpecStep) -> None:
        """The broker is the controller, and has read brokers, topics and states."""
        broker = self.broker(step)
        controller = broker.running.controller

        def is_done() -> bool:
            if step.parameters["status"] == "active":
                return controller.is_active
            return self.cluster.controller() == step.actor

        def is_election(held: HeldAsk) -> bool:
            return CONTROLLER in held.paths or CONTROLLER_EPOCH in held.paths

        for _ in range(TRIES_MAX):
            if is_done():
                break
            if not (
                broker.release_watch(CONTROLLER, CONTROLLER_EPOCH) or broker.release(is_election)
            ):
                broker.tick(RETRY_MS)
        if not is_done():
            raise ImpossibleStepError(f"{step.actor} is not elected controller")
        if step.parameters["status"] == "active":
            repeat(lambda: broker.release(_is_survey))
            self._prepare_to_tell(step)

    def resign_controller(self, step: SpecStep) -> None:
        """The broker knows that it is no longer the controller."""
        broker = self.broker(step)
        controller = broker.running.controller
        repeat(lambda: controller.is_active and release_controller(broker))
        self._forget_generation(broker)

    def _forget_generation(self, broker: SteppedBroker) -> None:
        """Drop what the controller of an earlier epoch asked for, or was about to send."""
        own = (CONTROLLER, CONTROLLER_EPOCH)
        broker.asks = [h for h in broker.asks if h.paths[0] in own and STATE not in h.paths]
        for command in self.cluster.unsent(broker.number):
            self.cluster.commands.remove(command)
        self.cluster.outstanding[broker.number] = {}
        broker.is_reply_lost = False
        self.is_deferred.discard(broker.number)
        self.is_hidden.discard(broker.number)

    def detect_broker_change(self, step: SpecStep) -> None:
        """The controller has read the live brokers."""
        broker = self.broker(step)
        broker.release_watch(BROKER_IDS)
        repeat(lambda: _release_brokers(broker))
        self._prepare_to_tell(step)

    def _prepare_to_tell(self, step: SpecStep) -> None:
        """The specs read what they will send at once; the core sends nothing that it replaces."""
        if not step.parameters["tells"]:
            return
        broker = self.broker(step)
        held = broker.held(is_state_read)
        if held is not None:
            held.answer = None
        if held is None or self._needs_decision(broker, held):
            self.is_deferred.add(step.actor)
            return
        broker.serve(held)
        self.is_deferred.discard(step.actor)

    def _needs_decision(self, broker: SteppedBroker, held: HeldAsk) -> bool:
        """True when the core would decide on what it has read, or is about to read."""
        context = broker.running.controller.context
        znode = self.cluster.zookeeper.peek(STATE)
        if isinstance(held.answer, ZnodesRead) and held.answer.znodes:
            znode = held.answer.znodes[-1]
        if znode.stat is None:
            return False
        state = parse_leader_and_isr(STATE, znode.data)
        controller_epoch = broker.running.controller.controller_epoch
        if broker.config.rules.is_uninitialised(state, controller_epoch):
            return True
        is_unclean_allowed = broker.config.unclean_leader_election
        elected = choose_leader(
            state,
            context.assignments[KEY],
            context.live.keys(),
            context.bounced.get(KEY, frozenset()),
            ElectionCause.UNCLEAN_ALLOWED if is_unclean_allowed else ElectionCause.BROKERS_CHANGED,
        )
        return elected is not None

    def decide(self, step: SpecStep) -> None:
        """The decision about the partition is on its way to ZooKeeper."""
        broker = self.broker(step)
        if step.actor in self.is_hidden:
            self.is_hidden.discard(step.actor)
            return

        def is_topic(held: HeldAsk) -> bool:
            return is_listing(TOPICS)(held) or topic_path(KEY.topic) in held.paths

        for _ in range(TRIES_MAX):
            if pending_write(broker) is not None:
                break
            if broker.release_watch(TOPICS) or broker.release(is_topic):
                continue
            if broker.running.controller.elections.is_confirming and _release_brokers(broker):
                continue
            for held in broker.asks:
                if is_state_read(held):
                    broker.serve(held)
            if not broker.release(is_state_read):
                break
        if pending_write(broker) is None:
            raise ImpossibleStepError(f"controller {step.actor} sees nothing to decide")
        self.cluster.note_decision(step.actor)

    def publish_decision(self, step: SpecStep) -> None:
        """The decision is written, or refused, and the controller has the answer."""
        broker = self.broker(step)
        held = pending_write(broker)
        if held is None:
            raise ImpossibleStepError(f"controller {step.actor} has no decision on its way")
        if broker.is_reply_lost:
            broker.deliver(held)
            held = broker.held(is_state_read)
        if held is not None and (step.parameters["is_published"] or not broker.is_reply_lost):
            if step.parameters["is_published"]:
                self.cluster.free_channels(step.actor)
            broker.deliver(held)
        broker.is_reply_lost = False
        if not step.parameters["is_published"]:
            self._prepare_to_tell(step)
            return
        if pending_write(broker) is not None:
            self.is_hidden.add(step.actor)
        if not self.cluster.unsent(step.actor):
            self.is_deferred.add(step.actor)

    def send_leader_and_isr(self, step: SpecStep) -> None:
        """The commands that the controller was about to send are in flight."""
        broker = self.broker(step)
        wanted = self._messages(step)
        held = broker.held(is_answered_state_read)
        if held is not None and self._needs_decision(broker, held):
            held.answer = None
        elif held is not None:
            self.cluster.free_channels(step.actor)
            broker.deliver(held)
        in_flight = [message(c) for c in self.cluster.commands if c.is_sent]
        for command in self.cluster.unsent(step.actor):
            said = message(command)
            command.is_sent = said in wanted and said not in in_flight
            if not command.is_sent:
                self.cluster.commands.remove(command)
                continue
            in_flight.append(said)
            if said in self.never_sent:
                self.never_sent.remove(said)
        self.never_sent += [m for m in wanted if m not in in_flight and m not in self.never_sent]
        self.is_deferred.discard(step.actor)

    def _messages(self, step: SpecStep) -> list[Abstract]:
        told = {
            **step.parameters["state"],
            "controller_epoch": step.parameters["controller_epoch"],
            "copy": 1,
            "from": step.actor,
            "znode_version": step.parameters["znode_version"],
        }
        return [{**told, "to": broker} for broker in self.cluster.setting.brokers]


def _release_brokers(broker: SteppedBroker) -> bool:
    """Deliver an answer about the live brokers; false when there is none."""
    return broker.release(is_listing(BROKER_IDS)) or broker.release(is_registration_read)


def _is_survey(held: HeldAsk) -> bool:
    """What a new controller reads before the states: brokers and topics."""
    if is_listing(BROKER_IDS)(held) or is_listing(TOPICS)(held) or is_registration_read(held):
        return True
    is_topic = is_read(held) and any(path.startswith(TOPICS) for path in held.paths)
    return is_topic and not is_state_read(held)
