"""Does the faults of a story on a simulated cluster, by callbacks of the virtual scheduler."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from fencepost.fault_injection.engine.engine import FaultEngine
from fencepost.fault_injection.engine.progress import EVIDENCE_MS, RunningFault
from fencepost.fault_injection.faults.disk_faults import BreakDisk, FillDisk, SlowDisk
from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import ANY_BROKER, ClusterView
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.impl.sim.engine.recorder import TraceBuffer
from fencepost.impl.sim.injectors.injector import FaultedWorld, SimulatedInjector
from fencepost.impl.sim.injectors.table import injector_of
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import BrokerId

NS_PER_US = 1000
LOOK_MS = 5
TICK_MS = 1
"""How often the story looks at what has happened."""


@dataclass(slots=True)
class SimulatedTraces:
    """The lines of a simulated run."""

    recorder: TraceBuffer
    has_phases: bool = False
    """With the lines about faults."""
    _seen: int = field(init=False, default=0)

    def skip(self) -> None:
        """What is there already is not told."""
        self._seen = len(self.recorder.events)

    def events(self) -> Iterable[TraceEvent]:
        """What was added since the last call."""
        added = self.recorder.events[self._seen :]
        self.skip()
        return (one for one in added if self.has_phases or one.kind is not Kind.FAULT)


@dataclass(slots=True, kw_only=True)
class SimulatedWorld(FaultedWorld):
    """A simulated cluster as the engine of faults knows it."""

    traces: SimulatedTraces
    backend: Backend = field(init=False, default=Backend.SIM)
    trouble: tuple[type[Exception], ...] = field(init=False, default=(InjectionError,))
    look_ms: int = field(init=False, default=LOOK_MS)
    is_seen_at_once: bool = field(init=False, default=True)
    is_undone_at_once: bool = field(init=False, default=True)

    def now_ns(self) -> int:
        """Virtual time."""
        return self.cluster.scheduler.now_us * NS_PER_US

    def view(self) -> ClusterView:
        """As the simulated ZooKeeper shows them."""
        return self.cluster.view()

    def is_there(self, _: int | None) -> bool:
        """True: a victim that is not there is found out at the injection."""
        return True

    def injector(self, running: RunningFault[Line]) -> Injector[Line]:
        """The injector of the table; raises `InjectionError` for a dead or paused victim."""
        fault, process = running.action.fault, None
        if fault.victim != ANY_BROKER:
            process = self.cluster.processes.get(BrokerId(running.broker_id or 0))
            if process is None or not process.is_alive or process.is_paused:
                raise InjectionError("no such live broker")
        injector = injector_of(fault, self, process)
        if isinstance(injector, SimulatedInjector):
            injector.on_broker = lambda broker_id: self.cluster.harness.write(
                running.broker_line(broker_id)
            )
        return injector

    def close(self, _: RunningFault[Line]) -> None:
        """Nothing: no process outlives the run."""

    def margin_ms(self, _: StoryAction) -> int:
        """As long for all."""
        return EVIDENCE_MS

    def is_credited(self, _: RunningFault[Line], proof: Line | None) -> bool:
        """False for a rule that matched nothing, and its like."""
        return proof is not None and proof.get("matched") != 0

    def record(self, running: RunningFault[Line], proof: Line | None, why: str) -> None:
        """One line of the harness; what is planned has its parameters."""
        action = running.action
        told: Line = {**(proof or {}), **({"reason": why} if why else {})}
        if running.phase is Phase.PLANNED:
            told = {"at_ms": action.at_ms, **as_json(action.fault)}
        detail = json.dumps(told, sort_keys=True) if told else None
        self.cluster.harness.write(running.phase_line(detail))


LASTING_KINDS = frozenset({BreakDisk.kind, FillDisk.kind, SlowDisk.kind})
"""Faults of one broker beside which all partitions with another sound replica are served."""


class SimulatedFaultDriver:
    """Injects each fault at its time and heals it at its end, or at the end of the run."""

    def __init__(self, cluster: VirtualCluster, clients: list[SimulatedClient]) -> None:
        """`clients` are at work; faults may add to them."""
        traces = SimulatedTraces(cluster.recorder)
        world = SimulatedWorld(cluster=cluster, clients=clients, traces=traces)
        self._engine = FaultEngine(world=world)
        self._cluster = cluster
        self._wakes: dict[RunningFault[Line], tuple[Phase, int]] = {}
        """In which phase and when a callback steps the fault."""

    def plan(self, start_ms: int) -> None:
        """Every fault of the schedule will happen, counted from `start_ms`."""
        for timed in self._cluster.options.story.actions:
            self.plan_fault(timed, start_ms)

    def plan_fault(self, timed: StoryAction, start_ms: int) -> None:
        """The fault will happen at its time, counted from `start_ms`; raises `FaultError`."""
        begin = partial(self._begin, self._engine.plan(timed))
        self._cluster.scheduler.at_us((start_ms + timed.at_ms) * 1000, begin)

    def follow(self, story: Story) -> None:
        """Begin and end each action when what it waits for has come, counted from now."""
        self._engine.follow(story)
        self._tick()

    @property
    def is_done(self) -> bool:
        """True when no action of the story waits or ends by itself later."""
        return self._engine.is_done

    @property
    def victims(self) -> frozenset[BrokerId]:
        """The brokers on which, alone, a fault acts that is not over."""
        found = (running.broker_id for running in self._engine.armed)
        return frozenset(BrokerId(broker_id) for broker_id in found if broker_id is not None)

    @property
    def lasting(self) -> frozenset[str]:
        """The ids of active faults that hurt one broker, and nothing that others need."""
        return frozenset(
            running.action.action_id
            for running in self._engine.armed
            if running.phase is Phase.ACTIVE and running.action.fault.kind in LASTING_KINDS
        )

    def heal(self, fault_id: str) -> bool:
        """Begin to heal the fault of that id; false when none is under way."""
        armed = (one for one in self._engine.armed if one.action.action_id == fault_id)
        running = next(armed, None)
        if running is not None:
            self._engine.heal(running)
            self._wake()
        return running is not None

    def heal_all(self, keep: Collection[str] = ()) -> None:
        """Begin to heal all faults but those of `keep`, the last one first."""
        self._engine.heal_all(keep)
        self._wake()

    def _begin(self, running: RunningFault[Line]) -> None:
        self._engine.begin(running)
        self._wake()

    def _tick(self) -> None:
        self._engine.tick()
        self._wake()
        self._cluster.scheduler.after_ms(TICK_MS, self._tick)

    def _step(self, running: RunningFault[Line]) -> None:
        self._engine.step(running)
        self._wake()

    def _wake(self) -> None:
        """Step each fault when it is due."""
        for running in self._engine.armed:
            due_ms = self._engine.due_ms(running)
            if due_ms is None or self._wakes.get(running) == (running.phase, due_ms):
                continue
            self._wakes[running] = running.phase, due_ms
            in_ms = max(0, due_ms - self._engine.now_ms)
            self._cluster.scheduler.after_ms(in_ms, partial(self._step, running))
