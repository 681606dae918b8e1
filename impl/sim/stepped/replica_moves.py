"""How the specs' actions of leaders and followers are brought about on the core."""

from collections.abc import Callable

from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.messages import FetchRequest, OffsetForLeaderEpochRequest, Response
from fencepost.impl.sim.stepped.actor import HeldAsk, HeldRequest, SteppedBroker
from fencepost.impl.sim.stepped.ground import TRIES_MAX, ImpossibleStepError, StepContext, repeat
from fencepost.impl.sim.stepped.observe import message
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.world import LAG_MS, RETRY_MS, STATE, FetchAnswer, is_membership
from fencepost.spec.pacing import Verb
from fencepost.spec.vocabulary import BrokerId, Offset
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH, broker_path


class ReplicaSteps(StepContext):
    """Commands, the ISR and records."""

    def register_broker(self, step: SpecStep) -> None:
        """The broker has a new session and is registered; a starting one has read its state."""
        actor = self.actor(step)
        actor.join()
        is_new = not actor.running.broker.is_ready
        own = broker_path(step.actor)

        def wanted(held: HeldAsk) -> bool:
            is_mine = own in held.paths
            return is_mine or (is_new and not is_membership(held))

        repeat(lambda: actor.release(wanted))

    def learn_controller(self, step: SpecStep) -> None:
        """The broker has read who is controller."""
        actor = self.actor(step)
        repeat(
            lambda: (
                actor.release_watch(CONTROLLER, CONTROLLER_EPOCH) or actor.release(is_membership)
            )
        )

    def become(self, step: SpecStep) -> None:
        """A command arrives; its answer is not waited for."""
        actor = self.actor(step)
        command = self.command(step.parameters["message"])
        known = actor.running.broker.controller_epoch
        self.world.commands.remove(command)
        actor.receive(command.request, command.lamport, lambda _: None, self.world.sent(command))
        if all(taken.action != step.action for taken in actor.taken):
            raise ImpossibleStepError(f"broker {step.actor} refuses {message(command)}")
        actor.is_reply_lost = False
        self._forget_writes(actor)
        self.world.drop_answers(step.actor)
        if command.request.controller_epoch < known:
            self.world.ledger.breach("StaleControllerHarmless", step.actor)

    def _forget_writes(self, actor: SteppedBroker) -> None:
        """A change of the ISR that was in flight may have been lost on its way (CMD-003)."""
        actor.asks = [held for held in actor.asks if STATE not in held.paths]

    # The ISR

    def shrink_isr(self, step: SpecStep) -> None:
        """Time passes until the member lags; without logs the others are made to fetch."""
        actor = self.actor(step)
        actor.now_ms += LAG_MS + 1
        replica = actor.replica()
        assert replica is not None
        if not self.world.setting.has_logs:
            for other in sorted(replica.isr - {BrokerId(step.parameters["member"])}):
                self._fetch_as(other, actor)
        actor.pace.may_shrink = True
        actor.tick()
        actor.pace.may_shrink = False
        actor.is_reply_lost = False

    def expand_isr(self, step: SpecStep) -> None:
        """The leader has asked a follower in; without logs the follower fetches first."""
        actor = self.actor(step)
        if not self.world.setting.has_logs:
            self._fetch_as(step.parameters["member"], actor)
        actor.expand_now()
        actor.is_reply_lost = False

    def _fetch_as(self, follower: int, leader: SteppedBroker) -> None:
        """`LeaderAndIsr` has no fetches: one is made up, as the follower would send it."""
        replica = leader.replica()
        if replica is None or follower == leader.number:
            return
        request = FetchRequest(
            topic=self.world.key.topic,
            partition=self.world.key.partition,
            replica_id=BrokerId(follower),
            leader_epoch=replica.leader_epoch,
            fetch_offset=replica.log_end_offset,
        )
        leader.receive(request, 0, lambda _: None)

    def settle_isr(self, step: SpecStep) -> None:
        """The write's outcome, or what is read after it is lost, until the leader knows."""
        actor = self.actor(step)
        for _ in range(TRIES_MAX):
            replica = actor.replica()
            if replica is None or replica.wanted_isr is None:
                break
            if not actor.release(lambda held: STATE in held.paths):
                raise ImpossibleStepError(f"leader {step.actor} waits for no answer")
        actor.is_reply_lost = False

    # Records

    def leader_append(self, step: SpecStep) -> None:
        """A client's record is in the log of a leader."""
        self.world.produce(step.actor, step.parameters["value"])

    def truncate_log(self, step: SpecStep) -> None:
        """Question and answer, until the logs agree."""
        actor = self.actor(step)
        actor.truncate_now()
        for _ in range(TRIES_MAX):
            replica = actor.replica()
            if replica is None or not replica.needs_truncation:
                return
            question = self._question(actor)
            if not isinstance(question.send.request, OffsetForLeaderEpochRequest):
                return
            self._ask(question, actor, actor.respond)

    def _question(self, actor: SteppedBroker) -> HeldRequest:
        """What the follower asks its leader now: an unanswered question is asked again."""
        if actor.question is not None and actor.question.is_delivered:
            actor.fail(actor.question.send)
            actor.tick(RETRY_MS)
        if actor.question is None or actor.question.is_delivered:
            raise ImpossibleStepError(f"follower {actor.number} asks nobody anything")
        return actor.question

    def _ask(
        self,
        question: HeldRequest,
        actor: SteppedBroker,
        on_answer: Callable[[Send, Response, int], None],
    ) -> None:
        question.is_delivered = True
        send = question.send
        leader = self.world.actors.get(int(send.to))
        if leader is None or leader.node is None:
            raise ImpossibleStepError(f"{send.to}, whom {actor.number} asks, is down")
        answers: list[Response] = []
        leader.receive(send.request, actor.trace.lamport, answers.append, (actor, send))
        if answers:
            self.world.note(Verb.HEARD, actor, number=send.request_id)
        for answer in answers:
            on_answer(send, answer, leader.trace.lamport)

    def exchange(self, actor: SteppedBroker) -> None:
        """The follower's next question to its leader is asked and answered."""
        actor.truncate_now()
        self._ask(self._question(actor), actor, actor.respond)

    def serve_fetch(self, step: SpecStep) -> None:
        """The leader has answered a fetch; the answer is in flight."""
        follower = self.world.actors[step.parameters["follower"]]
        question = self._question(follower)
        if not isinstance(question.send.request, FetchRequest):
            raise ImpossibleStepError(f"follower {follower.number} compares logs first")
        self.world.drop_answers(follower.number, copies=(1,))
        replica = follower.replica()
        assert replica is not None

        def keep(send: Send, response: Response, lamport: int) -> None:
            answer = FetchAnswer(
                leader=step.actor,
                follower=follower.number,
                send=send,
                response=response,
                leader_epoch=replica.leader_epoch,
                lamport=lamport,
            )
            self.world.answers.append(answer)

        self._ask(question, follower, keep)

    def follower_append(self, step: SpecStep) -> None:
        """The follower has taken an answer."""
        answer = self.answer(step.parameters["answer"])
        self.world.answers.remove(answer)
        self.actor(step).respond(answer.send, answer.response, answer.lamport)

    def advance_high_watermark(self, step: SpecStep) -> None:
        """The leader has moved its high watermark."""
        actor = self.actor(step)
        actor.pace.may_advance = True
        actor.tick()
        actor.pace.may_advance = False
        replica = actor.replica()
        assert replica is not None
        end = actor.running.broker.committed_end(replica)
        records = actor.disk.read(self.world.key, Offset(0), end)
        for offset, record in enumerate(records):
            entry: dict[str, object] = {
                "offset": offset,
                "record": {"leader_epoch": record.leader_epoch, "value": int(record.value)},
            }
            if entry not in self.world.ledger.committed:
                self.world.ledger.committed.append(entry)
