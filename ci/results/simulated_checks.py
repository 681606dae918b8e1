"""What each check found in simulated schedules: one row per check and level."""

from typing import TYPE_CHECKING, Any

from fencepost.conformance.verdict import Verdict
from fencepost.reports.page.words import count

if TYPE_CHECKING:  # much to import for an annotation
    from fencepost.conformance.whitebox.simulate import SimulationResult


def check_rows(result: "SimulationResult") -> list[dict[str, Any]]:
    """A row for each check that was put to the test, or should have been, and for bad ends.

    A check that was idle in few seeds shows nothing and owes nothing: it has no row. Of a share of
    the seeds it has one, for it may owe something when all are together.
    """
    first: dict[str, dict[str, Any]] = {}
    violating: dict[str, set[int]] = {}
    for failing in result.failing:
        for failure in failing.failures:
            told = {"message": failure.message, "reproduce": failing.reproduce}
            first.setdefault(str(failure.invariant), told)
            violating.setdefault(str(failure.invariant), set()).add(failing.seed)
    premises = {str(invariant): number for invariant, number in result.premises.items()}
    idle = set(map(str, result.idle if result.is_share else result.vacuous))
    rows = []
    for name in dict.fromkeys((*premises, *first)):
        seeds = len(violating.get(name, ()))
        if not (premises.get(name) or seeds or name in idle):
            continue
        told = first.get(name, {"message": "", "reproduce": ""})
        rows.append(
            {
                "name": name,
                "level": int(result.level),
                "verdict": str(_verdict(bool(seeds), name in idle, is_share=result.is_share)),
                "premises": premises.get(name, 0),
                "seeds": result.seeds,
                "violating_seeds": seeds,
                "message": _message(told["message"], seeds, is_idle=name in idle),
                "reproduce": told["reproduce"],
            }
        )
    return rows


def _verdict(is_violated: bool, is_idle: bool, *, is_share: bool) -> Verdict:
    if is_violated:
        return Verdict.FAIL
    if is_idle:
        return Verdict.NOT_RUN if is_share else Verdict.VACUOUS
    return Verdict.PASS


def _message(first: str, seeds: int, *, is_idle: bool) -> str:
    if is_idle:
        return "its premise did not occur in any seed"
    return f"{first} ({count(seeds, 'violating seed')})" if seeds else ""
