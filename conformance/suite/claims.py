"""What a run lets a target claim, and the verdict of each requirement on each target."""

from collections.abc import Iterable
from dataclasses import dataclass

from fencepost.conformance.suite.records import CaseEnd, RequirementRecord, SuiteRun
from fencepost.conformance.verdict import SHOWN, Verdict, worst

FATAL = frozenset(
    {
        Verdict.FAIL,
        Verdict.ERROR,
        Verdict.NOT_RUN,
        Verdict.VACUOUS,
        Verdict.INCONCLUSIVE,
    }
)
"""With one of these there is no claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetClaim:
    """What may be said of one target."""

    target: str
    is_met: bool
    sentence: str
    """The claim, or why there is none."""
    counts: str
    """Cases by verdict, as a badge has them."""


def claim_of(run: SuiteRun, target: str) -> TargetClaim:
    """The claim of a target: only of a whole profile, and of nothing that is left open."""
    found = [run.verdict_of(target, case) for case in run.header.cases]
    counts = " · ".join(
        f"{found.count(one)} {one.lower().replace('_', ' ')}" for one in Verdict if one in found
    )
    why = _why_not(run, target, found)
    profile = run.header.profile
    told = f"{target} conforms to {profile}" if not why else f"{target}: {why}"
    return TargetClaim(target=target, is_met=not why, sentence=told, counts=counts)


def _why_not(run: SuiteRun, target: str, found: list[Verdict]) -> str:
    if run.doubts:
        return f"no claim, for {run.doubts[0]}"
    bad = [verdict for verdict in found if verdict in FATAL]
    if bad:
        first = worst(bad)
        return f"no claim, for {bad.count(first)} of {len(found)} cases are {first}"
    unshown = [
        name
        for name, verdict in requirement_verdicts_of(run, target).items()
        if verdict not in SHOWN
    ]
    if unshown:
        return f"no claim, for no case has shown {', '.join(unshown)}"
    if not run.header.is_whole:
        return "no claim, for only some of the cases were selected"
    return ""


def requirement_verdicts_of(run: SuiteRun, target: str) -> dict[str, Verdict]:
    """Each requirement that the run is about: the worst of its cases, or a pass that one shows.

    What one case cannot see or do another may show.
    """
    found: dict[str, list[Verdict]] = {}
    for record in run.requirements:
        if record.target == target:
            found.setdefault(record.requirement, []).append(record.verdict)
    return {name: _together(verdicts) for name, verdicts in sorted(found.items())}


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    given = list(verdicts)
    unseen = {Verdict.NOT_OBSERVABLE, Verdict.UNSUPPORTED}
    return worst([one for one in given if one not in unseen] or given)


def records_of(run: SuiteRun, target: str, requirement: str) -> list[RequirementRecord]:
    """What each case says of a requirement on a target."""
    wanted = (target, requirement)
    return [one for one in run.requirements if (one.target, one.requirement) == wanted]


def failures(run: SuiteRun) -> list[CaseEnd]:
    """The cases that are no pass, violations first."""
    bad = [end for end in run.ends if end.verdict not in SHOWN]
    return sorted(bad, key=lambda end: end.verdict is not Verdict.FAIL)
