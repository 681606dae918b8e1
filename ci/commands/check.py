"""`fencepost check`: TLC on the models of `spec/models.toml`, expected against found."""

from typing import Annotated

import typer

from ci.commands.options import JsonOption
from ci.tiers import EFFORT, Tier

ModelNames = Annotated[
    list[str] | None, typer.Argument(metavar="[MODEL]...", help="Default: those of the tier.")
]
ModelTier = Annotated[
    Tier | None, typer.Option(help="Which models.  [default: quick, when none is named]")
]
COLUMNS = ("name", "expected", "verdict", "violated", "distinct", "seconds", "agrees", "why")


def check(models: ModelNames = None, tier: ModelTier = None, as_json: JsonOption = False) -> int:
    """Check the specs with TLC.

    Every model must end exactly as spec/models.toml expects.
    """
    from ci.console import model_progress, say, show_json, show_table
    from ci.failures import as_usage
    from ci.outcomes import of_models
    from conformance.verdict import exit_code
    from spec.tlc.models import ModelError, load_models, select
    from spec.tlc.runner import check_models

    known = load_models()
    with as_usage(ModelError):
        selected = select(known, models or (), tier or (None if models else Tier.QUICK))
    with model_progress(selected) as advance:
        results = check_models(
            selected, workers=EFFORT[tier or Tier.QUICK].workers, on_progress=advance
        )
    outcome = of_models(selected, results)
    if as_json:
        show_json({"verdict": outcome.verdict, **outcome.detail})
    else:
        rows = outcome.detail["models"]
        show_table("models", COLUMNS, [[row[column] for column in COLUMNS] for row in rows])
        say(f"{outcome.verdict}: {outcome.summary}")
    return exit_code([outcome.verdict])
