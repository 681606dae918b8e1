"""Every scenario on real processes and a real ZooKeeper: `pytest -m chaos`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.gate.tiers import FIRST_SCENARIOS
from fencepost.conformance.adapters.command_line import CommandLine
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all, selected
from fencepost.conformance.runs.fault_table import kind_rows, undone_kinds
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.canary import play_canary
from fencepost.conformance.whitebox.mutants import breaking
from fencepost.fault_injection.engine.rpc_rules import get_session
from fencepost.fault_injection.faults.request_faults import DelayRequest, DropRequest
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.injectors.injection import ControlAddress
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.stories.story import ClientLoad, Story, StoryAction
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from fencepost.spec.trace import Kind, Phase
from fencepost.spec.vocabulary import NEWEST_LEVEL, Action, Invariant, Liveness
from tests.chaos.conftest import Played
from tests.labs import story_ends

pytestmark = pytest.mark.chaos

LOSS = {
    Invariant.ACKNOWLEDGED_DURABLE,
    Invariant.LINEARIZABLE_LOG,
    Invariant.LEADER_COMPLETE,
    Invariant.LOG_MATCHING,
}
"""What sees a committed record vanish."""


PLAYED = [
    pytest.param(name, marks=[pytest.mark.in_gate] if name in FIRST_SCENARIOS else [])
    for name in SCENARIOS
]


@pytest.mark.parametrize("name", PLAYED)
def test_reference_passes_at_its_newest_level(name: str, played: Played) -> None:
    result = played(name)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 0
    assert result.is_expected


def test_clients_change_a_configuration_at_every_step_of_an_upgrade(played: Played) -> None:
    result = played("rolling_upgrade")
    events = read_folder(Path(result.folder))[0]
    speaks = [
        event.zxid or 0
        for event in events
        if event.action == "Create" and '"inter_broker_protocol":5' in (event.data or "")
    ]
    made = [(one.zxid or 0, one) for one in events if one.action == Action.APPLY_MUTATION]
    premises = {check.invariant: check.premise_count for check in result.checks}

    assert [one for zxid, one in made if zxid < min(speaks)]
    assert [one for zxid, one in made if zxid > max(speaks)]
    assert [one for zxid, one in made if zxid > min(speaks) and one.forwarded_request]
    assert premises[Invariant.LINEARIZABLE_CONFIG] > 0


def test_every_kind_of_fault_took_effect_on_real_processes_and_was_healed(played: Played) -> None:
    done: list[ScenarioResult] = []
    for name in sorted(SCENARIOS, key=FIRST_SCENARIOS.__contains__):
        kinds = {action.fault.kind for action in SCENARIOS[name].story.actions}
        if kinds & set(undone_kinds(kind_rows(done))):
            done.append(played(name))

    assert undone_kinds(kind_rows(done)) == []


LOSING = [
    ("truncation_loss", 0),
    ("truncation_loss", 1),
    ("lost_tail_across_a_controller_change", 2),
    ("wiped_disk_across_a_controller_change", 2),
]
"""Stories, and levels that do not survive them."""


@pytest.mark.parametrize(("name", "level"), LOSING)
def test_attack_of_a_level_loses_an_acknowledged_record_below(
    name: str, level: int, tmp_path: Path
) -> None:
    settings = ClusterSettings(level=level)
    (result,) = run_all(selected([name]), settings=settings, seed=1, out=tmp_path)

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL, result.problems
    assert result.is_expected
    assert violated >= LOSS - {Invariant.LOG_MATCHING}
    assert all(report.is_effective for report in result.faults)
    assert "client-1/" in result.why
    assert result.reproduce == f"fencepost chaos --story {name} --seed 1 --level {level}"


def of_labs() -> list[tuple[str, int]]:
    """The stories that labs end with, at levels at which no other test plays them."""
    ends = story_ends(NEWEST_LEVEL)
    return [end for end in ends if end[1] != NEWEST_LEVEL and end not in LOSING]


@pytest.mark.parametrize(("name", "level"), of_labs())
def test_the_level_that_a_lab_ends_with_survives_what_the_one_below_does_not(
    name: str, level: int, tmp_path: Path
) -> None:
    settings = ClusterSettings(level=level)
    (result,) = run_all(selected([name]), settings=settings, seed=1, out=tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 0
    assert (name, level - 1) in LOSING


def test_every_story_that_a_lab_ends_with_is_played_here() -> None:
    newest = {(name, NEWEST_LEVEL) for name in SCENARIOS}

    assert len(of_labs()) > 1
    assert set(story_ends(NEWEST_LEVEL)) <= newest | set(LOSING) | set(of_labs())


def test_phases_of_a_fault_are_in_the_trace(tmp_path: Path) -> None:
    run_all(selected(["session_expiry"]), settings=ClusterSettings(), seed=1, out=tmp_path)

    events, doubts = read_folder(tmp_path / "session_expiry")
    faults = [event for event in events if event.kind is Kind.FAULT]
    assert doubts == []
    assert [event.phase for event in faults] == [
        Phase.PLANNED,
        Phase.INJECTING,
        Phase.ACTIVE,
        Phase.HEALING,
        Phase.HEALED,
    ]
    assert {event.fault for event in faults} == {"zk.expire"}
    assert {event.target for event in faults} == {"leader(orders/0)"}
    assert faults[-1].broker_id in (1, 2, 3)


def test_canary_is_found_and_tells_what_it_is(tmp_path: Path) -> None:
    canary = play_canary(level=NEWEST_LEVEL, seed=1, out=tmp_path / "canary")

    awake = {e.node for e in read_folder(tmp_path / "canary")[0] if e.action == "MutantAwake"}
    assert (canary.verdict, canary.result.is_expected) == (Verdict.PASS, True), canary.sentence
    assert "AcknowledgedDurable" in canary.seen_by
    assert awake == {"broker-1", "broker-2", "broker-3"}


def test_broker_that_is_not_told_again_fails_the_run(tmp_path: Path) -> None:
    scenario = SCENARIOS["metadata_lost"]
    result = ScenarioRun(
        scenario=replace(scenario, story=replace(scenario.story, healthy_within_ms=5000)),
        settings=ClusterSettings(implementation=breaking("send_metadata_once")),
        seed=1,
        folder=tmp_path / "run",
    ).play()

    assert result.verdict is Verdict.FAIL
    assert "broker 2 tells clients ledger/0 leader=2 epoch=1" in result.why
    assert run_end(read_folder(tmp_path / "run")[0]).unhealed == {
        Liveness.EVENTUALLY_METADATA_CONVERGES
    }


def test_canary_of_a_rule_that_its_scenario_never_uses_is_not_found(tmp_path: Path) -> None:
    canary = play_canary(
        level=NEWEST_LEVEL, seed=1, out=tmp_path / "canary", mutant="ignore_changed_target"
    )

    assert canary.verdict is Verdict.FAIL
    assert "was not found (every check passed)" in canary.sentence


def test_mutant_that_nobody_asked_for_is_an_error(tmp_path: Path) -> None:
    settings = ClusterSettings(extra=("--mutant", "ignore_changed_target"))

    result = ScenarioRun(
        scenario=SCENARIOS["quiet"], settings=settings, seed=1, folder=tmp_path / "quiet"
    ).play()

    assert result.verdict is Verdict.ERROR
    assert result.why == "a broker runs mutant ignore_changed_target, which was not asked for"


def _expire_in_secret(stage: RunningCluster) -> None:
    """Broker 2 loses its session, and no fault has been announced."""
    before = stage.cluster.registration(2)
    assert before is not None
    assert stage.workload is not None
    session = get_session(ControlAddress(before.address))
    stage.cluster.expire_session(session.session_id, session.password, 2)
    stage.cluster.await_state(
        lambda: (now := stage.cluster.registration(2)) is not None and now.zxid != before.zxid,
        20.0,
        "broker 2 again",
    )


def test_session_that_is_lost_without_a_fault_is_noise(tmp_path: Path) -> None:
    scenario = Scenario(story=Story(story_id="secret"), play=_expire_in_secret)

    result = ScenarioRun(
        scenario=scenario, settings=ClusterSettings(), seed=1, folder=tmp_path / "secret"
    ).play()

    told = [e for e in read_folder(tmp_path / "secret")[0] if e.action == "SessionLost"]
    assert "broker 2 lost its session while no fault was on it" in result.interference
    assert 2 in [event.broker_id for event in told]


def _without_effect(stage: RunningCluster) -> None:
    """Drop fetches of a topic that is never fetched."""
    fault = DropRequest(method="Fetch", sender=broker(1), topic="nowhere", for_ms=100)
    timed = StoryAction.at(action_id="fault-1", at_ms=0, fault=fault)
    stage.engine.run(Story(seed=stage.seed, actions=(timed,)))


def test_fault_without_effect_makes_the_scenario_vacuous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.fault_injection.engine.process_world.EVIDENCE_MS", 500)
    scenario = Scenario(story=Story(story_id="idle"), play=_without_effect)

    result = ScenarioRun(
        scenario=scenario, settings=ClusterSettings(), seed=1, folder=tmp_path / "idle"
    ).play()

    assert result.verdict is Verdict.VACUOUS
    assert result.why == "fault-1 (rpc.drop_request) ended ineffective"


def _produce_where_the_leader_hears_late(stage: RunningCluster) -> None:
    """The state of a new partition is published long before its leader is told."""
    controller = stage.controller()
    assert controller is not None
    leader, other = stage.others(controller)
    late = DelayRequest(
        method="LeaderAndIsr",
        sender=broker(controller),
        receiver=broker(leader),
        topic="new",
        delay_ms=700,
        for_ms=5000,
    )
    fault = stage.engine.inject("late", late)
    (partition,) = stage.create_topic("new", [[leader, other]])
    assert stage.session.client("client-1").produce(partition, ["client-1/1/1"]).is_ok
    stage.engine.await_active(fault)
    stage.engine.heal(fault)


def test_topic_of_a_scenario_is_there_when_its_leaders_serve_it(tmp_path: Path) -> None:
    scenario = Scenario(
        story=Story(story_id="late", profile=ClientLoad.NONE),
        play=_produce_where_the_leader_hears_late,
    )

    result = ScenarioRun(
        scenario=scenario, settings=ClusterSettings(), seed=1, folder=tmp_path / "late"
    ).play()

    assert (result.verdict, result.why) == (Verdict.PASS, "")


def test_command_that_is_no_broker_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    command = "sh -c 'echo I am no broker; exit 3' --"

    result = ScenarioRun(
        scenario=SCENARIOS["quiet"],
        settings=ClusterSettings(implementation=CommandLine(command=command)),
        seed=1,
        folder=tmp_path / "quiet",
    ).play()

    assert result.verdict is Verdict.ERROR
    assert "ended by itself before all brokers and a controller" in result.why
    assert "I am no broker" in result.why


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[str]:
    with Supervisor(tmp_path / "external", "external") as supervisor:
        server = ZooKeeperServer(supervisor, tmp_path / "external" / "zookeeper")
        server.start()
        yield server.address


def test_external_zookeeper_is_left_as_it_was(zookeeper: str, tmp_path: Path) -> None:
    (result,) = run_all(
        selected(["quiet"]),
        settings=ClusterSettings(zookeeper=f"{zookeeper}/tenants/a"),
        seed=1,
        out=tmp_path / "out",
    )

    with ZooKeeperClient(zookeeper) as client:
        left = client.children("/tenants/a")
    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert [problem.verdict for problem in result.problems] == [Verdict.NOT_OBSERVABLE]
    assert left == []
