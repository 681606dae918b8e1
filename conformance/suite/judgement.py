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
    unseen = {name for problem in result.problems for name in problem.unseen}
    decided = [one for one in checks if one.invariant not in unseen and _is_decided(one)]
    is_hidden = not decided and any(check.invariant in unseen for check in checks)
    problems = {
        problem.verdict: problem.sentence
        for problem in result.problems
        if problem.verdict is not Verdict.NOT_OBSERVABLE or is_hidden
    }
    weights = [check.verdict for check in decided] + list(problems)
    if result.verdict is Verdict.VACUOUS and not decided:
        weights.append(result.verdict)
    verdict = worst(weights or [Verdict.PASS])
    return RequirementVerdict(
        requirement=requirement.id,
        verdict=verdict,
        premise_count=sum(check.premise_count for check in decided),
        message=_why(verdict, decided, problems),
    )


def _is_decided(check: CheckResult) -> bool:
    return bool(check.premise_count or check.violations or check.doubts)


def _why(verdict: Verdict, checks: list[CheckResult], problems: Mapping[Verdict, str]) -> str:
    if verdict is Verdict.PASS:
        return ""
    violated = (one for check in checks for one in check.violations)
    told = (f"{one.invariant}: {one.message}" for one in violated)
    doubts = (doubt for check in checks for doubt in check.doubts)
    if verdict is Verdict.FAIL and (first := next(told, "")):
        return first
    return problems.get(verdict, "") or next(doubts, "")
