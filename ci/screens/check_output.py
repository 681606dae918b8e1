"""What `fencepost check` runs and prints: rows against `models.toml`, coverage, hazards."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.outcomes import of_coverage, of_models, of_trials
from fencepost.ci.gate.places import require_file
from fencepost.ci.screens.console import say, show_json, show_table
from fencepost.ci.screens.model_progress import model_progress
from fencepost.ci.screens.outcome import show_outcome
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
    behaviours = {m.name: as_document(m, r) for m, r in pairs if as_json and r.counterexample}
    table = ("models", COLUMNS, [_cells(row) for row in outcome.detail["models"]])
    lines = _findings(results, tell=tell)
    return show_outcome(outcome, table, lines, as_json=as_json, counterexamples=behaviours)


def _findings(results: Iterable[ModelResult], *, tell: bool) -> Iterator[str]:
    """How each invariant is violated, with `tell`, and which results are not as expected."""
    for result in results:
        if tell and result.counterexample is not None:
            yield f"\nhow {result.violated} is violated:\n{result.counterexample.as_table()}"
        if result.taken:
            yield _coverage(result)
        if not result.agrees:
            yield _complaint(result)


def _coverage(result: ModelResult) -> str:
    """In how many behaviours of a simulation each action was taken, the rarest first."""
    rarest = sorted(result.taken.items(), key=lambda item: (item[1], item[0]))
    told = ", ".join(f"{action} {number:,}" for (_, action), number in rarest)
    return f"\n{result.model} simulates; behaviours that take each action: {told}"


def _cells(row: dict[str, Any]) -> list[object]:
    verdict = f"{row['verdict']} {row['violated'] or ''}".rstrip()
    seconds = "cached" if row["cached"] else row["seconds"]
    states = f"{row['distinct'] or row['generated']:,}"
    return [row["name"], verdict, states, seconds, "yes" if row["agrees"] else "NO"]


def _complaint(result: ModelResult) -> str:
    name = f"model {result.model}"
    return result.why if result.why.startswith(name) else f"{name}: {result.why}"


def check_coverage(
    models: Sequence[Model], options: TlcOptions, *, workers: int, as_json: bool
) -> int:
    """Every action of a module must be taken in some row that holds."""
    with model_progress([m for m in models if m.is_clean]) as advance:
        coverage = measure(models, options=options, workers=workers, on_progress=advance)
    outcome = of_coverage(coverage)
    cells = [[one["module"], one["action"], len(one["rows"])] for one in outcome.detail["actions"]]
    lines = [
        *(f"{where}: action {one} is taken in no row that holds" for where, one in coverage.dead()),
        *(f"model {name}: {why}" for name, why in coverage.undecided.items()),
    ]
    table = ("actions", ("module", "action", "rows"), cells)
    return show_outcome(outcome, table, lines, as_json=as_json)


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
    cells = [
        [o.hazard, o.row, "red" if o.should_fail else "green", o.found, o.word] for o in outcomes
    ]
    lines = [f"hazard {o.hazard}: row {o.row} {o.why}" for o in outcomes if not o.is_as_expected]
    table = ("hazards", ("hazard", "row", "expected", "found", "ok"), cells)
    return show_outcome(of_trials(outcomes), table, lines, as_json=as_json)


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
