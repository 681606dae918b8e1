"""`fencepost explain`: what a name stands for, where it comes from, and how it ended last."""

from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.gate.runs import LATEST, RUNS
from fencepost.ci.options import JsonOption
from fencepost.ci.results.stored_run import PastRun, read_stored
from fencepost.ci.screens.console import say, say_fitted, show_json
from fencepost.ci.screens.explanations import (
    NameKind,
    all_names,
    as_document,
    explanations,
    last_verdicts,
    lines_of,
    names,
)
from fencepost.fault_injection.stories.story_refusal import instead

Name = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Of a requirement, check, mutant, hazard, fault kind, model, bug or story.",
        autocompletion=completing(""),
    ),
]
ListThem = Annotated[bool, typer.Option("--list", help="List all names; ID may be a kind then.")]
FromRun = Annotated[
    Path | None,
    typer.Option(
        "--run", metavar="RUN", help="Where the last verdict is from.  [default: the latest run]"
    ),
]


def explain(
    name: Name = "", run: FromRun = None, list_them: ListThem = False, as_json: JsonOption = False
) -> int:
    """Tell what an id stands for: text, source, links, and the last verdict."""
    if list_them:
        return list_names(name, as_json=as_json)
    if not name:
        raise UsageError("explain needs an id; fencepost explain --list names all")
    found = explanations(name)
    if not found:
        near = instead(name, all_names(), "fencepost explain --list names all")
        raise UsageError(f"nothing is called {name!r}; {near}")
    stored = stored_run(run)
    verdicts = [(one, list(last_verdicts(one, stored))) for one in found]
    if as_json:
        documents = [as_document(one, of_it) for one, of_it in verdicts]
        show_json({"found": documents, "run": str(stored.folder) if stored else None})
        return 0
    for one, of_it in verdicts:
        for line in lines_of(one, of_it, str(stored.folder) if stored else ""):
            say_fitted(line)
    return 0


def stored_run(given: Path | None) -> PastRun | None:
    """The run that is named, else the latest; None where there was none yet."""
    if given is not None:
        return read_stored(given)
    latest = RUNS / LATEST
    try:
        return read_stored(latest)
    except UsageError:  # of a command that leaves no verdicts, or there is none
        return None


def list_names(kind: str, *, as_json: bool) -> int:
    """All names, or those of a kind, each with its kind before it."""
    known = names()
    if kind and kind not in known:
        raise UsageError(f"{kind!r} is no kind of name; choose one of {', '.join(NameKind)}")
    chosen = {one: found for one, found in known.items() if not kind or one == kind}
    if as_json:
        show_json({str(one): list(found) for one, found in chosen.items()})
        return 0
    for one, found in chosen.items():
        for name in found:
            say(f"{one}\t{name}")
    return 0
