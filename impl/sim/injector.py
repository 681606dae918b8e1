"""Performs a schedule of faults on a simulated cluster, and records the phases of each."""

import json
from functools import partial

from fault_injection.catalogue import require_backend
from fault_injection.fault_json import as_json
from fault_injection.fault_kind import Backend
from fault_injection.schedule import TimedFault
from fault_injection.targets import ANY_BROKER
from impl.sim.cluster import Cluster
from impl.sim.deeds import do_to, do_to_all
from impl.sim.link_deeds import Heal
from impl.sim.recorder import NodeTrace
from impl.trace_lines import Line
from spec.trace import Kind, Phase
from spec.vocabulary import BrokerId


class Injector:
    """Injects each fault at its time and heals it at its end, or at the end of the run."""

    def __init__(self, cluster: Cluster, harness: NodeTrace) -> None:
        self._cluster = cluster
        self._harness = harness
        self._active: dict[str, tuple[TimedFault, int | None, Heal]] = {}

    def plan(self, start_ms: int) -> None:
        """Every fault of the schedule will happen, counted from `start_ms`."""
        for timed in self._cluster.options.schedule.faults:
            self.plan_fault(timed, start_ms)

    def plan_fault(self, timed: TimedFault, start_ms: int) -> None:
        """The fault will happen at its time, counted from `start_ms`."""
        self.announce(timed)
        at_us = (start_ms + timed.at_ms) * 1000
        self._cluster.scheduler.at_us(at_us, partial(self.inject, timed))

    def announce(self, timed: TimedFault) -> None:
        """The fault is planned; raises `FaultError` for one that cannot be simulated."""
        require_backend(timed.fault_id, timed.fault.kind, Backend.SIM)
        self._record(timed, Phase.PLANNED, None, {"at_ms": timed.at_ms, **as_json(timed.fault)})

    def give_up(self, timed: TimedFault, reason: str) -> None:
        """The fault will not be injected."""
        self._record(timed, Phase.INEFFECTIVE, None, {"reason": reason})

    @property
    def active(self) -> frozenset[str]:
        """The faults that are not over."""
        return frozenset(self._active)

    @property
    def victims(self) -> frozenset[BrokerId]:
        """Whom a fault that is not over acts upon, alone."""
        return frozenset(BrokerId(b) for _, b, _ in self._active.values() if b is not None)

    def heal_all(self) -> None:
        """No fault is active any more, in reverse order of injection."""
        for fault_id in reversed(list(self._active)):
            self.heal(fault_id)

    def inject(self, timed: TimedFault) -> None:
        """The fault is active from now on, or has no effect."""
        fault = timed.fault
        target = fault.victim
        broker_id = target.resolve(self._cluster.view())
        self._record(timed, Phase.INJECTING, broker_id, {})
        if target == ANY_BROKER:
            self._activate(timed, None, do_to_all(fault, self._cluster))
            return
        process = self._cluster.processes.get(BrokerId(broker_id or 0))
        if process is None or not process.is_alive or process.is_paused:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": "no such live broker"})
            return
        heal = do_to(fault, self._cluster, process)
        if heal is None:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": "nothing to act on"})
            return
        self._activate(timed, process.broker_id, heal)

    def _activate(self, timed: TimedFault, broker_id: int | None, heal: Heal) -> None:
        self._active[timed.fault_id] = (timed, broker_id, heal)
        self._record(timed, Phase.ACTIVE, broker_id, {})
        active_ms = timed.fault.active_ms
        if active_ms is not None:
            self._cluster.scheduler.after_ms(active_ms, lambda: self.heal(timed.fault_id))

    def heal(self, fault_id: str) -> None:
        """The fault is over, if it was not before."""
        if fault_id not in self._active:
            return
        timed, broker_id, heal = self._active.pop(fault_id)
        self._record(timed, Phase.HEALING, broker_id, {})
        evidence = heal()
        effective = evidence.get("matched") != 0
        phase = Phase.HEALED if effective else Phase.INEFFECTIVE
        self._record(timed, phase, broker_id, evidence)

    def _record(
        self, timed: TimedFault, phase: Phase, broker_id: int | None, evidence: Line
    ) -> None:
        fault = timed.fault
        self._harness.write(
            {
                "kind": Kind.FAULT,
                "action": fault.kind,
                "fault_id": timed.fault_id,
                "fault": fault.kind,
                "phase": phase,
                "target": str(fault.victim),
                "broker_id": broker_id,
                "detail": json.dumps(evidence, sort_keys=True) if evidence else None,
            }
        )
