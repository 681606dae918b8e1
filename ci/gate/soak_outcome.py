"""What a soak found, as the stage `chaos` of a run: bounded, however many rounds there were."""

from typing import Any

from fencepost.ci.gate.outcomes import StageOutcome, cut_short
from fencepost.conformance.runs.soak import SoakRound, Totals
from fencepost.conformance.verdict import Verdict
from fencepost.reports.page.words import count, listing


def of_soak(totals: Totals) -> StageOutcome:
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


def _passed(totals: Totals) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "verdict": str(Verdict.PASS),
            "message": f"{count(rounds, 'round')} passed",
            "reproduce": "",
        }
        for name, rounds in sorted(totals.passed.items())
    ]


def _finding(one: SoakRound) -> dict[str, Any]:
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


def _more(totals: Totals) -> list[dict[str, Any]]:
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
