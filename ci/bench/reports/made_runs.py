"""Runs for a table: each with some failovers, their lengths drawn from one seed."""

from collections.abc import Sequence
from random import Random

import pyarrow as pa

from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.budgets import PHASES
from fencepost.reports.trend.run_table import FAILOVER_SCHEMA, RunRow, TabledRun

FAILOVERS_EACH = 12
LOG_MEDIAN_MS = 6.5
"""Of the lengths; their logarithms are normal."""
LOG_DEVIATION = 0.3


def made_runs(runs: int, *, slow_from: int | None = None, seed: int = 16) -> list[TabledRun]:
    """The oldest first; from `slow_from` on their failovers take twice as long."""
    chance = Random(seed)
    return [
        made_run(
            number,
            [
                chance.lognormvariate(LOG_MEDIAN_MS, LOG_DEVIATION)
                * (2 if slow_from is not None and number >= slow_from else 1)
                for _ in range(FAILOVERS_EACH)
            ],
        )
        for number in range(runs)
    ]


def made_run(
    number: int, totals_ms: Sequence[float], *, noise: str = "", level: int = 2
) -> TabledRun:
    """A run in which failovers took so long."""
    row = RunRow(
        run_id=f"run-{number:04}",
        begun_ns=number,
        level=level,
        implementation="reference",
        scenario="leader_killed",
        verdict=Verdict.PASS,
        violated=(),
        events=1000,
        digest=str(number),
    )
    rows = [_failover(place, total_ms, noise) for place, total_ms in enumerate(totals_ms)]
    return TabledRun(row=row, failovers=pa.Table.from_pylist(rows, schema=FAILOVER_SCHEMA))


def _failover(partition: int, total_ms: float, noise: str) -> dict[str, object]:
    return {
        **{f"{phase}_ms": total_ms / len(PHASES) for phase in PHASES},
        "total_ms": total_ms,
        "kind": "proc.kill",
        "fault": "proc.kill",
        "topic": "orders",
        "partition": partition,
        "old_leader": 1,
        "new_leader": 2,
        "noise": noise,
    }
