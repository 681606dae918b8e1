"""The page as plain values: what the template shows, in its order, with its words."""

from dataclasses import dataclass

from markupsafe import Markup

from conformance.verdict import Verdict, worst
from reports.aggregates import Analysis, CheckOutcome, FolderReport, FoundViolation
from reports.charts import budget_picture, colour, timeline_picture
from reports.evidence import Evidence, WitnessLine
from reports.metrics import PhaseLatency
from reports.replicas import ReplicaState
from reports.spacetime import spacetime_picture
from reports.stages import Detail, Stage
from reports.words import PROMISES, at, count, gravity, listing, milliseconds, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number worth a glance."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage of the gate."""

    name: str
    verdict: Verdict
    seconds: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMark:
    """A record of a replica's log, or the lack of one that another replica holds."""

    offset: int
    value: str
    leader_epoch: int
    differs: bool
    """True when another replica holds something else at this offset."""
    is_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRow:
    """One line of the table of replicas."""

    broker_id: int
    colour: str
    process: str
    role: str
    leader: str
    leader_epoch: str
    isr: str
    high_watermark: str
    log_end_offset: str
    records: tuple[RecordMark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenCheck:
    """One invariant that a run violated."""

    invariant: str
    promise: str
    violations: tuple[FoundViolation, ...]
    omitted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One run that violated something, told from its first violation on."""

    anchor: str
    title: str
    headline: str
    facts: str
    reproduce: str
    first: str
    first_invariant: str
    witness: tuple[WitnessLine, ...]
    at: str
    before: str
    replicas: tuple[ReplicaRow, ...]
    diagram: Markup
    steps: tuple[tuple[str, str, str, bool], ...]
    """(time, node, words, proves it): the diagram as a table."""
    checks: tuple[BrokenCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """One run as a picture."""

    title: str
    facts: str
    picture: Markup
    left_out: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """One phase of failover after one kind of fault."""

    row: PhaseLatency
    phase: str
    is_first: bool
    picture: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One requirement and what this run says of it."""

    requirement: str
    title: str
    level: str
    checks: str
    verdict: Verdict
    status: str
    is_planned: bool
    """True when nothing judges it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything that the template shows."""

    verdict: Verdict
    headline: str
    subline: str
    figures: tuple[Figure, ...]
    broken: tuple[Broken, ...]
    stages: tuple[StageRow, ...]
    detail: Detail
    checks: tuple[CheckOutcome, ...]
    promises: dict[str, str]
    timelines: tuple[TimelineView, ...]
    latencies: tuple[LatencyRow, ...]
    failover_note: str
    matrix: tuple[MatrixRow, ...]
    folders: tuple[FolderReport, ...]
    analysis: Analysis
    left_out: tuple[str, ...]


def summarise(analysis: Analysis, stages: tuple[Stage, ...], matrix: tuple[MatrixRow, ...]) -> Page:
    """The page of a run; depends on nothing else."""
    detail = _together(stages)
    verdict = worst([analysis.verdict, *(stage.verdict for stage in stages)])
    broken = tuple(
        _broken(folder) for folder in analysis.folders if folder.failed and not folder.mutant
    )
    return Page(
        verdict=verdict,
        headline=_headline(verdict, analysis, stages, broken),
        subline=_subline(analysis, detail),
        figures=_figures(analysis, detail),
        broken=broken,
        stages=tuple(_stage_rows(analysis, stages)),
        detail=detail,
        checks=analysis.checks,
        promises={str(name): words for name, words in PROMISES.items()},
        timelines=_timelines(analysis),
        latencies=_latencies(analysis),
        failover_note=_failover_note(analysis),
        matrix=matrix,
        folders=analysis.folders,
        analysis=analysis,
        left_out=tuple(_left_out(analysis, stages)),
    )


def _together(stages: tuple[Stage, ...]) -> Detail:
    return Detail(
        models=tuple(model for stage in stages for model in stage.detail.models),
        seeds=next((s.detail.seeds for s in stages if s.detail.seeds is not None), None),
        level=next((s.detail.level for s in stages if s.detail.level is not None), None),
        violations=tuple(v for stage in stages for v in stage.detail.violations),
        mutants=tuple(mutant for stage in stages for mutant in stage.detail.mutants),
        scenarios=tuple(s for stage in stages for s in stage.detail.scenarios),
    )


def _headline(
    verdict: Verdict, analysis: Analysis, stages: tuple[Stage, ...], broken: tuple[Broken, ...]
) -> str:
    """The verdict in one sentence: the gravest thing that is known."""
    if broken:
        gravest = min(broken, key=lambda run: gravity_of(run.checks[0]))
        return f"{gravest.headline.rstrip('.')}, in {gravest.title}."
    bad = [stage for stage in stages if stage.verdict is verdict]
    if verdict is Verdict.PASS:
        return "Every check held, on every run, within every budget."
    if bad:
        return f"The stage {bad[0].stage} ended with {verdict}."
    return _analysis_headline(verdict, analysis)


def _analysis_headline(verdict: Verdict, analysis: Analysis) -> str:
    doubts = [doubt for folder in analysis.folders for doubt in folder.trace_doubts]
    if analysis.verdicts["failover"] is verdict:
        return _failover_note(analysis)
    if analysis.verdicts["traces"] is verdict and doubts:
        return doubts[0]
    if analysis.verdicts["mutants"] is verdict:
        return "The stored run of a mutant violates no check any more."
    found = [check for check in analysis.checks if check.verdict is verdict]
    if found and verdict is Verdict.VACUOUS:
        return f"{found[0].invariant} was never put to the test: its premise did not occur."
    if found and found[0].doubts:
        return found[0].doubts[0]
    return f"The analysis ended with {verdict}."


def gravity_of(check: BrokenCheck) -> int:
    """Smaller is graver."""
    return next(g for name in PROMISES if name == check.invariant for g in [gravity(name)])


def _subline(analysis: Analysis, detail: Detail) -> str:
    held = sum(check.verdict is Verdict.PASS for check in analysis.checks)
    violated = sum(check.verdict is Verdict.FAIL for check in analysis.checks)
    parts = [f"{held} of {count(len(analysis.checks), 'check')} held"]
    if violated:
        parts.append(f"{violated} were violated" if violated > 1 else "1 was violated")
    if detail.models:
        agree = sum(model.agrees for model in detail.models)
        parts.append(f"{agree} of {count(len(detail.models), 'model')} gave what was expected")
    if detail.mutants:
        caught = sum(mutant.caught for mutant in detail.mutants)
        parts.append(f"{caught} of {count(len(detail.mutants), 'mutant')} were caught")
    return listing(parts) + "."


def _figures(analysis: Analysis, detail: Detail) -> tuple[Figure, ...]:
    figures = [
        Figure(value=f"{len(analysis.folders):,}", label="runs read"),
        Figure(value=f"{int(analysis.figures['events']):,}", label="trace events"),
        Figure(value=f"{int(analysis.figures['premises']):,}", label="claims decided"),
        Figure(value=f"{int(analysis.figures['violations']):,}", label="violations"),
    ]
    slowest = analysis.figures.get("failover_max_ms")
    if slowest is not None:
        figures.append(Figure(value=milliseconds(slowest), label="slowest failover"))
    if detail.models:
        states = sum(model.distinct or 0 for model in detail.models)
        figures.append(Figure(value=f"{states:,}", label="model states"))
    return tuple(figures)


def _stage_rows(analysis: Analysis, stages: tuple[Stage, ...]) -> list[StageRow]:
    rows = [
        StageRow(
            name=stage.stage,
            verdict=stage.verdict,
            seconds=seconds(stage.seconds),
            told=listing([f"{name} {value}" for name, value in sorted(_shown(stage).items())]),
        )
        for stage in stages
    ]
    if not any(stage.stage == "analyse" for stage in stages):
        told = (
            f"checks {analysis.verdicts['checks']}, traces {analysis.verdicts['traces']}, "
            f"failover {analysis.verdicts['failover']}"
        )
        rows.append(
            StageRow(name="analyse", verdict=analysis.verdict, seconds=seconds(None), told=told)
        )
    return rows


def _shown(stage: Stage) -> dict[str, str]:
    """The figures that fit a cell: numbers and short words."""
    return {
        name.replace("_", " "): f"{value:,}" if isinstance(value, int) else str(value)
        for name, value in stage.figures.items()
        if isinstance(value, int | float | str) and len(str(value)) <= 24
    }


def _broken(folder: FolderReport) -> Broken:
    failed = sorted(folder.failed, key=lambda check: gravity(check.invariant))
    first = min(failed, key=_instant)
    evidence = first.evidence
    assert evidence is not None
    return Broken(
        anchor=f"run-{folder.index}",
        title=folder.title,
        headline=failed[0].violations[0].message,
        facts=_facts(folder),
        reproduce=folder.reproduce,
        first=evidence.message,
        witness=evidence.witness,
        first_invariant=str(first.invariant),
        at=at(evidence.at_ns),
        before=evidence.before,
        replicas=_replica_rows(evidence),
        diagram=spacetime_picture(evidence, f"Events around the violation in {folder.title}"),
        steps=tuple((at(s.at_ns), s.node, s.text, s.is_witness) for s in evidence.steps),
        checks=tuple(_broken_check(check) for check in failed),
    )


def _instant(check: CheckOutcome) -> int:
    assert check.evidence is not None
    return check.evidence.at_ns


def _broken_check(check: CheckOutcome) -> BrokenCheck:
    return BrokenCheck(
        invariant=str(check.invariant),
        promise=PROMISES[check.invariant],
        violations=check.violations,
        omitted=check.omitted_violations,
    )


def _facts(folder: FolderReport) -> str:
    """Where a run took place, in a line."""
    where = {"sim": "in the simulator", "real": "on real processes and ZooKeeper"}
    facts = [
        where.get(folder.backend, ""),
        "" if folder.level is None else f"protocol level {folder.level}",
        "" if folder.seed is None else f"seed {folder.seed}",
        count(folder.events, "event"),
        seconds(folder.duration_ns / 1e9),
    ]
    return " · ".join(fact for fact in facts if fact)


def _replica_rows(evidence: Evidence) -> tuple[ReplicaRow, ...]:
    held: dict[int, set[str]] = {}
    for replica in evidence.replicas:
        for record in replica.last_records:
            held.setdefault(record.offset, set()).add(record.value)
    return tuple(
        ReplicaRow(
            broker_id=replica.broker_id,
            colour=colour(replica.broker_id),
            process=replica.process,
            role=replica.role,
            leader=_known(replica.leader),
            leader_epoch=_known(replica.leader_epoch),
            isr=" ".join(str(member) for member in replica.isr) or "—",
            high_watermark=_known(replica.high_watermark),
            log_end_offset=_known(replica.log_end_offset),
            records=_marks(replica, held),
        )
        for replica in evidence.replicas
    )


def _marks(replica: ReplicaState, held: dict[int, set[str]]) -> tuple[RecordMark, ...]:
    marks = [
        RecordMark(
            offset=record.offset,
            value=record.value,
            leader_epoch=record.leader_epoch,
            differs=len(held[record.offset]) > 1,
        )
        for record in replica.last_records
    ]
    beyond = [offset for offset in sorted(held) if offset >= replica.log_end_offset >= 0]
    marks += [
        RecordMark(offset=offset, value="", leader_epoch=-1, differs=False, is_missing=True)
        for offset in beyond
    ]
    return tuple(marks)


def _known(number: int) -> str:
    return "—" if number < 0 else str(number)


def _timelines(analysis: Analysis) -> tuple[TimelineView, ...]:
    views = []
    for timeline in analysis.timelines:
        folder = analysis.folders[timeline.folder]
        left_out = [
            count(timeline.lanes_left_out, "partition") if timeline.lanes_left_out else "",
            count(timeline.faults_left_out, "fault") if timeline.faults_left_out else "",
        ]
        views.append(
            TimelineView(
                title=folder.title,
                facts=_facts(folder),
                picture=timeline_picture(timeline, f"Timeline of {folder.title}"),
                left_out=listing([words for words in left_out if words]),
            )
        )
    return tuple(views)


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
    """What the latencies say, in a sentence."""
    failover = analysis.failover
    missed = [row for row in failover.latencies if not row.is_within]
    if missed:
        worst_row = max(missed, key=lambda row: row.max_ms / row.limit_ms)
        return (
            f"After {worst_row.kind}, {_PHASES[worst_row.phase].removeprefix('→ ')} took "
            f"{milliseconds(worst_row.max_ms)}, over its budget of "
            f"{milliseconds(worst_row.limit_ms)}."
        )
    if not failover.complete:
        return "No failover was observed, so the budgets were not put to the test."
    unfinished = failover.observed - failover.complete
    told = f"{count(failover.complete, 'failover')} stayed within every budget"
    return f"{told}; {unfinished} saw no write afterwards." if unfinished else f"{told}."


def _left_out(analysis: Analysis, stages: tuple[Stage, ...]) -> list[str]:
    """What this page does not tell, and why."""
    notes = []
    if not stages:
        notes.append("No earlier stage left its results: models and mutants are not shown.")
    hidden = [folder.title for folder in analysis.folders if folder.mutant]
    if hidden:
        notes.append(
            f"{count(len(hidden), 'run')} of mutants: expected to fail, so they are judged apart "
            f"and have no story here ({listing(hidden[:8])})."
        )
    shown = {timeline.folder for timeline in analysis.timelines}
    rest = [f for f in analysis.folders if f.index not in shown and not f.mutant]
    if rest:
        notes.append(f"Pictures of {count(len(rest), 'run')}: the first {len(shown)} are shown.")
    if analysis.failover.left_out:
        notes.append(f"Details of {count(analysis.failover.left_out, 'failover')}.")
    return notes
