"""ZooKeeper in containers, where an engine is or can be started: `pytest -m chaos`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.conformance.adapters.choices import CONTAINERS
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper, HurtServer
from fencepost.fault_injection.processes.container_engine import (
    HOST_VARIABLE,
    NoEngineError,
    client_of,
    container_engine,
    try_out,
)
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.containers import (
    IMAGE_VARIABLE,
    LABEL,
    ZooKeeperContainers,
    usable_image,
)
from fencepost.fault_injection.zookeeper.image import ImageError
from fencepost.fault_injection.zookeeper.status import MemberState, Mode
from tests.fault_injection.conftest import eventually_within

pytestmark = pytest.mark.chaos

RUN = "containers-of-a-test"
SIZE = 3
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with Supervisor(tmp_path_factory.mktemp("engine"), RUN) as supervisor:
        supervisor.watch()
        yield supervisor


@pytest.fixture(scope="module")
def engine(supervisor: Supervisor) -> Iterator[str]:
    """An engine, and an image of ZooKeeper for it; without one the tests say so and are skipped."""
    try:
        with container_engine(supervisor) as host, pytest.MonkeyPatch.context() as patch:
            patch.setenv(HOST_VARIABLE, host)
            image = usable_image(host)
            patch.setenv(IMAGE_VARIABLE, image)
            try_out(host, image)
            yield host
    except (NoEngineError, ImageError) as why:
        pytest.skip(str(why))


def ours(host: str) -> list[str]:
    """Containers and networks of this run."""
    mine = {"label": f"{LABEL}={RUN}"}
    with client_of(host) as client:
        containers = client.containers.list(all=True, filters=mine)
        return [one.name for one in (*containers, *client.networks.list(filters=mine))]


def test_members_in_containers_are_paused_cut_off_and_killed_and_nothing_is_left(
    engine: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    servers = ZooKeeperContainers(engine, tmp_path, supervisor.ledger, run_id=RUN, size=SIZE)
    servers.start()
    try:
        with ZooKeeperClient(servers.address) as client:
            client.create("/mine", ephemeral=True)
            session = client.session_id
            for hurt, heal, state in (
                (servers.pause, servers.resume, MemberState.PAUSED),
                (servers.cut_off, servers.join, MemberState.CUT_OFF),
                (servers.kill, servers.restart, MemberState.ENDED),
            ):
                leader = servers.leader()
                assert leader is not None
                hurt(leader)
                assert servers.state(leader) is state
                assert eventually_within(PATIENCE_S, lambda: servers.leader() is not None)
                assert servers.leader() != leader
                heal(leader)
                assert eventually_within(PATIENCE_S, lambda: len(servers.status()) == SIZE)
            assert client.exists("/mine") is not None
            assert client.session_id == session
        modes = sorted(one.mode for one in servers.status().values())
        assert modes == [Mode.FOLLOWER, Mode.FOLLOWER, Mode.LEADER]
        assert len(ours(engine)) == SIZE + 1
    finally:
        servers.stop_all()
    assert ours(engine) == []
    kinds = [entry.kind for entry in supervisor.ledger.open_entries()]
    assert "container" not in kinds
    assert "network" not in kinds


def lose_the_leader(stage: RunningCluster) -> None:
    faults = (
        FailOverZooKeeper(for_ms=500),
        HurtServer(member="leader", deed="disconnect", for_ms=2_500),
    )
    for number, fault in enumerate(faults, start=1):
        timed = StoryAction.at(action_id=f"fault-{number}", at_ms=0, fault=fault)
        stage.engine.run(Story(seed=stage.seed, actions=(timed,)))


def test_the_reference_passes_while_leaders_in_containers_die_and_are_cut_off(
    engine: str, tmp_path: Path
) -> None:
    scenario = Scenario(story=Story(story_id="lost"), play=lose_the_leader)
    result = ScenarioRun(
        scenario=scenario,
        settings=ClusterSettings(zookeeper=CONTAINERS),
        seed=1,
        folder=tmp_path / "lost",
    ).play()

    assert engine
    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert ["leads epoch" in (report.evidence or "") for report in result.faults] == [True, True]
