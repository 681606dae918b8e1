"""The `analyse` stage: from the traces of a run to its bounded aggregates and a verdict."""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from fencepost.conformance.checks.observations import EVERYTHING, Observable, is_sound
from fencepost.conformance.checks.registry import CHECKS, is_promised
from fencepost.conformance.runs.judgement import REQUIRED
from fencepost.conformance.verdict import CheckResult, Verdict, merge, worst
from fencepost.reports.analysis.aggregates import AGGREGATES, Analysis, FailoverReport
from fencepost.reports.analysis.budgets import Budgets, budgets_of
from fencepost.reports.analysis.evidence import witness_lines
from fencepost.reports.analysis.folder_report import (
    REFERENCE,
    CheckOutcome,
    FolderReport,
    FoundViolation,
    told_of,
)
from fencepost.reports.analysis.metrics import Failover, PhaseLatency, failovers, latencies
from fencepost.reports.analysis.tenures import Leadership
from fencepost.reports.analysis.timelines import Timeline, timelines
from fencepost.reports.page.words import milliseconds
from fencepost.reports.spark.executors import reason_of, told_by
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables.damage import damage_of, unfit_of, unheard_of
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.folders import PARQUET, TraceFolder, trace_folders
from fencepost.reports.tables.health import FileHealth
from fencepost.reports.tables.ingest import ingest
from fencepost.reports.tables.sources import StoredTables, tables_to_start_from
from fencepost.reports.tables.violations import Judged, judge
from fencepost.reports.trend.run_table import add_runs, keep_own, stored_runs
from fencepost.spec.versions import version_of
from fencepost.spec.vocabulary import Invariant

FAILOVERS_LISTED = 100


Progress = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what happens now."""
STEPS = ("starting Spark", "reading the traces", "checking", "done")


def _silent(_done: int, _total: int, _text: str) -> None:
    """Progress is not shown."""


def analyse(
    run: Path,
    *,
    spark_master: str | None = None,
    table: Path | None = None,
    on_progress: Progress = _silent,
) -> Analysis:
    """Ingest and judge the traces of `run`.

    Leaves `aggregates.json`, `parquet/` and `failovers/` there, the last a table of its runs.

    With `table`, its runs are in that table of many runs, too.
    `run` may be such a `parquet/` itself: it is judged as it is, and nothing is read besides.
    Raises `ReportError` when there is nothing to analyse, or Spark or the folder refuses.
    """
    source = tables_to_start_from(run) or trace_folders(run)
    budgets = budgets_of(run)
    on_progress(0, len(STEPS) - 1, STEPS[0])
    with spark_session(spark_master) as spark:
        try:
            analysis, found = _analyse(spark, run, source, budgets, on_progress)
        except PySparkException as error:
            raise _gave_up(run, error) from None
        except OSError as error:
            raise _refused(run, error) from error
    _save(run, analysis)
    keep_own(run, analysis, found)
    if table is not None:
        add_runs(table, stored_runs(analysis, found))
    on_progress(len(STEPS) - 1, len(STEPS) - 1, STEPS[-1])
    return analysis


def _save(run: Path, analysis: Analysis) -> None:
    try:
        (run / AGGREGATES).write_bytes(analysis.to_json())
    except OSError as error:
        raise _refused(run, error) from error


def _gave_up(run: Path, error: PySparkException) -> ReportError:
    told = told_by(error)
    if os.strerror(ENOSPC) in told:
        return _no_room(run)
    if any(word in told for word in _NO_MEMORY):
        return ReportError(
            f"there is not enough memory to judge {run}",
            "let fewer tasks run at a time (--spark-master 'local[1]'), or give Spark more memory",
        )
    return ReportError(
        f"Spark gave up on {run.name}: {reason_of(error)}", "is the folder still complete?"
    )


_NO_MEMORY = (
    "MemoryError",
    "malloc of size",
    "std::bad_alloc",
    "OutOfMemoryError",
    "Failed to launch worker thread",
)
"""What Python, Arrow and Java say of it."""


def _no_room(run: Path) -> ReportError:
    return ReportError(
        f"the disk of {run} is full",
        "make room and ask for the report again: it goes on with what was not read yet",
    )


def _refused(run: Path, error: OSError) -> ReportError:
    if error.errno == ENOSPC:
        return _no_room(run)
    return ReportError(
        f"{run} cannot be read or written ({error.strerror})", "copy the run to a folder of yours"
    )


def _analyse(
    spark: SparkSession,
    run: Path,
    source: StoredTables | tuple[TraceFolder, ...],
    budgets: Budgets,
    on_progress: Progress,
) -> tuple[Analysis, tuple[Failover, ...]]:
    """The analysis, and all failovers that were measured."""
    on_progress(1, len(STEPS) - 1, STEPS[1])
    if isinstance(source, StoredTables):
        target, folders, health = run, source.folders, source.health
    else:
        target, folders, health = run / PARQUET, source, ingest(spark, run, source)
    on_progress(2, len(STEPS) - 1, STEPS[2])
    spans = {index: span_of(index, health) for index in range(len(folders))}
    starts = {index: first for index, (first, _) in spans.items()}
    started = {index: started_in(index, health) for index in spans}
    dialects = {index: told_of(detail).dialect for index, detail in started.items()}
    findings = judge(spark, target, spans, dialects)
    reports = placed(
        folder_report(index, folder.name, health, findings.judged, spans[index])
        for index, folder in enumerate(folders)
    )
    failover = failover_report(findings.leadership, reports, budgets)
    pictures = timelines(reports, starts, findings.leadership)
    analysis = conclude(reports, health, findings.judged, failover, pictures)
    return analysis, measured_failovers(findings.leadership, reports)


def placed(reports: Iterable[FolderReport]) -> tuple[FolderReport, ...]:
    """The reports; where all are of mutants, what these show is what the run shows."""
    found = tuple(reports)
    are_mutants = all(report.mutant for report in found)
    return tuple(replace(report, is_alone=True) for report in found) if are_mutants else found


def span_of(folder: int, health: Sequence[FileHealth]) -> tuple[int, int]:
    """The first and last stamp of a folder; (0, 0) when nothing in it could be read."""
    own = [file for file in health if file.folder == folder]
    first = min((file.first_ns for file in own if file.first_ns is not None), default=0)
    return first, max((file.last_ns for file in own if file.last_ns is not None), default=first)


def started_in(folder: int, health: Sequence[FileHealth]) -> str | None:
    """The `detail` of the folder's `RunStarted`; None when none of its files has that."""
    own = (file.started for file in health if file.folder == folder)
    return next((started for started in own if started is not None), None)


def folder_report(
    index: int,
    name: str,
    health: Sequence[FileHealth],
    judged: Sequence[Judged],
    span: tuple[int, int],
) -> FolderReport:
    """What is told of one trace folder."""
    own = [file for file in health if file.folder == index]
    started = started_in(index, health)
    return FolderReport.from_detail(
        started,
        index=index,
        name=name,
        run_ids=tuple(sorted({run_id for file in own for run_id in file.run_ids})),
        events=sum(file.events for file in own),
        duration_ns=span[1] - span[0],
        begun_ns=next((file.begun_ns for file in own if file.begun_ns is not None), None),
        has_end=any(file.ended for file in own),
        lost_lines=sum(file.missing_lines for file in own),
        foreign_lines=sum(file.foreign_lines for file in own),
        torn_lines=sum(file.torn_lines for file in own),
        checks=tuple(_outcome(part, span[0]) for part in judged if part.folder == index),
        damage=damage_of(name, own),
        unfit=unfit_of(name, own, told_of(started)),
        unheard=unheard_of(name, own, told_of(started)),
    )


def _outcome(part: Judged, start_ns: int) -> CheckOutcome:
    return CheckOutcome(
        invariant=part.result.invariant,
        verdict=part.result.verdict,
        premise_count=part.result.premise_count,
        violations=tuple(
            FoundViolation(
                message=violation.message,
                topic=violation.topic,
                partition=violation.partition,
                witness=witness_lines(violation, start_ns),
            )
            for violation in part.result.violations
        ),
        omitted_violations=part.result.omitted_violations,
        doubts=part.result.doubts,
        evidence=part.evidence,
    )


def conclude(
    reports: tuple[FolderReport, ...],
    health: tuple[FileHealth, ...],
    judged: Sequence[Judged],
    failover: FailoverReport,
    pictures: tuple[Timeline, ...],
) -> Analysis:
    """The verdict over everything; runs of mutants are expected to fail and judged apart."""
    counted = {r.index: r for r in reports if r.is_judged}
    promised = _promised(tuple(counted.values()), judged)
    merged = tuple(
        merge(name, [part.result for part in judged if _is(part, name, counted)])
        for name in promised
    )
    verdicts = {
        "checks": worst(result.verdict for result in merged) if counted else Verdict.NOT_RUN,
        "traces": worst(report.trace_verdict for report in reports),
        "failover": failover.verdict,
    }
    of_mutants = [report.mutant_verdict for report in reports if report.is_canary]
    if of_mutants:
        verdicts["mutants"] = worst(of_mutants)
    return Analysis(
        verdict=worst(verdicts.values()),
        verdicts=verdicts,
        figures=_figures(reports, merged, failover),
        checks=tuple(_total(result) for result in merged),
        folders=reports,
        failover=failover,
        timelines=pictures,
        health=health,
        versions=_versions(),
    )


def _promised(reports: Sequence[FolderReport], judged: Sequence[Judged]) -> list[Invariant]:
    """The checks that these runs are to decide, and those that had something to decide.

    An implementation that shows only some of what happens promises what clients alone decide; one
    that is not the reference, nothing of features that it may lack.
    """
    observed = {report.index: report.observed for report in reports}
    decided = {
        one.result.invariant
        for one in judged
        if one.result.premise_count
        and one.folder in observed
        and is_sound(one.result.invariant, observed[one.folder])
    }
    shown = {
        (report.level, report.implementation == REFERENCE)
        for report in reports
        if report.observed == EVERYTHING
    }
    if reports and not shown:
        return [name for name in CHECKS if name in decided | REQUIRED]
    return [
        name
        for name in CHECKS
        if name in decided
        or any(
            is_promised(name, level, is_reference=is_reference)
            for level, is_reference in shown or {(None, True)}
        )
    ]


def _total(result: CheckResult) -> CheckOutcome:
    """Counts and verdict alone: violations are told with the run in which they occurred."""
    return CheckOutcome(
        invariant=result.invariant,
        verdict=result.verdict,
        premise_count=result.premise_count,
        omitted_violations=len(result.violations) + result.omitted_violations,
        doubts=result.doubts,
    )


def _is(part: Judged, invariant: Invariant, counted: Mapping[int, FolderReport]) -> bool:
    is_told = part.result.invariant == invariant and part.folder in counted
    return is_told and counted[part.folder].decides(invariant)


def measured_failovers(
    leadership: Leadership, reports: Sequence[FolderReport]
) -> tuple[Failover, ...]:
    """The failovers on real processes of which all brokers were heard."""
    real = {report.index for report in reports if report.is_real and report.is_whole}
    return tuple(failover for failover in failovers(leadership) if failover.folder in real)


def failover_report(
    leadership: Leadership, reports: Sequence[FolderReport], budgets: Budgets
) -> FailoverReport:
    """Latencies of the failovers on real processes, against the budgets."""
    found = measured_failovers(leadership, reports)
    rows = latencies(found, budgets)
    complete = sum(failover.is_complete for failover in found)
    unfinished = [f for f in found if f.is_unfinished(budgets.limit_ms(f.fault, "total"))]
    return FailoverReport(
        verdict=_failover_verdict(rows, complete, len(unfinished), is_seen=_shows_leaders(reports)),
        observed=complete + len(unfinished),
        complete=complete,
        unfinished=tuple(_never_completed(f) for f in unfinished[:FAILOVERS_LISTED]),
        latencies=rows,
        failovers=found[:FAILOVERS_LISTED],
        left_out=max(0, len(found) - FAILOVERS_LISTED),
    )


def _shows_leaders(reports: Sequence[FolderReport]) -> bool:
    """False where nothing tells in any run which broker leads."""
    return any(Observable.ROLES in report.observed for report in reports) or not reports


def _failover_verdict(
    rows: Sequence[PhaseLatency], complete: int, unfinished: int, *, is_seen: bool
) -> Verdict:
    """A failover that did not end has no latency: that it missed its budget is not measured."""
    found = {row.verdict for row in rows}
    if Verdict.FAIL in found:
        return Verdict.FAIL
    if unfinished or Verdict.INCONCLUSIVE in found:
        return Verdict.INCONCLUSIVE
    if complete:
        return Verdict.PASS
    return Verdict.VACUOUS if is_seen else Verdict.NOT_OBSERVABLE


def _never_completed(failover: Failover) -> str:
    return (
        f"After {failover.kind} of broker {failover.old_leader}, no write to "
        f"{failover.topic}/{failover.partition} was acknowledged any more, though clients asked "
        f"for {milliseconds(failover.waited_ms or 0.0)}."
    )


def _figures(
    reports: Sequence[FolderReport], merged: Sequence[CheckResult], failover: FailoverReport
) -> dict[str, float]:
    slowest = [row.max_ms for row in failover.latencies if row.phase == "total"]
    violations = sum(len(result.violations) + result.omitted_violations for result in merged)
    figures: dict[str, float] = {
        "runs": len(reports),
        "events": sum(report.events for report in reports),
        "checks": len(merged),
        "premises": sum(result.premise_count for result in merged),
        "violations": violations,
        "failovers": failover.complete,
    }
    return figures | ({"failover_max_ms": max(slowest)} if slowest else {})


def _versions() -> dict[str, str]:
    names = ("fencepost", "pyspark", "pyarrow")
    return {"python": platform.python_version()} | {name: version_of(name) for name in names}


def load_analysis(run: Path) -> Analysis | None:
    """The aggregates that `analyse` left; None without them, `ReportError` when unreadable."""
    try:
        return msgspec.json.decode((run / AGGREGATES).read_bytes(), type=Analysis)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ReportError(f"{run / AGGREGATES} is unreadable", "analyse the run again") from error
