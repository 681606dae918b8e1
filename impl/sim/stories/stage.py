"""The stage: one simulated cluster after the other, and what the steps of a story act upon."""

from collections.abc import Callable, Sequence

from msgspec import UnsetType

from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.stories.steps.story_step import Point, RequestsStep
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.core.types.effects import ActionTaken, Effect, ReadZnodes, Send, WriteZnodes
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import SimulatedRun, run_details
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.stories.client import StepClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.network import RequestRule, method_of
from fencepost.impl.sim.world.process import Process
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import BrokerId

Judge = Callable[[Sequence[TraceEvent]], Sequence[str]]
"""The lines that `check` prints of a trace; the checks are those of another room."""

ANY = -1
"""Any sender, any receiver of a `RequestRule`."""


def unjudged(_: Sequence[TraceEvent]) -> Sequence[str]:
    """The judge where what a story prints is not read."""
    return ()


class Stage:
    """What the steps of one story act upon."""

    def __init__(
        self, name: str, judge: Judge, *, move_recorder: Callable[[], MoveRecorder] | None = None
    ) -> None:
        """With a `move_recorder`, each cluster has one that it makes."""
        self.name = name
        self._move_recorder = move_recorder
        self.noted: list[tuple[RunOptions, MoveRecorder]] = []
        """One per cluster that has a move recorder."""
        self.judge = judge
        self.traces: list[Sequence[TraceEvent]] = []
        """One per cluster."""
        self._simulated: SimulatedRun | None = None
        self.client: StepClient
        self.rules: list[RequestRule] = []
        """Of the network, that steps have made and not lifted."""
        self.killed: set[BrokerId] = set()
        """By a step, and not started since: no fault brings them back."""
        self.is_read = False
        self.faults = 0
        """How many the injector was given."""

    def start(self, options: RunOptions) -> None:
        """Start a new cluster in place of the one before."""
        move_recorder = self._move_recorder() if self._move_recorder is not None else None
        if move_recorder is not None:
            self.noted.append((options, move_recorder))
        cluster = VirtualCluster(options, f"{self.name}-{len(self.traces) + 1}", move_recorder)
        self.traces.append(cluster.recorder.events)
        self.begin(SimulatedRun(cluster, run_details(options, self.name)))

    def begin(self, simulated: SimulatedRun) -> None:
        """Let the steps act upon this run, of which nothing has been played."""
        self._simulated = simulated
        self.rules, self.killed = [], set()
        self.client = StepClient(self.cluster)
        self.is_read = False
        self.faults = 0

    @property
    def simulated(self) -> SimulatedRun:
        """The run of the cluster that plays."""
        assert self._simulated is not None
        return self._simulated

    @property
    def cluster(self) -> VirtualCluster:
        """The one that plays."""
        return self.simulated.cluster

    @property
    def injector(self) -> SimulatedFaultDriver:
        """Of the faults of this run."""
        return self.simulated.injector

    def start_broker(self, broker_id: BrokerId) -> None:
        """A dead broker starts anew on its disk."""
        self.killed.discard(broker_id)
        self.cluster.start(broker_id)

    @property
    def now_ms(self) -> int:
        """Virtual time since the cluster was started."""
        return self.cluster.scheduler.now_ms

    def run(self, for_ms: int, is_done: Callable[[], bool] = lambda: False) -> bool:
        """Let virtual time pass; returns whether it is done."""
        return self.cluster.scheduler.run_until(self.now_ms + for_ms, is_done)

    def broker(self, target: Target) -> BrokerId:
        """The broker that a target is now; raises `StoryError`."""
        found = target.resolve(self.cluster.view())
        if found not in self.cluster.disks:
            raise StoryError(f"no broker is {target} now")
        return BrokerId(found)

    def process(self, target: Target, *, alive: bool = True) -> Process:
        """The process of a broker; raises `StoryError` when it is dead and must not be."""
        process = self.cluster.processes[self.broker(target)]
        if alive and not process.is_alive:
            raise StoryError(f"broker {process.broker_id} is dead")
        return process

    def rule(self, step: RequestsStep, method: str | None, verb: str = "") -> RequestRule:
        """What a step says of requests; raises `StoryError`."""
        given = (step.sender, step.receiver)
        sender, receiver = (ANY if isinstance(t, UnsetType) else self.broker(t) for t in given)
        return RequestRule(
            method="" if method in (None, "any") else str(method),
            sender=sender,
            receiver=receiver,
            topic=step.topic,
            verb=verb,
            count=step.count,
        )

    def rules_for(self, step: RequestsStep, method: str | None) -> list[RequestRule]:
        """The active rules that a step describes."""
        wanted = self.rule(step, method)
        return [
            rule
            for rule in self.rules
            if wanted.method in ("", rule.method)
            and wanted.sender in (ANY, rule.sender)
            and wanted.receiver in (ANY, rule.receiver)
        ]

    def lift(self, rules: Sequence[RequestRule]) -> None:
        """Remove these rules."""
        for rule in rules:
            self.rules.remove(rule)
            self.cluster.network.rules.remove(rule)


def is_at(point: Point) -> Callable[[Effect], bool]:
    """Whether an effect is at a point of the protocol."""
    about = point.about
    match point.effect:
        case "send":
            return lambda effect: isinstance(effect, Send) and method_of(effect.request) == about
        case "write":
            return lambda effect: isinstance(effect, WriteZnodes) and writes(effect, about)
        case "read":
            return lambda effect: isinstance(effect, ReadZnodes) and reads(effect, about)
        case _:
            return lambda effect: isinstance(effect, ActionTaken) and effect.action == about


def writes(ask: WriteZnodes, path: str) -> bool:
    """True when one of the writes is to a znode with `path` in its path."""
    return any(path in op.path for op in ask.ops)


def reads(ask: ReadZnodes, path: str) -> bool:
    """True when one of the znodes that are read has `path` in its own."""
    return any(path in asked for asked in ask.paths)
