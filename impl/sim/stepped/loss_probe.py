"""What may follow a counterexample, and shows clients what it has broken.

A property of the specs is about all brokers at one instant; a client loses records later. So the
acting leader appends one record more and commits it with the ISR that it knows; what was held is
delivered; and then all replicas crash but one member of the published ISR, which leads, appends a
record too, and is read from offset 0. All of this may happen to any cluster, and the right protocol
loses nothing.
"""

from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.sim.stepped.broker import SteppedBroker
from fencepost.impl.sim.stepped.cluster import RETRY_MS, SteppedWorld
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.spec_state import KEY, records_of
from fencepost.impl.sim.stepped.step_context import TRIES_MAX, ImpossibleStepError
from fencepost.impl.sim.stepped.steps import StepPerformer
from fencepost.spec.vocabulary import Action, EnvironmentAction
from fencepost.spec.znodes import LeaderAndIsr

LAST_VALUE = 98
SURVIVORS_VALUE = 100
ROUNDS_MAX = 10


class LossProbe:
    """Continues a stepped cluster beyond the end of a counterexample."""

    def __init__(self, cluster: SteppedWorld, steps: StepPerformer, violates: str | None) -> None:
        """`violates` is the property of the specs that the counterexample is about."""
        self.cluster = cluster
        self.steps = steps
        self._must_match = violates == "FollowersMatchLeader"

    def run(self) -> None:
        """Commit one record more, then read the one survivor in full."""
        leader = self._acting_leader()
        if leader is not None and (self._must_match or self._is_durable()):
            self._commit_one_more(leader)
        if self._is_durable():
            self.cluster.drain()
        survivor = self._survivor()
        if survivor is not None and self._is_led_by(survivor):
            self.cluster.produce(survivor.number, SURVIVORS_VALUE)
            self.steps.take(_step(Action.ADVANCE_HIGH_WATERMARK, survivor))
            self.cluster.read(survivor.number)

    # One record more

    def _state(self) -> LeaderAndIsr | None:
        found = self.cluster.state(KEY)
        return found[0] if found else None

    def _members(self) -> list[int]:
        """The published ISR."""
        state = self._state()
        return [n for n in self.cluster.setting.brokers if state and n in state.isr]

    def _is_durable(self) -> bool:
        """Every member of the published ISR has all records."""
        return all(map(self._has_all, self._members()))

    def _acting_leader(self) -> SteppedBroker | None:
        """The published leader, if it runs and knows that it leads."""
        state = self._state()
        broker = self.cluster.nodes.get(int(state.leader)) if state else None
        if state is None or broker is None or broker.node is None:
            return None
        replica = broker.replica()
        leads = replica is not None and replica.is_leader and not replica.is_fenced
        return broker if leads and _epoch(replica) == state.leader_epoch else None

    def _commit_one_more(self, leader: SteppedBroker) -> None:
        self.cluster.produce(leader.number, LAST_VALUE)
        replica = leader.replica()
        assert replica is not None
        for follower in sorted(replica.isr - {leader.config.broker_id}):
            self._replicate(self.cluster.nodes[int(follower)], leader)
        self.steps.take(_step(Action.ADVANCE_HIGH_WATERMARK, leader))
        if self._must_match:
            self.cluster.produce(leader.number, LAST_VALUE + 1)
            for other in self.cluster.running():
                self._replicate(other, leader)
                self._replicate(other, leader, rounds=1)

    def _replicate(self, follower: SteppedBroker, leader: SteppedBroker, rounds: int = 0) -> None:
        """The follower, if it follows this leader, has what the leader has, and the leader knows.

        With `rounds` they talk so often, whatever the leader knows.
        """
        for _ in range(rounds or TRIES_MAX):
            own, other = follower.node and follower.replica(), leader.replica()
            if not own or not other or _epoch(own) != _epoch(other) or own.is_leader:
                return
            known = other.followers.get(follower.config.broker_id)
            if not rounds and known is not None and known.log_end_offset == other.log_end_offset:
                return
            try:
                self.steps.exchange(follower)
            except ImpossibleStepError:
                return

    # One survivor

    def _survivor(self) -> SteppedBroker | None:
        """Only it is left of the replicas: a member of the ISR, best one that lacks something."""
        members = self._members()
        if not members:
            return None
        state = self._state()
        number = min(members, key=lambda n: (self._has_all(n), state and state.leader == n, n))
        for other in self.cluster.setting.brokers:
            broker = self.cluster.nodes[other]
            if other == number:
                continue
            if broker.node is not None:
                self.steps.take(_step(EnvironmentAction.CRASH_BROKER, broker))
            if self.cluster.is_registered(other):
                self.cluster.expire(other)
        return self.cluster.nodes[number]

    def _has_all(self, number: int) -> bool:
        """The broker holds every record that was committed, or acknowledged to a client."""
        held = records_of(self.cluster.nodes[number].records())
        wanted = [*self.cluster.ledger.committed, *self.cluster.ledger.acknowledged]
        return all(entry["record"] in held for entry in wanted)

    def _is_led_by(self, survivor: SteppedBroker) -> bool:
        """The survivor has become the leader, alone, and has committed what it holds."""
        if survivor.node is None:
            survivor.start()
        for _ in range(ROUNDS_MAX):
            if not self.cluster.is_registered(survivor.number):
                survivor.join()
            self.cluster.drain()
            leader = self._acting_leader()
            if leader is survivor:
                self.steps.take(_step(Action.ADVANCE_HIGH_WATERMARK, survivor))
                return True
            for number in self.cluster.setting.controllers:
                self.cluster.free_channels(number)
                self.cluster.nodes[number].tick(RETRY_MS)
            survivor.tick(RETRY_MS)
        return False


def _epoch(replica: Replica | None) -> int:
    return -1 if replica is None else int(replica.leader_epoch)


def _step(action: Action | EnvironmentAction, broker: SteppedBroker) -> SpecStep:
    return SpecStep(action=action.value, actor=broker.number, changed={})
