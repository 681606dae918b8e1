"""How the specs' actions of leaders and followers are brought about on the core."""

from fencepost.impl.core.types.messages import FetchRequest, OffsetForLeaderEpochRequest
from fencepost.impl.sim.stepped.broker import Answered, HeldAsk, HeldRequest, SteppedBroker
from fencepost.impl.sim.stepped.cluster import LAG_MS, RETRY_MS, FetchAnswer, is_membership
from fencepost.impl.sim.stepped.observed_state import message
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.spec_state import KEY, STATE, records_of
from fencepost.impl.sim.stepped.step_context import (
    TRIES_MAX,
    ImpossibleStepError,
    StepContext,
    release_controller,
    repeat,
)
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import broker_path

_FETCHER_GOES_ON = "append_from_old_leader"
"""With this mutant the answers to a follower outlive its change of role."""


class ReplicaSteps(StepContext):
    """Commands, the ISR and records."""

    def register_broker(self, step: SpecStep) -> None:
        """The broker has a new session and is registered; a starting one has read its state."""
        broker = self.broker(step)
        broker.join()
        is_new = not broker.running.broker.is_ready
        own = broker_path(step.actor)

        def wanted(held: HeldAsk) -> bool:
            is_mine = own in held.paths
            return is_mine or (is_new and not is_membership(held))

        repeat(lambda: broker.release(wanted))

    def learn_controller(self, step: SpecStep) -> None:
        """The broker has read `/controller` and its epoch."""
        broker = self.broker(step)
        repeat(lambda: release_controller(broker))

    def become(self, step: SpecStep) -> None:
        """A command arrives; its answer is dropped: the specs have none, or are late to read it."""
        broker = self.broker(step)
        command = self.command(step.parameters["message"])
        known = broker.running.broker.controller_epoch
        self.cluster.commands.remove(command)
        origin = self.cluster.nodes[command.sender].origin(command.send)
        broker.answers(command.request, command.lamport, origin)
        if all(taken.action != step.action for taken in broker.taken):
            raise ImpossibleStepError(f"broker {step.actor} refuses {message(command)}")
        broker.is_reply_lost = False
        self._forget_writes(broker)
        if _FETCHER_GOES_ON not in self.cluster.setting.mutants:
            self.cluster.drop_answers(step.actor)
        if command.request.controller_epoch < known:
            self.cluster.ledger.breach("StaleControllerHarmless", step.actor)

    def _forget_writes(self, broker: SteppedBroker) -> None:
        """A change of the ISR that was in flight may have been lost on its way (CMD-003)."""
        broker.asks = [held for held in broker.asks if STATE not in held.paths]

    # The ISR

    def shrink_isr(self, step: SpecStep) -> None:
        """Let time pass until the member lags; without logs the other replicas fetch."""
        broker = self.broker(step)
        broker.clock.jump(LAG_MS + 1)
        replica = broker.replica()
        assert replica is not None
        if not self.cluster.setting.has_logs:
            for other in sorted(replica.isr - {BrokerId(step.parameters["member"])}):
                self._fetch_as(other, broker)
        broker.pace.may_shrink = True
        broker.tick()
        broker.pace.may_shrink = False
        broker.is_reply_lost = False

    def expand_isr(self, step: SpecStep) -> None:
        """The leader has asked a follower in; without logs the follower fetches first."""
        broker = self.broker(step)
        if not self.cluster.setting.has_logs:
            self._fetch_as(step.parameters["member"], broker)
        broker.expand_now()
        broker.is_reply_lost = False

    def _fetch_as(self, follower: int, leader: SteppedBroker) -> None:
        """`LeaderAndIsr` has no fetches: one is made up, as the follower would send it."""
        replica = leader.replica()
        if replica is None or follower == leader.number:
            return
        named = leader.config.rules.named_broker_epoch(self.cluster.broker_epoch(follower))
        request = FetchRequest(
            topic=KEY.topic,
            partition=KEY.partition,
            replica_id=BrokerId(follower),
            leader_epoch=replica.leader_epoch,
            fetch_offset=replica.log_end_offset,
            broker_epoch=named,
        )
        leader.answers(request, 0, self.cluster.move_recorder.asks("follower"))

    def end_isr_write(self, step: SpecStep) -> None:
        """The write's outcome, or what is read after it is lost, until the leader knows."""
        broker = self.broker(step)
        for _ in range(TRIES_MAX):
            replica = broker.replica()
            if replica is None or replica.wanted_isr is None:
                break
            if not broker.release(lambda held: STATE in held.paths):
                raise ImpossibleStepError(f"leader {step.actor} waits for no answer")
        broker.is_reply_lost = False

    # Records

    def leader_append(self, step: SpecStep) -> None:
        """A client's record is in the log of a leader."""
        self.cluster.produce(step.actor, step.parameters["value"])

    def truncate_log(self, step: SpecStep) -> None:
        """Question and answer, until the logs agree."""
        broker = self.broker(step)
        broker.truncate_now()
        for _ in range(TRIES_MAX):
            replica = broker.replica()
            if replica is None or not replica.needs_truncation:
                return
            question = self._question(broker)
            if not isinstance(question.send.request, OffsetForLeaderEpochRequest):
                return
            self._exchange(question, broker)

    def _question(self, broker: SteppedBroker) -> HeldRequest:
        """What the follower asks its leader now: an unanswered question is asked again."""
        if broker.question is not None and broker.question.is_delivered:
            broker.respond(broker.question.send, None, 0)
            broker.tick(RETRY_MS)
        if broker.question is None or broker.question.is_delivered:
            raise ImpossibleStepError(f"follower {broker.number} has no request to send")
        return broker.question

    def _ask(self, question: HeldRequest, broker: SteppedBroker) -> list[Answered]:
        """Deliver the question to the leader; its answers are in flight."""
        question.is_delivered = True
        send = question.send
        leader = self.cluster.nodes.get(int(send.to))
        if leader is None or leader.node is None:
            raise ImpossibleStepError(f"{send.to}, the leader of {broker.number}, is down")
        return leader.answers(send.request, broker.trace.clock.now, broker.origin(send))

    def _exchange(self, question: HeldRequest, broker: SteppedBroker) -> None:
        for answered in self._ask(question, broker):
            broker.respond(question.send, *answered)

    def exchange(self, broker: SteppedBroker) -> None:
        """The follower's next question to its leader is asked and answered."""
        broker.truncate_now()
        self._exchange(self._question(broker), broker)

    def serve_fetch(self, step: SpecStep) -> None:
        """The leader has answered a fetch; the answer is in flight."""
        follower = self.cluster.nodes[step.parameters["follower"]]
        question = self._question(follower)
        if not isinstance(question.send.request, FetchRequest):
            raise ImpossibleStepError(f"follower {follower.number} compares logs first")
        self.cluster.drop_answers(follower.number, copies=(1,))
        replica = follower.replica()
        assert replica is not None
        epoch = replica.leader_epoch
        self.cluster.answers += [
            FetchAnswer(
                leader=step.actor,
                follower=follower.number,
                send=question.send,
                response=response,
                leader_epoch=epoch,
                lamport=lamport,
            )
            for response, lamport in self._ask(question, follower)
        ]

    def follower_append(self, step: SpecStep) -> None:
        """The follower has taken an answer."""
        answer = self.answer(step.parameters["answer"])
        self.cluster.answers.remove(answer)
        self.broker(step).respond(answer.send, answer.response, answer.lamport)

    def advance_high_watermark(self, step: SpecStep) -> None:
        """The leader has moved its high watermark."""
        broker = self.broker(step)
        broker.pace.may_advance = True
        broker.tick()
        broker.pace.may_advance = False
        replica = broker.replica()
        assert replica is not None
        end = broker.config.rules.committed_end(replica)
        for offset, record in enumerate(records_of(broker.records()[:end])):
            entry: dict[str, object] = {"offset": offset, "record": record}
            if entry not in self.cluster.ledger.committed:
                self.cluster.ledger.committed.append(entry)
