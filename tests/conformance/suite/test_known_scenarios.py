"""What a file of expectations says of scenarios on real processes, and what becomes of each."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.scenario_outcomes import of_scenarios
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.suite.known_scenarios import expectations_of
from fencepost.conformance.verdict import Verdict
from tests.conformance.scenario_results import scenario_result

KAFKA = "kafka:3.9.1"
RESULT = scenario_result(
    "version_race",
    Verdict.FAIL,
    problems=(Problem(verdict=Verdict.FAIL, sentence="full ISRs did not come"),),
)
PASSED = replace(RESULT, verdict=Verdict.PASS, problems=())
ENTRY = """
[[expect]]
pattern = "chaos/version_race"
target = "kafka:3.*"
verdict = "FAIL"
message = "full ISRs"
reason = "a stale version"
issue = "KAFKA-2729"
"""


def judged(
    tmp_path: Path, result: ScenarioResult, entry: str = ENTRY, target: str = KAFKA
) -> tuple[ScenarioResult, StageOutcome]:
    path = tmp_path / "expectations.toml"
    path.write_text(entry)
    seen = expectations_of(path, target)(result)
    return seen, of_scenarios([seen])


def test_a_known_failure_is_told_with_its_reason_and_fails_nothing(tmp_path: Path) -> None:
    seen, outcome = judged(tmp_path, RESULT)

    assert (seen.verdict, seen.known) == (Verdict.FAIL, "a stale version, KAFKA-2729")
    assert outcome.verdict is Verdict.PASS
    assert "0 of 1 scenario passed, version_race not, as is known" in outcome.summary
    (row,) = outcome.detail["scenarios"]
    assert row["message"] == "known: a stale version, KAFKA-2729; full ISRs did not come"
    assert of_scenarios([seen, replace(RESULT, name="quiet")]).verdict is Verdict.FAIL


def test_without_a_file_or_on_another_target_nothing_is_known(tmp_path: Path) -> None:
    assert judged(tmp_path, RESULT, target="kafka:2.8.2")[0] == RESULT
    assert expectations_of(tmp_path / "none.toml", KAFKA)(RESULT) == RESULT


@pytest.mark.parametrize(
    ("result", "changed", "sentence"),
    [
        (PASSED, ("", ""), "unexpected pass: kafka:3.9.1 chaos/version_race"),
        (RESULT, ("full ISRs", "lost"), "'lost' was expected"),
        (replace(RESULT, verdict=Verdict.VACUOUS), ("", ""), "and FAIL was expected"),
        (RESULT, ("issue =", "expires = 2026-01-01\nissue ="), "was expected until 2026-01-01"),
    ],
)
def test_an_entry_that_is_not_true_fails_its_scenario(
    result: ScenarioResult, changed: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    seen, outcome = judged(tmp_path, result, ENTRY.replace(*changed) if changed[0] else ENTRY)

    assert (seen.verdict, seen.known) == (Verdict.FAIL, "")
    assert sentence in seen.why
    assert outcome.verdict is Verdict.FAIL


def test_a_flaky_scenario_may_pass_too(tmp_path: Path) -> None:
    assert judged(tmp_path, PASSED, ENTRY + "flaky = true\n")[0] == PASSED
    assert judged(tmp_path, RESULT, ENTRY + "flaky = true\n")[0].known


@pytest.mark.parametrize("pattern", ["chaos/nothing", "chaos/*"])
def test_a_pattern_of_no_scenario_or_of_too_many_is_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(ChoiceError, match=r"names \d+ scenarios, and 1 to 20 may be named"):
        judged(tmp_path, RESULT, ENTRY.replace("chaos/version_race", pattern))
