"""`fencepost conform probe` and `new-adapter`: from an empty folder to a judged adapter."""

from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import HarnessError, as_usage
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import note, say, show_json, show_table, tell
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.remote.probe import OK, UNSUPPORTED, AdapterProbe, probe
from fencepost.conformance.adapters.remote.skeleton import Language, new_adapter
from fencepost.conformance.whitebox.suite_selftest import settings_of_subjects

Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="cmd:PROGRAM or tcp:HOST:PORT for an adapter, py:MODULE:NAME, "
        "reference, kafka:RELEASE[@PROTOCOL], or the command that starts a broker.",
    ),
]


def probe_target(target: Target, as_json: JsonOption = False) -> int:
    """Greet a target: what it declares and observes, and what an adapter answers to each verb."""
    with as_usage(ChoiceError):
        found = probe(settings_of_subjects([target])[target].implementation)
    if as_json:
        show_json(document_of(found))
    else:
        tell_probe(found)
    return 0 if found.is_well else HarnessError.exit_code


def document_of(found: AdapterProbe) -> dict[str, object]:
    """The same for programs."""
    return {
        "target": found.implementation.target,
        "name": found.implementation.name,
        "levels": list(found.implementation.levels),
        "capabilities": sorted(found.implementation.capabilities),
        "observes": dict(found.observations),
        "undecided": dict(found.undecided),
        "verbs": found.answers,
    }


def tell_probe(found: AdapterProbe) -> None:
    """Print it."""
    one = found.implementation
    say(f"{one.name} at level {', '.join(map(str, one.levels))}")
    say(f"declares: {', '.join(sorted(one.capabilities)) or 'nothing'}")
    show_table("", ("events", "fidelity"), found.observations)
    if found.undecided:
        show_table("", ("not observable", "needs"), found.undecided)
    if found.answers:
        show_table("", ("verb", "answer"), list(found.answers.items()))
    missing = [verb for verb, answer in found.answers.items() if answer == UNSUPPORTED]
    if missing:
        note(f"{missing[0]} comes next: the first verb that a run needs and the adapter lacks")
    elif found.answers and all(answer == OK for answer in found.answers.values()):
        note(f"all verbs are answered: fencepost conform run --target '{one.target}'")


def make_adapter(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    lang: Annotated[Language, typer.Option(help="What it is written in.")],
    as_json: JsonOption = False,
) -> int:
    """Write the skeleton of an adapter, which answers what `probe` asks."""
    with as_usage(ChoiceError):
        made = new_adapter(lang, folder)
    files = [str(path) for path in made.files]
    document = {"files": files, "build": made.build, "target": made.target}
    tell(document, *files, as_json=as_json)
    if made.build:
        note(f"build it: {made.build}")
    note(f"then: fencepost conform probe --target '{made.target}'")
    return 0
