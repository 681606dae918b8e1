"""What the run of a case says of each requirement that the case covers.

A requirement is decided by its own checks where these had something to decide, and else by the
steps of the case, which wait for what must come and compare what is answered.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.conformance.catalogue.requirements import Requirement
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.verdict import CheckResult, Verdict, worst


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementVerdict:
    """What one case says of one requirement."""

    requirement: str
    verdict: Verdict
    premise_count: int
    """How often its checks had something to decide."""
    message: str = ""
    """Why it is no pass, in one sentence."""


def requirement_verdicts(
    result: ScenarioResult, catalogue: Mapping[str, Requirement]
) -> tuple[RequirementVerdict, ...]:
    """One verdict for each requirement that the case covers.

    A failure that none of the requirements' own checks has found is one of all of them.
    """
    found = tuple(_judged(catalogue[name], result) for name in result.requirements)
    if result.verdict is not Verdict.FAIL or any(one.verdict is Verdict.FAIL for one in found):
        return found
    return tuple(
        RequirementVerdict(
            requirement=one.requirement,
            verdict=Verdict.FAIL,
            premise_count=one.premise_count,
            message=result.why,
        )
        for one in found
    )


def _judged(requirement: Requirement, result: ScenarioResult) -> RequirementVerdict:
    checks = [check for check in result.checks if check.invariant in requirement.checks]
    decided = [check for check in checks if check.premise_count or check.violations]
    problems = {
        problem.verdict: problem.sentence
        for problem in result.problems
        if not problem.unseen or problem.unseen & set(requirement.checks)
    }
    unseen = Verdict.NOT_OBSERVABLE
    weights = [check.verdict for check in decided]
    weights += [verdict for verdict in problems if verdict is not unseen or not decided]
    if not decided and not problems:
        weights.append(result.verdict)
    verdict = worst(weights or [Verdict.PASS])
    return RequirementVerdict(
        requirement=requirement.id,
        verdict=verdict,
        premise_count=sum(check.premise_count for check in decided),
        message=_why(verdict, decided, problems),
    )


def _why(verdict: Verdict, checks: list[CheckResult], problems: Mapping[Verdict, str]) -> str:
    if verdict is Verdict.PASS:
        return ""
    violated = (one for check in checks for one in check.violations)
    told = (f"{one.invariant}: {one.message}" for one in violated)
    doubts = (doubt for check in checks for doubt in check.doubts)
    if verdict is Verdict.FAIL and (first := next(told, "")):
        return first
    return problems.get(verdict, "") or next(doubts, "")
