"""What a report costs: `python -m fencepost.ci.bench.reports.speed [EVENTS]`.

Seconds of processor per event, not of time, so that a busy machine changes little; the functions
that Spark's tasks call, without Spark. Beside them what reading alone costs, and the definition of
each check without kernels. What is broken in the traces must be found, or the bench ends.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from resource import RLIMIT_AS, RUSAGE_SELF, getrusage, setrlimit
from tempfile import TemporaryDirectory
from time import process_time

import pyarrow.json as pj
import pyarrow.parquet as pq

from fencepost.ci.bench.measured import Measured, show_measured
from fencepost.ci.bench.reports.made_runs import made_runs
from fencepost.ci.bench.reports.made_traces import MadeTrace, make_trace
from fencepost.reports.analysis.analyse import span_of
from fencepost.reports.kernels import two_stages
from fencepost.reports.tables.folders import trace_folders
from fencepost.reports.tables.ingest import bucket_count, convert_file
from fencepost.reports.tables.parts import FileTask
from fencepost.reports.tables.pieces import CROWDED_ROWS
from fencepost.reports.tables.schema import arrow_schema
from fencepost.reports.tables.violations import Findings, combine, judge_task, judge_tasks
from fencepost.reports.trend.page import write_trend
from fencepost.reports.trend.run_table import add_runs
from fencepost.reports.trend.trend import RECENT_RUNS
from fencepost.spec.vocabulary import Invariant

EVENTS = 300_000
HOT_EVENTS = 3 * CROWDED_ROWS
"""At the least: half of them are too many for a task, too."""
PARTITIONS = 200
MICROSECONDS = 1e6
INGEST_TARGET_US = 6.0
CHECKS_TARGET_US = 1.0
HOT_TARGET_US = 10.0
HOT_WELL_TARGET_US = 2.0
BYTES_TARGET = 30.0
MEMORY_TARGET_MB = 2000.0
MEMORY_BYTES_MAX = int(MEMORY_TARGET_MB * 1e6)
"""Of address space, while one partition is ingested and judged: what wants more fails."""
NOTHING_RESERVED = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""What libraries reserve, and never touch, is no memory; a limit of address space counts it."""
KIB_PER_MB = 1000.0
RUNS = 1000
TREND_TARGET_S = 10.0


class _Report:
    """One run folder, and what its steps cost."""

    def __init__(self, run: Path, made: MadeTrace) -> None:
        self.run = run
        self.made = made
        self.target = run / "columns"

    def ingest(self) -> None:
        (folder,) = trace_folders(self.run)
        buckets = bucket_count(folder)
        self.health = [
            convert_file(FileTask(folder=0, source=self.run / name, buckets=buckets), self.target)
            for name in folder.files
        ]

    def judge(self) -> None:
        tasks = judge_tasks(self.target, {0: span_of(0, self.health)})
        self.findings = combine([judge_task(task, self.target) for task in tasks])

    def parse_alone(self) -> None:
        options = pj.ParseOptions(explicit_schema=arrow_schema())
        for path in self.run.glob("trace-*.ndjson"):
            pj.read_json(path, pj.ReadOptions(use_threads=False), options)

    def scan_alone(self) -> None:
        for path in self.files:
            pq.read_table(path, partitioning=None, use_threads=False)

    @property
    def files(self) -> list[Path]:
        return sorted(self.target.rglob("*.parquet"))

    def cost(self, step: Callable[[], None]) -> float:
        """Microseconds of processor per event."""
        begun = process_time()
        step()
        return (process_time() - begun) * MICROSECONDS / self.made.events


def many_partitions(events: int) -> Iterator[Measured]:
    """A run of many partitions, of which few have something broken."""
    with TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        report = _Report(run, make_trace(run, events, PARTITIONS, is_broken=True))
        size = f"{report.made.events:,} events, {PARTITIONS} partitions"
        limit = report.cost(report.parse_alone)
        cost = report.cost(report.ingest)
        parts = f"{limit:.1f} us of it for Arrow to parse JSON"
        yield _line("ingest", size, cost, INGEST_TARGET_US, parts)
        stored = sum(path.stat().st_size for path in report.files) / report.made.events
        told = f"{report.made.size / report.made.events:.0f} bytes a line"
        yield Measured(what="Parquet", size=told, figure=stored, target=BYTES_TARGET, unit="bytes")
        limit, cost = report.cost(report.scan_alone), report.cost(report.judge)
        require_found(report)
        yield _line("checks", size, cost, CHECKS_TARGET_US, f"{limit:.1f} us to read all columns")
        found, kernels = report.findings, two_stages.FEW_ROWS
        two_stages.FEW_ROWS = sys.maxsize
        cost = report.cost(report.judge)
        two_stages.FEW_ROWS = kernels
        if report.findings.judged != found.judged:
            raise SystemExit("the kernels find something else than the definitions")
        yield _line("checks by definition alone", size, cost, CHECKS_TARGET_US)


def hot_partition(events: int) -> Iterator[Measured]:
    """One partition: linear when twice the events cost as much for each.

    It is judged in pieces, and twice the events need little more memory.
    """
    for what, target_us in (("all is well", HOT_WELL_TARGET_US), ("violated", HOT_TARGET_US)):
        for share in (2, 1):
            asked = max(events, HOT_EVENTS) // share, what == "violated"
            with TemporaryDirectory() as scratch, _own_process() as alone:
                judged = alone.submit(_judge_hot, Path(scratch) / "run", *asked)
                made, cost, peak_mb = judged.result()
            size = f"{made:,} events, 1 partition"
            yield _line(f"checks, {what}", size, cost, target_us)
            target = MEMORY_TARGET_MB
            yield Measured(
                what="memory of these", size=size, figure=peak_mb, target=target, unit="MB"
            )


def _own_process() -> ProcessPoolExecutor:
    os.environ |= NOTHING_RESERVED
    return ProcessPoolExecutor(1, get_context("spawn"))


def _judge_hot(run: Path, events: int, is_broken: bool) -> tuple[int, float, float]:
    """Events, microseconds per event, and the most that this process ever held.

    It ends with `MemoryError` when that is more than `MEMORY_BYTES_MAX`.
    """
    report = _Report(run, make_trace(run, events, 1, is_broken=is_broken))
    setrlimit(RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    report.ingest()
    cost = report.cost(report.judge)
    require_found(report)
    return report.made.events, cost, getrusage(RUSAGE_SELF).ru_maxrss / KIB_PER_MB


def many_runs() -> Iterator[Measured]:
    """The page of a table of many runs, of which the last ones are slower."""
    with TemporaryDirectory() as scratch:
        table = Path(scratch)
        add_runs(table, made_runs(RUNS, slow_from=RUNS - RECENT_RUNS))
        begun = process_time()
        _, trend = write_trend(table)
        cost = process_time() - begun
    if not trend.regressions:
        raise SystemExit("the table's regressions were not found")
    yield Measured(what="trend", size=f"{RUNS:,} runs", figure=cost, target=TREND_TARGET_S)


def require_found(report: _Report) -> None:
    """Raises `SystemExit` unless just what is broken was found."""
    log = _violated(report.findings, Invariant.LINEARIZABLE_LOG)
    durable = _violated(report.findings, Invariant.ACKNOWLEDGED_DURABLE)
    broken = report.made.lost | report.made.twice
    if not (broken == log == durable):
        raise SystemExit(f"broken are partitions {sorted(broken)}, found {sorted(log | durable)}")


def _violated(findings: Findings, invariant: Invariant) -> set[int]:
    (one,) = (part.result for part in findings.judged if part.result.invariant == invariant)
    return {found.partition for found in one.violations if found.partition is not None}


def _line(what: str, size: str, cost: float, target: float, parts: str = "") -> Measured:
    return Measured(what=what, size=size, figure=cost, target=target, unit="us/event", parts=parts)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    show_measured("reports", chain(many_partitions(wanted), hot_partition(wanted), many_runs()))
