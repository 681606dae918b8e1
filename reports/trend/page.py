"""The page of a table of runs: what they found, and how long their failovers took."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.budgets import PHASES, budgets_of
from fencepost.reports.page import svg
from fencepost.reports.page.page import html_of
from fencepost.reports.page.render import REPORT
from fencepost.reports.page.views import Figure
from fencepost.reports.page.words import count, milliseconds
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.trend.run_table import RunRow, read_runs
from fencepost.reports.trend.trend import Group, PhaseSpread, RunLatency, Trend, trend_of

LISTED_RUNS = 50
"""Runs with a violation that are named; all are counted."""
POINTS_MAX = 240
"""Of a course: of more runs, neighbours are one point."""
WIDTH, HEIGHT, LEFT, TOP = 1080.0, 150.0, 80.0, 10.0
NARROW = 340.0
"""Of the picture in the window of a phone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRow:
    """Runs of one implementation at one level."""

    implementation: str
    level: str
    runs: int
    violated: int
    undecided: int
    """Neither violated nor passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A group of failovers."""

    title: str
    phases: tuple[PhaseSpread, ...]
    course: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPage:
    """What the template shows."""

    verdict: Verdict
    headline: str
    subline: str
    figures: tuple[Figure, ...]
    regressions: tuple[str, ...]
    groups: tuple[GroupView, ...]
    kinds: tuple[RunsRow, ...]
    violated: tuple[RunRow, ...]
    omitted: int
    """Runs with a violation that are not listed."""


def write_trend(table: Path) -> tuple[Path, Trend]:
    """Write the page of a table into it; the same table gives the same bytes.

    Raises `ReportError` when there is no run in it, or the folder refuses the file.
    """
    runs = read_runs(table)
    trend = trend_of(runs, budgets_of(table))
    page = trend_page([run.row for run in runs], trend)
    target = table / REPORT
    try:
        target.write_text(html_of("trend.html.j2", page), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ReportError(
            f"{target} cannot be written ({error.strerror})", "copy the table to a folder of yours"
        ) from error
    return target, trend


def trend_page(rows: Sequence[RunRow], trend: Trend) -> TrendPage:
    """In words and values."""
    violated = [row for row in rows if row.violated]
    late = [spread for spread in trend.spreads if spread.verdict is Verdict.FAIL]
    failovers = sum(spread.count for spread in trend.spreads if spread.phase == "total")
    return TrendPage(
        verdict=trend.verdict,
        headline=_headline(len(violated), late, trend),
        subline=f"{count(len(rows), 'run')}, {count(failovers, 'failover')}.",
        figures=(
            Figure(value=f"{len(rows):,}", label="runs"),
            Figure(value=f"{sum(row.events for row in rows):,}", label="events"),
            Figure(value=f"{failovers:,}", label="failovers"),
            Figure(value=f"{len(violated):,}", label="runs with a violation"),
            Figure(value=f"{len(late):,}", label="budgets missed"),
            Figure(value=f"{len(trend.regressions):,}", label="regressions"),
        ),
        regressions=tuple(one.sentence for one in trend.regressions),
        groups=tuple(_group_view(group, trend) for group in trend.courses),
        kinds=_kinds(rows),
        violated=tuple(violated[-LISTED_RUNS:]),
        omitted=max(0, len(violated) - LISTED_RUNS),
    )


def _headline(violated: int, late: Sequence[PhaseSpread], trend: Trend) -> str:
    if violated:
        return f"{count(violated, 'run')} violated an invariant."
    if late:
        worst = max(late, key=lambda spread: spread.p99_ms / spread.limit_ms)
        return (
            f"After {worst.group.words}, {worst.phase} takes {milliseconds(worst.p99_ms)} (p99); "
            f"its budget is {milliseconds(worst.limit_ms)}."
        )
    if trend.regressions:
        return trend.regressions[0].sentence
    if not trend.courses:
        return "No run measured a failover."
    return "Every failover phase is within its budget."


def _kinds(rows: Sequence[RunRow]) -> tuple[RunsRow, ...]:
    keys = [(row.implementation, row.level) for row in rows]
    runs = Counter(keys)
    violated = Counter(key for key, row in zip(keys, rows, strict=True) if row.violated)
    undecided = Counter(
        key
        for key, row in zip(keys, rows, strict=True)
        if not row.violated and row.verdict is not Verdict.PASS
    )
    return tuple(
        RunsRow(
            implementation=key[0],
            level="—" if key[1] < 0 else str(key[1]),
            runs=number,
            violated=violated[key],
            undecided=undecided[key],
        )
        for key, number in sorted(runs.items())
    )


def _group_view(group: Group, trend: Trend) -> GroupView:
    own = [spread for spread in trend.spreads if spread.group == group]
    (total,) = (spread for spread in own if spread.phase == PHASES[-1])
    told = tuple(spread for spread in own if spread.count or spread.noisy)
    course = Markup("").join(
        _picture(trend.courses[group], total.limit_ms, group.words, width, css)
        for width, css in ((WIDTH, "wide"), (NARROW, "narrow"))
    )
    return GroupView(title=group.words, phases=told, course=course)


def _picture(
    course: Sequence[RunLatency], limit_ms: float, title: str, width: float, css: str
) -> Markup:
    """The median and the slowest of each run, against the budget; `width` as the window's."""
    points = _thinned(course)
    top = max([limit_ms, *(highest for _, highest in points)]) * 1.05
    step = (width - LEFT) / max(1, len(points) - 1)

    def y(value: float) -> float:
        return TOP + HEIGHT * (1 - value / top)

    def moves(values: Sequence[float]) -> str:
        places = (
            f"{svg.number(LEFT + at * step)} {svg.number(y(v))}" for at, v in enumerate(values)
        )
        return "M" + " L".join(places)

    lines = [
        svg.path(moves([value for value, _ in points]), "course"),
        svg.path(moves([highest for _, highest in points]), "course highest"),
    ]
    return svg.picture(
        (width, TOP + HEIGHT + 24),
        f"Failovers after {title}, run by run",
        svg.line((LEFT, y(limit_ms)), (width, y(limit_ms)), "limit"),
        svg.text(LEFT - 6, y(limit_ms) + 4, milliseconds(limit_ms), "label", "end"),
        svg.line((LEFT, y(0)), (width, y(0)), "axis"),
        svg.text(LEFT, TOP + HEIGHT + 18, "oldest run", "label"),
        svg.text(width, TOP + HEIGHT + 18, "newest run", "label", "end"),
        *(lines if points else ()),
        css=css,
        least=0,
    )


def _thinned(course: Sequence[RunLatency]) -> list[tuple[float, float]]:
    """Median and maximum of each run, or the worst of neighbours where runs are many."""
    size = max(1, -(-len(course) // POINTS_MAX))
    parts = [course[at : at + size] for at in range(0, len(course), size)]
    return [(max(o.p50_ms for o in part), max(o.max_ms for o in part)) for part in parts]
