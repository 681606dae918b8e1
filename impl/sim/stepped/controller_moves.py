"""How the specs' actions of controllers are brought about on the core."""

from fencepost.impl.core.rules.leadership import elect_leader
from fencepost.impl.core.types.events import ZnodesRead
from fencepost.impl.sim.stepped.abstract import Abstract
from fencepost.impl.sim.stepped.actor import HeldAsk, SteppedBroker
from fencepost.impl.sim.stepped.ground import TRIES_MAX, ImpossibleStepError, StepContext, repeat
from fencepost.impl.sim.stepped.observe import message, pending_write
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.world import (
    RETRY_MS,
    STATE,
    is_listing,
    is_membership,
    is_read,
    is_registration_read,
    is_state_read,
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
    """The office, decisions, and what is told."""

    def elect_controller(self, step: SpecStep) -> None:
        """The node holds the office, and knows brokers, topics and states."""
        actor = self.actor(step)
        controller = actor.running.controller

        def is_done() -> bool:
            if step.parameters["status"] == "active":
                return controller.is_active
            holder = self.world.zookeeper.peek(CONTROLLER).stat
            return holder is not None and self.world.owner(holder.ephemeral_owner) == step.actor

        def is_bid(held: HeldAsk) -> bool:
            return CONTROLLER in held.paths or CONTROLLER_EPOCH in held.paths

        for _ in range(TRIES_MAX):
            if is_done():
                break
            if not (actor.release_watch(CONTROLLER, CONTROLLER_EPOCH) or actor.release(is_bid)):
                actor.tick(RETRY_MS)
        if not is_done():
            raise ImpossibleStepError(f"{step.actor} does not win the office")
        if step.parameters["status"] == "active":
            repeat(lambda: actor.release(_is_survey))
            self._prepare_to_tell(step)

    def resign_controller(self, step: SpecStep) -> None:
        """The node knows that it holds the office no more."""
        actor = self.actor(step)
        for _ in range(TRIES_MAX):
            if not actor.running.controller.is_active:
                break
            if not (
                actor.release_watch(CONTROLLER, CONTROLLER_EPOCH) or actor.release(is_membership)
            ):
                break
        self._forget_term(actor)

    def _forget_term(self, actor: SteppedBroker) -> None:
        """What a controller of a past term asked for, or was about to say, is void."""
        office = (CONTROLLER, CONTROLLER_EPOCH)
        actor.asks = [h for h in actor.asks if h.paths[0] in office and STATE not in h.paths]
        mine = [c for c in self.world.commands if c.sender == actor.number and not c.is_sent]
        self.world.commands = [c for c in self.world.commands if c not in mine]
        self.world.outstanding[actor.number] = {}
        actor.is_reply_lost = False
        self.is_deferred.discard(actor.number)
        self.is_hidden.discard(actor.number)

    def detect_broker_change(self, step: SpecStep) -> None:
        """The controller has read the live brokers."""
        actor = self.actor(step)
        actor.release_watch(BROKER_IDS)
        repeat(lambda: actor.release(is_listing(BROKER_IDS)) or actor.release(is_registration_read))
        self._prepare_to_tell(step)

    def _prepare_to_tell(self, step: SpecStep) -> None:
        """The specs read what they will send at once; the core tells nothing it will replace."""
        if not step.parameters["tells"]:
            return
        actor = self.actor(step)
        held = next((h for h in actor.asks if is_state_read(h)), None)
        if held is not None:
            held.answer = None
        if held is None or self._needs_decision(actor, held):
            self.is_deferred.add(step.actor)
            return
        actor.serve(held)
        self.is_deferred.discard(step.actor)

    def _needs_decision(self, actor: SteppedBroker, held: HeldAsk) -> bool:
        """Would the core decide on what it has read, or is about to read?"""
        context = actor.running.controller.context
        znode = self.world.zookeeper.peek(STATE)
        if isinstance(held.answer, ZnodesRead) and held.answer.znodes:
            znode = held.answer.znodes[-1]
        if znode.stat is None:
            return False
        state = parse_leader_and_isr(STATE, znode.data)
        if actor.running.controller.decisions.initialises_again(state):
            return True
        elected = elect_leader(
            state,
            context.assignments[self.world.key],
            context.live.keys(),
            context.bounced.get(self.world.key, frozenset()),
            unclean_leader_election=actor.config.unclean_leader_election,
        )
        return elected is not None

    def decide(self, step: SpecStep) -> None:
        """The controller's decision about the partition is on its way to ZooKeeper."""
        actor = self.actor(step)
        if step.actor in self.is_hidden:
            self.is_hidden.discard(step.actor)
            return

        def is_topic(held: HeldAsk) -> bool:
            return is_listing(TOPICS)(held) or topic_path(self.world.key.topic) in held.paths

        for _ in range(TRIES_MAX):
            if pending_write(actor) is not None:
                self.world.note_decision(step.actor)
                return
            if actor.release_watch(TOPICS) or actor.release(is_topic):
                continue
            if actor.running.controller.unclean.is_reading and (
                actor.release(is_listing(BROKER_IDS)) or actor.release(is_registration_read)
            ):
                continue
            for held in actor.asks:
                if is_state_read(held):
                    actor.serve(held)
            if not actor.release(is_state_read):
                break
        if pending_write(actor) is None:
            raise ImpossibleStepError(f"controller {step.actor} sees nothing to decide")
        self.world.note_decision(step.actor)

    def publish_decision(self, step: SpecStep) -> None:
        """The decision is written, or refused, and its author knows."""
        actor = self.actor(step)
        held = pending_write(actor)
        if held is None:
            raise ImpossibleStepError(f"controller {step.actor} has no decision on its way")
        if actor.is_reply_lost:
            actor.deliver(held)
            held = next((h for h in actor.asks if is_state_read(h)), None)
        if held is not None and (step.parameters["is_published"] or not actor.is_reply_lost):
            if step.parameters["is_published"]:
                self.world.free_channels(step.actor)
            actor.deliver(held)
        actor.is_reply_lost = False
        if not step.parameters["is_published"]:
            self._prepare_to_tell(step)
            return
        if pending_write(actor) is not None:
            self.is_hidden.add(step.actor)
        if not any(c.sender == step.actor and not c.is_sent for c in self.world.commands):
            self.is_deferred.add(step.actor)

    def send_leader_and_isr(self, step: SpecStep) -> None:
        """What the controller was about to tell is in flight."""
        actor = self.actor(step)
        wanted = self._messages(step)
        held = next((h for h in actor.asks if is_state_read(h) and h.answer is not None), None)
        if held is not None and self._needs_decision(actor, held):
            held.answer = None
        elif held is not None:
            self.world.free_channels(step.actor)
            actor.deliver(held)
        in_flight = [message(c) for c in self.world.commands if c.is_sent]
        unsent = [c for c in self.world.commands if c.sender == step.actor and not c.is_sent]
        for command in unsent:
            said = message(command)
            command.is_sent = said in wanted and said not in in_flight
            if not command.is_sent:
                self.world.commands.remove(command)
                continue
            in_flight.append(said)
            if said in self.untold:
                self.untold.remove(said)
        self.untold += [m for m in wanted if m not in in_flight and m not in self.untold]
        self.is_deferred.discard(step.actor)

    def _messages(self, step: SpecStep) -> list[Abstract]:
        state = step.parameters["state"]
        return [
            {
                "controller_epoch": step.parameters["controller_epoch"],
                "copy": 1,
                "from": step.actor,
                "isr": state["isr"],
                "leader": state["leader"],
                "leader_epoch": state["leader_epoch"],
                "to": broker,
                "znode_version": step.parameters["znode_version"],
            }
            for broker in self.world.setting.brokers
        ]


def _is_survey(held: HeldAsk) -> bool:
    """What a new controller reads before the states: brokers and topics."""
    if is_listing(BROKER_IDS)(held) or is_listing(TOPICS)(held) or is_registration_read(held):
        return True
    is_topic = is_read(held) and any(path.startswith(TOPICS) for path in held.paths)
    return is_topic and not is_state_read(held)
