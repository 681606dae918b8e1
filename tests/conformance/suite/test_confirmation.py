"""What waited in vain may be played again; a witness is enough."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from fencepost.conformance.runs.scenario import Problem, RunRecord, ScenarioResult
from fencepost.conformance.scenarios.step_play import is_late
from fencepost.conformance.suite import play as suite_play
from fencepost.conformance.suite.library import all_cases
from fencepost.conformance.suite.play import SuitePlan, play_anew, settings_of_targets
from fencepost.conformance.suite.records import CaseEnd, SuiteRun
from fencepost.conformance.verdict import CheckResult, Verdict, Violation
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.spec.vocabulary import Ending, Invariant
from tests.conformance.scenario_results import scenario_result

CASE = all_cases()[0]
PASSED = scenario_result("one", Verdict.PASS, requirements=CASE.requirements)
LATE = replace(
    PASSED,
    verdict=Verdict.FAIL,
    problems=(Problem(verdict=Verdict.FAIL, sentence="no leader came", is_late=True),),
)
WRONG = replace(LATE, problems=(Problem(verdict=Verdict.FAIL, sentence="the answer is b"),))
LOST = Violation(invariant=Invariant.LOG_MATCHING, message="logs differ")
VIOLATED = replace(
    LATE,
    checks=(CheckResult(invariant=Invariant.LOG_MATCHING, premise_count=1, violations=(LOST,)),),
)
UNDECIDED = replace(PASSED, verdict=Verdict.INCONCLUSIVE)


class StubRun:
    """Takes the place of a run on processes; one result after the other."""

    results: ClassVar[list[ScenarioResult]] = []

    def __init__(self, folder: Path, **_: object) -> None:
        self.folder = folder

    def play(self) -> ScenarioResult:
        self.folder.mkdir(parents=True)
        return self.results.pop(0)


def played(
    results: Sequence[ScenarioResult], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> SuiteRun:
    monkeypatch.setattr(suite_play, "ScenarioRun", StubRun)
    StubRun.results = list(results)
    plan = SuitePlan(targets=("reference",), cases=(CASE,), select=(CASE.case_id,), confirm=2)
    return play_anew(plan, settings_of_targets(plan.targets), folder / "run")


@pytest.mark.parametrize(
    ("results", "verdict", "message"),
    [
        ([PASSED], Verdict.PASS, ""),
        ([LATE, PASSED], Verdict.INCONCLUSIVE, "FLAKY(1/2): no leader came"),
        ([LATE, LATE, PASSED], Verdict.INCONCLUSIVE, "FLAKY(2/3): no leader came"),
        ([LATE, LATE, LATE], Verdict.FAIL, "no leader came"),
        ([LATE, UNDECIDED], Verdict.FAIL, "no leader came"),
        ([LATE, WRONG], Verdict.FAIL, "the answer is b"),
        ([WRONG], Verdict.FAIL, "the answer is b"),
        ([VIOLATED], Verdict.FAIL, "LogMatching: logs differ"),
        ([UNDECIDED], Verdict.INCONCLUSIVE, ""),
    ],
)
def test_only_waits_in_vain_are_played_again_and_every_try_is_recorded(
    results: list[ScenarioResult],
    verdict: Verdict,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = end_of(played(results, tmp_path, monkeypatch))

    assert not StubRun.results
    assert (end.verdict, end.message) == (verdict, message)
    assert end.is_flaky == message.startswith("FLAKY")
    tries = [one.verdict for one in results] if len(results) > 1 else []
    assert [one.verdict for one in end.tries] == tries
    assert len({one.folder for one in end.tries}) == len(tries)


def test_a_flaky_case_decides_no_requirement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = played([LATE, PASSED], tmp_path, monkeypatch)

    assert {one.verdict for one in run.requirements} == {Verdict.INCONCLUSIVE}
    assert run.header.confirm == 2
    assert "--confirm 2" in run.header.command


def end_of(run: SuiteRun) -> CaseEnd:
    end = run.end_of("reference", CASE.case_id)
    assert end is not None
    return end


UNTIL = steps.UntilStep(until={"leader(t/0)": 2}, within_ms=500)


@pytest.mark.parametrize(
    ("step", "took_s", "late"),
    [
        (UNTIL, 0.6, True),
        (UNTIL, 0.1, False),
        (steps.UntilStep(until={"version(t/0)": "same"}, within_ms=500), 0.6, False),
        (steps.UntilStep(until={"leader(t/0)": 2}, within_ms=0), 0.1, False),
        (steps.WaitForStep(wait_for={}, within_ms=500), 0.6, True),
        (steps.ConsumeStep(consume="t/0"), 0.1, False),
        (steps.ConsumeStep(consume="t/0"), 20.1, True),
    ],
)
def test_a_step_is_late_when_it_has_used_its_time(
    step: steps.StoryStep, took_s: float, late: bool
) -> None:
    assert is_late(step, took_s) is late


@pytest.mark.parametrize(
    ("since", "ending", "late"),
    [(1.0, Ending.CONVERGED, True), (None, Ending.CONVERGED, False), (1.0, Ending.DEMANDS, False)],
)
def test_a_cluster_that_never_heals_or_breaks_a_demand_is_not_late(
    since: float | None, ending: Ending, late: bool
) -> None:
    record = RunRecord()
    record.add_missed("so", since, ending)

    assert record.problems[0].is_late is late
