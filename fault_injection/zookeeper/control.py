"""ZooKeeper servers of our own that end a session on command: `ControlledServer.java`.

Neither the session's password nor its owner is needed, and the owner cannot take the session back.
"""

import socket
from collections.abc import Sequence
from pathlib import Path

from fencepost.fault_injection.zookeeper.classes import Build, KeptClasses, class_path, kept_classes
from fencepost.fault_injection.zookeeper.ensemble import ZooKeeperEnsemble
from fencepost.fault_injection.zookeeper.server import (
    JAVA_OPTIONS,
    LOG4J,
    ZooKeeperServer,
    find_jars,
)
from fencepost.fault_injection.zookeeper.sessions import SessionError

COMPILER = "org.codehaus.janino.SimpleCompiler"
SOURCE = Path(__file__).with_name("ControlledServer.java")
"""What that compiles and runs: ZooKeeper's own main class, and a port for commands."""
CONTROL_PORT = "control_port"
ENDED = "ended"
DEADLINE_S = 6.0
"""The server itself gives up after five seconds."""


class ControlledServer(ZooKeeperServer):
    """A server that takes commands.

    Its classes come from the cache, or else are compiled at each start.
    """

    _kept: KeptClasses | None = None

    @property
    def control_port(self) -> Path:
        """The file with the port at which it takes commands."""
        return self.directory / CONTROL_PORT

    def prepare(self, port: int) -> None:
        """Start its next process, which loads all that it needs and waits for `begin`."""
        self._supervisor.prepare(
            self.name, self._command(port), log=self._log, namespace=self._namespace
        )

    def main_command(self, java: Path, main_class: str) -> list[str]:
        """The same main class, inside of one of ours."""
        self.control_port.unlink(missing_ok=True)
        ours = [SOURCE.stem, str(self.control_port), self.control_host, main_class]
        jars = find_jars()
        kept = self._classes(java, jars)
        if kept is None:
            return ["-cp", class_path(jars), COMPILER, str(SOURCE), *ours]
        archive = [f"-XX:SharedArchiveFile={kept.archive}"] if kept.archive else []
        return [*archive, "-cp", class_path((kept.jar, *jars)), *ours]

    def _classes(self, java: Path, jars: Sequence[Path]) -> KeptClasses | None:
        """The same for all its processes, so that the process that waits can be started."""
        if self._kept is None or not self._kept.is_whole:
            self._kept = kept_classes(
                Build(java=java, options=JAVA_OPTIONS, jars=jars, source=SOURCE, logging=LOG4J)
            )
        return self._kept

    def end_session(self, session_id: int) -> None:
        """Make the server end the session; at return its ephemerals are gone.

        Raises `SessionError` when it does not know the session, or cannot be asked.
        """
        try:
            answer = self._asked(f"end {session_id}")
        except (OSError, ValueError) as error:
            raise SessionError(f"ZooKeeper takes no command to end a session: {error}") from error
        if answer != ENDED:
            why = answer or "it hung up"
            raise SessionError(f"ZooKeeper did not end session {session_id:#x}: {why}")

    def _asked(self, line: str) -> str:
        port = int(self.control_port.read_text(encoding="ascii"))
        with socket.create_connection((self.control_host, port), DEADLINE_S) as control:
            control.settimeout(DEADLINE_S)
            control.sendall(line.encode("ascii") + b"\n")
            with control.makefile(encoding="ascii") as answers:
                return answers.readline().strip()


def end_in_ensemble(ensemble: ZooKeeperEnsemble, session_id: int) -> None:
    """Make the leader of an ensemble of controlled servers end the session, as above.

    Any member that serves passes the command on: finding the leader first would take longer.
    """
    errors = []
    for member in ensemble.members:
        assert isinstance(member, ControlledServer), "the ensemble was made of others"
        if not member.process.is_running or member.process.is_paused:
            continue
        try:
            return member.end_session(session_id)
        except SessionError as error:
            errors.append(error)
    raise errors[0] if errors else SessionError("no member of the ensemble runs")
