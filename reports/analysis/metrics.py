"""The failover timeline: how long each phase took after each fault that removed a leader.

Times are CLOCK_MONOTONIC of one host. A failover starts when the harness begins to inject: the
later stamp of the fault's proven effect would hide the time that the proof took.

A failover that never completes has no latency, so it is told by the time for which clients asked
in vain. A leader that stays in office or comes back is acknowledged again, clients that stopped ask
for nothing, and a run that ends soon after the fault leaves little time: none of them is one.

A failover that was late while the host stood still shows nothing about the brokers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fencepost.conformance.runs.host_interference import HostInterference
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.budgets import PHASES, Budgets
from fencepost.reports.analysis.tenures import Leadership, SharedRow, Tenure, Unserved

LEADER_FAULTS = ("proc.kill", "proc.pause", "zk.expire")
"""Faults that can take a leader away."""

OF_CONTROLLER = " (controller)"
"""Added to the kind when the victim was the active controller, which delays detection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One fault that took effect."""

    folder: int
    fault_id: str
    fault: str
    broker_id: int
    target: str
    start_ns: int
    end_ns: int | None
    """When the harness began to heal; None when the run ended first."""
    was_controller: bool

    @property
    def kind(self) -> str:
        """What the latencies are grouped by."""
        return self.fault + (OF_CONTROLLER if self.was_controller else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """One partition that lost its leader by a fault; None where a phase was not seen."""

    folder: int
    kind: str
    fault: str
    topic: str
    partition: int
    old_leader: int
    new_leader: int
    """-1 when no other broker came."""
    phases_ms: dict[str, float | None]
    waited_ms: float | None = None
    """How long clients asked in vain, up to the last of them; None when they were served."""
    noise: str = ""
    """Why its length says nothing about the brokers; empty when it does."""

    @property
    def is_complete(self) -> bool:
        """True when the new leader acknowledged a write."""
        return self.phases_ms["total"] is not None

    def is_unfinished(self, limit_ms: float) -> bool:
        """True when clients asked in vain for longer than that."""
        return self.waited_ms is not None and self.waited_ms > limit_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLatency:
    """One phase after one kind of fault."""

    kind: str
    phase: str
    count: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    limit_ms: float
    noise: str = ""
    """Of a missed budget, when all that was late was beside noise of the host: which."""

    @property
    def is_within(self) -> bool:
        """True when the slowest observation met the budget."""
        return self.max_ms <= self.limit_ms

    @property
    def verdict(self) -> Verdict:
        """`INCONCLUSIVE` when what missed the budget was beside noise."""
        if self.is_within:
            return Verdict.PASS
        return Verdict.INCONCLUSIVE if self.noise else Verdict.FAIL


def occurrences(shared: Sequence[SharedRow]) -> tuple[Occurrence, ...]:
    """The faults of all folders that took effect, in the order in which they began."""
    found = []
    for active in (row for row in shared if row.phase == "active" and row.fault_id is not None):
        own = [
            row for row in shared if (row.folder, row.fault_id) == (active.folder, active.fault_id)
        ]
        start_ns = _first(own, "injecting") or active.mono_ns
        found.append(
            Occurrence(
                folder=active.folder,
                fault_id=active.fault_id or "",
                fault=active.fault or "",
                broker_id=-1 if active.broker_id is None else active.broker_id,
                target=active.target or "",
                start_ns=start_ns,
                end_ns=_first(own, "healing") or _first(own, "healed"),
                was_controller=_controller_at(shared, active.folder, start_ns) == active.broker_id,
            )
        )
    return tuple(sorted(found, key=lambda fault: (fault.folder, fault.start_ns, fault.fault_id)))


def failovers(leadership: Leadership) -> tuple[Failover, ...]:
    """What followed each fault that removed a leader, by folder, time, topic and partition."""
    faults = occurrences(leadership.shared)
    found = []
    for index, fault in enumerate(faults):
        if fault.fault in LEADER_FAULTS:
            again = [f for f in faults[index + 1 :] if _takes_again(f, fault)]
            until_ns = again[0].start_ns if again else None
            noise = leadership.noise.get(fault.folder, HostInterference())
            found += [_beside(noise, fault, f) for f in _after(fault, until_ns, leadership)]
    return tuple(found)


def latencies(found: Iterable[Failover], budgets: Budgets) -> tuple[PhaseLatency, ...]:
    """Percentiles per kind of fault and phase, kinds sorted, phases in their order."""
    seen: dict[tuple[str, str, int], list[tuple[float, str]]] = {}
    for failover in found:
        for place, phase in enumerate(PHASES):
            value = failover.phases_ms[phase]
            if value is not None:
                seen.setdefault((failover.kind, failover.fault, place), []).append(
                    (value, failover.noise)
                )
    return tuple(
        _latency(kind, PHASES[place], sorted(values), budgets.limit_ms(fault, PHASES[place]))
        for (kind, fault, place), values in sorted(seen.items())
    )


def percentile(ascending: Sequence[float], fraction: float) -> float:
    """The smallest value that at least `fraction` of the values do not exceed (nearest rank)."""
    rank = max(1, -(-len(ascending) * round(fraction * 1000) // 1000))
    return ascending[rank - 1]


def _latency(
    kind: str, phase: str, observed: Sequence[tuple[float, str]], limit_ms: float
) -> PhaseLatency:
    values = [value for value, _ in observed]
    late = [noise for value, noise in observed if value > limit_ms]
    return PhaseLatency(
        kind=kind,
        phase=phase,
        count=len(values),
        p50_ms=percentile(values, 0.5),
        p99_ms=percentile(values, 0.99),
        max_ms=values[-1],
        limit_ms=limit_ms,
        noise=late[-1] if late and all(late) else "",
    )


def _beside(noise: HostInterference, fault: Occurrence, failover: Failover) -> Failover:
    """The failover with the noise that there was from the fault to its last known phase."""
    total_ms = failover.phases_ms["total"]
    spent_ms = sum(filter(None, failover.phases_ms.values())) if total_ms is None else total_ms
    if not spent_ms:
        return failover
    until_ns = fault.start_ns + round(spent_ms * 1e6)
    return replace(failover, noise=noise.beside(fault.start_ns, until_ns))


def _after(fault: Occurrence, until_ns: int | None, leadership: Leadership) -> list[Failover]:
    by_partition: dict[tuple[str, int], list[Tenure]] = {}
    for tenure in leadership.tenures:
        if tenure.folder == fault.folder:
            by_partition.setdefault((tenure.topic, tenure.partition), []).append(tenure)
    in_vain = {
        (row.topic, row.partition): row for row in leadership.unserved if row.folder == fault.folder
    }
    found = []
    for key, tenures in sorted(by_partition.items()):
        waited_ms = _waited_ms(fault, in_vain.get(key))
        heir = _heir(tenures, fault, until_ns)
        if heir is not None and not _went_again(fault, heir, leadership.shared):
            found.append(_failover(fault, heir, tenures, leadership.shared, waited_ms))
        elif waited_ms is not None and _is_orphaned(tenures, fault):
            found.append(_without_heir(fault, key, waited_ms))
    return found


def _waited_ms(fault: Occurrence, row: Unserved | None) -> float | None:
    if row is None or row.last_ns < fault.start_ns:
        return None
    return _elapsed_ms(max(row.first_ns, fault.start_ns), row.last_ns)


def _is_orphaned(tenures: Sequence[Tenure], fault: Occurrence) -> bool:
    """True when the fault hit the leader, and no write was acknowledged after it was healed."""
    before, _ = _split(tenures, fault)
    if not before or before[-1].leader != fault.broker_id:
        return False
    served = [t.last_acknowledged_ns for t in tenures if t.last_acknowledged_ns is not None]
    return fault.end_ns is None or max(served, default=fault.end_ns) <= fault.end_ns


def _without_heir(fault: Occurrence, key: tuple[str, int], waited_ms: float) -> Failover:
    return Failover(
        folder=fault.folder,
        kind=fault.kind,
        fault=fault.fault,
        topic=key[0],
        partition=key[1],
        old_leader=fault.broker_id,
        new_leader=-1,
        phases_ms=dict.fromkeys(PHASES),
        waited_ms=waited_ms,
    )


def _split(tenures: Sequence[Tenure], fault: Occurrence) -> tuple[list[Tenure], list[Tenure]]:
    """The tenures that had begun when the fault did, and those that began later."""
    before = [t for t in tenures if _known(t) is not None and (_known(t) or 0) <= fault.start_ns]
    after = [t for t in tenures if t not in before and _known(t) is not None]
    return before, after


def _heir(tenures: Sequence[Tenure], fault: Occurrence, until_ns: int | None) -> Tenure | None:
    """The tenure that followed the one which the fault ended, when the leader changed."""
    before, after = _split(tenures, fault)
    if not before or before[-1].leader != fault.broker_id or not after:
        return None
    heir = after[0]
    if heir.partition_incarnation != before[-1].partition_incarnation:
        return None  # the first leader of a partition that was created again has no predecessor
    is_ours = until_ns is None or (_known(heir) or 0) < until_ns
    is_change = heir.leader not in {None, -1, fault.broker_id}
    return heir if is_ours and is_change else None


def _went_again(fault: Occurrence, heir: Tenure, shared: Sequence[SharedRow]) -> bool:
    """True when controllers saw the broker back before the view on which they chose the heir.

    A session that is opened anew before the controller reads removes no leader. What makes the
    broker go later, such as the end of the run, has nothing to do with this fault.
    """
    back_ns, is_seen = None, False
    for row in shared:
        if row.folder != fault.folder or row.mono_ns < fault.start_ns:
            continue
        if row.action == "RegisterBroker" and row.node == f"broker-{fault.broker_id}":
            back_ns = row.mono_ns
        is_view = row.action == "DetectBrokerChange" and row.live_brokers is not None
        if not is_view or (heir.decided_ns is not None and row.mono_ns > heir.decided_ns):
            continue
        if fault.broker_id in (row.live_brokers or ()):
            is_seen = is_seen or back_ns is not None
        elif is_seen:
            return True
    return False


def _known(tenure: Tenure) -> int | None:
    """When a tenure began for the world: with its publication, else with the leader's obedience."""
    return tenure.published_ns if tenure.published_ns is not None else tenure.leading_ns


def _term(tenure: Tenure) -> tuple[int, int]:
    return tenure.partition_incarnation, tenure.leader_epoch


def _failover(
    fault: Occurrence,
    new: Tenure,
    tenures: Sequence[Tenure],
    shared: Sequence[SharedRow],
    waited_ms: float | None,
) -> Failover:
    later = [t.first_acknowledged_ns for t in tenures if _term(t) >= _term(new)]
    acknowledged = [stamp for stamp in later if stamp is not None]
    stamps = [
        fault.start_ns,
        _detected(fault, new.decided_ns, shared),
        new.decided_ns,
        new.published_ns,
        new.told_ns,
        new.leading_ns,
        min(acknowledged, default=None),
    ]
    phases = {
        phase: _elapsed_ms(earlier, later_one)
        for phase, earlier, later_one in zip(PHASES, stamps, stamps[1:], strict=False)
    }
    phases["total"] = _elapsed_ms(stamps[0], stamps[-1])
    return Failover(
        folder=fault.folder,
        kind=fault.kind,
        fault=fault.fault,
        topic=new.topic,
        partition=new.partition,
        old_leader=fault.broker_id,
        new_leader=-1 if new.leader is None else new.leader,
        phases_ms=phases,
        waited_ms=waited_ms if phases["total"] is None else None,
    )


def _detected(fault: Occurrence, decided_ns: int | None, shared: Sequence[SharedRow]) -> int | None:
    """When a controller first knew: it saw the broker gone, or took office after it."""
    for row in shared:
        if row.folder != fault.folder or row.mono_ns < fault.start_ns:
            continue
        saw_it_gone = row.action == "DetectBrokerChange" and fault.broker_id not in (
            row.live_brokers or [fault.broker_id]
        )
        took_office = (
            fault.was_controller
            and row.action == "ElectController"
            and row.controller_id != fault.broker_id
        )
        if saw_it_gone or took_office:
            return row.mono_ns if decided_ns is None or row.mono_ns <= decided_ns else None
    return None


def _elapsed_ms(earlier: int | None, later: int | None) -> float | None:
    if earlier is None or later is None or later < earlier:
        return None
    return round((later - earlier) / 1e6, 3)


def _controller_at(shared: Sequence[SharedRow], folder: int, at_ns: int) -> int | None:
    elected = [
        row.controller_id
        for row in shared
        if row.folder == folder and row.action == "ElectController" and row.mono_ns <= at_ns
    ]
    return elected[-1] if elected else None


def _takes_again(later: Occurrence, fault: Occurrence) -> bool:
    same = (later.folder, later.broker_id) == (fault.folder, fault.broker_id)
    return same and later.fault in LEADER_FAULTS


def _first(rows: Iterable[SharedRow], phase: str) -> int | None:
    return min((row.mono_ns for row in rows if row.phase == phase), default=None)
