"""Performs a schedule of faults on a simulated cluster, and records the phases of each."""

import json
from collections.abc import Callable
from functools import partial

from fault_injection.faults import (
    ANY_BROKER,
    ExpireSession,
    KillBroker,
    PauseBroker,
    RpcFault,
    as_json,
)
from fault_injection.schedule import TimedFault
from impl.sim.cluster import Cluster
from impl.sim.network import Rule
from impl.sim.process import Process
from impl.sim.recorder import NodeTrace
from impl.trace_lines import Line
from spec.trace import Kind, Phase
from spec.vocabulary import BrokerId

Heal = Callable[[], Line]
"""Undoes a fault; returns the evidence."""


class Injector:
    """Injects each fault at its time and heals it at its end, or at the end of the run."""

    def __init__(self, cluster: Cluster, harness: NodeTrace) -> None:
        self._cluster = cluster
        self._harness = harness
        self._active: dict[str, tuple[TimedFault, int, Heal]] = {}

    def plan(self, start_ms: int) -> None:
        """Every fault of the schedule will happen, counted from `start_ms`."""
        for timed in self._cluster.options.schedule.faults:
            self.plan_fault(timed, start_ms)

    def plan_fault(self, timed: TimedFault, start_ms: int) -> None:
        """The fault will happen at its time, counted from `start_ms`."""
        self._record(timed, Phase.PLANNED, None, {"at_ms": timed.at_ms, **as_json(timed.fault)})
        at_us = (start_ms + timed.at_ms) * 1000
        self._cluster.scheduler.at_us(at_us, partial(self._inject, timed))

    @property
    def victims(self) -> frozenset[BrokerId]:
        """Whom a fault that is not over acts upon."""
        return frozenset(BrokerId(broker_id) for _, broker_id, _ in self._active.values())

    def heal_all(self) -> None:
        """No fault is active any more, in reverse order of injection."""
        for fault_id in reversed(list(self._active)):
            self._heal(fault_id)

    def _inject(self, timed: TimedFault) -> None:
        fault = timed.fault
        target = fault.sender if isinstance(fault, RpcFault) else fault.target
        broker_id = target.resolve(self._cluster.view())
        process = self._cluster.processes.get(BrokerId(broker_id or 0))
        self._record(timed, Phase.INJECTING, broker_id, {})
        if process is None or not process.is_alive or process.is_paused:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": "no such live broker"})
            return
        heal = self._do(timed, process)
        if heal is None:
            self._record(timed, Phase.INEFFECTIVE, broker_id, {"reason": "nothing to act on"})
            return
        self._active[timed.fault_id] = (timed, process.broker_id, heal)
        self._record(timed, Phase.ACTIVE, process.broker_id, {})
        if fault.active_ms is not None:
            self._cluster.scheduler.after_ms(fault.active_ms, lambda: self._heal(timed.fault_id))

    def _heal(self, fault_id: str) -> None:
        if fault_id not in self._active:
            return
        timed, broker_id, heal = self._active.pop(fault_id)
        self._record(timed, Phase.HEALING, broker_id, {})
        evidence = heal()
        effective = evidence.get("matched") != 0
        phase = Phase.HEALED if effective else Phase.INEFFECTIVE
        self._record(timed, phase, broker_id, evidence)

    def _do(self, timed: TimedFault, process: Process) -> Heal | None:
        match timed.fault:
            case PauseBroker():
                return self._pause(process)
            case KillBroker():
                return self._kill(process)
            case ExpireSession():
                return self._expire(process)
            case RpcFault() as fault:
                return self._rule(fault, process)

    def _pause(self, process: Process) -> Heal:
        process.pause()

        def heal() -> Line:
            process.resume()
            return {}

        return heal

    def _kill(self, process: Process) -> Heal:
        process.kill()

        def heal() -> Line:
            process.die()
            self._cluster.start(process.broker_id)
            return {}

        return heal

    def _expire(self, process: Process) -> Heal | None:
        session_id = process.zookeeper.session_id
        if not session_id:
            return None
        self._cluster.zookeeper.end_session(session_id)
        return lambda: {"session_id": session_id}

    def _rule(self, fault: RpcFault, process: Process) -> Heal | None:
        receiver = fault.receiver.resolve(self._cluster.view())
        if receiver is None and fault.receiver != ANY_BROKER:
            return None
        rule = Rule(
            method=fault.method,
            sender=process.broker_id,
            receiver=-1 if receiver is None else receiver,
            topic=fault.topic,
            verb=fault.verb,
            count=fault.count,
        )
        self._cluster.network.rules.append(rule)

        def heal() -> Line:
            self._cluster.network.rules.remove(rule)
            for deliver in rule.held:
                deliver()
            return {"matched": rule.matched, "released": len(rule.held)}

        return heal

    def _record(
        self, timed: TimedFault, phase: Phase, broker_id: int | None, evidence: Line
    ) -> None:
        fault = timed.fault
        target = fault.sender if isinstance(fault, RpcFault) else fault.target
        self._harness.write(
            {
                "kind": Kind.FAULT,
                "action": fault.kind,
                "fault_id": timed.fault_id,
                "fault": fault.kind,
                "phase": phase,
                "target": str(target),
                "broker_id": broker_id,
                "detail": json.dumps(evidence, sort_keys=True) if evidence else None,
            }
        )
