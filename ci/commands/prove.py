"""`fencepost prove`: invariants for any number of brokers, versions, epochs and log lengths."""

from typing import Annotated

import typer

from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import as_usage
from fencepost.ci.gate.places import require_cache
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import tell
from fencepost.ci.screens.proof_output import show_findings
from fencepost.spec.proofs.module import ProofError, select
from fencepost.spec.proofs.modules import MODULES

ModuleNames = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        metavar="MODULE",
        help="A module of the specs; may be given again.  [default: all that are proved]",
        autocompletion=completing("proved module"),
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Prove even where what was found is cached.")
]
ListThem = Annotated[bool, typer.Option("--list", help="List the modules; prove nothing.")]


def prove(
    module: ModuleNames = None,
    as_json: JsonOption = False,
    no_cache: NoCache = False,
    list_them: ListThem = False,
) -> int:
    """Prove invariants of the specs for any size, with z3.

    A hazard's wrong rule must have a countermodel: a proof that it does not break shows nothing.

    Exit codes: 0 proved, 1 an obligation has a countermodel, 2 one is unknown or a hazard has none.
    """
    if list_them:
        proved = [one.name for one in MODULES]
        tell({"modules": proved}, *proved, as_json=as_json)
        return 0
    with as_usage(ProofError):
        selected = select(MODULES, module or [])
    require_cache(is_wanted=not no_cache)
    return show_findings(selected, use_cache=not no_cache, as_json=as_json)
