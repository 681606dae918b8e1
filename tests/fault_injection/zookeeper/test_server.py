import os
import re
import socket
import subprocess
import sys

import pytest

from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper import server as zookeeper_server
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.server import (
    PortInUseError,
    ZooKeeperServer,
    check_external,
    find_jars,
)
from fencepost.fault_injection.zookeeper.status import four_letter_word
from fencepost.spec.zookeeper import (
    AddressError,
    ZooKeeperAddress,
    ZooKeeperError,
)
from tests.fault_injection.conftest import ROOT

FIND_JARS = """
import sys
from fencepost.fault_injection.zookeeper.server import find_jars
print(len(find_jars()), "pyspark" in sys.modules)
"""


def ask(server: ZooKeeperServer, word: str) -> str:
    return four_letter_word(server.endpoint, word, 5.0)


@pytest.mark.zookeeper
def test_a_started_server_serves_on_the_loopback_only(zookeeper: ZooKeeperServer) -> None:
    assert re.fullmatch(r"127\.0\.0\.1:\d+", zookeeper.address)
    assert ask(zookeeper, "ruok") == "imok"
    assert "Zookeeper version: 3.9." in ask(zookeeper, "srvr")
    assert f"clientPortAddress={HOST}" in (zookeeper.directory / "zoo.cfg").read_text()


@pytest.mark.zookeeper
def test_sessions_may_be_as_short_as_two_ticks(zookeeper: ZooKeeperServer) -> None:
    assert "minSessionTimeout=200\n" in ask(zookeeper, "conf")


@pytest.mark.zookeeper
def test_a_server_that_is_well_says_nothing(zookeeper: ZooKeeperServer) -> None:
    assert zookeeper.process.log_tail() == ""


@pytest.mark.long
@pytest.mark.zookeeper
def test_data_port_and_address_outlive_a_stop_and_a_kill(supervisor: Supervisor) -> None:
    directory = supervisor.directory / "odd name #1=é"
    server = ZooKeeperServer(supervisor, directory)
    server.start()
    address = server.address
    with ZooKeeperClient(address) as client:
        client.create("/kept", b"data")

    server.stop()
    assert not server.process.is_running
    server.start()
    server.process.kill()
    server.start()

    assert server.address == address
    with ZooKeeperClient(address) as client:
        assert client.read("/kept").data == b"data"


@pytest.mark.zookeeper
def test_a_port_in_use_is_one_clear_sentence(
    zookeeper: ZooKeeperServer, supervisor: Supervisor
) -> None:
    _, port = zookeeper.endpoint
    other = ZooKeeperServer(supervisor, supervisor.directory / "other", port=port)

    with pytest.raises(PortInUseError, match=rf"^port {port} of 127.0.0.1 is in use; name another"):
        other.start()
    assert supervisor.processes == {}


@pytest.mark.zookeeper
def test_a_port_that_is_taken_at_the_last_moment_is_replaced_by_another(
    zookeeper: ZooKeeperServer, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, taken = zookeeper.endpoint
    ports = [free_ports(1), [taken]]
    monkeypatch.setattr(zookeeper_server, "free_ports", lambda _count: ports.pop())
    monkeypatch.setattr(zookeeper_server, "_is_free", lambda _port: True)
    other = ZooKeeperServer(supervisor, supervisor.directory / "other")

    other.start()

    # The server at the taken port answers as well; it is not mistaken for ours.
    assert other.address != zookeeper.address
    assert f"dataDir={other.data_dir}/" in ask(other, "conf")
    assert "BindException" in other.process.log.read_text()


@pytest.mark.zookeeper
def test_a_server_that_ends_at_once_leaves_its_last_words_in_the_error(
    supervisor: Supervisor,
) -> None:
    server = ZooKeeperServer(supervisor, supervisor.directory / "broken")
    server.data_dir.mkdir(parents=True)
    (server.data_dir / "version-2").write_text("a file where a folder belongs")

    with pytest.raises(ZooKeeperError, match=r"'zookeeper' ended before it served(.|\n)*version-2"):
        server.start()


@pytest.mark.zookeeper
def test_a_server_that_misses_its_deadline_is_ended(supervisor: Supervisor) -> None:
    server = ZooKeeperServer(supervisor, supervisor.directory / "slow")

    with pytest.raises(ZooKeeperError, match="does not serve in time; it said nothing in "):
        server.start(deadline_s=0.01)
    assert not supervisor.processes["zookeeper"].is_running


def test_the_jars_are_found_without_importing_pyspark() -> None:
    command = [sys.executable, "-c", FIND_JARS]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    assert done.stdout.split() == [str(len(zookeeper_server.JARS)), "False"]
    assert all(jar.is_file() for jar in find_jars())


def test_missing_jars_are_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(ZooKeeperError, match="pyspark with the jars of ZooKeeper is not installed"):
        find_jars()


@pytest.mark.zookeeper
def test_an_external_server_gets_its_chroot(zookeeper: ZooKeeperServer) -> None:
    where = check_external(f"{zookeeper.address}/fencepost/run-7")
    again = check_external(f"{zookeeper.address}/fencepost/run-7/")

    assert where == again
    assert (where.chroot, str(where)) == (
        "/fencepost/run-7",
        f"{zookeeper.address}/fencepost/run-7",
    )
    with ZooKeeperClient(zookeeper.address) as client:
        assert client.children("/fencepost") == ["run-7"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "localhost:",
        ":2181",
        "localhost:0",
        "localhost:65536",
        "localhost:21x",
        "a:1,/c",
        "a:1,b/c",
        "localhost:2181chroot",
        "localhost:2181//a",
        "http://localhost:2181",
        "::1:2181",
    ],
)
def test_another_form_of_address_is_one_clear_sentence(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        check_external(text)
    assert str(caught.value).startswith(f"{text!r} is no ZooKeeper address; write HOST:PORT")


@pytest.mark.parametrize(
    ("text", "host", "port", "chroot", "full"),
    [
        ("localhost:2181", "localhost", 2181, "", "/x"),
        ("localhost:2181/", "localhost", 2181, "", "/x"),
        ("zk-1.example:99/a/b", "zk-1.example", 99, "/a/b", "/a/b/x"),
        ("[::1]:2181/a", "::1", 2181, "/a", "/a/x"),
    ],
)
def test_an_address_is_read(text: str, host: str, port: int, chroot: str, full: str) -> None:
    where = ZooKeeperAddress.parse(text)

    assert (where.endpoints, where.chroot, where.full_path("/x")) == (((host, port),), chroot, full)
    assert where.full_path("/") == (chroot or "/")
    assert ZooKeeperAddress.parse(str(where)) == where


def test_the_servers_of_an_ensemble_have_one_chroot_and_an_order() -> None:
    where = ZooKeeperAddress.parse("a:1,[::1]:2,c:3/d")

    assert where.endpoints == (("a", 1), ("::1", 2), ("c", 3))
    assert (where.servers, where.chroot) == ("a:1,[::1]:2,c:3", "/d")
    assert [str(where.beginning_at(number)) for number in (0, 1, 5)] == [
        "a:1,[::1]:2,c:3/d",
        "[::1]:2,c:3,a:1/d",
        "c:3,a:1,[::1]:2/d",
    ]


def test_an_address_where_nobody_listens_is_one_clear_sentence() -> None:
    (port,) = free_ports(1)

    with pytest.raises(ZooKeeperError) as caught:
        check_external(f"{HOST}:{port}/chroot", 2.0)
    assert str(caught.value) == (
        f"no ZooKeeper answers at {HOST}:{port}: {os.strerror(111)}; "
        "check the address and that it runs"
    )


def test_a_listener_that_never_answers_is_no_zookeeper() -> None:
    with socket.create_server((HOST, 0)) as silent:
        address = f"{HOST}:{silent.getsockname()[1]}"
        with pytest.raises(
            ZooKeeperError, match=f"^no ZooKeeper answers at {address} within 0.5 s;"
        ):
            check_external(address, 0.5)
