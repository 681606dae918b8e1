"""From the aggregates of a run to the values of its page."""

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.analysis.aggregates import Analysis, FailoverReport
from fencepost.reports.analysis.narrative import Moment, Voice
from fencepost.reports.analysis.stages import ANALYSE, Detail, StageEntry
from fencepost.reports.analysis.story import facts_of, grouped, story_of
from fencepost.reports.analysis.timelines import Timeline
from fencepost.reports.page.charts import budget_picture, timeline_picture
from fencepost.reports.page.proofs import proof_tables
from fencepost.reports.page.views import (
    Broken,
    BrokenLike,
    Figure,
    FileLink,
    HazardRow,
    LatencyRow,
    MatrixRow,
    Page,
    SeedGroup,
    StageRow,
    TimelineView,
)
from fencepost.reports.page.words import (
    PROMISES,
    alike,
    at,
    count,
    gravity,
    inside,
    listing,
    milliseconds,
    seconds,
)

STORIES_MAX = 12
"""Ways to break that are told in full: a page of more is not read."""

OPEN_AT_MOST = 4
"""With more runs than that, what happened in each is shown when it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFiles:
    """What lies beside the page."""

    by_folder: Mapping[str, tuple[FileLink, ...]]
    of_run: tuple[FileLink, ...]


NO_FILES = PageFiles(by_folder={}, of_run=())


def summarise(
    analysis: Analysis,
    stages: tuple[StageEntry, ...],
    matrix: tuple[MatrixRow, ...],
    hazards: tuple[HazardRow, ...],
    files: PageFiles = NO_FILES,
) -> Page:
    """The page of a run; depends on nothing else."""
    detail = together(stages)
    others = [stage.verdict for stage in stages if stage.stage != ANALYSE]
    verdict = worst([*_verdict_of(analysis, stages), *others])
    broken = tuple(
        story_of(folder, files.by_folder.get(folder.name, ()))
        for folder in analysis.folders
        if folder.failed and not folder.is_canary
    )
    ways = grouped(broken, lambda run: (run.first_invariant, alike(run.headline)))
    return Page(
        verdict=verdict,
        headline=_headline(verdict, analysis, stages, broken),
        subline=_subline(analysis, detail, stages),
        figures=_figures(analysis, detail),
        broken=tuple(
            BrokenLike(first=found[0], others=tuple(found[1:])) for found in ways[:STORIES_MAX]
        ),
        broken_otherwise=tuple(run for found in ways[STORIES_MAX:] for run in found),
        seeds=tuple(
            SeedGroup(first=found[0], others=tuple(found[1:]))
            for found in grouped(detail.violations, lambda v: (v.invariant, alike(v.message)))
        ),
        stages=tuple(_stage_rows(analysis, stages)),
        detail=detail,
        checks=analysis.checks,
        promises={str(name): words for name, words in PROMISES.items()},
        timelines=_timelines(analysis),
        latencies=_latencies(analysis),
        failover_note=_failover_note(analysis),
        proofs=proof_tables(together(stages)),
        hazards=hazards,
        matrix=matrix,
        folders=analysis.folders,
        analysis=analysis,
        files=files.by_folder,
        run_files=files.of_run,
        left_out=tuple(_left_out(analysis, stages)),
    )


def _verdict_of(analysis: Analysis, stages: tuple[StageEntry, ...]) -> tuple[Verdict, ...]:
    """Of the analysis, where there was one or should have been: a chaos run alone has none."""
    was_due = not stages or any(stage.stage == ANALYSE for stage in stages)
    return (analysis.verdict,) if was_due or analysis.verdict is not Verdict.NOT_RUN else ()


def together(stages: tuple[StageEntry, ...]) -> Detail:
    """What the stages tell, as if it were one."""
    return Detail(
        models=tuple(model for stage in stages for model in stage.detail.models),
        proofs=tuple(row for stage in stages for row in stage.detail.proofs),
        proof_hazards=tuple(row for stage in stages for row in stage.detail.proof_hazards),
        seeds=next((s.detail.seeds for s in stages if s.detail.seeds is not None), None),
        level=next((s.detail.level for s in stages if s.detail.level is not None), None),
        violations=tuple(v for stage in stages for v in stage.detail.violations),
        mutants=tuple(mutant for stage in stages for mutant in stage.detail.mutants),
        undecided=tuple(row for stage in stages for row in stage.detail.undecided),
        edit_scores=tuple(row for stage in stages for row in stage.detail.edit_scores),
        scenarios=tuple(s for stage in stages for s in stage.detail.scenarios),
    )


def _headline(
    verdict: Verdict, analysis: Analysis, stages: tuple[StageEntry, ...], broken: tuple[Broken, ...]
) -> str:
    """The verdict in one sentence: the gravest thing that is known."""
    if broken:
        gravest = min(broken, key=lambda run: gravity(run.checks[0].invariant))
        where = inside(gravest.title)
        where = "" if where != gravest.title else f", in {where}"
        return f"{gravest.headline.rstrip('.')}{where}."
    bad = [stage for stage in stages if stage.verdict is verdict and stage.stage != ANALYSE]
    if verdict is Verdict.PASS and analysis.verdict is Verdict.NOT_RUN:
        return "Every check held; the traces of this run were not analysed as a whole."
    if verdict is Verdict.PASS:
        return "Every check held, on every run, within every budget."
    if bad:
        return _stage_headline(bad[0]).rstrip(".") + "."
    return _analysis_headline(verdict, analysis)


def _stage_headline(stage: StageEntry) -> str:
    """What made it end so: its first scenario or seed that did, else its summary."""
    for scenario in stage.detail.scenarios:
        if scenario.verdict is stage.verdict and scenario.message and not scenario.known:
            return f"{scenario.message.rstrip('.')}, in {scenario.name}"
    for found in stage.detail.violations if stage.verdict is Verdict.FAIL else ():
        return f"{found.invariant}: {found.message.rstrip('.')}, in seed {found.seed}"
    told = f": {stage.summary}" if stage.summary else ""
    return f"The stage {stage.stage} ended with {stage.verdict}{told}"


def _analysis_headline(verdict: Verdict, analysis: Analysis) -> str:
    doubts = [doubt for folder in analysis.folders for doubt in folder.trace_doubts]
    if analysis.verdict is Verdict.NOT_RUN:
        return "The traces of this run were not analysed."
    if analysis.verdicts["failover"] is verdict is Verdict.INCONCLUSIVE:
        return next(iter(analysis.failover.unfinished), _budget_note(analysis.failover))
    if analysis.verdicts["failover"] is verdict:
        return _failover_note(analysis)
    if analysis.verdicts["traces"] is verdict and doubts:
        return doubts[0]
    if analysis.verdicts.get("mutants") is verdict:
        return "The stored run of a mutant violates no check any more."
    found = [check for check in analysis.checks if check.verdict is verdict]
    if found and verdict is Verdict.VACUOUS:
        return f"{found[0].invariant} was never put to the test: its premise did not occur."
    if found and found[0].doubts:
        return found[0].doubts[0]
    return f"The analysis ended with {verdict}."


def _subline(analysis: Analysis, detail: Detail, stages: tuple[StageEntry, ...]) -> str:
    held = sum(check.verdict is Verdict.PASS for check in analysis.checks)
    violated = sum(check.verdict is Verdict.FAIL for check in analysis.checks)
    parts = [f"{held} of {count(len(analysis.checks), 'check')} held"] if analysis.checks else []
    if violated:
        parts.append(f"{violated} were violated" if violated > 1 else "1 was violated")
    if detail.models:
        agree = sum(model.agrees for model in detail.models)
        parts.append(f"{agree} of {count(len(detail.models), 'model')} gave what was expected")
    if detail.mutants:
        caught = sum(mutant.caught for mutant in detail.mutants)
        parts.append(f"{caught} of {count(len(detail.mutants), 'mutant')} were caught")
    told = [listing(parts)] if parts else [stage.summary for stage in stages if stage.summary]
    return f"{told[0].rstrip('.')}." if told else "Nothing was decided."


def _figures(analysis: Analysis, detail: Detail) -> tuple[Figure, ...]:
    figures = _analysis_figures(analysis) if analysis.folders else _stage_figures(detail)
    slowest = analysis.figures.get("failover_max_ms")
    if slowest is not None:
        figures.append(Figure(value=milliseconds(slowest), label="slowest failover"))
    if detail.models:
        states = sum(model.distinct or 0 for model in detail.models)
        figures.append(_counted(states, "model state"))
    return tuple(figures)


def _analysis_figures(analysis: Analysis) -> list[Figure]:
    return [
        _counted(len(analysis.folders), "run", " read"),
        _counted(analysis.figures.get("events", 0), "trace event"),
        _counted(analysis.figures.get("premises", 0), "claim", " decided"),
        _counted(analysis.figures.get("violations", 0), "violation"),
    ]


def _stage_figures(detail: Detail) -> list[Figure]:
    """Of a run that was not analysed: what was tried, for of what was found nothing is counted."""
    tried = {"scenario": len(detail.scenarios), "mutant": len(detail.mutants)}
    return [_counted(number, noun) for noun, number in tried.items() if number]


def _counted(number: float, noun: str, done: str = "") -> Figure:
    value, _, label = count(int(number), noun).partition(" ")
    return Figure(value=value, label=label + done)


def _stage_rows(analysis: Analysis, stages: tuple[StageEntry, ...]) -> list[StageRow]:
    recorded = [stage.stage for stage in stages]
    rows = [
        StageRow(
            name=stage.stage,
            verdict=analysis.verdict if stage.stage == ANALYSE else stage.verdict,
            seconds=seconds(stage.seconds),
            told=_told(analysis) if stage.stage == ANALYSE else stage.summary or _shown(stage),
        )
        for stage in stages
    ]
    if ANALYSE not in recorded:
        rows.append(
            StageRow(
                name=ANALYSE,
                verdict=analysis.verdict,
                seconds=seconds(None),
                told=_told(analysis),
            )
        )
    return rows


def _told(analysis: Analysis) -> str:
    return listing([f"{name} {verdict}" for name, verdict in sorted(analysis.verdicts.items())])


def _shown(stage: StageEntry) -> str:
    """The figures that fit a cell: numbers and short words."""
    figures = {
        name.replace("_", " "): f"{value:,}" if isinstance(value, int) else str(value)
        for name, value in sorted(stage.figures.items())
        if isinstance(value, int | float | str) and len(str(value)) <= 24
    }
    return listing([f"{name} {value}" for name, value in figures.items()])


def _timelines(analysis: Analysis) -> tuple[TimelineView, ...]:
    views = []
    for timeline in analysis.timelines:
        folder = analysis.folders[timeline.folder]
        title = f"Timeline of {inside(folder.title)}"
        left_out = [
            count(timeline.lanes_left_out, "partition") if timeline.lanes_left_out else "",
            count(timeline.faults_left_out, "fault") if timeline.faults_left_out else "",
            count(timeline.moments_left_out, "later event") if timeline.moments_left_out else "",
        ]
        views.append(
            TimelineView(
                title=folder.title,
                facts=facts_of(folder),
                picture=timeline_picture(timeline, title),
                narrow_picture=timeline_picture(timeline, title, is_narrow=True),
                left_out=listing([words for words in left_out if words]),
                moments=tuple(
                    (at(m.at_ns), str(m.voice), _kind(m, timeline), m.text)
                    for m in timeline.moments
                ),
                is_open=len(analysis.timelines) <= OPEN_AT_MOST,
            )
        )
    return tuple(views)


def _kind(moment: Moment, timeline: Timeline) -> str:
    """`fault` where one begins, `leader` where a partition gets another."""
    begins = {fault.start_ns for fault in timeline.faults}
    turns = {bar.start_ns for lane in timeline.lanes for bar in lane.bars}
    if moment.voice is Voice.FAULT and moment.at_ns in begins:
        return "fault"
    return "leader" if moment.voice is Voice.CLUSTER and moment.at_ns in turns else ""


_PHASES = {
    "detected": "fault → detected",
    "decided": "→ decided",
    "published": "→ published",
    "told": "→ told",
    "leading": "→ leading",
    "first_acknowledged": "→ first acknowledged write",
    "total": "fault → first acknowledged write",
}


def _latencies(analysis: Analysis) -> tuple[LatencyRow, ...]:
    rows: list[LatencyRow] = []
    for row in analysis.failover.latencies:
        rows.append(
            LatencyRow(
                row=row,
                phase=_PHASES[row.phase],
                is_first=not rows or rows[-1].row.kind != row.kind,
                picture=budget_picture(row),
            )
        )
    return tuple(rows)


def _failover_note(analysis: Analysis) -> str:
    """What the latencies say, and what has none."""
    failover = analysis.failover
    return " ".join([_budget_note(failover), *failover.unfinished[:1], *_more(failover)])


def _budget_note(failover: FailoverReport) -> str:
    missed = [row for row in failover.latencies if not row.is_within]
    if missed:
        worst_row = max(missed, key=lambda row: (not row.noise, row.max_ms / row.limit_ms))
        excuse = f", but {worst_row.noise}: that shows nothing" if worst_row.noise else ""
        return (
            f"After {worst_row.kind}, {_PHASES[worst_row.phase].removeprefix('→ ')} took "
            f"{milliseconds(worst_row.max_ms)}, over its budget of "
            f"{milliseconds(worst_row.limit_ms)}{excuse}."
        )
    if failover.complete:
        return f"{count(failover.complete, 'failover')} stayed within every budget."
    if failover.observed:
        return "No failover was completed, so the budgets were not put to the test."
    if failover.verdict is Verdict.NOT_OBSERVABLE:
        return "Nothing tells which broker leads, so failovers are not measured."
    return "No failover was observed, so the budgets were not put to the test."


def _more(failover: FailoverReport) -> list[str]:
    rest = failover.observed - failover.complete - 1
    return [f"The same holds for {count(rest, 'other partition')}."] if rest > 0 else []


def _left_out(analysis: Analysis, stages: tuple[StageEntry, ...]) -> list[str]:
    """What this page does not tell, and why."""
    notes = []
    if not analysis.folders:
        notes.append("The traces: they were not analysed; fencepost report RUN does it.")
    if not stages:
        notes.append("No earlier stage left its results: models and mutants are not shown.")
    hidden = [folder.title for folder in analysis.folders if folder.is_canary]
    if hidden:
        notes.append(
            f"{count(len(hidden), 'run')} of mutants: expected to fail, so they are judged apart "
            f"and have no story here ({listing(hidden[:8])})."
        )
    shown = {timeline.folder for timeline in analysis.timelines}
    rest = [f for f in analysis.folders if f.index not in shown and not f.is_canary]
    if rest:
        notes.append(f"Pictures of {count(len(rest), 'run')}: the first {len(shown)} are shown.")
    if analysis.failover.left_out:
        notes.append(f"Details of {count(analysis.failover.left_out, 'failover')}.")
    return notes
