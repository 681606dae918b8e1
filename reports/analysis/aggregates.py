"""What the analysis of a run knows: plain values, bounded, saved as `aggregates.json`."""

from dataclasses import dataclass

import msgspec

from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.folder_report import CheckOutcome, FolderReport
from fencepost.reports.analysis.metrics import Failover, PhaseLatency
from fencepost.reports.analysis.timelines import Timeline
from fencepost.reports.tables.health import FileHealth

AGGREGATES = "aggregates.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverReport:
    """How long failovers took, against their budgets."""

    verdict: Verdict
    observed: int
    """Partitions that lost their leader by a fault while clients wrote to them."""
    complete: int
    """Of these, how many acknowledged a write again."""
    unfinished: tuple[str, ...]
    """Of the others, which they were, one sentence each."""
    latencies: tuple[PhaseLatency, ...]
    failovers: tuple[Failover, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The result of the stage `analyse`."""

    verdict: Verdict
    verdicts: dict[str, Verdict]
    """Of `checks`, `traces`, `failover` and, where a mutant's run is stored, `mutants`."""
    figures: dict[str, float]
    checks: tuple[CheckOutcome, ...]
    """Over all folders but those of mutants."""
    folders: tuple[FolderReport, ...]
    failover: FailoverReport
    timelines: tuple[Timeline, ...]
    health: tuple[FileHealth, ...]
    versions: dict[str, str]

    def to_json(self) -> bytes:
        """The same analysis gives the same bytes."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"


def not_analysed() -> Analysis:
    """The aggregates of a run before its traces are read."""
    failover = FailoverReport(
        verdict=Verdict.NOT_RUN,
        observed=0,
        complete=0,
        unfinished=(),
        latencies=(),
        failovers=(),
        left_out=0,
    )
    parts = ("checks", "failover", "mutants", "traces")
    return Analysis(
        verdict=Verdict.NOT_RUN,
        verdicts=dict.fromkeys(parts, Verdict.NOT_RUN),
        figures={},
        checks=(),
        folders=(),
        failover=failover,
        timelines=(),
        health=(),
        versions={},
    )
