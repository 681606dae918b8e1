"""A container engine: one that runs, or a Docker of our own that ends with us.

Our own is a process of the run, with all its files below one folder. It has
its own process and mount namespaces: when it is killed, every container ends with it, and no mount
is left. It touches no firewall rule of the host.
"""

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from typing import Any

from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.zookeeper import ZooKeeperError

HOST_VARIABLE = "DOCKER_HOST"
DEFAULT_HOST = "unix:///var/run/docker.sock"
START_S = 30.0
END_S = 10.0
_POLL_S = 0.05
_UNIX = "unix://"


class NoEngineError(ZooKeeperError):
    """There is no container engine, and none can be started; says what is missing."""


@contextmanager
def container_engine(supervisor: Supervisor) -> Iterator[str]:
    """Where an engine answers, as `DOCKER_HOST` has it; our own, in a new folder, ends here.

    Raises `NoEngineError`.
    """
    if find_spec("testcontainers") is None:
        raise NoEngineError(
            "no container engine: the package testcontainers is missing; "
            "install fencepost[containers]"
        )
    running = os.environ.get(HOST_VARIABLE, DEFAULT_HOST)
    if answers(running):
        yield running
        return
    why = cannot_start()
    if why:
        raise NoEngineError(f"no container engine: none answers at {running}, and {why}")
    # A Unix socket has a short path: the run's own folder may be too deep.
    folder = Path(mkdtemp(prefix="fencepost-engine-"))
    entry = supervisor.ledger.open("engine_folder", folder=str(folder))
    try:
        with _own_engine(supervisor, folder) as host:
            yield host
    finally:
        _remove(folder)
        supervisor.ledger.close(entry)


def cannot_start() -> str:
    """Why no engine of our own can be started; empty when it can."""
    if os.geteuid() != 0:
        return "only root can start one"
    missing = [
        name for name in ("dockerd", "containerd", "runc", "unshare") if shutil.which(name) is None
    ]
    return f"{missing[0]} is not on the PATH" if missing else ""


def answers(host: str) -> bool:
    """True when an engine answers there."""
    path = Path(host.removeprefix(_UNIX))
    if host.startswith(_UNIX) and not (path.exists() and stat.S_ISSOCK(path.stat().st_mode)):
        return False
    try:
        with client_of(host) as client:
            return bool(client.ping())
    except import_module("docker.errors").DockerException:
        return False


def try_out(host: str, image: str) -> None:
    """A container of the image can begin there, in a network of its own; nothing of it is left.

    Raises `NoEngineError`: an engine answers on some machines that let no container begin.
    """
    with client_of(host) as client:
        try:
            network = client.networks.create(f"fencepost-trial-{token_hex(4)}")
            try:
                container = client.containers.create(image, network=network.name)
                try:
                    container.start()
                finally:
                    container.remove(force=True)
            finally:
                network.remove()
        except import_module("docker.errors").DockerException as error:
            raise NoEngineError(
                f"no container engine: the one at {host} lets no container begin: {error}"
            ) from error


@contextmanager
def client_of(host: str) -> Iterator[Any]:
    """A client of the engine there, as the package `docker` has it."""
    client = import_module("docker").DockerClient(base_url=host, timeout=60)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def _own_engine(supervisor: Supervisor, directory: Path) -> Iterator[str]:
    (directory / "daemon.json").write_text("{}\n", encoding="ascii")
    host = f"{_UNIX}{directory}/docker.sock"
    process = supervisor.start("dockerd", _command(directory, host))
    try:
        deadline = time.monotonic() + START_S
        while not answers(host):
            if process.ended_within(_POLL_S) or time.monotonic() > deadline:
                raise NoEngineError(f"no container engine: ours said {process.log_tail(3)}")
        yield host
    finally:
        process.kill()  # with every process of its namespace


def _remove(directory: Path) -> None:
    """Remove the folder; the processes of a namespace take a moment to end after its first one."""
    deadline = time.monotonic() + END_S
    while directory.exists() and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)


def _command(directory: Path, host: str) -> list[str]:
    options = {
        "--data-root": directory / "data",
        "--exec-root": directory / "exec",
        "--pidfile": directory / "dockerd.pid",
        "--config-file": directory / "daemon.json",
        "--host": host,
        "--bridge": "none",
        "--log-level": "warn",
    }
    given = [text for name, value in options.items() for text in (name, str(value))]
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
    return [*alone, "dockerd", *given, "--iptables=false", "--ip6tables=false"]
