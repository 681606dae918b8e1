"""The files that every run leaves, whichever command it was.

Verdict, JUnit, TAP, a badge and a report; a summary where one is asked for.
"""

from collections.abc import Sequence
from pathlib import Path

from fencepost.ci.gate.verdict_files import (
    RunHead,
    StageRecord,
    overall,
    write_stages,
    write_verdict,
)
from fencepost.ci.results.cases import groups_of
from fencepost.ci.results.junit import write_junit
from fencepost.ci.results.tap import write_tap
from fencepost.ci.screens.console import note, progress
from fencepost.conformance.verdict import Verdict
from fencepost.reports.suite.badge import colour_of, write_badge
from fencepost.reports.tables.errors import ReportError
from fencepost.spec.trace import TRACES


def write_results(head: RunHead, records: Sequence[StageRecord], code: int | None = None) -> None:
    """`verdict.json`, `junit.xml`, `results.tap` and the badge are in the folder of the run.

    `code` is what the process returns when the verdicts do not decide it: it was interrupted.
    """
    groups = groups_of(records)
    write_verdict(head, records, code)
    write_junit(head.folder, groups)
    write_tap(head.folder, groups)
    verdict = overall(records)
    of = f" {head.target}" if head.target else ""
    message = f"{head.command}{of} {verdict}, level {head.level}"
    write_badge(head.folder, message, colour_of(verdict))


def write_run(head: RunHead, record: StageRecord, code: int | None = None) -> Path:
    """All files of a run of one stage; the path of its report. `code` is as above.

    The traces of a run that failed are analysed, so that the report tells what broke. Those of
    others are not: `fencepost report RUN` adds what Spark finds in them.
    """
    from fencepost.reports.page.render import render  # templates are much to import for a run

    write_stages(head.folder, [record])
    write_results(head, [record], code)
    try:
        if record.verdict is Verdict.FAIL and code is None and any(head.folder.rglob(TRACES)):
            _analyse(head)
    finally:  # of an interruption, too
        page = render(head.folder)
    return page


def _analyse(head: RunHead) -> None:
    """What the traces tell is in the folder; where they cannot be analysed, a note says why."""
    from fencepost.reports.analysis.analyse import analyse  # and Spark

    try:
        with progress("analyse") as advance:
            analyse(head.folder, on_progress=advance)
    except ReportError as error:
        note(f"{head.command}: the traces are not analysed: {error}")
