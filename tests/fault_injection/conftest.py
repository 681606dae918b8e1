"""Fixtures of the room: supervisors that are closed, one ZooKeeper per module, waits that end."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer

ROOT = Path(__file__).parents[2]
SLEEP = "import time; print('up', flush=True); time.sleep(600)"

Eventually = Callable[[Callable[[], bool]], bool]
Sleeper = Callable[..., ManagedProcess]


@pytest.fixture
def eventually() -> Eventually:
    """`eventually(condition)`: True as soon as the condition holds, False after half a minute."""

    return partial(eventually_within, 30.0)


def eventually_within(seconds: float, condition: Callable[[], bool]) -> bool:
    """True as soon as the condition holds, False when it does not in time."""
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        threading.Event().wait(0.002)
    return holds


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor of its own run, closed at the end."""
    with Supervisor(tmp_path / "run", "run-of-a-test") as supervisor:
        yield supervisor


@pytest.fixture
def sleeper(supervisor: Supervisor, eventually: Eventually) -> Sleeper:
    """`sleeper(name, code)` starts Python code that prints a line when it is up, and is up."""

    def start(name: str = "sleeper", code: str = SLEEP) -> ManagedProcess:
        process = supervisor.start(name, [sys.executable, "-c", code])
        assert eventually(lambda: process.log_tail() != "")
        return process

    return start


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A real ZooKeeper for the tests of one module."""
    directory = tmp_path_factory.mktemp("zookeeper")
    with Supervisor(directory, f"run-of-{directory.name}") as supervisor:
        server = ZooKeeperServer(supervisor, directory / "zookeeper")
        server.start()
        yield server
