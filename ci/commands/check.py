"""`fencepost check`: TLC on the models of `spec/models.toml`, expected against found."""

from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.commands.check_replay import (
    OfLevel,
    SeedOption,
    TraceOption,
    replay,
    replay_seed,
)
from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.places import require_cache, require_out, require_tlc
from fencepost.ci.gate.tiers import EFFORT
from fencepost.ci.options import JsonOption
from fencepost.ci.screens import check_output
from fencepost.spec.tlc.models import Model, ModelError, Tier, load_models, select
from fencepost.spec.tlc.runner import TlcOptions

ModelNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL]...",
        help="Models to check; --list names all.  [default: those of the tier]",
        autocompletion=completing("model"),
    ),
]
ModelTier = Annotated[
    Tier | None,
    typer.Option(help="Check the models of a tier.  [default: quick, when none is named]"),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Run TLC even where a verdict is cached.")
]
TimeBudget = Annotated[
    float | None,
    typer.Option(
        min=0.1, metavar="S", help="Seconds per model, instead of the budget in models.toml."
    ),
]
Heap = Annotated[
    int | None,
    typer.Option(min=16, metavar="MIB", help="Java heap, instead of the size in models.toml."),
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Save counterexamples as MODEL.json.")
]
Coverage = Annotated[
    bool, typer.Option("--coverage", help="Fail when no model that holds takes an action.")
]
WithoutRepairs = Annotated[
    bool,
    typer.Option(
        "--without-repairs", help="Undo each repair in turn: the models that need it must fail."
    ),
]
HazardIds = Annotated[
    list[str] | None,
    typer.Option(
        "--hazard",
        metavar="ID",
        help="With --without-repairs: this hazard only; --list names all.",
        autocompletion=completing("hazard"),
    ),
]

GraphFile = Annotated[
    Path | None,
    typer.Option("--graph", metavar="FILE.svg", help="Draw the states of one small model."),
]
ListThem = Annotated[bool, typer.Option("--list", help="List models and hazards; check nothing.")]
BUDGETS = ("--no-cache", "--time-budget", "--heap")
GOES_WITH = {
    "--list": {"MODEL", "--tier", "--json"},
    "--trace": {"--json"},
    "--seed": {"--level", "--json"},
    "--graph": {"MODEL", "--tier", *BUDGETS},
    "--coverage": {"MODEL", "--tier", "--json", *BUDGETS},
    "--without-repairs": {"MODEL", "--tier", "--json", "--hazard", *BUDGETS},
}
"""What each of the other checks takes; the rest would be read and then forgotten."""


def check(
    models: ModelNames = None,
    tier: ModelTier = None,
    trace: TraceOption = None,
    seed: SeedOption = None,
    level: OfLevel = None,
    as_json: JsonOption = False,
    no_cache: NoCache = False,
    time_budget: TimeBudget = None,
    heap: Heap = None,
    out: OutFolder = None,
    coverage: Coverage = False,
    without_repairs: WithoutRepairs = False,
    hazard: HazardIds = None,
    graph: GraphFile = None,
    list_them: ListThem = False,
) -> int:
    """Check the specs with TLC.

    Every model must end exactly as spec/models.toml expects. With --trace, recorded runs are
    replayed instead, with --seed a simulated one: each must be a behaviour of the protocol.
    """
    others = {"--list": list_them, "--coverage": coverage, "--without-repairs": without_repairs}
    others |= {"--trace": trace is not None, "--graph": graph is not None}
    others |= {"--seed": seed is not None, "--level": level is not None}
    rest: dict[str, object] = {
        "MODEL": models,
        "--tier": tier,
        "--json": as_json,
        "--hazard": hazard,
        "--out": out,
    }
    rest |= dict(zip(BUDGETS, (no_cache, time_budget, heap), strict=True))
    _refuse_contradictions({name for name, given in (others | rest).items() if given})
    if trace is not None:
        return replay(trace, as_json=as_json)
    if seed is not None:
        return replay_seed(seed, level, as_json=as_json)
    options = TlcOptions(use_cache=not no_cache, time_budget_s=time_budget, heap_mb=heap)
    widest = Tier.NIGHTLY if list_them or without_repairs else Tier.QUICK
    selected = _selected(models or [], tier or widest)
    if list_them:
        return check_output.list_models(selected, as_json=as_json)
    require_out(out)
    require_tlc()
    require_cache(is_wanted=options.use_cache)
    if graph is not None:
        return check_output.draw_graph(selected, options, graph)
    workers = EFFORT[tier or Tier.QUICK].workers
    if coverage:
        return check_output.check_coverage(selected, options, workers=workers, as_json=as_json)
    if without_repairs:
        return check_output.check_without_repairs(
            selected, hazard or [], options, workers=workers, as_json=as_json
        )
    alone = len(models or []) == 1
    return check_output.check_rows(
        selected, options, workers=workers, as_json=as_json, out=out, tell=alone
    )


def _refuse_contradictions(given: set[str]) -> None:

    if {"MODEL", "--tier"} <= given:
        raise UsageError("a named model is checked in any tier; leave out --tier or the name")
    if "--hazard" in given and "--without-repairs" not in given:
        raise UsageError("--hazard goes with --without-repairs; add that, or leave it out")
    if "--level" in given and "--seed" not in given:
        raise UsageError("--level goes with --seed; add that, or leave it out")
    for check_, takes in GOES_WITH.items():
        if check_ in given and (lost := sorted(given - takes - {check_})):
            raise UsageError(f"{check_} does nothing with {lost[0]}; leave out one of the two")


def _selected(names: list[str], tier: Tier) -> tuple[Model, ...]:

    with as_usage(ModelError):
        return select(load_models(), names, None if names else tier)
