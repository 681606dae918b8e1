"""`fencepost heal`: ends and undoes what a killed harness has left."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import JsonOption

HealedFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Where runs are; every ledger below is looked at.")
]


def heal(directory: HealedFolder = Path(), as_json: JsonOption = False) -> int:
    """End and undo what a killed run has left; runs that are at work are left alone."""
    from fencepost.ci.screens.console import say, show_json
    from fencepost.conformance.verdict import ExitCode
    from fencepost.fault_injection.engine.healing import heal_below
    from fencepost.reports.page.words import count
    from fencepost.spec.scratch import sweep

    if not directory.is_dir():
        raise UsageError(f"{directory} is no folder; name one that holds runs")
    runs = heal_below(directory)
    swept = [str(folder) for folder in sweep()]
    exit_code = ExitCode.INCOMPLETE if any(run.left for run in runs) else ExitCode.FINE
    if as_json:
        told = [{**asdict(run), "ledger": str(run.ledger)} for run in runs]
        show_json({"runs": told, "folders_removed": swept})
        return exit_code
    for run in runs:
        if run.is_at_work:
            say(f"{run.ledger}: its harness is at work; nothing was touched")
        for what in run.undone:
            say(f"{run.ledger}: undone: {what}")
        for what in run.left:
            say(f"{run.ledger}: still open: {what}")
        if run.foreign_lines:
            lines = count(run.foreign_lines, "line")
            say(f"{run.ledger}: passed over {lines} that no run has written, or not to the end")
        if run.survivors:
            say(f"{run.ledger}: of a cluster that is meant to stay up: {run.survivors} processes")
    for folder in swept:
        say(f"{folder}: removed; whoever made it was killed")
    undone = sum(len(run.undone) for run in runs)
    say(f"{undone} undone, {sum(len(run.left) for run in runs)} still open")
    return exit_code
