"""What is read of a cluster in a real ZooKeeper, and the local cluster of the command line."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.command_line import CommandLine
from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse, zookeeper_for
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.faults.targets import leader
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.proxy.peers import listening_ports
from fencepost.fault_injection.network.wiring import BrokerPlace
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.stories.story_file import story_from_document
from fencepost.fault_injection.zookeeper.client import ZnodeContent, ZooKeeperClient
from fencepost.fault_injection.zookeeper.server import PortInUseError, ZooKeeperServer
from fencepost.spec import znodes
from fencepost.spec.trace import Kind, LamportClock, read_trace
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, LeaderEpoch, Outcome
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition
from tests.conformance.sites import site_at

pytestmark = pytest.mark.zookeeper

PARTITION = TopicPartition("orders", 0)


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with Supervisor(tmp_path_factory.mktemp("processes"), "test-cluster") as started:
        yield started


@pytest.fixture(scope="module")
def server(supervisor: Supervisor) -> str:
    started = ZooKeeperServer(supervisor, supervisor.directory / "zookeeper")
    started.start()
    return started.address


@pytest.fixture
def client(server: str, request: pytest.FixtureRequest) -> Iterator[ZooKeeperClient]:
    """A chroot of its own for each test, with the persistent paths."""
    chroot = f"/{request.node.name}"
    with ZooKeeperClient(server) as outside:
        outside.create_path(chroot)
    with ZooKeeperClient(server + chroot) as inside:
        for path in znodes.PERSISTENT_PATHS:
            inside.create_path(path)
        yield inside


@pytest.fixture
def cluster(
    client: ZooKeeperClient, supervisor: Supervisor, tmp_path: Path
) -> Iterator[ClusterUnderTest]:
    found = ClusterUnderTest(
        ClusterSettings(),
        folder=tmp_path,
        run_id="test-cluster",
        supervisor=supervisor,
        zookeeper=ZooKeeperInUse(address=client.address),
    )
    yield found
    found.close()


def of_command(command: str, brokers: int = 3) -> ClusterSettings:
    return ClusterSettings(implementation=CommandLine(command=command), brokers=brokers)


@contextmanager
def cluster_of(
    command: str, client: ZooKeeperClient, supervisor: Supervisor, folder: Path
) -> Iterator[ClusterUnderTest]:
    found = ClusterUnderTest(
        of_command(command),
        folder=folder,
        run_id="test-cluster",
        supervisor=supervisor,
        zookeeper=ZooKeeperInUse(address=client.address),
    )
    yield found
    found.close()


def publish(client: ZooKeeperClient, isr: set[int]) -> None:
    client.create("/brokers/topics/orders", b'{"version":1,"partitions":{"0":[2,1,3]}}')
    client.create("/brokers/topics/orders/0")
    state = LeaderAndIsr(
        leader=BrokerId(2), leader_epoch=LeaderEpoch(4), isr=frozenset(map(BrokerId, isr))
    )
    client.create(znodes.leader_and_isr_path(PARTITION), state.document())


def register(client: ZooKeeperClient, broker_id: int) -> None:
    document = f'{{"version":1,"host":"127.0.0.1","port":{9000 + broker_id}}}'
    client.create(znodes.broker_path(broker_id), document.encode(), ephemeral=True)


def test_roles_are_read_where_they_are_published(
    client: ZooKeeperClient, cluster: ClusterUnderTest
) -> None:
    publish(client, {2, 3})
    register(client, 3)
    client.create("/controller", b'{"version":1,"brokerid":3,"timestamp":"0"}', ephemeral=True)

    view = cluster.state.view()
    assert cluster.state.controller() == 3
    assert cluster.state.live_brokers() == [3]
    assert cluster.addresses() == ["127.0.0.1:9003"]
    assert cluster.state.leader_of(PARTITION) == 2
    assert cluster.state.isr_of(PARTITION) == {2, 3}
    assert leader("orders").resolve(view) == 2
    assert view.followers(PARTITION) == (1, 3)


def test_a_state_that_changes_while_it_is_rewritten_is_read_anew(
    client: ZooKeeperClient,
    cluster: ClusterUnderTest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish(client, {1, 2, 3})
    path = znodes.leader_and_isr_path(PARTITION)
    shrunk = client.read(path).data.replace(b"[1,2,3]", b"[2,3]")
    rewrite = ZooKeeperClient.rewrite
    raced: list[int] = []

    def lose_once(rewriter: ZooKeeperClient, *what: Any) -> ZnodeContent:  # noqa: ANN401
        if not raced:
            raced.append(client.set(path, shrunk, version=ANY_VERSION))
        return rewrite(rewriter, *what)

    monkeypatch.setattr(ZooKeeperClient, "rewrite", lose_once)
    recorder = TraceWriter(tmp_path, run_id="run", node="harness", clock=LamportClock())
    with recorder as cluster.recorder:
        assert cluster.rewrite_state(PARTITION) == 2
    trace = read_trace(tmp_path / "trace-harness.ndjson").events
    endings = [event for event in trace if event.kind is Kind.COMPLETE]

    assert client.read(path).data == shrunk
    assert [(event.outcome, event.error_code) for event in endings] == [
        (Outcome.DEFINITE_ERROR, "BAD_VERSION"),
        (Outcome.OK, None),
    ]


def test_a_state_that_always_changes_first_is_not_rewritten(
    client: ZooKeeperClient, cluster: ClusterUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(client, {1, 2, 3})
    path = znodes.leader_and_isr_path(PARTITION)
    rewrite = ZooKeeperClient.rewrite

    def lose(rewriter: ZooKeeperClient, *what: Any) -> ZnodeContent:  # noqa: ANN401
        client.set(path, client.read(path).data, version=ANY_VERSION)
        return rewrite(rewriter, *what)

    monkeypatch.setattr(ZooKeeperClient, "rewrite", lose)
    with pytest.raises(InjectionError, match="another session always wrote"):
        cluster.rewrite_state(PARTITION)


def test_registration_names_its_session(client: ZooKeeperClient, cluster: ClusterUnderTest) -> None:
    register(client, 1)

    registration = cluster.registration(1)
    assert registration is not None
    assert registration.session_id == client.session_id
    assert cluster.registration(2) is None


def test_registration_that_a_killed_process_left_is_none(
    client: ZooKeeperClient, supervisor: Supervisor, tmp_path: Path
) -> None:
    register(client, 3)
    with cluster_of("true", client, supervisor, tmp_path) as cluster:
        before = cluster.registration(3)
        cluster.restart(3)
        left = cluster.registration(3)
        client.delete(znodes.broker_path(3))
        register(client, 3)
        after = cluster.registration(3)
    supervisor.processes["broker-3"].wait(10)

    assert before is not None
    assert left is None
    assert after is not None
    assert after.zxid > before.zxid


def test_a_broker_that_waits_does_nothing_until_it_is_started(
    cluster: ClusterUnderTest, supervisor: Supervisor, tmp_path: Path
) -> None:
    def waits(pid: int) -> bool:
        """It has asked for what comes at the descriptor, and nothing has come."""
        return Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x3 ")

    cluster.prepare(1)
    pid = next(
        int(entry.fields["pid"])
        for entry in supervisor.ledger.open_entries()
        if entry.fields["name"] == "broker-1"
    )
    await_state = partial(cluster.await_state, deadline_s=20.0, may_end=True)
    await_state(lambda: is_broker(pid) and waits(pid), what="a broker that is ready")
    is_ready = cluster.is_ready(1)
    done = (listening_ports(pid), cluster.state.live_brokers(), list(tmp_path.iterdir()))
    with pytest.raises(InjectionError, match="broker 1 does not run"):
        cluster.process(1)
    cluster.restart(1)
    await_state(lambda: cluster.registration(1) is not None, what="its registration")
    process = cluster.process(1)
    process.kill()

    assert is_ready
    assert done == ([], [], [])
    assert process.pid == pid


def is_broker(pid: int) -> bool:
    """The launcher before it reads the same descriptor."""
    return b"fencepost.impl" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:3]


def test_a_broker_of_others_is_started_when_it_is_to_run(
    client: ZooKeeperClient, supervisor: Supervisor, tmp_path: Path
) -> None:
    before = len(supervisor.ledger.entries())
    with cluster_of("sleep 600", client, supervisor, tmp_path) as cluster:
        cluster.prepare(2)

    assert len(supervisor.ledger.entries()) == before


def test_empty_and_malformed_znodes_publish_nothing(
    client: ZooKeeperClient, cluster: ClusterUnderTest
) -> None:
    empty = (
        cluster.state.controller(),
        cluster.state.assignments(),
        cluster.state.state_of(PARTITION),
    )
    client.create("/controller", b"not json", ephemeral=True)
    client.create(znodes.broker_path(1), b"{}", ephemeral=True)

    assert empty == (None, {}, None)
    assert cluster.state.controller() is None
    assert cluster.registration(1) is None
    assert cluster.addresses() == []


@pytest.mark.parametrize(("isr", "healthy"), [({1, 2, 3}, True), ({2, 3}, False)])
def test_health_needs_every_replica_in_sync(
    isr: set[int], healthy: bool, client: ZooKeeperClient, cluster: ClusterUnderTest
) -> None:
    publish(client, isr)
    for broker_id in (1, 2, 3):
        register(client, broker_id)
    client.create("/controller", b'{"version":1,"brokerid":1,"timestamp":"0"}', ephemeral=True)

    assert cluster.is_healthy([PARTITION]) is healthy


def test_brokers_that_never_register_end_the_wait_with_their_last_words(
    client: ZooKeeperClient, supervisor: Supervisor, tmp_path: Path
) -> None:
    settings = of_command("sh -c 'echo no more disk; exit 1' --", brokers=1)
    waiting = ClusterUnderTest(
        settings,
        folder=tmp_path,
        run_id="test-cluster",
        supervisor=supervisor,
        zookeeper=ZooKeeperInUse(address=client.address),
    )

    with (
        pytest.raises(ClusterError, match=r"broker 1 ended by itself .*\n.*no more disk"),
        waiting.running(),
    ):
        pytest.fail("the cluster cannot have started")


def test_brokers_of_an_interrupted_start_are_not_asked_to_end(
    client: ZooKeeperClient, supervisor: Supervisor, tmp_path: Path
) -> None:
    presses_ctrl_c = "trap 'echo asked' TERM; kill -INT $PPID; while :; do sleep 0.1; done"
    starting = ClusterUnderTest(
        of_command(f"sh -c {quote(presses_ctrl_c)} --", brokers=1),
        folder=tmp_path,
        run_id="test-cluster",
        supervisor=supervisor,
        zookeeper=ZooKeeperInUse(address=client.address),
    )

    with pytest.raises(KeyboardInterrupt), starting.running():
        pytest.fail("the cluster cannot have started")
    broker = supervisor.processes["broker-1"]

    assert broker.returncode == -signal.SIGKILL
    assert "asked" not in broker.log_tail()


def test_broker_that_does_not_run_cannot_be_hurt(cluster: ClusterUnderTest) -> None:
    with pytest.raises(InjectionError, match="broker 2 does not run"):
        cluster.process(2)


def test_external_zookeeper_gets_a_chroot_that_is_removed_again(
    server: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    around = zookeeper_for(
        "run-1", supervisor=supervisor, folder=tmp_path, choice=f"{server}/shared"
    )
    with ZooKeeperClient(server) as outside:
        with around as zookeeper:
            with ZooKeeperClient(zookeeper.address) as inside:
                inside.create_path("/brokers/ids")
            during = outside.children("/shared")
        after = outside.children("/shared")

    assert zookeeper.address == f"{server}/shared/run-1"
    assert zookeeper.transactions() is None
    assert (during, after) == (["run-1"], [])


@pytest.mark.parametrize(
    ("level", "spoken", "expected"),
    [(5, None, True), (2, 5, True), (2, 4, False), (4, None, False), (2, None, False)],
)
def test_clients_change_configurations_where_the_controller_comes_to_write_them(
    level: int, spoken: int | None, expected: bool
) -> None:
    roll = RollBrokers(for_ms=1, inter_broker_protocol=spoken)
    action = StoryAction.at(action_id="roll", at_ms=0, fault=roll)
    story = Story(story_id="s", actions=(action,) if spoken else ())
    other = CommandLine(command="./mine")

    assert ClusterSettings(level=level).has_redirected_mutations(story) is expected
    settings = ClusterSettings(level=level, implementation=other)
    assert not settings.has_redirected_mutations(story)


@pytest.mark.parametrize(
    ("level", "spoken", "expected"),
    [(4, None, True), (2, 4, True), (2, 3, False), (3, None, False)],
)
def test_brokers_answer_as_they_are_told_where_some_broker_comes_to_tell_them(
    level: int, spoken: int | None, expected: bool
) -> None:
    told = {"kind": "proc.rolling", "for_ms": 1, "params": {"inter_broker_protocol": spoken}}
    steps = [told] if spoken else ["heal_all"]
    story = story_from_document({"schema": 1, "id": "s", "steps": steps})

    assert ClusterSettings(level=level).has_told_metadata(story) is expected


def test_command_line_of_a_broker(supervisor: Supervisor) -> None:
    site = replace(site_at(Path("run"), supervisor), level=1, extra=("--more",))
    place = BrokerPlace(zookeeper="h:1/c", listens="here:7", advertised="h:8")

    command = CommandLine(command="./mine --fast").broker_command(site, 2, place)

    assert command[:4] == ["./mine", "--fast", "--broker-id", "2"]
    assert command[-1:] == ["--more"]
    assert "--fault-control" not in command
    assert command[command.index("--zookeeper") + 1] == "h:1/c"
    assert command[command.index("--host") + 1 :][:3] == ["here", "--port", "7"]
    assert command[command.index("--advertised") + 1] == "h:8"
    assert command[command.index("--level") + 1] == "1"
    assert command[command.index("--data") + 1] == "run/broker-2"


def test_only_what_is_declared_is_asked_for(supervisor: Supervisor) -> None:
    can = frozenset({Capability.FAULT_CONTROL})
    site, place = site_at(Path("run"), supervisor), BrokerPlace(zookeeper="h:1/c")

    command = CommandLine(command="./mine", capabilities=can).broker_command(site, 2, place)

    assert "--fault-control" in command
    assert "--fault-control" in REFERENCE.broker_command(site, 2, place)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (" ", "the command of the implementation is empty"),
        ("./mine 'fast", "is no command: No closing quotation"),
    ],
)
def test_a_command_that_is_none_is_refused(command: str, says: str) -> None:
    with pytest.raises(ChoiceError, match=says):
        CommandLine(command=command)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 9}, r"level 9 is none; choose one of \(0, 1, 2, 3, 4, 5\)"),
        ({"brokers": 0}, "a cluster of 0 brokers is none"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, int | str], message: str) -> None:
    with pytest.raises(ChoiceError, match=message):
        ClusterSettings(**settings)  # type: ignore[arg-type]


def test_local_cluster_comes_up_once_and_goes_down(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    local_cluster.up(folder, settings=ClusterSettings(brokers=1))
    try:
        with pytest.raises(
            ClusterError, match="is up already; end it with: fencepost cluster down"
        ):
            local_cluster.up(folder)
        status = local_cluster.status(folder)
        addresses = local_cluster.addresses(folder)
    finally:
        local_cluster.down(folder)

    (broker,) = status.brokers
    assert broker.is_controller
    assert broker.pid is not None
    assert addresses == [broker.address]
    assert not Path(f"/proc/{broker.pid}").exists()
    with pytest.raises(ClusterError, match="no cluster is up in"):
        local_cluster.status(folder)


def test_local_cluster_whose_port_is_taken_leaves_nothing(server: str, tmp_path: Path) -> None:
    folder = tmp_path / "cluster"

    with pytest.raises(PortInUseError, match="is in use"):
        local_cluster.up(folder, zookeeper_port=int(server.rpartition(":")[2]))

    assert not (folder / local_cluster.STATE_FILE).exists()


def test_local_cluster_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    settings = of_command(f"{sys.executable} -c pass", brokers=1)

    with pytest.raises(ClusterError, match="broker 1 ended by itself"):
        local_cluster.up(folder, settings=settings)

    with pytest.raises(ClusterError, match="no cluster is up in"):
        local_cluster.down(folder)


def test_unreadable_state_says_what_to_remove(tmp_path: Path) -> None:
    (tmp_path / local_cluster.STATE_FILE).write_text("{")

    for ask in (local_cluster.status, local_cluster.up):
        with pytest.raises(ClusterError, match=r"cluster\.json is damaged .* remove that file"):
            ask(tmp_path)
    with pytest.raises(ClusterError, match=r"has no ledger.*; remove .*cluster\.json"):
        local_cluster.down(tmp_path)


def test_cluster_whose_state_is_damaged_goes_down_by_its_ledger(tmp_path: Path) -> None:
    with Supervisor(Folders(root=tmp_path).processes, "r", detached=True) as supervisor:
        argv = [sys.executable, "-c", "import signal; signal.pause()"]
        pid = supervisor.start("broker-1", argv).pid
    (tmp_path / local_cluster.STATE_FILE).write_bytes(b"\xff{")

    local_cluster.down(tmp_path)

    assert not Path(f"/proc/{pid}").exists()
    assert not (tmp_path / local_cluster.STATE_FILE).exists()


def test_commands_that_are_told_name_the_folder_unless_it_is_the_usual_one() -> None:
    assert local_cluster.command("up", local_cluster.DEFAULT_FOLDER) == "fencepost cluster up"
    assert local_cluster.command("down", Path("a b")) == "fencepost cluster down --cluster 'a b'"
