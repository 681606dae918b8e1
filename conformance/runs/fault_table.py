"""What runs on real processes showed of each kind of fault: was it done, seen, and undone?

The kinds come from the catalogue, the rest from the runs: a kind that no run has stands in the
table with nothing beside it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.faults.catalogue import kind_ids
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.spec.trace import Phase

COLUMNS = ("kind", "injected", "effective", "healed", "seconds", "at most", "evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """One kind: how often it was injected, effective and healed, and how long that took."""

    kind: str
    injected: int = 0
    effective: int = 0
    healed: int = 0
    """Undone, and the target well again; with evidence or without."""
    seconds: float | None = None
    """From injection to health, the median; None: it was never healed."""
    seconds_max: float | None = None
    evidence: str = ""
    """Of one of them."""

    @property
    def cells(self) -> list[str]:
        """As one line of the table."""
        times = ["-" if s is None else f"{s:.2f}" for s in (self.seconds, self.seconds_max)]
        counts = map(str, (self.injected, self.effective, self.healed))
        return [self.kind, *counts, *times, self.evidence or "-"]


def kind_rows(results: Iterable[ScenarioResult]) -> list[KindRow]:
    """One row for each kind that real processes can have."""
    reports = [report for result in results for report in result.faults]
    return [
        _row(kind, [report for report in reports if report.action.fault.kind == kind])
        for kind in kind_ids(Backend.REAL)
    ]


def undone_kinds(rows: Iterable[KindRow]) -> list[str]:
    """The kinds that no run has shown to take effect and to heal."""
    return [row.kind for row in rows if not row.effective]


def _row(kind: str, reports: Sequence[FaultReport]) -> KindRow:
    injected = [report for report in reports if report.injected_ns is not None]
    effective = [report for report in injected if report.is_effective]
    seconds = [report.seconds for report in effective if report.seconds is not None]
    return KindRow(
        kind=kind,
        injected=len(injected),
        effective=len(effective),
        healed=sum(report.phase is not Phase.FAILED for report in injected),
        seconds=median(seconds) if seconds else None,
        seconds_max=max(seconds, default=None),
        evidence=(effective[0].evidence or "")[:60] if effective else "",
    )
