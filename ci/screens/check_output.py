"""What `fencepost check` runs and prints: rows against `models.toml`, coverage, hazards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.outcomes import of_coverage, of_models, of_trials
from fencepost.ci.gate.places import require_file
from fencepost.ci.screens.console import say, say_fitted, show_json, show_table
from fencepost.ci.screens.model_progress import model_progress
from fencepost.conformance.verdict import Verdict, exit_code
from fencepost.reports.page.words import count
from fencepost.spec.hazards import HazardError, load_hazards, select_hazards
from fencepost.spec.tlc.compare import ModelResult
from fencepost.spec.tlc.coverage import measure
from fencepost.spec.tlc.graph.graph import state_graph
from fencepost.spec.tlc.graph.graph_svg import draw
from fencepost.spec.tlc.models import Model, ModelError
from fencepost.spec.tlc.repairs import trials, undo
from fencepost.spec.tlc.runner import TlcOptions, check_models
from fencepost.spec.tlc.saved import as_document, save

COLUMNS = ("name", "verdict", "states", "seconds", "ok")


def check_rows(
    models: Sequence[Model],
    options: TlcOptions,
    *,
    workers: int,
    as_json: bool,
    out: Path | None,
    tell: bool,
) -> int:
    """Check rows and print table or JSON; `tell` prints the counterexample too."""
    with model_progress(models) as advance:
        results = check_models(models, workers=workers, on_progress=advance, options=options)
    outcome = of_models(models, results)
    pairs = list(zip(models, results, strict=True))
    if out is not None:
        for model, result in pairs:
            save(out, model, result)
    if as_json:
        behaviours = {m.name: as_document(m, r) for m, r in pairs if r.counterexample}
        show_json({"verdict": outcome.verdict, **outcome.detail, "counterexamples": behaviours})
        return exit_code([outcome.verdict])
    show_table("models", COLUMNS, [_cells(row) for row in outcome.detail["models"]])
    for _, result in pairs:
        if tell and result.counterexample is not None:
            say_fitted(f"\nhow {result.violated} is violated:\n{result.counterexample.as_table()}")
        if not result.agrees:
            say(_complaint(result))
    say(f"{outcome.verdict}: {outcome.summary}")
    return exit_code([outcome.verdict])


def _cells(row: dict[str, Any]) -> list[object]:
    verdict = f"{row['verdict']} {row['violated'] or ''}".rstrip()
    seconds = "cached" if row["cached"] else row["seconds"]
    return [row["name"], verdict, f"{row['distinct']:,}", seconds, "yes" if row["agrees"] else "NO"]


def _complaint(result: ModelResult) -> str:
    name = f"model {result.model}"
    return result.why if result.why.startswith(name) else f"{name}: {result.why}"


def check_coverage(
    models: Sequence[Model], options: TlcOptions, *, workers: int, as_json: bool
) -> int:
    """Every action of a module must be taken in some row that holds."""
    with model_progress([m for m in models if m.expected == "holds"]) as advance:
        coverage = measure(models, options=options, workers=workers, on_progress=advance)
    outcome = of_coverage(coverage)
    if as_json:
        show_json({"verdict": outcome.verdict, **outcome.detail})
        return exit_code([outcome.verdict])
    cells = [[one["module"], one["action"], len(one["rows"])] for one in outcome.detail["actions"]]
    show_table("actions", ("module", "action", "rows"), cells)
    for module, action in coverage.dead():
        say(f"{module}: action {action} is taken in no row that holds")
    for name, why in coverage.undecided.items():
        say(f"model {name}: {why}")
    say(f"{outcome.verdict}: {outcome.summary}")
    return exit_code([outcome.verdict])


def check_without_repairs(
    models: Sequence[Model],
    ids: Sequence[str],
    options: TlcOptions,
    *,
    workers: int,
    as_json: bool,
) -> int:
    """With each hazard's switch added, exactly its rows must fail."""
    with as_usage(HazardError):
        hazards = select_hazards(load_hazards(), ids)
    tried = trials(hazards, models)
    with model_progress([trial.model for trial in tried]) as advance:
        outcomes = undo(tried, options=options, workers=workers, on_progress=advance)
    outcome = of_trials(outcomes)
    if as_json:
        show_json({"verdict": outcome.verdict, **outcome.detail})
        return exit_code([outcome.verdict])
    cells = [
        [o.hazard, o.row, "red" if o.should_fail else "green", o.found, o.word] for o in outcomes
    ]
    show_table("hazards", ("hazard", "row", "expected", "found", "ok"), cells)
    for trial in outcomes:
        if not trial.is_as_expected:
            say(f"hazard {trial.hazard}: row {trial.row} {trial.why}")
    say(f"{outcome.verdict}: {outcome.summary}")
    return exit_code([outcome.verdict])


def draw_graph(models: Sequence[Model], options: TlcOptions, path: Path) -> int:
    """Draw the states of one small model."""
    if len(models) != 1:
        raise UsageError("--graph draws one model; name it")
    require_file(path, "--graph")
    with as_usage(ModelError):
        graph, finding = state_graph(models[0], options)
    end = f"violates {finding.violated} (red)" if finding.violated else "holds"
    note = (
        f"{count(len(graph.nodes), 'state')}, {count(len(graph.edges), 'step')}; {end}; "
        "a box says what changed since the state before, the whole state is in its tooltip"
    )
    path.write_text(draw(graph, title=models[0].name, note=note), encoding="utf-8")
    say(f"{path}: {count(len(graph.nodes), 'state')}")
    return exit_code([Verdict.PASS])


def list_models(models: Sequence[Model], *, as_json: bool) -> int:
    """Name the models, and the hazards that they show."""
    hazards = load_hazards()
    if as_json:
        fields = ("name", "module", "tier", "expected", "invariant", "distinct_states", "shows")
        rows = [{field: getattr(model, field) for field in fields} for model in models]
        named = [{"id": h.id, "title": h.title, "finding": h.finding} for h in hazards]
        show_json({"models": rows, "hazards": named})
        return exit_code([Verdict.PASS])
    cells = [[m.name, m.tier, m.invariant or m.expected] for m in models]
    show_table("models", ("name", "tier", "finds"), cells)
    show_table("\nhazards", ("id", "title"), [[h.id, h.title] for h in hazards])
    return exit_code([Verdict.PASS])
