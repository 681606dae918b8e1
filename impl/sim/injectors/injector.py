"""Performs a schedule of faults on a simulated cluster, and records the phases of each."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from fencepost.fault_injection.faults.catalogue import require_backend
from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import ANY_BROKER
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.impl.sim.engine.recorder import NodeTrace
from fencepost.impl.sim.injectors.awaited import Heal, Wish, World
from fencepost.impl.sim.injectors.faults import do_to, do_to_all
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind, Phase
from fencepost.spec.vocabulary import BrokerId

LOOK_MS = 5
"""Between two looks at what was asked of somebody else."""
EVIDENCE_MS = 10_000
"""What is not seen after so long had no effect; as for real."""
HEAL_MS = 20_000
"""What is not well again after so long could not be healed."""


@dataclass(slots=True)
class _Asked:
    """A fault that somebody else carries out, until all is well again."""

    timed: StoryAction
    wish: Wish
    phase: Phase
    since_ms: int


class SimulatedFaultEngine:
    """Injects each fault at its time and heals it at its end, or at the end of the run."""

    def __init__(
        self,
        cluster: VirtualCluster,
        harness: NodeTrace,
        clients: list[SimulatedClient] | None = None,
    ) -> None:
        """Who is in `clients` is at work; faults may add to them."""
        self._cluster = cluster
        self._harness = harness
        at_work = [] if clients is None else clients
        self._world = World(cluster=cluster, harness=harness, clients=at_work)
        self._active: dict[str, tuple[StoryAction, int | None, Heal]] = {}
        self._asked: dict[str, _Asked] = {}

    def plan(self, start_ms: int) -> None:
        """Every fault of the schedule will happen, counted from `start_ms`."""
        for timed in self._cluster.options.story.actions:
            self.plan_fault(timed, start_ms)

    def plan_fault(self, timed: StoryAction, start_ms: int) -> None:
        """The fault will happen at its time, counted from `start_ms`."""
        self.announce(timed)
        at_us = (start_ms + timed.at_ms) * 1000
        self._cluster.scheduler.at_us(at_us, partial(self.inject, timed))

    def announce(self, timed: StoryAction) -> None:
        """The fault is planned; raises `FaultError` for one that cannot be simulated."""
        require_backend(timed.action_id, timed.fault.kind, Backend.SIM)
        self._record(timed, Phase.PLANNED, None, {"at_ms": timed.at_ms, **as_json(timed.fault)})

    def give_up(self, timed: StoryAction, reason: str) -> None:
        """The fault will not be injected."""
        self._record(timed, Phase.INEFFECTIVE, None, {"reason": reason})

    @property
    def active(self) -> frozenset[str]:
        """The faults that are not over."""
        return frozenset((*self._active, *self._asked))

    @property
    def victims(self) -> frozenset[BrokerId]:
        """Whom a fault that is not over acts upon, alone."""
        return frozenset(BrokerId(b) for _, b, _ in self._active.values() if b is not None)

    def heal_all(self, keep: Collection[str] = ()) -> None:
        """No fault but those of `keep` is active any more, in reverse order of injection."""
        for fault_id in reversed([*self._active, *self._asked]):
            if fault_id not in keep:
                self.heal(fault_id)

    def inject(self, timed: StoryAction) -> None:
        """The fault is active from now on, or has no effect."""
        fault = timed.fault
        target = fault.victim
        broker_id = target.resolve(self._cluster.view())
        self._record(timed, Phase.INJECTING, broker_id, {})
        if target == ANY_BROKER:
            self._begin(timed, None, do_to_all(fault, self._world))
            return
        process = self._cluster.processes.get(BrokerId(broker_id or 0))
        if process is None or not process.is_alive or process.is_paused:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": "no such live broker"})
            return
        self._begin(timed, process.broker_id, do_to(fault, self._cluster, process))

    def _begin(self, timed: StoryAction, broker_id: int | None, done: Heal | Wish | None) -> None:
        if done is None:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": "nothing to act on"})
        elif callable(done):
            self._activate(timed, broker_id, done)
        else:
            now_ms = self._cluster.scheduler.now_ms
            self._asked[timed.action_id] = _Asked(timed, done, Phase.INJECTING, now_ms)
            self._look(timed.action_id)

    def _activate(self, timed: StoryAction, broker_id: int | None, heal: Heal) -> None:
        self._active[timed.action_id] = (timed, broker_id, heal)
        self._record(timed, Phase.ACTIVE, broker_id, {})
        active_ms = timed.fault.active_ms
        if active_ms is not None:
            self._cluster.scheduler.after_ms(active_ms, lambda: self.heal(timed.action_id))

    def heal(self, fault_id: str) -> None:
        """The fault is over, if it was not before; what was asked for comes to its end."""
        if fault_id in self._asked:
            self._come_to_end(self._asked[fault_id])
        if fault_id not in self._active:
            return
        timed, broker_id, heal = self._active.pop(fault_id)
        self._record(timed, Phase.HEALING, broker_id, {})
        evidence = heal()
        effective = evidence.get("matched") != 0
        phase = Phase.HEALED if effective else Phase.INEFFECTIVE
        self._record(timed, phase, broker_id, evidence)

    def _look(self, fault_id: str) -> None:
        """The step that is due; a fault that is active waits for its time."""
        asked = self._asked.get(fault_id)
        if asked is None:
            return
        if asked.phase is Phase.INJECTING:
            self._look_for_evidence(asked)
        elif asked.phase is Phase.HEALING:
            self._look_for_health(asked)
        if fault_id in self._asked and asked.phase is not Phase.ACTIVE:
            self._cluster.scheduler.after_ms(LOOK_MS, partial(self._look, fault_id))

    def _look_for_evidence(self, asked: _Asked) -> None:
        evidence = asked.wish.evidence()
        if evidence is not None:
            self._move(asked, Phase.ACTIVE, evidence)
            active_ms = asked.timed.fault.active_ms
            if active_ms is not None:
                heal = partial(self.heal, asked.timed.action_id)
                self._cluster.scheduler.after_ms(active_ms, heal)
        elif self._is_late(asked, EVIDENCE_MS):
            self._give_up_asked(asked, f"nothing was seen of it in {EVIDENCE_MS} ms")

    def _look_for_health(self, asked: _Asked) -> None:
        asked.wish.heal()
        evidence = asked.wish.healed()
        if evidence is not None:
            self._move(asked, Phase.HEALED, evidence)
        elif self._is_late(asked, HEAL_MS):
            self._move(asked, Phase.FAILED, {"reason": f"not well after {HEAL_MS} ms"})

    def _come_to_end(self, asked: _Asked) -> None:
        if asked.phase is Phase.INJECTING:
            self._give_up_asked(asked, "it was to end before anything was seen of it")
        elif asked.phase is Phase.ACTIVE:
            self._move(asked, Phase.HEALING, {})
            self._look(asked.timed.action_id)

    def _give_up_asked(self, asked: _Asked, reason: str) -> None:
        asked.wish.heal()
        self._move(asked, Phase.INEFFECTIVE, {"reason": reason})

    def _is_late(self, asked: _Asked, most_ms: int) -> bool:
        return self._cluster.scheduler.now_ms - asked.since_ms > most_ms

    def _move(self, asked: _Asked, phase: Phase, evidence: Line) -> None:
        asked.phase, asked.since_ms = phase, self._cluster.scheduler.now_ms
        self._record(asked.timed, phase, None, evidence)
        if phase not in (Phase.ACTIVE, Phase.HEALING):
            del self._asked[asked.timed.action_id]

    def _record(
        self, timed: StoryAction, phase: Phase, broker_id: int | None, evidence: Line
    ) -> None:
        fault = timed.fault
        self._harness.write(
            {
                "kind": Kind.FAULT,
                "action": fault.kind,
                "fault_id": timed.action_id,
                "fault": fault.kind,
                "phase": phase,
                "target": str(fault.victim),
                "broker_id": broker_id,
                "detail": json.dumps(evidence, sort_keys=True) if evidence else None,
            }
        )
