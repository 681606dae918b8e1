"""`fencepost conform expect`: the file of what a target is known not to pass."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.commands.conform_report import SuiteFolder
from fencepost.ci.gate.failures import as_usage
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import tell
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.suite.expectations import as_toml, read_expectations, unmet, updated
from fencepost.conformance.suite.records import read_run

app = typer.Typer(no_args_is_help=True)
ExpectationsPath = Annotated[
    Path, typer.Argument(metavar="FILE", help="A TOML file; update begins it when it is not there.")
]


@app.command("update")
def update(run: SuiteFolder, file: ExpectationsPath, as_json: JsonOption = False) -> int:
    """Make the file say what came of a run; refused for one that is filtered or cut off."""
    today = datetime.now(UTC).date()
    with as_usage(ChoiceError):
        found = read_run(run)
        before = read_expectations(file) if file.exists() else ()
        after = updated(found, before, today)
    file.write_text(as_toml(after), encoding="utf-8")
    new, gone = len(set(after) - set(before)), len(set(before) - set(after))
    sentence = f"{file}: {len(after)} entries, {new} new, {gone} dropped"
    document = {"file": str(file), "entries": len(after), "new": new, "dropped": gone}
    tell(document, sentence, as_json=as_json)
    return 0


@app.command("show")
def show(run: SuiteFolder, file: ExpectationsPath, as_json: JsonOption = False) -> int:
    """Show where a file and a run disagree; exit code 1 when they do."""
    with as_usage(ChoiceError):
        found = unmet(read_run(run), read_expectations(file), datetime.now(UTC).date())
    last = f"{len(found)} entries of {file} are not true" if found else f"{file} is true of {run}"
    tell({"file": str(file), "not_true": found}, *found, last, as_json=as_json)
    return 1 if found else 0
