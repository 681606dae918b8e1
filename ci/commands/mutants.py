"""`fencepost mutants`: the deliberately wrong rules of the core, and what must see each."""

from typing import Any

import typer

from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import show_json, show_table
from fencepost.conformance.suite.library import all_cases
from fencepost.conformance.verdict import Verdict, exit_code
from fencepost.conformance.whitebox.simulate import load
from fencepost.spec.hazards import load_hazards

app = typer.Typer(no_args_is_help=True)
COLUMNS = ("name", "breaks the rule", "requirement", "hazard", "caught by", "found")


@app.command("list")
def list_mutants(as_json: JsonOption = False) -> int:
    """List each mutant: rule, requirement, hazard, checks that must catch it, how it is found.

    A seed is a random schedule that shows it; steps are a counterexample or a scenario of its own.
    """
    rows = described()
    if as_json:
        show_json({"mutants": rows})
    else:
        show_table("mutants", COLUMNS, [cells(row) for row in rows])
    return exit_code([Verdict.PASS])


@app.callback()
def group() -> None:
    """A group although it has one command yet: others of mutants will stand beside it."""


def described() -> list[dict[str, Any]]:
    """Each mutant's record, with the ids of the hazards that have a switch of its name."""
    hazards: dict[str, list[str]] = {}
    for hazard in load_hazards():
        hazards.setdefault(str(hazard.switch.get("mutants", "")), []).append(hazard.id)
    return [
        {**record, "hazards": hazards.get(record["mutant"], []), "found": found(record)}
        for record in (*load().mutants(), *load().suite_mutants())
    ]


def found(record: dict[str, Any]) -> str:
    """`steps`, the seed that is tried first, or `cases` for one that no run is hunted for."""
    if not record["shows"] and not record["caught_by"]:
        return "cases"
    return "steps" if record["shows"] else f"seed {record['seed']}"


def killers(row: dict[str, Any]) -> list[str]:
    """The cases of the suite that say that they kill it."""
    return [case.case_id for case in all_cases() if row["mutant"] in case.story.kills]


def cells(row: dict[str, Any]) -> list[str]:
    """One line of the table."""
    judges = row["caught_by"] or ([row["shows"]] if row["shows"] else killers(row))
    hazards = ", ".join(row["hazards"]) or "-"
    name, rule, requirement = row["mutant"], row["rule"], row["requirement"]
    return [name, rule, requirement, hazards, ", ".join(judges), row["found"]]
