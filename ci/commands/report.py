"""`fencepost report`: analyse a stored run again and write its report again."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.commands.chaos_soak import tell_soak
from fencepost.ci.gate.outcomes import of_analysis
from fencepost.ci.gate.runs import existing_run
from fencepost.ci.options import (
    BudgetsOption,
    JsonOption,
    SparkMasterOption,
    keep_budgets,
    require_budgets,
)
from fencepost.ci.screens.broken import HARMLESS, lines_of
from fencepost.ci.screens.console import complain, progress, say, show_json
from fencepost.conformance.verdict import ExitCode, Verdict, exit_code
from fencepost.reports.analysis.aggregates import Analysis
from fencepost.reports.analysis.analyse import analyse
from fencepost.reports.page.render import render

TRACES = "trace-*.ndjson"

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]


def report(
    run: RunFolder,
    spark_master: SparkMasterOption = None,
    budgets: BudgetsOption = None,
    as_json: JsonOption = False,
) -> int:
    """Analyse a stored run again.

    Its report is written again: the same input gives the same bytes. For a soak, the totals are
    printed first; rounds that passed leave no trace.
    """
    existing_run(run)
    require_budgets(budgets)
    if not as_json and (code := tell_soak(run)) is not None and not any(run.rglob(TRACES)):
        return code

    keep_budgets(budgets, run)
    with progress("report") as advance:
        analysis = analyse(run, spark_master=spark_master, on_progress=advance)
    page = render(run)
    outcome = of_analysis(analysis)
    if as_json:
        document = {"verdict": outcome.verdict, "report": str(page), "figures": outcome.figures}
        show_json({**document, **outcome.detail})
        for doubt in (doubt for folder in analysis.folders for doubt in folder.trace_doubts):
            complain(doubt)
    else:
        say(f"{outcome.verdict}: {outcome.summary}")
        if outcome.verdict not in HARMLESS:
            for line in lines_of(outcome.detail, f"fencepost report {shlex.quote(str(run))}"):
                say(line)
        say(f"report {page}")
    return exit_code_of(analysis)


def exit_code_of(analysis: Analysis) -> int:
    """As for any verdicts, but a stored run that is not whole is incomplete input: 3, not 2."""
    code = exit_code(analysis.verdicts.values())
    if code is ExitCode.UNDECIDED and analysis.verdicts["traces"] is not Verdict.PASS:
        return ExitCode.INCOMPLETE
    return code
