"""ZooKeeper in containers: one server, or an ensemble that is hurt through the container engine.

The image is what `FENCEPOST_ZOOKEEPER_IMAGE` names, which must run what `/conf` configures on the
data in `/data`, or the official one, or where that cannot be had one that is built here. Data and
configuration stay in the run's folder, so transaction logs are read as those of processes are. Undo
is in the ledger before a container is.
"""

import os
import secrets
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.fault_injection.processes.container_engine import HOST_VARIABLE, client_of, try_out
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.zookeeper.configuration import (
    SYSTEM_PROPERTIES,
    Settings,
    configuration,
    member_settings,
)
from fencepost.fault_injection.zookeeper.image import build
from fencepost.fault_injection.zookeeper.members import ZooKeeperMembers
from fencepost.fault_injection.zookeeper.status import MemberState
from fencepost.spec.zookeeper import ZooKeeperError

IMAGE_VARIABLE = "FENCEPOST_ZOOKEEPER_IMAGE"
OFFICIAL_IMAGE = "zookeeper:3.9"
CLIENT_PORT = 2181
TICK_MS = 100
LABEL = "fencepost.run"
START_S = 60.0
_POLL_S = 0.05
_LOG_LINES = 8
_ENVIRONMENT = {
    "ZOOCFGDIR": "/conf",
    "JVMFLAGS": " ".join(("-Xmx256m", "-XX:+UseSerialGC", *SYSTEM_PROPERTIES)),
}


class ZooKeeperContainers(ZooKeeperMembers):
    """Its servers in a network that they can be cut off from."""

    def __init__(
        self, engine: str, directory: Path, ledger: Ledger, *, run_id: str, size: int
    ) -> None:
        """`engine` is where `container_engine` answers."""
        super().__init__(size, TICK_MS)
        self.directory = directory.absolute()
        self._engine = engine
        self._ledger = ledger
        self._run_id = run_id
        self._entries: list[int] = []
        self._network: Any = None
        self._containers: dict[int, Any] = {}
        self._ports: list[int] = []
        self._image = ""

    @property
    def address(self) -> str:
        """`127.0.0.1:<port>,...` of all servers, once started."""
        return ",".join(f"{HOST}:{port}" for port in self._ports)

    @property
    def data_dirs(self) -> tuple[Path, ...]:
        """The data folder of each server, as `transaction_log.read_committed` takes them."""
        return tuple(self.directory / str(number) / "data" for number in self.numbers())

    def start(self, deadline_s: float = START_S) -> None:
        """Every server serves at return; else `ZooKeeperError`, and nothing is left running."""
        deadline = time.monotonic() + deadline_s
        self._image = usable_image(self._engine)
        try_out(self._engine, self._image)
        self._ports = free_ports(self.size)
        try:
            self._network = self._make_network()
            for number in self.numbers():
                self._containers[number] = self._make_container(number)
            while len(self.status()) < self.size:
                self._require_running(deadline)
                time.sleep(_POLL_S)
        except BaseException:
            self.stop_all()
            raise

    def stop_all(self) -> None:
        """Remove all containers and the network; the data stays."""
        for container in self._containers.values():
            container.stop(force=True)
        if self._network is not None:
            self._network.remove()
        for entry in reversed(self._entries):
            self._ledger.close(entry)
        self._containers, self._network, self._entries = {}, None, []

    def endpoint_of(self, number: int) -> tuple[str, int]:
        """The port of this machine that leads to the server."""
        return HOST, self._ports[number - 1]

    def process_state(self, number: int) -> MemberState:
        """The state of a server as the engine reports it."""
        container = self._engine_container(number)
        container.reload()
        states = {"running": MemberState.RUNNING, "paused": MemberState.PAUSED}
        return states.get(container.status, MemberState.ENDED)

    def pause(self, number: int) -> None:
        """Pause all processes of a server, by the freezer of the kernel."""
        self._engine_container(number).pause()

    def resume(self, number: int) -> None:
        """Resume them."""
        self._engine_container(number).unpause()

    def kill(self, number: int) -> None:
        """Kill a server."""
        self._engine_container(number).kill()

    def stop(self, number: int) -> None:
        """Ask a server to end, and wait for that."""
        self._engine_container(number).stop(timeout=5)

    def restart(self, number: int) -> None:
        """Start a server that has ended again on its data."""
        self._engine_container(number).start()

    def cut_off(self, number: int) -> None:
        """Disconnect a server from the other servers and from clients; it keeps running."""
        self._cut_off.add(number)
        self._network._unwrap_network.disconnect(self._engine_container(number), force=True)

    def join(self, number: int) -> None:
        """Connect a server that was cut off again."""
        container = self._engine_container(number)
        self._network.connect(container.id, network_aliases=[_name(number)])
        self._cut_off.discard(number)

    def _engine_container(self, number: int) -> Any:  # noqa: ANN401 - untyped, as all of docker
        return self._containers[number].get_wrapped_container()

    def _make_network(self) -> Any:  # noqa: ANN401 - as above
        kind = import_module("testcontainers.core.network").Network
        bridge = f"fencepost-{secrets.token_hex(2)}"
        settings = {
            "labels": {LABEL: self._run_id},
            "options": {"com.docker.network.bridge.name": bridge},
        }
        network = kind(
            docker_client_kw={"environment": {HOST_VARIABLE: self._engine}},
            docker_network_kw=settings,
        )
        self._announce("network", network.name, bridge=bridge)
        return network.create()

    def _make_container(self, number: int) -> Any:  # noqa: ANN401 - as above
        _disable_reaper()
        kind = import_module("testcontainers.core.container").DockerContainer
        container = kind(
            self._image, docker_client_kw={"environment": {HOST_VARIABLE: self._engine}}
        )
        name = f"{self._run_id}-{_name(number)}"
        folder = self._configure(number)
        container.with_name(name).with_network(self._network).with_network_aliases(_name(number))
        container.with_volume_mapping(str(folder / "conf"), "/conf", "ro")
        container.with_volume_mapping(str(folder / "data"), "/data", "rw")
        container.with_envs(**_ENVIRONMENT)
        container.with_kwargs(labels={LABEL: self._run_id})
        container.ports = {f"{CLIENT_PORT}/tcp": (HOST, self._ports[number - 1])}
        self._announce("container", name)
        try:
            return container.start()
        except import_module("docker.errors").DockerException as error:
            raise ZooKeeperError(
                f"no container runs {self._image}: {error}; name another image in {IMAGE_VARIABLE}"
            ) from error

    def _announce(self, kind: str, name: str, **more: str) -> None:
        fields = {"name": name, "engine": self._engine, "run_id": self._run_id, **more}
        self._entries.append(self._ledger.open(kind, **fields))

    def _configure(self, number: int) -> Path:
        folder = self.directory / str(number)
        for part in ("conf", "data"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        members = member_settings(f"{_name(n)}:2888:3888" for n in self.numbers())
        more: Settings = {"quorumListenOnAllIPs": "true", **members} if self.size > 1 else {}
        text = configuration("/data", self.tick_ms, {"clientPort": CLIENT_PORT, **more})
        (folder / "conf" / "zoo.cfg").write_text(text, encoding="ascii")
        (folder / "data" / "myid").write_text(f"{number}\n", encoding="ascii")
        return folder

    def _require_running(self, deadline: float) -> None:
        for number in self.numbers():
            if self.state(number) is MemberState.ENDED:
                raise self._failure(number, "ended before it served")
            if time.monotonic() > deadline:
                raise self._failure(number, "does not serve in time")

    def _failure(self, number: int, what: str) -> ZooKeeperError:
        said = self._engine_container(number).logs(tail=_LOG_LINES).decode(errors="replace")
        return ZooKeeperError(f"the container of {_name(number)} {what}; it said last:\n{said}")


def image_name() -> str:
    """The image that `FENCEPOST_ZOOKEEPER_IMAGE` names, or the official one."""
    return os.environ.get(IMAGE_VARIABLE) or OFFICIAL_IMAGE


def usable_image(engine: str) -> str:
    """The image of `image_name`, or one that is built here when none is named and none comes.

    Raises `ZooKeeperError`.
    """
    if has_image(engine):
        return image_name()
    if os.environ.get(IMAGE_VARIABLE):
        raise ZooKeeperError(
            f"{IMAGE_VARIABLE} names {image_name()}, which is not there and cannot be pulled"
        )
    return build(engine)


def has_image(engine: str) -> bool:
    """True when the image is there, or could be pulled."""
    errors = import_module("docker.errors")
    with client_of(engine) as client:
        try:
            client.images.get(image_name())
        except errors.ImageNotFound:
            try:
                client.images.pull(image_name())
            except errors.DockerException:
                return False
    return True


def _name(number: int) -> str:
    return f"zookeeper-{number}"


def _disable_reaper() -> None:
    """Disable the package's container that reaps containers; the run's own reaper does that."""
    import_module("testcontainers.core.config").testcontainers_config.ryuk_disabled = True
