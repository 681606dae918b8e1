"""What `fencepost prove` runs and prints: clauses, hazards, and what is not proved."""

from collections.abc import Iterator, Sequence
from typing import Any

from fencepost.ci.gate.proof_outcome import of_proofs
from fencepost.ci.gate.tiers import EFFORT
from fencepost.ci.screens.console import progress
from fencepost.ci.screens.outcome import show_outcome
from fencepost.spec.proofs.findings import find_all
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.tlc.models import Tier

COLUMNS = ("module", "clause", "kind", "proved", "seconds")


def show_findings(modules: Sequence[ProvedModule], *, use_cache: bool, as_json: bool) -> int:
    """Prove modules and print table or JSON."""
    workers = EFFORT[Tier.QUICK].workers
    with progress("proofs") as advance:
        found = find_all(modules, advance, jobs=workers, use_cache=use_cache)
    outcome = of_proofs(found)
    table = ("clauses", COLUMNS, clause_cells(outcome.detail["proofs"]))
    return show_outcome(outcome, table, _lines(outcome.detail), as_json=as_json)


def clause_cells(rows: Sequence[dict[str, Any]]) -> list[list[object]]:
    """One line for each clause: after how many ways to take an action it is proved."""
    clauses: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        clauses.setdefault((row["module"], row["clause"]), []).append(row)
    return [
        [
            module,
            clause,
            "property" if cells[0]["is_property"] else "lemma",
            f"{sum(one['proved'] for one in cells)} of {sum(one['ways'] for one in cells)}",
            "cached" if cells[0]["cached"] else f"{sum(one['seconds'] for one in cells):.2f}",
        ]
        for (module, clause), cells in clauses.items()
    ]


def _lines(detail: dict[str, Any]) -> Iterator[str]:
    """The hazards with their countermodels, and what is not as it should be."""
    for row in detail["proof_hazards"]:
        name = f"{row['module']}: {row['hazard']} {row['rule']}"
        if row["shown"]:
            yield f"{name}: countermodel to {row['clause']} after {row['action']}"
        else:
            yield f"{name}: NO countermodel, so the proof cannot fail by it"
    for row in detail["proofs"]:
        if row["answer"] in {"countermodel", "unknown"}:
            yield f"{row['module']}: {row['clause']} after {row['action']}: {row['answer']}"
    for way in detail["never_taken"]:
        yield f"{way}: no state allows it, so that nothing is shown of it"
