"""What the gate makes of proofs: verdict, figures, and the rows of the report's tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.page.words import count

if TYPE_CHECKING:  # z3 is much to import for annotations
    from fencepost.spec.proofs.findings import ProofFindings, ProofHazard
    from fencepost.spec.proofs.solver import Obligation

BY_SEVERITY = ("countermodel", "unknown", "proved", "untouched")
"""Of the answers for the ways to take one action, the first is told."""


def of_proofs(found: Sequence["ProofFindings"]) -> StageOutcome:
    """Every obligation must be proved, every action possible, and every hazard break the proof."""
    obligations = [one for findings in found for one in findings.obligations]
    hazards = [one for findings in found for one in findings.hazards]
    proved = sum(1 for one in obligations if one.is_proved)
    shown = sum(1 for one in hazards if one.is_shown)
    cached = sum(1 for findings in found if findings.is_cached)
    never = [way for findings in found for way in findings.never_taken]
    return StageOutcome(
        verdict=worst(_verdict(findings) for findings in found),
        summary=(
            f"{proved:,} of {count(len(obligations), 'obligation')} proved for any size, "
            f"{shown} of {count(len(hazards), 'hazard')} with a countermodel"
            + (f", {count(cached, 'module')} from the cache" if cached else "")
        ),
        figures={
            "obligations": len(obligations),
            "obligations_proved": proved,
            "proof_hazards": len(hazards),
            "proof_hazards_shown": shown,
            "proof_modules_cached": cached,
        },
        detail={
            "proofs": [row for findings in found for row in _rows(findings)],
            "proof_hazards": [_hazard(one) for one in hazards],
            "never_taken": never,
        },
    )


def _verdict(findings: "ProofFindings") -> Verdict:
    """A countermodel refutes; what is not decided, or cannot fail, shows nothing."""
    answers = {str(one.answer) for one in findings.obligations}
    if "countermodel" in answers:
        return Verdict.FAIL
    if "unknown" in answers:
        return Verdict.INCONCLUSIVE
    is_shown = not findings.never_taken and all(one.is_shown for one in findings.hazards)
    return Verdict.PASS if is_shown else Verdict.VACUOUS


def _rows(findings: "ProofFindings") -> list[dict[str, Any]]:
    """One row for each clause and action of the specs: the worst of the ways to take it."""
    cells: dict[tuple[str, str], list[Obligation]] = {}
    for one in findings.obligations:
        cells.setdefault((one.clause, one.action), []).append(one)
    return [
        {
            "module": findings.module,
            "clause": clause,
            "action": action,
            "is_property": clause in findings.properties,
            "answer": min((str(one.answer) for one in ways), key=BY_SEVERITY.index),
            "ways": len(ways),
            "proved": sum(1 for one in ways if one.is_proved),
            "seconds": round(sum(one.seconds for one in ways), 3),
            "cached": findings.is_cached,
        }
        for (clause, action), ways in cells.items()
    ]


def _hazard(hazard: "ProofHazard") -> dict[str, Any]:
    found = hazard.countermodel
    return {
        "module": hazard.module,
        "hazard": hazard.rule.hazard,
        "rule": hazard.rule.name,
        "shown": hazard.is_shown,
        "clause": found.clause if found else None,
        "is_property": bool(found and found.is_property),
        "action": found.action if found else None,
    }
