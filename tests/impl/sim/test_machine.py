"""A cluster under rules in any order: whatever was done to it, it heals, and all checks hold.

Hypothesis draws the rules and shrinks those that fail. The world itself is calm, so that what is
left of a failure is what it takes.
"""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import IsolateBroker
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.faults.zookeeper_faults import CutZooKeeper, ExpireSession
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    Reassignment,
    Request,
)
from fencepost.impl.core.types.topic_messages import CreateTopicRequest, DeleteTopicRequest
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import BROKERS
from fencepost.impl.sim.injectors.injector import FaultedWorld
from fencepost.impl.sim.injectors.table import injector_of
from fencepost.impl.sim.world.clients import (
    TIMEOUT_MS,
    FinalReader,
    ScriptedClient,
    SimulatedClient,
    SimulatedConsumer,
    SimulatedProducer,
)
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.vocabulary import BrokerId, ElectionKind
from tests.impl.sim.build import T0, calm, run_for, settled, topic, violated

Injected = Injector[Line] | MultipleResults[Injector[Line]]
BROKER = st.sampled_from(BROKERS).map(BrokerId)
FOR_MS = 1
"""Faults last until they are healed, whatever they say."""
READ_MS = 10_000
STEPS = 25
EXAMPLES = 100
SAME_EPOCH = mutant_name("leader_epoch_not_raised")
"""Found within a few examples, and shrunk within a second or two."""


class OnDemand(ScriptedClient):
    """Does one operation when it is told to, and no other."""

    is_idle = True

    def pause(self, ms: int) -> None:  # noqa: ARG002
        """Wait for the next order."""
        self.is_idle = True


class Writer(OnDemand, SimulatedProducer):
    """Produces on demand."""


class Reader(OnDemand, SimulatedConsumer):
    """Consumes on demand."""


class ClusterMachine(RuleBasedStateMachine):
    """Three brokers and a topic of one partition; other topics come and go."""

    mutant: MutantName | None = None
    heals: Bundle[Injector[Line]] = Bundle("heals")
    topics: Bundle[str] = Bundle("topics")

    @initialize()
    def start(self) -> None:
        self.cluster = VirtualCluster(replace(calm(), mutant=self.mutant), "machine")
        topic(self.cluster)
        assert settled(self.cluster)
        self.writer = Writer(self.cluster, "client-1", [T0])
        self.reader = Reader(self.cluster, "client-2", [T0])
        self.admin = SimulatedClient(self.cluster, "client-3")
        self.active: list[Injector[Line]] = []
        self.created = 0

    # Clients

    @rule()
    def produce(self) -> None:
        if self.writer.is_idle:
            self.writer.is_idle = False
            self.writer.go_on()

    @rule()
    def consume(self) -> None:
        if self.reader.is_idle:
            self.reader.is_idle = False
            self.reader.go_on()

    # Time

    @rule(milliseconds=st.sampled_from((20, 100, 500, 2_000)))
    def wait(self, milliseconds: int) -> None:
        run_for(self.cluster, milliseconds)

    # Faults

    @rule(target=heals, victim=BROKER)
    def kill(self, victim: BrokerId) -> Injected:
        return self.hurt(victim, KillBroker(target=broker(victim), restart_after_ms=None))

    @rule(target=heals, victim=BROKER)
    def pause(self, victim: BrokerId) -> Injected:
        return self.hurt(victim, PauseBroker(target=broker(victim), for_ms=FOR_MS))

    @rule(target=heals, victim=BROKER)
    def cut(self, victim: BrokerId) -> Injected:
        return self.hurt(victim, IsolateBroker(target=broker(victim), for_ms=FOR_MS))

    @rule(target=heals, victim=BROKER)
    def cut_from_zookeeper(self, victim: BrokerId) -> Injected:
        return self.hurt(victim, CutZooKeeper(target=broker(victim), for_ms=FOR_MS))

    @rule(victim=BROKER)
    def expire(self, victim: BrokerId) -> None:
        self.hurt(victim, ExpireSession(target=broker(victim)))

    @rule(heal=consumes(heals))
    def heal(self, heal: Injector[Line]) -> None:
        """A restart after a kill."""
        self.active.remove(heal)
        heal.heal()

    def hurt(self, victim: BrokerId, fault: Fault) -> Injected:
        """Hurt a process that is alive and not paused."""
        process = self.cluster.processes[victim]
        if not process.is_alive or process.is_paused:
            return multiple()
        world = FaultedWorld(cluster=self.cluster, clients=[])
        injector = injector_of(fault, world, process)
        try:
            injector.inject()
        except InjectionError:
            return multiple()
        self.active.append(injector)
        return injector

    # The administrator

    @rule(target=topics, to=BROKER)
    def create_topic(self, to: BrokerId) -> str:
        self.created += 1
        name = f"u{self.created}"
        self.ask(to, CreateTopicRequest(topic=name, partition_count=1, replication_factor=2))
        return name

    @rule(name=consumes(topics), to=BROKER)
    def delete_topic(self, name: str, to: BrokerId) -> None:
        self.ask(to, DeleteTopicRequest(topic=name))

    @rule(order=st.permutations(BROKERS), count=st.sampled_from((3, 2)), to=BROKER)
    def reassign(self, order: list[int], count: int, to: BrokerId) -> None:
        replicas = tuple(BrokerId(one) for one in order[:count])
        move = Reassignment(topic=T0.topic, partition=T0.partition, replicas=replicas)
        self.ask(to, AlterPartitionReassignmentsRequest(reassignments=(move,)))

    @rule(to=BROKER)
    def elect(self, to: BrokerId) -> None:
        one = PartitionId(topic=T0.topic, partition=T0.partition)
        self.ask(to, ElectLeadersRequest(kind=ElectionKind.PREFERRED, partitions=(one,)))

    def ask(self, to: BrokerId, request: Request) -> None:
        self.admin.ask(to, request, lambda _: None)

    # The end

    def teardown(self) -> None:
        """All that was done is undone; the cluster heals and everything in it can be read.

        A check judges the whole trace, so that once at the end is enough.
        """
        for heal in reversed(self.active):
            heal.heal()
        run_for(self.cluster, TIMEOUT_MS)  # what was asked has arrived
        limit_ms = self.cluster.scheduler.now_ms + self.cluster.options.settle_ms
        assert self.cluster.scheduler.run_until(limit_ms, partial(is_converged, self.cluster))
        reader = FinalReader(self.cluster, sorted(self.cluster.assignments()))
        reader.go_on()
        limit_ms = self.cluster.scheduler.now_ms + READ_MS
        assert self.cluster.scheduler.run_until(limit_ms, lambda: reader.is_done)
        assert violated(self.cluster.recorder.events) == set()


class SameEpoch(ClusterMachine):
    """An elected leader keeps the epoch of the leader before it."""

    mutant = SAME_EPOCH


def test_whatever_is_done_to_a_cluster_it_heals_and_all_checks_hold() -> None:
    run_state_machine_as_test(
        ClusterMachine, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS)
    )


def test_a_broker_that_comes_while_a_reassignment_ends_is_told() -> None:
    """Found by the machine: the partition's change was just being written."""
    machine = ClusterMachine()
    machine.start()
    machine.consume()
    machine.elect(to=BrokerId(1))
    machine.cut(victim=BrokerId(2))
    machine.reassign(order=[2, 3, 1], count=2, to=BrokerId(1))
    machine.kill(victim=BrokerId(3))
    machine.wait(milliseconds=20)
    machine.expire(victim=BrokerId(2))
    machine.pause(victim=BrokerId(2))
    machine.reassign(order=[1, 2, 3], count=3, to=BrokerId(1))
    machine.wait(milliseconds=2_000)
    machine.expire(victim=BrokerId(1))
    machine.reassign(order=[1, 2, 3], count=3, to=BrokerId(3))
    machine.kill(victim=BrokerId(1))
    machine.reassign(order=[2, 3, 1], count=2, to=BrokerId(1))
    machine.teardown()

    assert is_converged(machine.cluster)


def test_a_mutant_is_found_and_what_it_takes_is_told() -> None:
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(
            SameEpoch,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                database=None,
                phases=(Phase.generate, Phase.shrink),
                report_multiple_bugs=False,
            ),
        )

    told = "\n".join(failure.value.__notes__).splitlines()
    assert any(seen in str(failure.value) for seen in MUTANTS[SAME_EPOCH].caught_by)
    assert len([line for line in told if "state." in line]) < STEPS // 2
