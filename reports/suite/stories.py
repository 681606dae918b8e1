"""What broke in a case: its first violation with its surroundings, as any report tells it."""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.checks.trace_dialect import dialect_of
from fencepost.conformance.runs.run_folder import begun_in, read_folder
from fencepost.conformance.suite.records import CaseEnd, SuiteRun
from fencepost.conformance.suite.shared import about_others
from fencepost.conformance.verdict import CheckResult, Violation
from fencepost.reports.analysis.evidence import gather, witness_lines
from fencepost.reports.analysis.folder_report import CheckOutcome, FolderReport, FoundViolation
from fencepost.reports.analysis.story import story_of
from fencepost.reports.kernels.displayed import DisplayedEvents
from fencepost.reports.page.files import files_of
from fencepost.reports.page.views import Broken
from fencepost.spec.trace import TraceEvent


def broken_case(run: SuiteRun, end: CaseEnd, index: int) -> Broken | None:
    """The story of a case in which a check failed; None when its traces do not show it any more."""
    folder = run.folder / end.folder
    events, _ = read_folder(folder)
    events = about_others(events, end.others)
    try:
        begun = begun_in(folder)
    except ChoiceError:
        begun = {}
    stamped = [event.mono_ns for event in events if event.mono_ns > 0]
    if not stamped:
        return None
    start_ns = min(stamped)
    checks = run_checks(events, dialect_of(begun))
    if not any(check.violations for check in checks):
        return None
    report = FolderReport(
        index=index,
        name=f"{end.target} · {end.case}",
        run_ids=(),
        events=len(events),
        duration_ns=max(stamped) - start_ns,
        has_start=True,
        is_described=True,
        has_end=True,
        lost_lines=0,
        foreign_lines=0,
        torn_lines=0,
        checks=tuple(_outcome(check, events, start_ns) for check in checks),
        backend="real",
        reproduce=end.again,
    )
    files = files_of(run.folder, end.folder)
    return replace(story_of(report, files), headline=end.message)


def _outcome(check: CheckResult, events: Sequence[TraceEvent], start_ns: int) -> CheckOutcome:
    violations = tuple(
        FoundViolation(
            message=one.message,
            topic=one.topic,
            partition=one.partition,
            witness=witness_lines(one, start_ns),
        )
        for one in check.violations
    )
    first = check.violations[:1]
    around = gather(first, _around(first[0], events), start_ns) if first else [None]
    return CheckOutcome(
        invariant=check.invariant,
        verdict=check.verdict,
        premise_count=check.premise_count,
        violations=violations,
        omitted_violations=check.omitted_violations,
        doubts=check.doubts,
        evidence=around[0],
    )


def _around(violation: Violation, events: Sequence[TraceEvent]) -> DisplayedEvents:
    """The events of its partition, and those about none."""
    wanted = (violation.topic, violation.partition)
    return DisplayedEvents(
        event
        for event in events
        if (partition := partition_of_event(event)) is None
        or (partition.topic, partition.partition) == wanted
    )
