"""`fencepost conform selftest`: can every case fail, and is every bad adapter told?"""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import as_usage
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.options import NEWEST_LEVEL, JsonOption, LevelOption, OutFolder
from fencepost.ci.screens.console import progress, say, show_json, show_table
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.suite.library import all_cases, selected
from fencepost.conformance.suite.play import REFERENCE
from fencepost.conformance.whitebox.suite_selftest import ZOO, Kill, kills, settings_of_subjects
from fencepost.conformance.whitebox.zoo.animals import Caught, visit

COLUMNS = ("case", "fails", "in vain", "what it says")
OF_THE_ZOO = ("bad adapter", "caught", "verdict", "what it says")
FOUND = "mutants.json"


def selftest(
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Cases of fencepost conform list; no zoo then.",
            autocompletion=completing("case", "requirement"),
        ),
    ] = None,
    mutant: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Try this one of fencepost mutants list only.  [default: until one dies]",
            autocompletion=completing("mutant"),
        ),
    ] = "",
    level: LevelOption = NEWEST_LEVEL,
    out: OutFolder = None,
    as_json: JsonOption = False,
) -> int:
    """Play each case on mutants of the reference, and on bad adapters: what fails none is wrong."""
    with as_usage(ChoiceError):
        cases = selected(all_cases(), select=select or ())
        if mutant:
            settings_of_subjects([f"{REFERENCE}:{mutant}"], level)  # which refuses one that is none
        folder = make_run_folder(new_run_id(), out)
        with progress("zoo") as advance:
            caught = [] if select or mutant else visit(folder / ZOO, on_progress=advance)
        with progress("selftest") as advance:
            found = kills(cases, folder, only=mutant, level=level, on_progress=advance)
    document = {"kills": [asdict(one) for one in found], "zoo": [asdict(one) for one in caught]}
    (folder / FOUND).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if as_json:
        show_json(document)
    else:
        show_table("", COLUMNS, [_cells(one) for one in found])
        killing = sum(bool(one.mutant) for one in found)
        if caught:
            show_table("", OF_THE_ZOO, [_zoo_cells(one) for one in caught])
            say(f"{sum(one.is_caught for one in caught)} of {len(caught)} bad adapters are caught")
        say(f"{killing} of {len(found)} cases fail a mutant; runs in {folder}")
    is_well = all(one.mutant for one in found) and all(one.is_caught for one in caught)
    return 0 if is_well else 1


def _cells(kill: Kill) -> list[str]:
    return [kill.case, kill.mutant or "none", ", ".join(kill.tried) or "-", kill.message]


def _zoo_cells(caught: Caught) -> list[str]:
    is_caught = "yes" if caught.is_caught else "no"
    first, _, _ = caught.message.partition("\n")
    return [caught.name, is_caught, caught.verdict, first]
