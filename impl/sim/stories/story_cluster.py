"""A simulated run as the player of steps knows it; what only a simulator can do is beside it."""

from collections.abc import Callable, Sequence

from msgspec import UnsetType

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.point import Point
from fencepost.fault_injection.stories.steps.step_player import StepPlayer, broker_of
from fencepost.fault_injection.stories.steps.story_cluster import (
    BrokerStep,
    Ended,
    Lines,
)
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.commands import ControlCommand
from fencepost.fault_injection.workload.operations import Operation
from fencepost.impl.core.types.effects import (
    ActionTaken,
    Effect,
    ListChildren,
    ReadZnodes,
    Send,
    WriteZnodes,
)
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.run import SimulatedRun
from fencepost.impl.sim.injectors.driver import SimulatedTraces
from fencepost.impl.sim.stories.client import CONTROLLER_MS, StepClient
from fencepost.impl.sim.world.clients import TIMEOUT_MS
from fencepost.impl.sim.world.cluster import VirtualState
from fencepost.impl.sim.world.network import RequestRule, method_of
from fencepost.impl.sim.world.process import Process
from fencepost.impl.sim.world.workload import create_topic
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TopicPartition, broker_path

Judge = Callable[[Sequence[TraceEvent]], Sequence[str]]
"""The lines that `check` prints of a trace; the checks are those of another room."""
START_MS = 10_000
"""How long a step waits for a first controller, or for brokers that register."""


def unjudged(_: Sequence[TraceEvent]) -> Sequence[str]:
    """The judge where what a story prints is not read."""
    return ()


class VirtualStoryCluster:
    """One simulated run; steps that only a simulator can do reach into its `world`."""

    answer_ms = CONTROLLER_MS + TIMEOUT_MS + 1

    def __init__(self, simulated: SimulatedRun, judge: Judge = unjudged) -> None:
        """Nothing of the run has been played."""
        self.simulated = simulated
        self.world = simulated.cluster
        self.judge = judge
        self.broker_ids = self.world.disks.keys()
        self.state = VirtualState(self.world)
        self.client = StepClient(self.world)
        self.rules: list[RequestRule] = []
        """Of the network, that steps have made and not lifted."""
        self.killed: set[BrokerId] = set()
        """By a step, and not started since: no fault brings them back."""
        self.is_read = False

    # Time

    @property
    def now_ms(self) -> int:
        """Virtual time since the cluster was started."""
        return self.world.scheduler.now_ms

    def wait(self, within_ms: int, holds: Callable[[], bool]) -> bool:
        """Let virtual time pass until it holds; false when it does not in time."""
        return self.world.scheduler.run_until(self.now_ms + within_ms, holds)

    def later(self, after_ms: int, act: Callable[[], object]) -> None:
        """Act so much later."""
        self.world.scheduler.after_ms(after_ms, act)

    def elect_controller(self, wanted: int) -> None:
        """Wait until that broker is the controller; raises `StoryError`."""
        processes = self.world.processes
        if wanted not in processes:
            raise StoryError(f"first_controller is {wanted}; choose one of 1 to {len(processes)}")
        others = [process for broker_id, process in processes.items() if broker_id != wanted]
        for process in others:
            process.pause()
        self.wait(START_MS, lambda: self.state.controller() == wanted)
        for process in others:
            process.resume()

    # What is seen

    def traces(self) -> SimulatedTraces:
        """The lines of the run from its start on, with the phases of faults."""
        return SimulatedTraces(self.world.recorder, has_phases=True)

    def is_converged(self) -> bool:
        """True when every liveness property holds now."""
        return is_converged(self.world)

    # Clients and administrators

    def create_topic(self, step: steps.CreateTopicStep) -> Lines:
        """Create the topic, and wait until its replicas know their roles."""
        count = step.partitions
        partitions = self.world.options.partitions if isinstance(count, UnsetType) else count
        replicas = tuple(map(BrokerId, step.replicas))
        if not replicas:
            create_topic(self.world, step.create_topic, partitions)
            return []
        to = replicas[0] if isinstance(step.broker, UnsetType) else broker_of(self, step.broker)
        self.wait(START_MS, lambda: {*replicas} <= {*self.state.live_brokers()})
        outcome: list[str] = []
        self.client.create_topics(step, (replicas,) * partitions, to, outcome.append)
        self.wait(self.answer_ms, lambda: bool(outcome))
        if outcome == ["ok"] and step.wait and not step.validate_only:
            self.wait(START_MS, self.is_converged)
        return [] if outcome == ["ok"] else outcome

    def operate(self, operation: Operation, broker: Target | UnsetType, ended: Ended) -> None:
        """Send one request to the broker, or to the published leader."""
        self.client.operate(operation, self.asked(broker, operation.partition), ended)

    def administer(self, step: steps.AdminStep, ended: Ended) -> None:
        """Send one request to the broker of the step, or to any that can answer."""
        to = (
            self._first_live()
            if isinstance(step.broker, UnsetType)
            else broker_of(self, step.broker)
        )
        self.client.administer(step, to, ended)

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration; where it listens means nothing here."""
        stat = self.world.zookeeper.peek(broker_path(broker_id)).stat
        if stat is None:
            return None
        return Registration(session_id=stat.ephemeral_owner, zxid=stat.czxid, address="")

    def command(self, command: ControlCommand, to: BrokerId, ended: Ended) -> None:
        """Send the command from no broker; raises `StoryError` for one that the core lacks."""
        self.client.command(command, to, ended)

    def asked(self, named: Target | UnsetType, key: TopicPartition) -> BrokerId:
        """The broker that is named, or else the published leader; raises `StoryError`."""
        if not isinstance(named, UnsetType):
            return broker_of(self, named)
        leader = self.state.view().leaders.get(key)
        if leader is None or leader not in self.broker_ids:
            raise StoryError(f"{key} has no leader; name a broker")
        return BrokerId(leader)

    def _first_live(self) -> BrokerId:
        live = map(BrokerId, self.state.live_brokers())
        processes = (self.world.processes[broker_id] for broker_id in live)
        alive = [p.broker_id for p in processes if p.is_alive and not p.is_paused]
        if not alive:
            raise StoryError("no broker is alive to ask")
        return min(alive)

    # Faults and processes

    def begin_fault(self, fault_id: str, fault: Fault, after_ms: int) -> None:
        """Inject the fault, now or so much later."""
        timed = StoryAction.at(action_id=fault_id, at_ms=after_ms, fault=fault)
        self.simulated.injector.plan_fault(timed, self.now_ms)

    def heal_fault(self, fault_id: str) -> bool:
        """Begin to heal the fault of that id; false when it is not active."""
        return self.simulated.injector.heal(fault_id)

    def act_on(self, broker_id: BrokerId, step: BrokerStep) -> None:
        """What the step says to the process of a broker; raises `StoryError` for a dead one."""
        match step:
            case steps.KillStep():
                _stop(self.live_process(broker_id), step, self._die)
            case steps.PauseStep():
                _stop(self.live_process(broker_id), step, Process.pause)
            case steps.ResumeStep():
                self.live_process(broker_id).resume()
            case steps.RestartStep():
                self.world.processes[broker_id].die()
                self.start(broker_id)
            case steps.ExpireStep():
                self._expire(broker_id)

    def _die(self, process: Process) -> None:
        self.killed.add(process.broker_id)
        process.die()

    def _expire(self, broker_id: BrokerId) -> None:
        """ZooKeeper ends the session of the broker, which may be dead."""
        session_id = self.world.processes[broker_id].zookeeper.session_id
        if not session_id:
            raise StoryError(f"broker {broker_id} has no session")
        self.world.zookeeper.end_session(session_id)

    def start(self, broker_id: BrokerId) -> None:
        """A dead broker starts anew on its disk."""
        self.killed.discard(broker_id)
        self.world.start(broker_id)

    def live_process(self, broker_id: BrokerId) -> Process:
        """The process of a broker; raises `StoryError` when it is dead."""
        process = self.world.processes[broker_id]
        if not process.is_alive:
            raise StoryError(f"broker {broker_id} is dead")
        return process


Player = StepPlayer[VirtualStoryCluster]


def _stop(process: Process, when: steps.StopStep, stop: Callable[[Process], None]) -> None:
    """At once, or just before the process performs what `at` names."""
    if not when.at:
        stop(process)
        return
    is_there = _is_at(Point.parsed(when.at))
    left = [when.nth]

    def before(effect: Effect) -> None:
        if is_there(effect):
            left[0] -= 1
            if left[0] == 0:
                process.before = None
                stop(process)

    process.before = before


def _is_at(point: Point) -> Callable[[Effect], bool]:
    """Whether an effect is at a point of the protocol."""
    about = point.about
    match point.effect:
        case "send":
            return lambda effect: isinstance(effect, Send) and method_of(effect.request) == about
        case "write":
            return lambda effect: isinstance(effect, WriteZnodes) and writes(effect, about)
        case "read":
            return lambda effect: (
                isinstance(effect, ReadZnodes | ListChildren) and _reads(effect, about)
            )
        case _:
            return lambda effect: isinstance(effect, ActionTaken) and effect.action == about


def writes(ask: WriteZnodes, path: str) -> bool:
    """True when one of the writes is to a znode with `path` in its path."""
    return any(path in op.path for op in ask.ops)


def _reads(ask: ReadZnodes | ListChildren, path: str) -> bool:
    return any(path in asked for asked in ask.paths)
