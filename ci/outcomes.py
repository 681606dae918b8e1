"""What the gate makes of each room's results: verdict, figures and the lists for the report."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.verdict import Verdict, worst

if TYPE_CHECKING:
    from conformance.scenario import ScenarioResult
    from conformance.simulate import MutantResult, SeedResult, SimulationResult
    from reports.aggregates import Analysis, CheckOutcome
    from spec.tlc.models import Model
    from spec.tlc.runner import ModelResult

VIOLATIONS_LISTED = 50
"""Of a simulation; the count is in the figures."""

DOUBTS_LISTED = 3
"""Reasons that one line names; the report has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one stage found."""

    verdict: Verdict
    summary: str = ""
    """One line for people."""
    figures: dict[str, Any] = field(default_factory=dict)
    """Flat numbers and words."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Lists of what was tried; their keys are told in `ci/README.md`."""

    def joined(self, other: "Outcome") -> "Outcome":
        """Both in one: the worse verdict, all figures and details."""
        return Outcome(
            verdict=worst((self.verdict, other.verdict)),
            summary="; ".join(part for part in (self.summary, other.summary) if part),
            figures=self.figures | other.figures,
            detail=self.detail | other.detail,
        )


def of_models(models: Sequence["Model"], results: Sequence["ModelResult"]) -> Outcome:
    """Every model must have ended exactly as `spec/models.toml` expects."""
    rows = [_model_row(model, result) for model, result in zip(models, results, strict=True)]
    agreeing = sum(1 for row in rows if row["agrees"])
    distinct = sum(row["distinct"] or 0 for row in rows)
    return Outcome(
        verdict=worst(_model_verdict(result) for result in results),
        summary=f"{agreeing} of {len(rows)} models as expected, {distinct} distinct states",
        figures={"models": len(rows), "models_as_expected": agreeing, "distinct_states": distinct},
        detail={"models": rows},
    )


def _model_row(model: "Model", result: "ModelResult") -> dict[str, Any]:
    return {
        "name": model.name,
        "module": model.module,
        "expected": _expectation(model),
        "verdict": str(result.verdict),
        "violated": result.violated,
        "distinct": result.distinct,
        "generated": result.generated,
        "seconds": round(result.seconds, 1),
        "agrees": result.agrees,
        "why": result.why,
        "shows": model.shows,
    }


def _expectation(model: "Model") -> str:
    return f"{model.expected} {model.invariant}" if model.invariant else str(model.expected)


def _model_verdict(result: "ModelResult") -> Verdict:
    """A run that was cut short decides nothing; what TLC could not do is the harness's fault."""
    if result.agrees:
        return Verdict.PASS
    undecided = {"not_exhausted": Verdict.INCONCLUSIVE, "error": Verdict.ERROR}
    return undecided.get(result.verdict, Verdict.FAIL)


def of_seeds(result: "SimulationResult") -> Outcome:
    """What the simulated schedules showed; a check that never had anything to decide is vacuous."""
    rows = [row for failing in result.failing for row in _violation_rows(failing)]
    errors = [failing.error for failing in result.failing if failing.error]
    idle = ", ".join(result.idle)
    parts = (
        f"{result.seeds} seeds at level {result.level}, {result.events} events",
        f"{len(rows)} violations" if rows else "no violation",
        f"never tried: {idle}" if idle and result.verdict is Verdict.VACUOUS else "",
        *errors[:DOUBTS_LISTED],
        *result.doubts,
    )
    return Outcome(
        verdict=result.verdict,
        summary=", ".join(part for part in parts if part),
        figures={
            "seeds": result.seeds,
            "simulated_events": result.events,
            "events_per_second": round(result.events / result.seconds) if result.seconds else 0,
            "violations": len(rows),
        },
        detail={
            "seeds": result.seeds,
            "level": result.level,
            "violations": rows[:VIOLATIONS_LISTED],
        },
    )


def _violation_rows(failing: "SeedResult") -> list[dict[str, Any]]:
    return [
        {
            "seed": failing.seed,
            "invariant": str(failure.invariant),
            "message": failure.message,
            "reproduce": failing.reproduce,
        }
        for failure in failing.failures
    ]


def of_hunt(results: Sequence["MutantResult"], *, level: int) -> Outcome:
    """Every mutant must be caught at `level`; one that lives shows a hole in the checks."""
    caught = sum(1 for result in results if result.is_caught)
    alive = ", ".join(result.mutant for result in results if not result.is_caught)
    return Outcome(
        verdict=Verdict.PASS if caught == len(results) else Verdict.FAIL,
        summary=f"{caught} of {len(results)} mutants caught at level {level:d}"
        + (f", not {alive}" if alive else ""),
        figures={"mutants": len(results), "mutants_caught": caught},
        detail={"mutants": [_mutant_row(result) for result in results]},
    )


def _mutant_row(result: "MutantResult") -> dict[str, Any]:
    """The hunt takes seeds from 0 on, so that the catching one is the last that was tried."""
    return {
        "mutant": result.mutant,
        "rule": result.rule,
        "requirement": result.requirement,
        "caught": result.is_caught,
        "caught_by": list(result.caught_by),
        "seed": result.seeds - 1 if result.is_caught else None,
        "seeds_tried": result.seeds,
        "message": result.message,
        "reproduce": result.reproduce,
    }


def of_scenarios(results: Sequence["ScenarioResult"]) -> Outcome:
    """The verdicts of the chaos scenarios: one that fails fails the stage, expected or not."""
    rows = [_scenario_row(result) for result in results]
    passed = sum(1 for row in rows if row["verdict"] == Verdict.PASS)
    acknowledged = sum(result.acknowledged for result in results)
    faults = sum(len(result.faults) for result in results)
    return Outcome(
        verdict=worst(result.verdict for result in results),
        summary=(
            f"{passed} of {len(rows)} scenarios passed, {faults} faults, "
            f"{acknowledged} requests acknowledged"
        ),
        figures={
            "scenarios": len(rows),
            "scenarios_passed": passed,
            "faults": faults,
            "acknowledged": acknowledged,
            "trace_events": sum(result.events for result in results),
        },
        detail={"scenarios": rows},
    )


def _scenario_row(result: "ScenarioResult") -> dict[str, Any]:
    return {
        "name": result.name,
        "verdict": str(result.verdict),
        "expected": str(result.expected),
        "seed": result.seed,
        "faults": len(result.faults),
        "acknowledged": result.acknowledged,
        "seconds": round(result.seconds, 1),
        "reproduce": result.reproduce,
        "message": result.why,
    }


def of_analysis(analysis: "Analysis") -> Outcome:
    """The verdict of Spark over all traces of a run."""
    figures = analysis.figures
    doubts = [doubt for folder in analysis.folders for doubt in folder.trace_doubts]
    parts = (
        f"{figures['events']:.0f} events of {figures['runs']:.0f} runs",
        f"{figures['violations']:.0f} violations",
        f"{analysis.failover.complete} failovers",
        *missed_budgets(analysis),
        *analysis.failover.unfinished[:DOUBTS_LISTED],
        *doubts[:DOUBTS_LISTED],
    )
    return Outcome(
        verdict=analysis.verdict,
        summary=", ".join(parts),
        figures=dict(figures) | {name: str(part) for name, part in analysis.verdicts.items()},
        detail={"checks": [_check_row(check) for check in analysis.checks]},
    )


def missed_budgets(analysis: "Analysis") -> list[str]:
    """Which failovers took longer than `ci/budgets.toml` allows, one phrase each."""
    return [
        f"{row.phase} took {row.max_ms:.0f} ms of {row.limit_ms:.0f} allowed after {row.kind}"
        for row in analysis.failover.latencies
        if not row.is_within
    ]


def _check_row(check: "CheckOutcome") -> dict[str, Any]:
    found = len(check.violations) + check.omitted_violations
    parts = (f"{found} violations" if found else "", *check.doubts)
    return {
        "name": str(check.invariant),
        "verdict": str(check.verdict),
        "message": "; ".join(part for part in parts if part),
    }
