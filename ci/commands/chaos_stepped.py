"""`fencepost chaos --from-counterexample`: what TLC found, on real processes, move by move."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fencepost.ci.gate.failures import as_usage
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.screens.console import progress, say, show_json, show_table
from fencepost.conformance.adapters.errors import ChoiceError as WrongName
from fencepost.conformance.verdict import exit_code, worst
from fencepost.conformance.whitebox.stepped import SteppedPair, follow, follow_file, select
from fencepost.reports.page.words import count
from fencepost.spec.pacing import MoveError, read_moves

COLUMNS = ("model", "verdict", "steps", "with the hazard", "repaired: steps", "found", "seconds")


def make_moves(path: Path, out: Path | None, *, as_json: bool) -> int:
    """Make the moves of a file again, and say what the checks found."""
    with as_usage(MoveError):
        read_moves(path)
    folder = make_run_folder(new_run_id(), out)
    listed, run = follow_file(path, out=folder)
    verdict = run.verdict
    if as_json:
        show_json({"verdict": verdict, "run": str(folder), "name": listed.name, **asdict(run)})
        return exit_code([verdict])
    found = ", ".join(run.found) or "nothing"
    say(f"{run.made} of {run.moves} moves of {listed.name}, {run.steps} of its steps")
    if run.problem:
        say(run.problem)
    say(f"{verdict}: violated {found}; traces in {folder}")
    return exit_code([verdict])


def follow_counterexamples(names: Sequence[str], out: Path | None, *, as_json: bool) -> int:
    """Lead processes along each counterexample twice, and say what the checks found."""
    with as_usage(WrongName):
        select(names)
    folder = make_run_folder(new_run_id(), out)
    with progress("counterexamples") as advance:
        results = follow(names, out=folder, on_progress=advance)
    verdicts = [result.verdict for result in results]
    if as_json:
        rows = [guided_row(result) for result in results]
        show_json({"verdict": worst(verdicts), "run": str(folder), "counterexamples": rows})
        return exit_code(verdicts)
    show_table("", COLUMNS, [_cells(result) for result in results])
    for result in results:
        if result.message:
            say(f"{result.row}: {result.message}")
    passed = sum(verdict == "PASS" for verdict in verdicts)
    say(
        f"{worst(verdicts)}: {passed} of {count(len(results), 'counterexample')} violate what "
        f"they must, and nothing once repaired; moves and traces in {folder}"
    )
    return exit_code(verdicts)


def guided_row(result: SteppedPair) -> dict[str, Any]:
    """One counterexample as `--json` shows it."""
    return {
        "model": result.row,
        "schedule": result.name,
        "verdict": result.verdict,
        "violates": result.violates,
        "steps": result.of,
        "message": result.message,
        "hazard": asdict(result.hazard),
        "repaired": asdict(result.repaired),
    }


def _cells(result: SteppedPair) -> list[object]:
    hazard, repaired = result.hazard, result.repaired
    found, left = (", ".join(run.found) or "nothing" for run in (hazard, repaired))
    return [
        result.row,
        result.verdict,
        result.of,
        hazard.mutant or f"level {hazard.level}",
        f"{repaired.steps} of {result.of}",
        f"{found}; repaired: {left}",
        f"{hazard.seconds:.1f} + {repaired.seconds:.1f}",
    ]
