"""Results are written as they come, and a run that was cut off goes on where it stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.scenario import Problem, Scenario, ScenarioResult
from fencepost.conformance.suite import play as suite_play
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.judgement import requirement_verdicts
from fencepost.conformance.suite.library import all_cases, requirements
from fencepost.conformance.suite.play import SuitePlan, begin, play, settings_of_targets
from fencepost.conformance.suite.records import RESULTS, altered, counts_of, read_run
from fencepost.conformance.suite.shared import sessions
from fencepost.conformance.verdict import CheckResult, Verdict, Violation
from fencepost.spec.vocabulary import Invariant
from tests.conformance.scenario_results import scenario_result

CASES = all_cases()[:3]
PLAN = SuitePlan(targets=("reference",), cases=CASES, profile="core")
ORDER = [case.case_id for session in sessions(CASES) for case in session]
SETTINGS = settings_of_targets(PLAN.targets)


def by_order(cases: Sequence[SuiteCase]) -> list[SuiteCase]:
    return sorted(cases, key=lambda case: ORDER.index(case.case_id))


class StubRun:
    """Takes the place of a run on processes."""

    played: ClassVar[list[str]] = []
    verdicts: ClassVar[dict[str, Verdict]] = {}

    def __init__(
        self, scenario: Scenario, folder: Path, told: Mapping[str, str], **_: object
    ) -> None:
        self.case, self.scenario, self.folder = told["case"], scenario, folder

    def play(self) -> ScenarioResult:
        verdict = self.verdicts.get(self.case, Verdict.PASS)
        if verdict is Verdict.NOT_RUN:
            raise KeyboardInterrupt
        self.played.append(self.case)
        self.folder.mkdir(parents=True)
        (self.folder / "trace.ndjson").write_text(self.case)
        return a_result(verdict, self.scenario.story.requirements)


def a_result(verdict: Verdict, covers: tuple[str, ...], *checks: CheckResult) -> ScenarioResult:
    problems = () if verdict is Verdict.PASS else (Problem(verdict=verdict, sentence="so."),)
    return scenario_result("one", verdict, requirements=covers, checks=checks, problems=problems)


@pytest.fixture(autouse=True)
def stubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_play, "ScenarioRun", StubRun)
    monkeypatch.setattr(suite_play, "sessions", lambda cases: [[case] for case in by_order(cases)])
    StubRun.played, StubRun.verdicts = [], {}


def test_every_case_has_a_verdict_for_each_requirement_and_the_run_a_footer(tmp_path: Path) -> None:
    begin(PLAN, tmp_path)
    play(PLAN, SETTINGS, tmp_path)
    run = read_run(tmp_path)

    assert run.doubts == ()
    assert run.verdicts == [Verdict.PASS] * 3
    assert run.footer is not None
    assert run.footer.counts == counts_of(run.verdicts) == {"PASS": 3}
    judged = {(one.case, one.requirement) for one in run.requirements}
    assert judged == {(case.case_id, name) for case in CASES for name in case.requirements}
    assert run.header.is_whole


def test_a_run_that_was_cut_off_is_readable_and_goes_on(tmp_path: Path) -> None:
    StubRun.verdicts = {ORDER[1]: Verdict.NOT_RUN}
    begin(PLAN, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        play(PLAN, SETTINGS, tmp_path)
    run = read_run(tmp_path)
    assert sorted(run.verdicts) == [Verdict.NOT_RUN, Verdict.NOT_RUN, Verdict.PASS]
    assert "2 of 3 cases were not played" in run.doubts[0]

    StubRun.verdicts = {}
    play(PLAN, SETTINGS, tmp_path)

    assert read_run(tmp_path).verdicts == [Verdict.PASS] * 3
    assert read_run(tmp_path).doubts == ()
    assert StubRun.played == ORDER
    assert [one.name for one in read_run(tmp_path).targets] == ["reference"]
    assert (tmp_path / RESULTS).read_text().count('"type":"target"') == 1


def test_what_is_known_not_to_pass_is_played_last_on_a_cluster_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[list[SuiteCase]] = []

    def divided(cases: list[SuiteCase]) -> list[list[SuiteCase]]:
        together.append(cases)
        return [[case] for case in cases]

    monkeypatch.setattr(suite_play, "sessions", divided)
    begin(PLAN, tmp_path)

    play(PLAN, SETTINGS, tmp_path, is_known=lambda _, case: case == CASES[0].case_id)

    assert together == [list(CASES[1:])]
    assert StubRun.played == [case.case_id for case in (*CASES[1:], CASES[0])]


def test_after_so_many_failures_nothing_more_is_begun_and_known_ones_do_not_count(
    tmp_path: Path,
) -> None:
    StubRun.verdicts = dict.fromkeys(ORDER, Verdict.FAIL)
    plan = replace(PLAN, max_fail=1)
    begin(plan, tmp_path)
    play(plan, SETTINGS, tmp_path, is_known=lambda _, case: case == ORDER[0])

    assert StubRun.played == [ORDER[1]]
    assert "2 of 3 cases were not played" in read_run(tmp_path).doubts[0]
    assert "--max-fail 1" in read_run(tmp_path).header.command

    play(PLAN, SETTINGS, tmp_path)
    assert read_run(tmp_path).verdicts == [Verdict.FAIL] * 3


def test_a_known_failure_is_played_last_and_does_not_end_the_run(tmp_path: Path) -> None:
    StubRun.verdicts = {ORDER[0]: Verdict.FAIL}
    plan = replace(PLAN, max_fail=1)
    begin(plan, tmp_path)
    play(plan, SETTINGS, tmp_path, is_known=lambda _, case: case == ORDER[0])

    assert StubRun.played == [*ORDER[1:], ORDER[0]]
    assert read_run(tmp_path).doubts == ()


def test_results_without_a_header_are_none(tmp_path: Path) -> None:
    with pytest.raises(ChoiceError, match="name the folder of a run of fencepost conform"):
        read_run(tmp_path)
    (tmp_path / RESULTS).write_text("{}\n")
    with pytest.raises(ChoiceError, match="has no header"):
        read_run(tmp_path)


def test_a_torn_line_and_wrong_counts_are_told(tmp_path: Path) -> None:
    begin(PLAN, tmp_path)
    play(PLAN, SETTINGS, tmp_path)
    lines = (tmp_path / RESULTS).read_bytes().splitlines()
    kept = [
        line for line in lines if b'"case_end"' not in line or CASES[0].case_id not in str(line)
    ]
    (tmp_path / RESULTS).write_bytes(b"\n".join([*kept, b'{"type":"case_e']))

    doubts = read_run(tmp_path).doubts
    assert "is no record" in doubts[0]
    assert "the footer counts other verdicts" in doubts[1]


def test_files_that_are_not_as_a_run_left_them_are_told(tmp_path: Path) -> None:
    begin(PLAN, tmp_path)
    assert altered(tmp_path) == ["there is no MANIFEST.sha256: nothing tells what the files were"]
    play(PLAN, SETTINGS, tmp_path)
    (tmp_path / "report.html").write_text("made of it")
    assert altered(tmp_path) == []

    first, second = sorted(tmp_path.glob("reference/*/trace.ndjson"))[:2]
    first.unlink()
    second.write_text("other")

    assert altered(tmp_path) == [
        f"{first.relative_to(tmp_path)} is missing",
        f"{second.relative_to(tmp_path)} has changed",
    ]


def test_a_target_twice_is_refused() -> None:
    with pytest.raises(ChoiceError, match="target reference is given twice"):
        replace(PLAN, targets=("reference", "reference"))


LOST = CheckResult(
    invariant=Invariant.ACKNOWLEDGED_DURABLE,
    premise_count=3,
    violations=(Violation(invariant=Invariant.ACKNOWLEDGED_DURABLE, message="one is lost"),),
)
MATCHING = CheckResult(invariant=Invariant.LOG_MATCHING, premise_count=2)


def test_a_violation_is_one_of_the_requirements_that_the_check_judges() -> None:
    catalogue = requirements()
    durable = next(r.id for r in catalogue.values() if "AcknowledgedDurable" in r.checks)
    matching = next(r.id for r in catalogue.values() if r.checks == ("LogMatching",))
    result = a_result(Verdict.PASS, (durable, matching), LOST, MATCHING)
    result = replace(result, verdict=Verdict.FAIL)

    found = {one.requirement: one for one in requirement_verdicts(result, catalogue)}

    assert found[durable].verdict is Verdict.FAIL
    assert found[durable].message == "AcknowledgedDurable: one is lost"
    assert (found[matching].verdict, found[matching].premise_count) == (Verdict.PASS, 2)


def test_a_violation_that_no_covered_requirement_names_is_one_of_all() -> None:
    result = replace(a_result(Verdict.PASS, ("ISR-001",), LOST), verdict=Verdict.FAIL)

    assert [one.verdict for one in requirement_verdicts(result, requirements())] == [Verdict.FAIL]


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.ERROR, Verdict.VACUOUS])
def test_what_did_not_run_well_decides_nothing(verdict: Verdict) -> None:
    found = requirement_verdicts(a_result(verdict, ("ISR-001", "TOP-001")), requirements())

    assert {one.verdict for one in found} == {verdict}
    assert msgspec.json.encode(found)


def test_a_target_that_only_gives_errors_is_given_up(tmp_path: Path) -> None:
    StubRun.verdicts = dict.fromkeys(ORDER, Verdict.ERROR)
    plan = replace(PLAN, cases=(*CASES, replace(CASES[0], case_id="topics/last")))
    ORDER.append("topics/last")
    begin(plan, tmp_path)
    play(plan, SETTINGS, tmp_path)
    ORDER.remove("topics/last")

    run = read_run(tmp_path)
    assert run.verdicts == [Verdict.ERROR] * 3 + [Verdict.NOT_RUN]
    assert "1 of 4 cases were not played" in run.doubts[0]
