"""`fencepost report`: analyse a stored run again and write its report again."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from fencepost.ci.commands.chaos_soak import tell_soak
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.gate.outcomes import of_analysis
from fencepost.ci.gate.runs import existing_run
from fencepost.ci.options import (
    BudgetsOption,
    JsonOption,
    SparkMasterOption,
    keep_given,
    require_budgets,
)
from fencepost.ci.screens.broken import HARMLESS, lines_of
from fencepost.ci.screens.console import complain, progress, say, show_json
from fencepost.conformance.verdict import ExitCode, Verdict, exit_code
from fencepost.reports.analysis.aggregates import Analysis
from fencepost.reports.analysis.analyse import analyse
from fencepost.reports.analysis.budgets import OWN_BUDGETS
from fencepost.reports.page.render import render
from fencepost.reports.spark.hadoop import at_hand, is_address
from fencepost.reports.spark.session import spark_session
from fencepost.reports.trend.page import write_trend
from fencepost.reports.trend.run_table import files_of
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.trace import TRACES

RunFolder = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="The folder of a run, or its address for Hadoop."),
]
TableOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="A table of many runs, to which RUN is added, or a folder of run folders.",
    ),
]


def report(
    run: RunFolder = None,
    spark_master: SparkMasterOption = None,
    table: TableOption = None,
    budgets: BudgetsOption = None,
    as_json: JsonOption = False,
) -> int:
    """Analyse a stored run again.

    Its report is written again: the same input gives the same bytes. For a soak, the totals are
    printed first; rounds that passed leave no trace. With --table alone, the report is of all runs
    that were added, or that lie in the folder: violations, failover latencies against their
    budgets, and what has grown. Either may be an address that Hadoop reads, such as
    hdfs://host/run or s3a://bucket/run.
    """
    require_budgets(budgets)
    with _at_hand([run, table], spark_master) as (run_given, table_given):
        if run_given is not None:
            return _of_run(run_given, spark_master, table_given, budgets, as_json=as_json)
        return _of_table(table_given, budgets, as_json=as_json)


class _Given(NamedTuple):
    """A folder that the command line names, and where it is at hand."""

    name: str
    folder: Path

    def named(self, path: Path) -> str:
        """A path in the folder, as the command line would name it."""
        return f"{self.name}/{path.relative_to(self.folder).as_posix()}"


@contextmanager
def _at_hand(
    names: Sequence[str | None], spark_master: str | None
) -> Iterator[list[_Given | None]]:
    """The folders of these names; those with an address are fetched, and sent back at the end."""
    if not any(name is not None and is_address(name) for name in names):
        yield [None if name is None else _Given(name, Path(name)) for name in names]
        return
    with ExitStack() as opened:
        scratch = opened.enter_context(scratch_folder("report"))
        spark = opened.enter_context(spark_session(spark_master))
        given: list[_Given | None] = []
        for place, name in enumerate(names):
            if name is not None and is_address(name):
                folder = opened.enter_context(at_hand(spark, name, scratch / f"{place}"))
                given.append(_Given(name, folder))
            else:
                given.append(None if name is None else _Given(name, Path(name)))
        try:
            yield given
        except UsageError as error:
            told = str(error)
            for one in filter(None, given):
                told = told.replace(str(one.folder), one.name)
            raise UsageError(told) from error


def _of_run(
    given: _Given,
    spark_master: str | None,
    table_given: _Given | None,
    budgets: Path | None,
    *,
    as_json: bool,
) -> int:
    run, table = given.folder, table_given.folder if table_given else None
    existing_run(run)
    if not as_json and (code := tell_soak(run)) is not None and not any(run.rglob(TRACES)):
        return code

    keep_given(budgets, run / OWN_BUDGETS)
    with progress("report") as advance:
        analysis = analyse(run, spark_master=spark_master, table=table, on_progress=advance)
    page = render(run)
    outcome = of_analysis(analysis)
    if as_json:
        document = {
            "verdict": outcome.verdict,
            "report": given.named(page),
            "figures": outcome.figures,
        }
        show_json({**document, **outcome.detail})
        for doubt in (doubt for folder in analysis.folders for doubt in folder.trace_doubts):
            complain(doubt)
    else:
        say(f"{outcome.verdict}: {outcome.summary}")
        if outcome.verdict not in HARMLESS:
            for line in lines_of(outcome.detail, f"fencepost report {shlex.quote(given.name)}"):
                say(line)
        say(f"report {given.named(page)}")
    return exit_code_of(analysis)


def _of_table(given: _Given | None, budgets: Path | None, *, as_json: bool) -> int:
    if given is None:
        raise UsageError("there is nothing to report on; name a run folder, or a --table of runs")
    if not files_of(given.folder):
        add = f"fencepost report RUN --table {shlex.quote(given.name)}"
        raise UsageError(f"{given.name} holds no analysed run; add one: {add}")
    keep_given(budgets, given.folder / OWN_BUDGETS)
    page, trend = write_trend(given.folder)
    late = [spread for spread in trend.spreads if spread.verdict is Verdict.FAIL]
    told = [one.sentence for one in trend.regressions]
    if as_json:
        spreads = [
            {**spread.group._asdict(), **asdict(spread), "verdict": spread.verdict}
            for spread in trend.spreads
        ]
        document = {"verdict": trend.verdict, "report": given.named(page), "failovers": spreads}
        show_json({**document, "regressions": told})
    else:
        for line in told:
            say(line)
        for spread in late:
            words = f"{spread.group.words}: {spread.phase} p99 {spread.p99_ms:,.0f} ms"
            say(f"{words}, budget {spread.limit_ms:,.0f} ms")
        say(f"{trend.verdict}: {given.named(page)}")
    return exit_code([trend.verdict])


def exit_code_of(analysis: Analysis) -> int:
    """As for any verdicts, but a stored run that is not whole is incomplete input: 3, not 2."""
    code = exit_code(analysis.verdicts.values())
    if code is ExitCode.UNDECIDED and analysis.verdicts["traces"] is not Verdict.PASS:
        return ExitCode.INCOMPLETE
    return code
