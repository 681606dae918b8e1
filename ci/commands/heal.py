"""`fencepost heal`: ends and undoes what a killed harness has left."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import say, show_json
from fencepost.conformance.verdict import ExitCode
from fencepost.fault_injection.engine.healing import heal_below
from fencepost.reports.page.words import count
from fencepost.spec.scratch import sweep

HealedFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder with runs; every ledger below it is read.")
]


def heal(directory: HealedFolder = Path(), as_json: JsonOption = False) -> int:
    """End the processes and undo the faults of killed runs; runs at work are left alone."""
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a folder; name one that holds runs")
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
            say(f"{run.ledger}: passed over {lines} that are torn or of no run")
        if run.survivors:
            say(f"{run.ledger}: of a cluster that is meant to stay up: {run.survivors} processes")
    for folder in swept:
        say(f"{folder}: removed; the process that made it was killed")
    undone = sum(len(run.undone) for run in runs)
    say(f"{undone} undone, {sum(len(run.left) for run in runs)} still open")
    return exit_code
