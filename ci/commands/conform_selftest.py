"""`fencepost conform selftest`: can every case fail?"""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from fencepost.ci.gate.failures import as_usage
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.options import JsonOption, OutFolder
from fencepost.ci.screens.console import progress, say, show_json, show_table
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.suite.library import all_cases, selected
from fencepost.conformance.suite.play import REFERENCE
from fencepost.conformance.whitebox.suite_selftest import Kill, kills, settings_of_subjects

COLUMNS = ("case", "fails", "in vain", "what it says")
KILLS = "mutants.json"


def selftest(
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Cases, as conform run selects them."),
    ] = None,
    mutant: Annotated[
        str, typer.Option(metavar="NAME", help="Try this mutant only.  [default: until one dies]")
    ] = "",
    out: OutFolder = None,
    as_json: JsonOption = False,
) -> int:
    """Play each case on mutants of the reference; a case that fails none of them shows nothing."""
    with as_usage(ChoiceError):
        cases = selected(all_cases(), select=select or ())
        if mutant:
            settings_of_subjects([f"{REFERENCE}:{mutant}"])  # which refuses one that is none
        folder = make_run_folder(new_run_id(), out)
        with progress("selftest") as advance:
            found = kills(cases, folder, only=mutant, on_progress=advance)
    document = {"kills": [asdict(one) for one in found]}
    (folder / KILLS).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if as_json:
        show_json(document)
    else:
        rows = [_cells(one) for one in found]
        show_table("", COLUMNS, rows)
        killing = sum(bool(one.mutant) for one in found)
        say(f"{killing} of {len(found)} cases fail a mutant; runs in {folder}")
    return 0 if all(one.mutant for one in found) else 1


def _cells(kill: Kill) -> list[str]:
    return [kill.case, kill.mutant or "none", ", ".join(kill.tried) or "-", kill.message]
