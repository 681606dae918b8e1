"""A case that waited in vain is played again, when that is asked for: does it always?

A violated check is never played again, nor a wrong answer: one witness is enough.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.verdict import Verdict

Try = tuple[ScenarioResult, Path]
"""What came of a run of a case, and its folder."""


def confirming(tries: Iterable[Try], confirm: int) -> Iterator[Try]:
    """The first try, and up to `confirm` more while they fail by waits in vain alone."""
    for number, one in enumerate(tries):
        yield one
        if number == confirm or not one[0].is_late:
            return


def settled(tries: Sequence[Try]) -> Try:
    """The try that counts: a witness, else the first one.

    One that failed, and passed afterwards, is undecided: `FLAKY(1/2)`, which failed in 1 of 2.
    """
    (first, place), (last, _) = tries[0], tries[-1]
    if last.verdict is Verdict.FAIL and not last.is_late:
        return tries[-1]
    if last.verdict is not Verdict.PASS or len(tries) == 1:
        return tries[0]
    told = f"FLAKY({len(tries) - 1}/{len(tries)})"
    problems = tuple(_undecided(problem, told) for problem in first.problems)
    return replace(first, verdict=Verdict.INCONCLUSIVE, problems=problems), place


def _undecided(problem: Problem, told: str) -> Problem:
    if problem.verdict is not Verdict.FAIL:
        return problem
    sentence = f"{told}: {problem.sentence}"
    return replace(problem, verdict=Verdict.INCONCLUSIVE, sentence=sentence)
