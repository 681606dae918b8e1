"""`fencepost check`: TLC on the models of `spec/models.toml`, expected against found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ci.commands.options import JsonOption
from ci.commands.replay import TraceOption
from ci.tiers import EFFORT, Tier

if TYPE_CHECKING:
    from spec.tlc.models import Model

ModelNames = Annotated[
    list[str] | None, typer.Argument(metavar="[MODEL]...", help="Default: those of the tier.")
]
ModelTier = Annotated[
    Tier | None, typer.Option(help="Which models.  [default: quick, when none is named]")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Search again what was searched before.")]
TimeBudget = Annotated[
    float | None,
    typer.Option(min=0.1, metavar="S", help="Seconds per model, in place of its row's."),
]
Heap = Annotated[
    int | None, typer.Option(min=16, metavar="MIB", help="Java heap, in place of the rows'.")
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Save counterexamples as MODEL.json.")
]
Coverage = Annotated[
    bool, typer.Option("--coverage", help="Which actions the models that hold take.")
]
WithoutRepairs = Annotated[
    bool,
    typer.Option(
        "--without-repairs", help="Follow the draft, hazard by hazard: what it breaks must fail."
    ),
]
HazardIds = Annotated[
    list[str] | None, typer.Option("--hazard", metavar="ID", help="With --without-repairs: which.")
]

GraphFile = Annotated[
    Path | None, typer.Option("--graph", metavar="FILE.svg", help="Draw one small model's states.")
]


def check(
    models: ModelNames = None,
    tier: ModelTier = None,
    trace: TraceOption = None,
    as_json: JsonOption = False,
    no_cache: NoCache = False,
    time_budget: TimeBudget = None,
    heap: Heap = None,
    out: OutFolder = None,
    coverage: Coverage = False,
    without_repairs: WithoutRepairs = False,
    hazard: HazardIds = None,
    graph: GraphFile = None,
) -> int:
    """Check the specs with TLC.

    Every model must end exactly as spec/models.toml expects. With --trace, recorded runs are
    replayed instead: each must be a behaviour of the protocol.
    """
    from ci.check_output import check_coverage, check_rows, check_without_repairs, draw_graph
    from ci.commands.replay import replay
    from ci.failures import UsageError
    from spec.tlc.runner import Options

    if trace is not None:
        if models or tier or out or coverage or without_repairs:
            raise UsageError("--trace replays runs and checks no model; leave out the rest")
        return replay(trace, as_json=as_json)
    if coverage and without_repairs:
        raise UsageError("--coverage and --without-repairs are two checks; give one of them")
    if hazard and not without_repairs:
        raise UsageError("--hazard goes with --without-repairs")
    if out and (coverage or without_repairs):
        raise UsageError("--out saves counterexamples of rows; leave out the other check")
    options = Options(use_cache=not no_cache, time_budget_s=time_budget, heap_mb=heap)
    selected = _selected(models or [], tier)
    if graph is not None:
        return draw_graph(selected, options, graph)
    workers = EFFORT[tier or Tier.QUICK].workers
    if coverage:
        return check_coverage(selected, options, workers=workers, as_json=as_json)
    if without_repairs:
        return check_without_repairs(
            selected, hazard or [], options, workers=workers, as_json=as_json
        )
    alone = len(models or []) == 1
    return check_rows(selected, options, workers=workers, as_json=as_json, out=out, tell=alone)


def _selected(names: list[str], tier: Tier | None) -> "tuple[Model, ...]":
    from ci.failures import UsageError, as_usage
    from spec.tlc.models import ModelError, load_models, select

    if names and tier is not None:
        raise UsageError("a named model is checked in any tier; leave out --tier or the name")
    with as_usage(ModelError):
        return select(load_models(), names, None if names else tier or Tier.QUICK)
