"""Cases share one cluster of processes; one that is no pass there gets a cluster of its own."""

from pathlib import Path

import pytest

from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.library import find_case
from fencepost.conformance.suite.play import SuitePlan, begin, play, settings_of_targets
from fencepost.conformance.suite.records import read_run
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.stories.story_file import story_from_document

WRONG = {
    "schema": 1,
    "id": "wrong",
    "covers": ["TOP-001"],
    "profile": "none",
    "steps": [
        {"create_topic": "ledger", "replicas": [1, 2]},
        {"produce": "ledger/0", "records": ["a"], "expected": "ok offset=7"},
    ],
}


@pytest.mark.chaos
def test_cases_share_a_cluster_and_a_refused_answer_is_a_failure(tmp_path: Path) -> None:
    story = story_from_document(WRONG)
    wrong = SuiteCase(case_id="topics/wrong", path=tmp_path / "wrong.yaml", story=story)
    right = find_case("topics/created_and_read")
    plan = SuitePlan(targets=("reference",), cases=(right, wrong), select=("topics",))

    begin(plan, tmp_path)
    play(plan, settings_of_targets(plan.targets), tmp_path)

    run = read_run(tmp_path)
    passed, failed = (run.end_of("reference", case.case_id) for case in plan.cases)
    assert passed is not None
    assert failed is not None
    assert (tmp_path / "reference" / "shared").is_dir()
    assert (passed.verdict, passed.message) == (Verdict.PASS, "")
    assert failed.folder == "reference/topics-wrong"
    assert failed.verdict is not Verdict.PASS  # INCONCLUSIVE where the host stood still
    assert "prints 'ok offset=0' and not 'ok offset=7'" in failed.message
