"""Performs the faults of a story on a simulated cluster, and records the phases of each."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.fault_injection.engine.progress import EVIDENCE_MS, HEAL_MS
from fencepost.fault_injection.faults.catalogue import require_backend
from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import ANY_BROKER
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.impl.sim.engine.recorder import NodeTrace
from fencepost.impl.sim.injectors.injector import FaultedWorld, SimulatedInjector
from fencepost.impl.sim.injectors.table import injector_of
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind, Phase
from fencepost.spec.vocabulary import BrokerId

LOOK_MS = 5
"""Between two looks at what brokers or clients carry out."""


@dataclass(slots=True)
class _Injected:
    """A fault that is not over."""

    timed: StoryAction
    broker_id: int | None
    injector: SimulatedInjector[Any]
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
        """`clients` are at work; faults may add to them."""
        self._cluster = cluster
        self._harness = harness
        at_work = [] if clients is None else clients
        self._world = FaultedWorld(cluster=cluster, harness=harness, clients=at_work)
        self._injected: dict[str, _Injected] = {}

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
        return frozenset(self._injected)

    @property
    def victims(self) -> frozenset[BrokerId]:
        """The brokers on which, alone, a fault acts that is not over."""
        found = (one.broker_id for one in self._injected.values())
        return frozenset(BrokerId(broker_id) for broker_id in found if broker_id is not None)

    def heal_all(self, keep: Collection[str] = ()) -> None:
        """Heal all faults but those of `keep`: awaited ones first, then in reverse order."""
        in_order = sorted(self._injected.items(), key=lambda item: item[1].injector.is_awaited)
        for fault_id, _ in reversed(in_order):
            if fault_id not in keep:
                self.heal(fault_id)

    def inject(self, timed: StoryAction) -> None:
        """Inject the fault now; it may have no effect."""
        target = timed.fault.victim
        broker_id = target.resolve(self._cluster.view())
        self._record(timed, Phase.INJECTING, broker_id, {})
        process = None
        if target != ANY_BROKER:
            process = self._cluster.processes.get(BrokerId(broker_id or 0))
            if process is None or not process.is_alive or process.is_paused:
                reason: Line = {"reason": "no such live broker"}
                self._record(timed, Phase.INEFFECTIVE, broker_id, reason)
                return
        injector = injector_of(timed.fault, self._world, process)
        try:
            injector.inject()
        except InjectionError as error:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": str(error)})
            return
        now_ms = self._cluster.scheduler.now_ms
        self._injected[timed.action_id] = _Injected(
            timed, broker_id, injector, Phase.INJECTING, now_ms
        )
        self._look(timed.action_id)

    def heal(self, fault_id: str) -> None:
        """Begin to heal the fault, if it is not over."""
        injected = self._injected.get(fault_id)
        if injected is None:
            return
        if injected.phase is Phase.INJECTING:
            self._give_up(injected, "it was to end before anything was seen of it")
        elif injected.phase is Phase.ACTIVE:
            self._move(injected, Phase.HEALING, {})
            self._look(fault_id)

    def _look(self, fault_id: str) -> None:
        """Take the step that is due; a fault that is active waits for its time."""
        injected = self._injected.get(fault_id)
        if injected is None:
            return
        if injected.phase is Phase.INJECTING:
            self._look_for_evidence(injected)
        elif injected.phase is Phase.HEALING:
            self._look_for_health(injected)
        if fault_id in self._injected and injected.phase is not Phase.ACTIVE:
            self._cluster.scheduler.after_ms(LOOK_MS, partial(self._look, fault_id))

    def _look_for_evidence(self, injected: _Injected) -> None:
        evidence = injected.injector.evidence()
        if evidence is not None:
            self._move(injected, Phase.ACTIVE, evidence)
            active_ms = injected.timed.fault.active_ms
            if active_ms is not None:
                heal = partial(self.heal, injected.timed.action_id)
                self._cluster.scheduler.after_ms(active_ms, heal)
        elif self._is_late(injected, EVIDENCE_MS):
            self._give_up(injected, f"nothing was seen of it in {EVIDENCE_MS} ms")

    def _look_for_health(self, injected: _Injected) -> None:
        injected.injector.heal()
        evidence = injected.injector.healed()
        if evidence is not None:
            had_effect = evidence.get("matched") != 0
            self._move(injected, Phase.HEALED if had_effect else Phase.INEFFECTIVE, evidence)
        elif self._is_late(injected, HEAL_MS):
            self._move(injected, Phase.FAILED, {"reason": f"not well after {HEAL_MS} ms"})

    def _give_up(self, injected: _Injected, reason: str) -> None:
        injected.injector.heal()
        self._move(injected, Phase.INEFFECTIVE, {"reason": reason})

    def _is_late(self, injected: _Injected, most_ms: int) -> bool:
        return self._cluster.scheduler.now_ms - injected.since_ms > most_ms

    def _move(self, injected: _Injected, phase: Phase, evidence: Line) -> None:
        injected.phase, injected.since_ms = phase, self._cluster.scheduler.now_ms
        self._record(injected.timed, phase, injected.broker_id, evidence)
        if phase not in (Phase.ACTIVE, Phase.HEALING):
            del self._injected[injected.timed.action_id]

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
