"""A real ZooKeeper for the tests of the shell, and a folder in it for each."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer

FOLDERS = itertools.count(1)


@pytest.fixture(scope="session")
def zookeeper_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    folder = tmp_path_factory.mktemp("zookeeper")
    with Supervisor(folder / "supervisor", "shell-tests") as supervisor:
        server = ZooKeeperServer(supervisor, folder / "server")
        server.start()
        yield server


@pytest.fixture
def links(tmp_path: Path) -> Iterator[ProxyLinks]:
    """A proxy, for what a plain relay cannot do."""
    with Supervisor(tmp_path / "links", "shell-tests-links") as supervisor:
        started = ProxyLinks.start(supervisor)
        yield started
        started.close()


@pytest.fixture
def chroot(zookeeper_server: ZooKeeperServer) -> str:
    """`host:port/chroot`, the chroot not made yet."""
    return f"{zookeeper_server.address}/shell/{next(FOLDERS)}"
