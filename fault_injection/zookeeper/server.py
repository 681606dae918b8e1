"""A real ZooKeeper 3.9 as a child process, from the jars that come inside PySpark.

Standalone or a member of an ensemble (`ensemble.py`), without fsync, on 127.0.0.1 or in a network
of its own: it forgets nothing when processes are killed, which is all that a run does to it. Its
transaction log stays in `data_dir` (`transaction_log.py` reads it).
"""

import errno
import importlib.util
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.network.namespaces.layout import ZOOKEEPER_PORT, NetworkNode
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.classes import LOGGING, class_path
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.configuration import (
    SYSTEM_PROPERTIES,
    Settings,
    configuration,
    member_settings,
    property_value,
)
from fencepost.fault_injection.zookeeper.status import TIMEOUT_S, four_letter_word
from fencepost.spec.java import find_java
from fencepost.spec.zookeeper import ZooKeeperAddress, ZooKeeperError

MAIN_CLASS = "org.apache.zookeeper.server.ZooKeeperServerMain"
MEMBER_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-[0-9]*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "janino-*.jar",
    "commons-compiler-*.jar",
)
"""All that a server loads, of the 250 that Spark has; the last two if it is controlled."""

JAVA_OPTIONS = (
    "-Xms32m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",  # no file in the machine's temporary directory
    "-XX:+ExitOnOutOfMemoryError",
    *SYSTEM_PROPERTIES,
    "-Dzookeeper.jmx.log4j.disable=true",
)
BIND_ATTEMPTS = 5
"""A free port may be taken before the server binds it; five times in a row is something else."""
START_S = 60.0
"""A JVM on a host with seven times too much to do took twenty; one that ends is told at once."""
STOP_GRACE_S = 2.0
_PROBE_INTERVAL_S = 0.005
_LOG_LINES = 12

LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
# It warns of a limit on connections that is left at its default.
logger.connections.name = org.apache.zookeeper.server.ServerCnxnFactory
logger.connections.level = error
# It opens its port before its database: a command that comes between is closed with an error,
# which tells of our asking whether it is ready and of nothing else.
logger.commands.name = org.apache.zookeeper.server.ServerCnxn
logger.commands.level = off
# It tells of each attempt to reach a member that is down, with twelve frames of Java.
logger.peers.name = org.apache.zookeeper.server.quorum.QuorumCnxManager
logger.peers.level = error
"""


class PortInUseError(ZooKeeperError):
    """The port that was asked for belongs to another process."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} of {HOST} is in use; name another one, or none to get a free one"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleMembership:
    """The number of a server in its ensemble, and the ports between all its members."""

    server_id: int
    ports: tuple[tuple[int, int], ...]
    """Per member from 1 on: the port for followers of its leader, and that for elections."""
    hosts: tuple[str, ...] = ()
    """Per member; empty: all are here."""

    def settings(self) -> Settings:
        """The lines of the configuration that make it a member."""
        hosts = self.hosts or (HOST,) * len(self.ports)
        places = zip(hosts, self.ports, strict=True)
        return member_settings(f"{host}:{quorum}:{election}" for host, (quorum, election) in places)


class ZooKeeperServer:
    """One server. Its port and data outlive `stop`, so `start` brings it back."""

    def __init__(
        self,
        supervisor: Supervisor,
        directory: Path,
        *,
        port: int | None = None,
        tick_ms: int = 100,
        membership: EnsembleMembership | None = None,
        node: NetworkNode | None = None,
    ) -> None:
        """Sessions may be as short as two ticks; they expire at the end of a tick.

        With a `node` it is in that network, where all ports are its own.
        A server with a `membership` serves once it and enough others have elected a leader.
        """
        self.directory = directory.absolute()
        self.tick_ms = tick_ms
        self.name = f"zookeeper-{membership.server_id}" if membership else "zookeeper"
        self._supervisor = supervisor
        self._node = node
        self._port = port if node is None else ZOOKEEPER_PORT
        self._membership = membership
        self._process: ManagedProcess | None = None
        self._log_start = 0
        """Where the words of the process that started last begin."""

    @property
    def endpoint(self) -> tuple[str, int]:
        """The host and port for clients, once started."""
        assert self._port is not None, "the server was never started"
        return self._host, self._port

    @property
    def address(self) -> str:
        """`127.0.0.1:<port>`, or that of its node, once started."""
        host, port = self.endpoint
        return f"{host}:{port}"

    @property
    def control_host(self) -> str:
        """The address that only the harness uses, which no cut affects."""
        return HOST if self._node is None else self._node.control

    @property
    def _host(self) -> str:
        return HOST if self._node is None else self._node.host

    @property
    def _namespace(self) -> Path | None:
        return None if self._node is None else self._node.namespace

    @property
    def _log(self) -> Path:
        return self._supervisor.directory / f"{self.name}.log"

    @property
    def data_dir(self) -> Path:
        """Holds `version-2` with the transaction log."""
        return self.directory / "data"

    @property
    def process(self) -> ManagedProcess:
        """The Java process, to pause or kill; the one that started last."""
        assert self._process is not None, "the server was never started"
        return self._process

    def start(self, deadline_s: float = START_S) -> None:
        """Run the server; it serves at return.

        Raises `PortInUseError`, or `ZooKeeperError` with the last log lines when the process ends
        or does not serve within `deadline_s`; then nothing of it is left running.
        """
        deadline = time.monotonic() + deadline_s
        if self._port is not None:
            return self._start_on(self._port, deadline)
        return on_free_ports(1, lambda ports: self._start_on(ports[0], deadline))

    def stop(self) -> None:
        """End the server; sessions and data stay on disk."""
        if self._process is not None:
            self._process.terminate(STOP_GRACE_S)

    def prepare(self, port: int) -> None:
        """Start its next process, if it can wait until `begin`."""

    def begin(self, port: int) -> None:
        """Start the process, which will serve on `port`; raises `PortInUseError`."""
        if self._node is None and not _is_free(port):
            raise PortInUseError(port)
        log = self._log
        self._log_start = log.stat().st_size if log.exists() else 0
        process = self._supervisor.start(
            self.name, self._command(port), log=log, namespace=self._namespace
        )
        self._process, self._port = process, port

    def await_serving(self, deadline: float) -> None:
        """Wait until the server that answers serves our data: its port could be another's.

        Raises as `start` does at `deadline` (of `time.monotonic`); then it does not run any more.
        """
        try:
            while not self.is_serving():
                if self.process.ended_within(_PROBE_INTERVAL_S):
                    raise self._failure("ended before it served")
                if time.monotonic() > deadline:
                    raise self._failure("does not serve in time")
        except ZooKeeperError:
            self.process.kill()
            if b"BindException" in self.process.log.read_bytes()[self._log_start :]:
                raise PortInUseError(self.endpoint[1]) from None
            raise

    def is_serving(self) -> bool:
        """True while it answers clients; a member of an ensemble needs a leader for that."""
        try:
            return f"dataDir={self.data_dir}/" in self.configuration_told()
        except OSError:
            return False

    def configuration_told(self) -> str:
        """The `conf` of the server that serves there; raises `OSError` while none does."""
        return four_letter_word(self.endpoint, "conf", TIMEOUT_S)

    def _start_on(self, port: int, deadline: float) -> None:
        before = self._process, self._port
        try:
            self.begin(port)
            self.await_serving(deadline)
        except ZooKeeperError:
            self._process, self._port = before
            raise

    def _failure(self, what: str) -> ZooKeeperError:
        process = self.process
        lines = process.log_tail(10 * _LOG_LINES).splitlines()
        # What went wrong helps a person, the frames of Java do not.
        said = [line for line in lines if not line.startswith("\tat ")]
        tail = "\n".join(said[-_LOG_LINES:])
        words = (
            f"the end of {process.log}:\n{tail}" if tail else f"it said nothing in {process.log}"
        )
        return ZooKeeperError(f"ZooKeeper {self.name!r} {what}; {words}")

    def _command(self, port: int) -> list[str]:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        settings = self.directory / "zoo.cfg"
        text = configuration(property_value(str(self.data_dir)), self.tick_ms, self.settings(port))
        settings.write_text(text, encoding="ascii")
        logging = self.directory / "log4j2.properties"
        logging.write_text(LOG4J, encoding="ascii")
        if self._membership is not None:
            text = f"{self._membership.server_id}\n"
            (self.data_dir / "myid").write_text(text, encoding="ascii")
        java = find_java().executable
        options = [*JAVA_OPTIONS, f"-D{LOGGING}={logging.as_uri()}"]
        main = MAIN_CLASS if self._membership is None else MEMBER_CLASS
        return [str(java), *options, *self.main_command(java, main), str(settings)]

    def main_command(self, java: Path, main_class: str) -> list[str]:
        """The class path and main class for the JVM; the configuration comes after them."""
        del java
        return ["-cp", class_path(find_jars()), main_class]

    def settings(self, port: int) -> Settings:
        """What is configured of its connections."""
        more = self._membership.settings() if self._membership else {}
        return {"clientPort": port, "clientPortAddress": self._host, **more}


def find_jars(patterns: Sequence[str] = JARS) -> list[Path]:
    """The jars of a ZooKeeper server, found without importing PySpark; raises `ZooKeeperError`."""
    package = importlib.util.find_spec("pyspark")
    folders = (package.submodule_search_locations if package else None) or []
    for folder in folders:
        jars = [sorted((Path(folder) / "jars").glob(pattern)) for pattern in patterns]
        if all(jars):
            return [found[-1] for found in jars]
    raise ZooKeeperError(
        "the package pyspark with the jars of ZooKeeper is not installed; "
        "run `make setup`, or name a running ZooKeeper"
    )


def on_free_ports(count: int, start: Callable[[list[int]], None]) -> None:
    """Start on ports that are free; try again when another process was faster to bind one."""
    for _ in range(BIND_ATTEMPTS - 1):
        with suppress(PortInUseError):
            return start(free_ports(count))
    return start(free_ports(count))


def check_external(address: str, deadline_s: float = 10.0) -> ZooKeeperAddress:
    """Make sure that a ZooKeeper serves at `HOST:PORT/chroot`; the chroot exists at return.

    Raises `AddressError` for another form, `ZooKeeperError` without an answer in `deadline_s`.
    """
    where = ZooKeeperAddress.parse(address)
    servers = where.servers
    refusals = [_refusal(endpoint, deadline_s) for endpoint in where.endpoints]
    if all(refusals):
        raise ZooKeeperError(
            f"no ZooKeeper answers at {servers}: {refusals[0]}; check the address and that it runs"
        )
    client = ZooKeeperClient(servers, session_timeout_s=deadline_s, deadline_s=deadline_s)
    with client:
        if where.chroot:
            client.create_path(where.chroot)
    return where


def _refusal(endpoint: tuple[str, int], deadline_s: float) -> str:
    """Why no server listens there; empty when one does."""
    try:
        socket.create_connection(endpoint, deadline_s).close()
    except OSError as error:
        return error.strerror or "no answer"
    return ""


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            message = f"port {port} of {HOST} cannot be used: {error.strerror}"
            raise ZooKeeperError(message) from error
    return True
