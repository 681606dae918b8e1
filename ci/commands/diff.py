"""`fencepost diff`: what is new, fixed, gone or slower in the second of two runs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.places import require_file
from fencepost.ci.options import JsonOption
from fencepost.ci.results.comparison import compare
from fencepost.ci.results.stored_run import read_stored
from fencepost.ci.screens.console import note, printable, say, say_fitted, show_json
from fencepost.conformance.verdict import Verdict, exit_code
from fencepost.reports.page.comparison import TEMPLATE, ChangeKind
from fencepost.reports.page.page import html_of

RunBefore = Annotated[
    Path, typer.Argument(metavar="RUN_A", help="The folder of the run that was first.")
]
RunAfter = Annotated[
    Path, typer.Argument(metavar="RUN_B", help="The folder of the run to compare with it.")
]
PageFile = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Write the comparison as HTML, too.")
]


def diff(
    before: RunBefore, after: RunAfter, page: PageFile = None, as_json: JsonOption = False
) -> int:
    """Compare two runs, case by case.

    They are of the gate, of chaos, of seeds or of the suite. The exit code is that of what is new
    alone: 1 for a violation that the first run did not have.
    """
    found = compare(read_stored(before), read_stored(after))
    if page is not None:
        require_file(page, "--page")
        page.write_text(html_of(TEMPLATE, found), encoding="utf-8", newline="\n")
    code = exit_code([Verdict.PASS, *found.news])
    if as_json:
        show_json({**asdict(found), "summary": found.summary, "exit_code": code})
        return code
    for sentence in found.notes:
        note(f"diff: {sentence}: what only one of them tried is no change of the program")
    for one in found.changes:
        if one.change is not ChangeKind.STILL:
            again = f" — {one.again}" if one.again else ""
            say_fitted(printable(f"{one.sentence}{again}"))
    say(found.summary)
    return code
