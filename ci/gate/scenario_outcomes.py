"""What the gate makes of scenarios on real processes: one by one, as a canary, or as a soak."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.ci.gate.outcomes import StageOutcome, attributes_of, cut_short
from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.page.words import count, listing

if TYPE_CHECKING:  # much to import for annotations
    from fencepost.conformance.falsified import Falsehood
    from fencepost.conformance.runs.scenario import ScenarioResult
    from fencepost.conformance.runs.soak import SoakRound, Totals
    from fencepost.conformance.whitebox.canary import Canary

SCENARIO = ("name", "verdict", "expected", "known", "seed", "acknowledged", "reproduce")


def of_scenarios(results: Sequence["ScenarioResult"], left: Sequence[str] = ()) -> StageOutcome:
    """The verdicts of the chaos scenarios: one that fails fails the stage.

    It does not where a file of expectations tells of it.
    `left` names those that an interruption kept from being judged.
    """
    outcome = _of_scenarios(results)
    if not left:
        return outcome
    row = {"verdict": str(Verdict.NOT_RUN), "message": "not judged: interrupted", "reproduce": ""}
    rows = [*outcome.detail["scenarios"], *({"name": name, **row} for name in left)]
    figures = {**outcome.figures, "scenarios": len(rows)}
    return cut_short(replace(outcome, figures=figures, detail={"scenarios": rows}))


def _of_scenarios(results: Sequence["ScenarioResult"]) -> StageOutcome:
    rows = [_scenario_row(result) for result in results]
    passed = sum(1 for row in rows if row["verdict"] == Verdict.PASS)
    known = [result.name for result in results if result.known]
    acknowledged = sum(result.acknowledged for result in results)
    faults = sum(len(result.faults) for result in results)
    indefinite = sum(result.indefinite_outcomes.indefinite for result in results)
    unsettled = sum(result.indefinite_outcomes.unsettled for result in results)
    return StageOutcome(
        verdict=_worst(results),
        summary=(
            f"{passed} of {count(len(rows), 'scenario')} passed, "
            f"{f'{listing(known)} not, as is known, ' if known else ''}{count(faults, 'fault')}, "
            f"{count(acknowledged, 'request')} acknowledged, "
            f"{unsettled} of {count(indefinite, 'operation')} without an answer left open"
        ),
        figures={
            "scenarios": len(rows),
            "scenarios_passed": passed,
            "faults": faults,
            "acknowledged": acknowledged,
            "operations": sum(result.indefinite_outcomes.operations for result in results),
            "indefinite": indefinite,
            "unsettled": unsettled,
            "noisy_scenarios": sum(1 for result in results if result.interference),
            "trace_events": sum(result.events for result in results),
        },
        detail={"scenarios": rows},
    )


def _worst(results: Sequence["ScenarioResult"]) -> Verdict:
    """Of those that are not known to end as they did; fine when all are."""
    left = [result.verdict for result in results if not result.known]
    return worst(left) if left or not results else Verdict.PASS


def of_canary(canary: "Canary") -> StageOutcome:
    """The known defect must be found, or nothing that passed can be believed."""
    return StageOutcome(
        verdict=canary.verdict,
        summary=canary.sentence,
        figures={"canary": canary.mutant, "canary_found": canary.is_found},
        detail={} if canary.is_found else {"scenarios": [_scenario_row(canary.result)]},
    )


def _scenario_row(result: "ScenarioResult") -> dict[str, Any]:
    return {
        **attributes_of(result, *SCENARIO),
        **attributes_of(result.indefinite_outcomes, "indefinite", "unsettled"),
        "faults": len(result.faults),
        "floors": " / ".join(str(min(counts)) for counts in _counts(result)),
        "noise": "; ".join(result.interference),
        "seconds": round(result.seconds, 1),
        "message": "; ".join(filter(None, (_known(result), result.why, _earlier(result)))),
    }


def _known(result: "ScenarioResult") -> str:
    return f"known: {result.known}" if result.known else ""


def _earlier(result: "ScenarioResult") -> str:
    return f"run again, since it ended {result.earlier}" if result.earlier else ""


def _counts(result: "ScenarioResult") -> list[tuple[int, ...]]:
    """Acknowledged before, during and after each fault; empty where it was not counted."""
    floors = [(floor.before, floor.during, floor.after) for floor in result.floors]
    return list(zip(*floors, strict=True))


def of_falsehoods(found: Sequence["Falsehood"]) -> StageOutcome:
    """Every falsehood must be seen, or nothing that passed can be believed."""
    missed = [one for one in found if not one.seen_by]
    told = [f"{one.name} by {', '.join(one.seen_by)}" for one in found if one.seen_by]
    verdict = Verdict.FAIL if missed else Verdict.PASS
    summary = f"in the trace of {found[0].run} the checks found {listing(told) or 'nothing'}"
    if missed:
        names = listing([one.name for one in missed])
        summary += f", and not {names}, so what else passed here shows nothing"
    return StageOutcome(
        verdict=verdict,
        summary=summary,
        figures={"canary": "falsified trace", "canary_found": not missed},
    )


def of_soak(totals: "Totals") -> StageOutcome:
    """A row for each story of which rounds passed, and one for each round that did not.

    Of these only as many as keep their traces; the others are one row of their worst verdict.
    """
    each = [f"{number} {verdict}" for verdict, number in sorted(totals.verdicts.items())]
    outcome = StageOutcome(
        verdict=totals.verdict,
        summary=(
            f"{count(totals.rounds, 'round')} ({listing(each) or 'none'}), "
            f"{count(totals.faults, 'fault')}, {count(totals.acknowledged, 'request')} "
            f"acknowledged, {totals.unsettled} of {count(totals.operations, 'operation')} left open"
        ),
        figures={
            "rounds": totals.rounds,
            "rounds_passed": totals.verdicts[Verdict.PASS],
            "faults": totals.faults,
            "acknowledged": totals.acknowledged,
            "operations": totals.operations,
            "unsettled": totals.unsettled,
            "noisy_rounds": totals.noisy,
        },
        detail={"scenarios": [*_passed(totals), *map(_finding, totals.findings), *_more(totals)]},
    )
    return cut_short(outcome) if totals.is_interrupted else outcome


def _passed(totals: "Totals") -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "verdict": str(Verdict.PASS),
            "message": f"{count(rounds, 'round')} passed",
            "reproduce": "",
        }
        for name, rounds in sorted(totals.passed.items())
    ]


def _finding(one: "SoakRound") -> dict[str, Any]:
    return {
        "name": f"{one.scenario}, round {one.number}",
        "verdict": str(one.verdict),
        "seed": one.seed,
        "faults": one.faults,
        "acknowledged": one.acknowledged,
        "unsettled": one.unsettled,
        "noise": "; ".join(one.noise),
        "seconds": one.seconds,
        "message": one.why,
        "reproduce": one.reproduce,
    }


def _more(totals: "Totals") -> list[dict[str, Any]]:
    """What is beyond the rounds that are told one by one; their lines are in `soak.ndjson`."""
    further = totals.verdicts - totals.told
    del further[Verdict.PASS]
    return [
        {
            "name": f"{verdict} in further rounds",
            "verdict": str(verdict),
            "message": f"{count(rounds, 'more round')}: see soak.ndjson",
            "reproduce": "",
        }
        for verdict, rounds in sorted(further.items())
    ]
