"""`fencepost faults`: every kind of fault, from the catalogue that the engine itself reads."""

from typing import Annotated

import typer

from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import as_usage
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import say, show_json, show_table
from fencepost.fault_injection.faults.catalogue import KINDS, kind_of
from fencepost.fault_injection.faults.table import as_document
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.story_schema import schema_text

app = typer.Typer(no_args_is_help=True)
COLUMNS = ("kind", "backends", "parameters", "what happens")

KindName = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="A kind of fault, such as proc.pause.",
        autocompletion=completing("fault"),
    ),
]


@app.command("list")
def list_faults(as_json: JsonOption = False) -> int:
    """List each kind with its backends, its parameters and its effect."""
    if as_json:
        show_json({"faults": [as_document(kind) for kind in KINDS.values()]})
        return 0
    rows = [
        [
            kind.kind,
            ", ".join(kind.backends),
            ", ".join(kind.parameters),
            kind.sentence,
        ]
        for kind in KINDS.values()
    ]
    show_table("faults", COLUMNS, rows)
    return 0


@app.command("explain")
def explain(kind: KindName, as_json: JsonOption = False) -> int:
    """Show a kind: parameters with unit and range, backends, evidence, undo, requirements."""
    with as_usage(FaultError):
        found = kind_of(kind)
    document = as_document(found)
    if as_json:
        show_json(document)
        return 0
    say(f"{kind}: {found.sentence}")
    columns = ("parameter", "unit", "range", "default", "meaning")
    rows = [
        [item["name"], item["unit"], item["range"], shown_default(item), item["says"]]
        for item in document["parameters"]
    ]
    show_table("", columns, rows)
    say(f"backends: {', '.join(found.backends)}")
    for backend, why in found.missing.items():
        say(f"not {backend}: {why}")
    if found.needs_proxy:
        say(f"by the proxy only: {found.needs_proxy}")
    say(f"evidence: {found.evidence}")
    say(f"undone by: {found.undo}")
    say(f"not promised meanwhile: {found.relaxes or '-'}")
    say(f"requirements: {', '.join(found.requirements) or '-'}")
    say(f"in the specs: {', '.join(found.spec_actions) or '-'}")
    return 0


@app.command("schema")
def schema(_as_json: JsonOption = True) -> int:
    """Print the JSON Schema of story files, for editors and other programs; always JSON."""
    print(schema_text(), end="")
    return 0


def shown_default(parameter: dict[str, object]) -> str:
    """What stands in the table; a parameter without default must be given."""
    if "default" not in parameter:
        return "must be given"
    return "empty" if parameter["default"] == "" else str(parameter["default"])
