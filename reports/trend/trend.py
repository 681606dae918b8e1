"""Failover latencies over many runs: how they are spread, and where they have grown.

A latency belongs to a group: after one kind of fault, at one level, of one implementation. What was
late beside noise of the host is counted, and judged by no budget. A group has grown when its last
runs are slower than those before them, by more than two groups of like runs differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.analysis.budgets import PHASES, Budgets
from fencepost.reports.page.words import milliseconds
from fencepost.reports.trend.run_table import TabledRun

RECENT_RUNS = 10
"""The last ones, which are compared with all before them."""
EARLIER_RUNS_MIN = 5
GROWN = 1.25
"""Slower than that many times the same percentile of before is a regression."""
GROWN_MS_MIN = 50.0
"""Less is how long a busy machine may let a process wait."""

Times = NDArray[np.float64]


class Group(NamedTuple):
    """What latencies are compared under."""

    kind: str
    level: int
    implementation: str

    @property
    def words(self) -> str:
        """`proc.kill at level 2 of reference`."""
        level = "" if self.level < 0 else f" at level {self.level}"
        return f"{self.kind}{level} of {self.implementation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSpread:
    """One phase of one group over all runs."""

    group: Group
    phase: str
    runs: int
    count: int
    noisy: int
    """Beside noise of the host; not among the others."""
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    limit_ms: float

    @property
    def verdict(self) -> Verdict:
        """`FAIL` when more than one in a hundred is over the budget."""
        if not self.count:
            return Verdict.INCONCLUSIVE
        return Verdict.PASS if self.p99_ms <= self.limit_ms else Verdict.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLatency:
    """The failovers of one group in one run, from the fault to the first write."""

    run_id: str
    p50_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A percentile of a group that has grown."""

    group: Group
    phase: str
    before_ms: float
    now_ms: float
    since: str
    """The first of the runs that are slower."""

    @property
    def sentence(self) -> str:
        """For people."""
        return (
            f"After {self.group.words}, {self.phase} takes {milliseconds(self.now_ms)} (p95) in "
            f"the last {RECENT_RUNS} runs, from {self.since} on, and took "
            f"{milliseconds(self.before_ms)} before."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """What many runs tell together."""

    verdict: Verdict
    spreads: tuple[PhaseSpread, ...]
    regressions: tuple[Regression, ...]
    courses: Mapping[Group, tuple[RunLatency, ...]]
    """By run, the oldest first."""


def trend_of(runs: Sequence[TabledRun], budgets: Budgets) -> Trend:
    """Of runs in their order; `FAIL` when a budget is missed, `DEVIATES` when a group has grown."""
    found = _grouped(runs)
    spreads = [
        _spread(group, phase, own, budgets) for group, own in found.items() for phase in PHASES
    ]
    regressions = [
        grown
        for group, own in found.items()
        for phase in PHASES
        if (grown := _grown(group, phase, own, runs))
    ]
    verdicts = [spread.verdict for spread in spreads if spread.phase == "total" or spread.count]
    if regressions:
        verdicts.append(Verdict.DEVIATES)
    verdicts += [run.row.verdict for run in runs if run.row.violated]
    return Trend(
        verdict=worst(verdicts) if found else Verdict.VACUOUS,
        spreads=tuple(spreads),
        regressions=tuple(regressions),
        courses={group: _course(own, runs) for group, own in found.items()},
    )


class _Own(NamedTuple):
    """The failovers of a group, as columns."""

    run: NDArray[np.int64]
    """Its place among the runs, ascending."""
    noisy: NDArray[np.bool_]
    times: Mapping[str, Times]
    """Of each phase; NaN where it was not seen."""

    def seen(self, phase: str) -> NDArray[np.bool_]:
        """Those that count."""
        return ~self.noisy & ~np.isnan(self.times[phase])


def _grouped(runs: Iterable[TabledRun]) -> dict[Group, _Own]:
    parts: dict[Group, list[_Own]] = {}
    for place, run in enumerate(runs):
        kinds = np.array(run.failovers.column("kind").to_pylist(), object)
        noisy = np.array([bool(noise) for noise in run.failovers.column("noise").to_pylist()], bool)
        times = {
            phase: pc.fill_null(run.failovers.column(f"{phase}_ms"), np.nan).to_numpy()
            for phase in PHASES
        }
        for kind in sorted(set(kinds.tolist())):
            own = kinds == kind
            group = Group(kind, run.row.level, run.row.implementation)
            parts.setdefault(group, []).append(
                _Own(
                    np.full(int(own.sum()), place),
                    noisy[own],
                    {phase: values[own] for phase, values in times.items()},
                )
            )
    return {group: _joined(parts[group]) for group in sorted(parts)}


def _joined(parts: Sequence[_Own]) -> _Own:
    return _Own(
        np.concatenate([part.run for part in parts]),
        np.concatenate([part.noisy for part in parts]),
        {phase: np.concatenate([part.times[phase] for part in parts]) for phase in PHASES},
    )


def _spread(group: Group, phase: str, own: _Own, budgets: Budgets) -> PhaseSpread:
    seen = own.seen(phase)
    values = np.sort(own.times[phase][seen])
    fault = group.kind.partition(" ")[0]
    return PhaseSpread(
        group=group,
        phase=phase,
        runs=len(np.unique(own.run[seen])),
        count=len(values),
        noisy=int((own.noisy & ~np.isnan(own.times[phase])).sum()),
        p50_ms=_rank(values, 50),
        p95_ms=_rank(values, 95),
        p99_ms=_rank(values, 99),
        max_ms=_rank(values, 100),
        limit_ms=budgets.limit_ms(fault, phase),
    )


def _rank(ascending: Times, percent: int) -> float:
    """The smallest value that so many of a hundred do not exceed; 0 without any."""
    if not len(ascending):
        return 0.0
    return float(ascending[max(1, -(-len(ascending) * percent // 100)) - 1])


def _grown(group: Group, phase: str, own: _Own, runs: Sequence[TabledRun]) -> Regression | None:
    seen = own.seen(phase)
    of_runs, values = own.run[seen], own.times[phase][seen]
    distinct = np.unique(of_runs)
    if len(distinct) < RECENT_RUNS + EARLIER_RUNS_MIN:
        return None
    first = distinct[-RECENT_RUNS]
    before, now = np.sort(values[of_runs < first]), np.sort(values[of_runs >= first])
    is_grown = all(
        _rank(now, percent)
        > max(GROWN * _rank(before, percent), _rank(before, percent) + GROWN_MS_MIN)
        for percent in (50, 95)
    )
    if not is_grown:
        return None
    return Regression(
        group=group,
        phase=phase,
        before_ms=_rank(before, 95),
        now_ms=_rank(now, 95),
        since=runs[int(first)].row.run_id,
    )


def _course(own: _Own, runs: Sequence[TabledRun]) -> tuple[RunLatency, ...]:
    seen = own.seen("total")
    of_runs, values = own.run[seen], own.times["total"][seen]
    bounds = np.flatnonzero(np.diff(of_runs, prepend=-1))
    return tuple(
        RunLatency(
            run_id=runs[int(of_runs[start])].row.run_id,
            p50_ms=_rank(np.sort(part), 50),
            max_ms=float(part.max()),
        )
        for start, part in zip(bounds, np.split(values, bounds[1:]), strict=True)
        if len(part)
    )
