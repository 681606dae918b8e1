"""Runs of millions of lines, from NDJSON to the page, by the command that people call.

`python -m fencepost.ci.bench.reports.whole_runs [EVENTS [PARTITIONS]]` makes a run of so many
events and one of twice as many, and asks for their reports. Told are microseconds of processor per
event, of Java's and Python's processes together; how many times the smaller run the larger one
took; the most memory that one Python process held; and the size of the page. What is broken in the
traces must be found, with the events that prove it, or the bench ends.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import msgspec

from fencepost.ci.bench.measured import Measured, show_measured
from fencepost.ci.bench.reports.made_traces import MadeTrace, make_trace
from fencepost.reports.analysis.aggregates import AGGREGATES, Analysis
from fencepost.reports.analysis.folder_report import FoundViolation
from fencepost.spec.vocabulary import Invariant

EVENTS = 5_000_000
PARTITIONS = 200
SAMPLE_S = 0.5
TARGET_US = 7.0
GROWTH_TARGET = 2.1
PAGE_TARGET_MB = 2.0
MEMORY_TARGET_MB = 2000.0
VIOLATED = 1
"""Exit code of a report that tells of a violation."""
KIB_PER_MB = 1000.0
MICROSECONDS = 1e6
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
REPORT = "report.html"


@dataclass(slots=True)
class _Usage:
    """What the processes of one session have used, as far as samples tell."""

    seconds: dict[int, float] = field(default_factory=dict)
    """Of processor, by process."""
    worker_mb: float = 0.0
    """The most that one process of Python ever held."""

    def sample(self, session: int) -> None:
        """Look at all its processes."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                name, _, told = (folder / "stat").read_text().rpartition(")")
                fields = told.split()
                if int(fields[3]) != session:
                    continue
                spent = (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
                self.seconds[int(folder.name)] = spent
                if "java" not in name:
                    self.worker_mb = max(self.worker_mb, _peak_mb(folder))
            except (OSError, IndexError):  # it has ended meanwhile
                continue


def _peak_mb(folder: Path) -> float:
    lines = (folder / "status").read_text().splitlines()
    told = next((line for line in lines if line.startswith("VmHWM:")), "VmHWM: 0")
    return int(told.split()[1]) / KIB_PER_MB


def _reported(run: Path) -> _Usage:
    """What the report of a run has cost; raises `SystemExit` unless it tells of a violation."""
    command = [sys.executable, "-m", "fencepost.ci", "report", str(run)]
    usage = _Usage()
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            usage.sample(process.pid)
            sleep(SAMPLE_S)
    if process.returncode != VIOLATED:
        raise SystemExit(f"the report of {run} ended with {process.returncode}, not {VIOLATED}")
    return usage


def require_witnesses(run: Path, made: MadeTrace) -> None:
    """Raises `SystemExit` unless just what is broken was found, with the events that prove it."""
    analysis = msgspec.json.decode((run / AGGREGATES).read_bytes(), type=Analysis)
    (folder,) = analysis.folders
    found = {check.invariant: check.violations for check in folder.checks if check.violations}
    lost = _proven(found.get(Invariant.ACKNOWLEDGED_DURABLE, ()), made.lost_at)
    twice = _proven(found.get(Invariant.LINEARIZABLE_LOG, ()), made.twice_at)
    told = {one.partition for violations in found.values() for one in violations}
    if lost != made.lost or twice != made.twice or told != lost | twice:
        broken = (
            f"records are lost in {sorted(made.lost)}, acknowledged twice in {sorted(made.twice)}"
        )
        raise SystemExit(f"{broken}; proven {sorted(lost)} and {sorted(twice)}")


def _proven(violations: tuple[FoundViolation, ...], offset: int) -> set[int]:
    """The partitions of which a violation names the offset, with the produce that it betrays."""
    return {
        one.partition
        for one in violations
        if one.partition is not None
        and f"ffset {offset} " in one.message
        and any(_is_produce_at(line.line, offset) for line in one.witness)
    }


def _is_produce_at(line: str, offset: int) -> bool:
    event = msgspec.json.decode(line)
    return bool(event["action"] == "Produce" and event.get("offset") == offset)


def whole_runs(events: int, partitions: int) -> Iterator[Measured]:
    """A run of so many events, then one of twice as many."""
    spent = []
    for times in (1, 2):
        with TemporaryDirectory() as scratch:
            run = Path(scratch) / "run"
            made = make_trace(run, times * events, partitions, is_broken=True)
            usage = _reported(run)
            require_witnesses(run, made)
            page_mb = (run / REPORT).stat().st_size / MICROSECONDS
        spent.append(sum(usage.seconds.values()))
        size = f"{made.events:,} events, {partitions} partitions"
        cost = spent[-1] * MICROSECONDS / made.events
        yield _line("lines to page", size, cost, TARGET_US, "us/event")
        yield _line("memory of a worker", size, usage.worker_mb, MEMORY_TARGET_MB, "MB")
        yield _line("page", size, page_mb, PAGE_TARGET_MB, "MB")
    size = f"{spent[0]:.0f} and {spent[1]:.0f} s of processor"
    yield _line("twice the events", size, spent[1] / spent[0], GROWTH_TARGET, "times")


def _line(what: str, size: str, figure: float, target: float, unit: str) -> Measured:
    return Measured(what=what, size=size, figure=figure, target=target, unit=unit)


if __name__ == "__main__":
    wanted = [int(number) for number in sys.argv[1:]]
    show_measured("whole runs", whole_runs(*[*wanted, *(EVENTS, PARTITIONS)[len(wanted) :]]))
