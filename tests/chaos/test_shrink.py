"""A run on real processes that violated something becomes a small schedule that does so again."""

from pathlib import Path

import pytest

from fencepost.ci.cli import run as main
from fencepost.ci.commands.chaos import recorded
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.mutants import breaking
from fencepost.conformance.whitebox.run_shrink import violations_of
from fencepost.fault_injection.stories.story_file import read_story, story_from_text

pytestmark = pytest.mark.chaos

MUTANT = "acknowledge_before_replication"
ACTIONS_MAX = 5

PLAN = """
schema: 1
id: early_words
says: A leader that acknowledges too early dies with records that no other broker has.
seed: 3
cluster: {first_controller: 3, replica_lag_ms: 20000}
actions:
  - {id: late, kind: rpc.delay, target: 1, params: {method: Fetch, delay_ms: 5}, for_ms: 400}
  - {id: twice, kind: rpc.duplicate, target: 2, params: {method: Fetch, count: 2}, for_ms: 400}
  - id: second
    kind: rpc.drop_request
    target: 2
    params: {method: Fetch, receiver: 1, count: 0}
    for_ms: 2500
    when: {after: {action: twice, phase: healed}}
  - id: third
    kind: rpc.drop_request
    target: 3
    params: {method: Fetch, receiver: 1, count: 0}
    for_ms: 2500
    when: {after: {action: second}}
  - {id: pause, kind: proc.pause, target: 2, for_ms: 200, when: {after: {action: second}}}
  - id: kill
    kind: proc.kill
    target: leader(orders/0)
    for_ms: 2500
    when: {after: {action: third, plus_ms: 300}}
"""


def test_a_real_finding_is_made_small_and_stays_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = ScenarioRun(
        scenario=Scenario(story=story_from_text(PLAN)),
        settings=ClusterSettings(implementation=breaking(MUTANT)),
        seed=3,
        folder=run,
    ).play()
    assert result.verdict is Verdict.FAIL
    violated = violations_of(run)
    assert "AcknowledgedDurable" in violated

    assert main(["chaos", "--shrink", str(run), "--out", str(tmp_path / "small")]) == 0

    schedule = tmp_path / "small" / "story.yaml"
    small = read_story(schedule)
    assert 1 <= len(small.actions) <= ACTIONS_MAX
    assert "kill" in {action.action_id for action in small.actions}
    (evidence,) = (tmp_path / "small").glob("try-*")
    assert "AcknowledgedDurable" in violations_of(evidence)
    (origin,) = recorded([find_story(str(schedule))], None)
    assert (origin["level"], origin["mutant"]) == (ClusterSettings().level, MUTANT)
