"""How scenarios are chosen and judged; they run for real in `tests/chaos`."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.gate.scenario_outcomes import of_scenarios
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.grpc_transport import GrpcTransport
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.clients.workload import Session, Workload
from fencepost.conformance.runs.chaos import run_all, selected
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.runs.scenario import Problem, RunRecord, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.scenarios.find_story import find_executed, find_story
from fencepost.conformance.scenarios.step_play import require_playable
from fencepost.conformance.verdict import CheckResult, Verdict, Violation
from fencepost.conformance.whitebox.simulate import write_trace
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import Floors, StoryAction
from fencepost.fault_injection.stories.story_record import write_executed
from fencepost.spec.hazards import load_hazards
from fencepost.spec.trace import Phase
from fencepost.spec.vocabulary import Invariant, ProtocolLevel
from fencepost.spec.zookeeper import ZooKeeperError
from tests.conformance.fake_simulator import simulate
from tests.conformance.scenario_results import scenario_result

REPORT = FaultReport(
    action=StoryAction.at(action_id="f", at_ms=0, fault=PauseBroker(target=broker(1), for_ms=10)),
    phase=Phase.HEALED,
    broker_id=1,
    evidence="seen",
    injected_ns=100,
    healed_ns=200,
)


def test_scenarios_are_files_where_a_file_can_say_them_and_all_are_described() -> None:
    drawn = [name for name, scenario in SCENARIOS.items() if scenario.draw is not None]

    assert next(iter(SCENARIOS)) == "quiet"
    assert drawn == ["random"]
    for scenario in SCENARIOS.values():
        assert scenario.sentence.endswith(".")
        assert scenario.story.requirements


def test_a_scenario_is_not_played_below_the_level_that_it_is_about(tmp_path: Path) -> None:
    (result,) = run_all(
        selected(["metadata_lost"]), settings=ClusterSettings(level=3), out=tmp_path
    )

    assert (result.verdict, result.is_expected) == (Verdict.UNSUPPORTED, True)
    assert result.why == "it is about what level 4 brings"
    assert list(tmp_path.iterdir()) == []
    assert SCENARIOS["metadata_lost"].expected(2, levels=(2,)) is Verdict.PASS
    assert SCENARIOS["metadata_lost"].expected(3) is Verdict.UNSUPPORTED


def test_known_attacks_fail_below_the_level_that_stops_them_and_are_on_their_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "attacks.md").read_text()
    repaired = {one.id: one.repaired_at for one in load_hazards() if one.repaired_at is not None}
    attacks = [one for one in SCENARIOS.values() if one.story.fails_at]

    for attack in attacks:
        levels = {repaired[hazard] for hazard in attack.story.hazards}
        failing = {one for one in ProtocolLevel if attack.expected(one) is Verdict.FAIL}
        assert failing == {one for one in ProtocolLevel if one < min(levels)}, attack.name
        assert f"--story {attack.name} --level {max(failing)}`" in page
        assert [hazard for hazard in attack.story.hazards if f"[{hazard}]" not in page] == []


@pytest.mark.parametrize(
    ("name", "level", "zookeeper", "message"),
    [
        ("earthquake", 2, "embedded", "unknown story 'earthquake'; choose one of quiet, "),
        ("quiet", 6, "embedded", r"level 6 is none; choose one of \(0, 1, 2, 3, 4, 5\)"),
        ("quiet", 2, "nowhere", "'nowhere' is no ZooKeeper address; .* or embedded"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(
    name: str, level: int, zookeeper: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ChoiceError, match=message):
        run_all(
            selected([name]),
            settings=ClusterSettings(level=level, zookeeper=zookeeper),
            out=tmp_path,
        )

    assert list(tmp_path.iterdir()) == []


def test_zookeeper_that_does_not_answer_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.conformance.adapters.zookeepers.ANSWER_S", 0.2)
    settings = ClusterSettings(zookeeper="127.0.0.1:1/a")

    with pytest.raises(ZooKeeperError, match=r"no ZooKeeper answers at 127\.0\.0\.1:1: "):
        run_all(selected(), settings=settings, out=tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_folder_of_an_earlier_run_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "quiet").mkdir()

    with pytest.raises(ChoiceError, match="quiet is there already; name a new folder"):
        run_all(selected(["quiet"]), settings=ClusterSettings(), out=tmp_path)


@pytest.mark.parametrize(
    ("said", "suffix"),
    [
        ({}, ""),
        ({"zookeeper": "127.0.0.1:2181/a/b"}, " --zookeeper 127.0.0.1:2181/a/b"),
        ({"command": "other broker"}, " --target 'other broker'"),
        ({"mutant": "no_step_down"}, " --mutant no_step_down"),
    ],
    ids=str,
)
def test_command_that_reproduces_names_what_is_not_usual(
    said: dict[str, str], suffix: str, tmp_path: Path
) -> None:
    settings = settings_of({"level": 1, **said})
    run = ScenarioRun(scenario=SCENARIOS["quiet"], settings=settings, seed=7, folder=tmp_path)

    assert run.reproduce == f"fencepost chaos --story quiet --seed 7 --level 1{suffix}"


def test_scenario_that_is_named_twice_runs_once_in_the_order_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScenarioRun, "play", lambda run: replace(RESULT, name=run.scenario.name))

    results = run_all(
        selected(["random", "quiet", "random"]), settings=ClusterSettings(), out=tmp_path
    )

    assert [result.name for result in results] == ["random", "quiet"]


def judged(*reports: FaultReport, workload: Workload | None = None) -> list[Verdict]:
    record = RunRecord(faults=reports)
    record.judge_faults(workload, Floors())
    return [problem.verdict for problem in record.problems]


def test_effective_fault_is_no_problem() -> None:
    assert judged(REPORT) == []


@pytest.mark.parametrize("phase", [Phase.INEFFECTIVE, Phase.FAILED])
def test_fault_without_effect_is_vacuous(phase: Phase) -> None:
    assert judged(replace(REPORT, phase=phase, evidence=None)) == [Verdict.VACUOUS]


def test_fault_that_depends_on_luck_may_be_without_effect() -> None:
    lucky = replace(REPORT.action, must_take_effect=False)

    assert judged(replace(REPORT, action=lucky, phase=Phase.INEFFECTIVE)) == []


def test_fault_in_a_run_without_acknowledgements_is_vacuous(tmp_path: Path) -> None:
    session = Session(folder=tmp_path, run_id="r", bootstrap=list, transport=GrpcTransport())
    idle = Workload(session, [], seed=1)

    assert judged(REPORT, workload=idle) == [Verdict.VACUOUS]


RESULT = scenario_result("quiet", Verdict.FAIL, seed=1)
VIOLATED = CheckResult(
    invariant=Invariant.LOG_MATCHING,
    premise_count=1,
    violations=(Violation(invariant=Invariant.LOG_MATCHING, message="Offset 1 differs."),),
)


def test_violation_is_told_before_anything_else() -> None:
    problems = (Problem(verdict=Verdict.INCONCLUSIVE, sentence="late"),)

    result = replace(RESULT, checks=(VIOLATED,), problems=problems)

    assert result.why == "LogMatching: Offset 1 differs."


def test_problem_that_decided_the_verdict_is_told_first() -> None:
    problems = (
        Problem(verdict=Verdict.INCONCLUSIVE, sentence="late"),
        Problem(verdict=Verdict.FAIL, sentence="never in sync again"),
    )

    assert replace(RESULT, problems=problems).why == "never in sync again"


def test_a_doubt_that_decided_the_verdict_is_told_before_what_is_not_observable() -> None:
    problem = Problem(
        verdict=Verdict.NOT_OBSERVABLE, sentence="x", unseen=frozenset({Invariant.LEADER_COMPLETE})
    )
    unseen = CheckResult(invariant=Invariant.LEADER_COMPLETE, premise_count=0, doubts=("not this",))
    unread = replace(unseen, invariant=Invariant.ACKNOWLEDGED_DURABLE, doubts=("no final read",))

    result = replace(
        RESULT, verdict=Verdict.INCONCLUSIVE, checks=(unseen, unread), problems=(problem,)
    )

    assert result.why == "no final read"


def test_foreign_lines_of_a_folder_are_told(tmp_path: Path) -> None:
    write_trace(tmp_path, simulate(1, level=2, mutant=None))
    with (tmp_path / "trace-client-1.ndjson").open("a") as file:
        file.write("what is this\n")

    events, doubts = read_folder(tmp_path)

    assert len(events) == 6
    assert doubts == ["trace-client-1.ndjson has 1 line that is no event"]


@pytest.mark.parametrize("name", ["truncation_loss", "unreplicated_record", "reassignment"])
def test_a_story_with_steps_is_replayed_step_by_step(name: str, tmp_path: Path) -> None:
    story = replace(SCENARIOS[name].story, cluster={"first_controller": 2})
    write_executed(tmp_path, story, (), offset_ms=0)

    replayed = find_executed(tmp_path)

    assert replayed.story.steps == SCENARIOS[name].story.steps
    assert replayed.story.profile is SCENARIOS[name].story.profile
    assert replayed.story.cluster["first_controller"] == 2
    assert replayed.again == f"--replay {tmp_path}"


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ("[deliver]", r"steps\[0\] \(deliver\): no processes can do it; a simulator plays it"),
        ("[{kill: 1, at: BecomeLeader}]", "no processes follow the field at"),
        ("[{create_topic: t}]", "it names no replicas"),
        ("[{create_topic: t, api_version: 6}]", "no processes follow the field api_version"),
        ("[{until: {held: 1}}]", "held is not seen from outside"),
        ("[{show: state}]", "state is not seen from outside"),
        ("[read]\nruns: [{id: one}]", "it has runs, which fencepost simulate --story plays"),
        ("[{run_ms: 1}]\ncluster: {level: 1}", "cluster: level is no setting of processes"),
        ("[{run_ms: 1}]\nactions: [{id: a, kind: zk.expire, target: 1}]", "steps and actions"),
    ],
)
def test_what_only_a_simulator_plays_is_refused(steps: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(f"schema: 1\nid: story\nsteps: {steps}\n")

    with pytest.raises(ChoiceError, match=sentence):
        find_story(str(path))


def test_the_steps_of_the_library_are_for_processes_too() -> None:
    stepped = [one.story for one in SCENARIOS.values() if one.story.steps]
    for story in stepped:
        require_playable(story)

    assert stepped


@pytest.mark.parametrize(
    ("verdicts", "last", "folders"),
    [
        ([Verdict.PASS], Verdict.PASS, ["quiet"]),
        ([Verdict.FAIL], Verdict.FAIL, ["quiet"]),
        ([Verdict.VACUOUS, Verdict.PASS], Verdict.PASS, ["quiet", "quiet-again"]),
        ([Verdict.INCONCLUSIVE, Verdict.FAIL], Verdict.FAIL, ["quiet", "quiet-again"]),
        ([Verdict.VACUOUS, Verdict.VACUOUS], Verdict.VACUOUS, ["quiet", "quiet-again"]),
    ],
)
def test_what_decided_nothing_is_run_once_more(
    verdicts: list[Verdict],
    last: Verdict,
    folders: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = iter(verdicts)
    played: list[str] = []

    def run(*_: object, folder: Path, **__: object) -> ScenarioResult:
        played.append(folder.name)
        told = (Problem(verdict=(verdict := next(left)), sentence="why"),)
        return replace(RESULT, verdict=verdict, problems=told, folder=folder.name)

    monkeypatch.setattr("fencepost.conformance.runs.chaos.run", run)
    (result,) = run_all(selected(["quiet"]), settings=ClusterSettings(), out=tmp_path)

    assert (result.verdict, played) == (last, folders)
    is_second = len(folders) > 1
    assert result.earlier == (f"{verdicts[0]} in quiet: why" if is_second else "")
    (row,) = of_scenarios([result]).detail["scenarios"]
    assert ("run again, since it ended" in row["message"]) is is_second
