"""The acceptance test of the port: a stranger's implementation in memory, and its broken twin."""

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.conformance.adapters import cluster
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.toy import Toy, ToyBroker, ToyCluster

TOY = Path(__file__).with_name("toy.py")
LINES_MAX = 150
APPLICABLE = ("quiet", "leader_kill", "controller_kill")


STORY = """
schema: 1
id: asked
says: Topics are asked of the brokers that are named.
profile: none
steps:
  - {create_topic: waited, replicas: [1], broker: 2}
  - {create_topic: answered, replicas: [1], broker: 3, wait: false}
  - {create_topic: anywhere, replicas: [1]}
"""


def play(name: str, toy: Toy, folder: Path) -> ScenarioResult:
    settings = ClusterSettings(implementation=toy)
    run = ScenarioRun(scenario=SCENARIOS[name], settings=settings, seed=1, folder=folder / name)
    return run.play()


@pytest.mark.parametrize("name", APPLICABLE)
def test_a_toy_in_memory_passes_what_needs_no_processes(name: str, tmp_path: Path) -> None:
    result = play(name, Toy(), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 100
    (problem,) = result.problems
    assert problem.verdict is Verdict.NOT_OBSERVABLE
    assert "LogMatching needs appends exact or disk (here none); " in problem.sentence


def test_its_twin_that_acknowledges_before_replication_loses_a_record(tmp_path: Path) -> None:
    result = play("leader_kill", Toy(replicates_first=False), tmp_path)

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert Invariant.ACKNOWLEDGED_DURABLE in violated


def test_what_it_does_not_declare_is_unsupported_and_not_begun(tmp_path: Path) -> None:
    result = play("leader_pause", Toy(), tmp_path)

    assert result.verdict is Verdict.UNSUPPORTED
    assert result.why == "toy does not declare what the run needs: processes"
    assert not list(tmp_path.iterdir())


def test_a_broker_that_clients_cannot_find_has_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "START_DEADLINE_S", 0.1)
    monkeypatch.setattr(ToyCluster, "registration", lambda *_: None)

    result = play("quiet", Toy(), tmp_path)

    assert result.verdict is Verdict.ERROR
    assert result.why == "a registration of each broker did not come within 0.1 s"


def test_a_topic_is_asked_of_the_broker_that_its_step_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, int] = {}
    create = ToyBroker.create_topic

    def noted(toy: ToyBroker, topic: str, assignment: Sequence[Sequence[int]]) -> tuple[None, str]:
        asked[topic] = toy.broker_id
        return create(toy, topic, assignment)

    monkeypatch.setattr(ToyBroker, "create_topic", noted)
    file = tmp_path / "asked.yaml"
    file.write_text(STORY)
    settings = ClusterSettings(implementation=Toy())
    run = ScenarioRun(
        scenario=find_story(str(file)), settings=settings, seed=1, folder=tmp_path / "run"
    )
    result = run.play()

    assert asked == {"waited": 2, "answered": 3, "anywhere": 1}, result.why


def test_a_rule_to_break_is_unsupported_where_no_mutants_are_declared(tmp_path: Path) -> None:
    result = play("quiet", Toy(broken_rule="no_step_down"), tmp_path)

    assert result.verdict is Verdict.UNSUPPORTED
    assert result.why == "toy does not declare what the run needs: mutants"


def test_most_of_the_library_is_told_to_be_unsupported() -> None:
    applicable = {name for name, one in SCENARIOS.items() if not one.needs}

    assert set(APPLICABLE) <= applicable


def test_the_toy_uses_what_a_stranger_has() -> None:
    text = TOY.read_text()
    modules = [n.module for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
    rooms = {one.split(".")[1] for one in modules if one and one.startswith("fencepost.")}

    assert len(text.splitlines()) <= LINES_MAX
    assert rooms <= {"spec", "conformance", "fault_injection"}
