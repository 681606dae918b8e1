import socket
import time
from collections.abc import Iterator

import pytest

from fencepost.fault_injection.network.proxy.peers import listening_ports
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE, Supervisor
from fencepost.fault_injection.zookeeper import server as zookeeper_server
from fencepost.fault_injection.zookeeper.client import (
    OutcomeUnknownError,
    ZnodeExistsError,
    ZooKeeperClient,
)
from fencepost.fault_injection.zookeeper.control import ControlledServer, end_in_ensemble
from fencepost.fault_injection.zookeeper.ensemble import SIZE, ZooKeeperEnsemble
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from fencepost.fault_injection.zookeeper.sessions import expire_session
from fencepost.fault_injection.zookeeper.status import EPOCH_BITS, Mode
from fencepost.fault_injection.zookeeper.transaction_log import (
    TransactionKind,
    read_committed,
    read_transactions,
)
from fencepost.spec.zookeeper import ZooKeeperError
from tests.fault_injection.conftest import Eventually

pytestmark = pytest.mark.zookeeper

WRITES = 20


@pytest.fixture(scope="module")
def drawn() -> list[list[int]]:
    """The ports of the ensemble's first two draws, the later one first."""
    return [free_ports(9), free_ports(9)]


@pytest.fixture(scope="module")
def ensemble(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[list[int]]
) -> Iterator[ZooKeeperEnsemble]:
    """One ensemble for the tests of this module, each of which leaves it whole.

    One of the ports that were drawn first is taken.
    """
    directory = tmp_path_factory.mktemp("ensemble")
    with Supervisor(directory, f"run-of-{directory.name}") as supervisor:
        ensemble = ZooKeeperEnsemble(
            supervisor, directory / "zookeeper", server_class=ControlledServer
        )
        left = list(drawn)
        with pytest.MonkeyPatch.context() as patch, socket.create_server((HOST, drawn[1][1])):
            patch.setattr(zookeeper_server, "free_ports", lambda _count: left.pop())
            ensemble.start()
        assert left == []
        yield ensemble
        ensemble.stop_all()
        assert [member.process.is_running for member in ensemble.members] == [False] * SIZE


def write_all(client: ZooKeeperClient, prefix: str) -> list[str]:
    """Create `WRITES` znodes, each as often as it takes until it is there."""
    paths = [f"/{prefix}-{number}" for number in range(WRITES)]
    for path in paths:
        created = False
        while not created:
            try:
                client.create(path)
                created = True
            except ZnodeExistsError:
                created = True
            except OutcomeUnknownError:
                continue
    return paths


def leader_of(ensemble: ZooKeeperEnsemble) -> ZooKeeperServer:
    number = ensemble.leader()
    assert number is not None
    return ensemble.members[number - 1]


def _mode(ensemble: ZooKeeperEnsemble, number: int) -> Mode | None:
    status = ensemble.status().get(number)
    return status.mode if status else None


def prepared(ensemble: ZooKeeperEnsemble, number: int) -> int:
    """The pid of the process that waits to be a member again."""
    ensemble.prepare(number)
    ledger = Ledger(ensemble.members[number - 1].process.log.with_name(LEDGER_FILE))
    return int(ledger.open_entries()[-1].fields["pid"])


def restart(member: ZooKeeperServer) -> None:
    member.begin(member.endpoint[1])
    member.await_serving(time.monotonic() + 20.0)


def test_all_members_serve_and_one_of_them_leads(ensemble: ZooKeeperEnsemble) -> None:
    modes = sorted(status.mode for status in ensemble.status().values())

    assert modes == [Mode.FOLLOWER, Mode.FOLLOWER, Mode.LEADER]
    for member in ensemble.members:
        with ZooKeeperClient(member.address) as client:
            assert client.children("/") == ["zookeeper"]
    assert len({member.endpoint for member in ensemble.members}) == SIZE


def test_a_session_and_its_writes_live_on_when_the_leader_is_killed(
    ensemble: ZooKeeperEnsemble, eventually: Eventually
) -> None:
    killed = leader_of(ensemble)
    number = ensemble.members.index(killed) + 1
    with ZooKeeperClient(ensemble.address) as client:
        client.create("/mine", ephemeral=True)
        session = client.session_id
        before = ensemble.status()[1].epoch
        killed.process.kill()
        waiting = prepared(ensemble, number)
        paths = write_all(client, "after-kill")

        assert leader_of(ensemble) is not killed
        assert client.session_id == session
        assert client.exists("/mine") is not None
        # The killed one has less in its log; what was committed meanwhile is known all the same.
        committed = read_committed(ensemble.data_dirs)
        known_to_killed = {one.path for one in read_transactions(killed.data_dir)}
        assert eventually(lambda: ensemble.is_ready(number))
        ports_before = listening_ports(waiting)
        restart(killed)

    created = {one.path for one in committed if one.kind is TransactionKind.CREATE}
    epochs = {one.zxid >> EPOCH_BITS for one in committed}
    assert created >= set(paths)
    assert known_to_killed.isdisjoint(paths)
    assert max(epochs) > before
    assert (ports_before, killed.process.pid) == ([], waiting)
    assert len(ensemble.status()) == SIZE


def test_a_leader_that_stands_still_is_replaced_and_follows_when_it_goes_on(
    ensemble: ZooKeeperEnsemble, eventually: Eventually
) -> None:
    paused = leader_of(ensemble)
    paused.process.pause()
    try:
        assert eventually(lambda: ensemble.leader() is not None)
        assert leader_of(ensemble) is not paused
    finally:
        paused.process.resume()

    number = ensemble.members.index(paused) + 1
    assert eventually(lambda: _mode(ensemble, number) is Mode.FOLLOWER)


def test_a_session_expires_whichever_member_its_owner_talks_to(
    ensemble: ZooKeeperEnsemble,
) -> None:
    for member in ensemble.members:
        with ZooKeeperClient(member.address) as owner:
            owner.create("/owned", ephemeral=True)
            evidence = expire_session(
                ensemble.address, owner.session_id, owner.session_password, watch_path="/owned"
            )
            assert owner.exists("/owned") is None
        assert evidence["watch_path"] == "/owned"


def test_a_member_has_the_session_ended_whomever_its_owner_talks_to(
    ensemble: ZooKeeperEnsemble,
) -> None:
    for member in ensemble.members:
        with ZooKeeperClient(member.address) as owner, ZooKeeperClient(member.address) as other:
            owner.create("/owned", ephemeral=True)
            end_in_ensemble(ensemble, owner.session_id)
            # A read may be older than what the leader has done; a write of this member is not.
            other.create("/now", ephemeral=True)
            assert other.exists("/owned") is None


def test_ports_are_drawn_anew_when_one_is_taken(
    ensemble: ZooKeeperEnsemble, drawn: list[list[int]]
) -> None:
    second, _ = drawn

    assert [member.endpoint[1] for member in ensemble.members] == second[:SIZE]
    assert len(ensemble.status()) == SIZE


def test_an_ensemble_that_misses_its_deadline_is_ended(supervisor: Supervisor) -> None:
    ensemble = ZooKeeperEnsemble(supervisor, supervisor.directory / "slow")

    with pytest.raises(ZooKeeperError, match="'zookeeper-1' does not serve in time"):
        ensemble.start(deadline_s=0.01)
    assert not any(process.is_running for process in supervisor.processes.values())
    assert ensemble.members == ()
