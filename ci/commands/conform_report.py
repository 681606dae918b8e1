"""`fencepost conform report` and `diff`: the page of a run of the suite, and two runs compared."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import HarnessError, as_usage
from fencepost.ci.options import JsonOption
from fencepost.ci.results.junit import write_junit
from fencepost.ci.results.suite_cases import suite_groups
from fencepost.ci.results.tap import write_tap
from fencepost.ci.screens.conformance import exit_code_of, tell_run
from fencepost.ci.screens.console import say, show_json
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.suite.comparison import DIFFERS, differences
from fencepost.conformance.suite.records import SuiteRun, altered, read_run
from fencepost.reports.suite.badge import write_badges
from fencepost.reports.suite.page import write_page

SuiteFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder of a run of fencepost conform.")
]


def report(run: SuiteFolder, as_json: JsonOption = False) -> int:
    """Write the report of a run again; one that was cut off says so."""
    with as_usage(ChoiceError):
        found = read_run(run)
    tell(found, as_json=as_json)
    return exit_code_of(found)


def validate(run: SuiteFolder, as_json: JsonOption = False) -> int:
    """Is a run whole, and are its files those that it left? Exit code 3 when not."""
    with as_usage(ChoiceError):
        found = read_run(run)
    told = [*found.doubts, *altered(run)]
    if as_json:
        show_json({"run": str(run), "whole": not told, "doubts": told})
        return HarnessError.exit_code if told else 0
    for sentence in told:
        say(sentence)
    say(f"{run} is not as it should be" if told else f"{run} is whole and unchanged")
    return HarnessError.exit_code if told else 0


def tell(run: SuiteRun, *, as_json: bool) -> None:
    """Write the report, and show what came of the run."""
    page = write_report(run)
    tell_run(run, as_json=as_json)
    if not as_json:
        say(f"report {page}")


def diff(old: SuiteFolder, new: SuiteFolder, as_json: JsonOption = False) -> int:
    """Show the cases that ended otherwise in a second run; exit code 16 when there are some."""
    with as_usage(ChoiceError):
        found = differences(read_run(old), read_run(new))
    if as_json:
        show_json({"differences": [asdict(one) for one in found]})
    else:
        for one in found:
            say(one.sentence)
        say(f"{len(found)} cases differ" if found else "no case differs")
    return DIFFERS if found else 0


def write_report(run: SuiteRun) -> Path:
    """`report.html`, `junit.xml`, `results.tap` and badges beside the results; the page's path."""
    groups = suite_groups(run)
    write_junit(run.folder, groups)
    write_tap(run.folder, groups, doubts=run.doubts)
    write_badges(run)
    return write_page(run)
