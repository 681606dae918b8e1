"""The cases of a run of the conformance suite, as the files for other tools tell them."""

from fencepost.ci.results.cases import Case, CaseGroup
from fencepost.conformance.suite.records import SuiteRun
from fencepost.conformance.verdict import Verdict


def suite_groups(run: SuiteRun) -> list[CaseGroup]:
    """One group per target."""
    return [_group(run, target) for target in run.header.targets]


def _group(run: SuiteRun, target: str) -> CaseGroup:
    cases = [_case(run, target, case) for case in run.header.cases]
    return CaseGroup(name=target, cases=cases, seconds=sum(case.seconds for case in cases))


def _case(run: SuiteRun, target: str, case: str) -> Case:
    end = run.end_of(target, case)
    if end is None:
        return Case(name=case, verdict=Verdict.NOT_RUN, message="not played")
    judged = (r.requirement for r in run.requirements if (r.target, r.case) == (target, case))
    return Case(
        name=case,
        verdict=end.verdict,
        seconds=end.seconds,
        message=end.message,
        again=end.again,
        requirements=tuple(judged),
    )
