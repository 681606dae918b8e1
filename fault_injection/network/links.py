"""Links between members, as the harness hurts them: one interface, of the proxy and of the kernel.

Rules cut, delay, narrow, reset and refuse; probes show what passes; counts are in the status.
"""

import json
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from fencepost.fault_injection.network.rules import Link, LinkRule, LinkRuleStatus
from fencepost.fault_injection.network.service import socket_address
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.spawning import MODULE_ENVIRONMENT, python_module
from fencepost.fault_injection.processes.supervisor import Supervisor

START_S = 10.0
POLL_S = 0.01


class LinkError(ProcessError):
    """The process that hurts the network refused a command, or does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The state of a probe; times in milliseconds from its start."""

    link: Link
    passed_ms: float | None
    """None: the server has not reacted."""
    waited_ms: float


class Links:
    """A running process that hurts the network by rules. Methods may be called from any thread."""

    PROGRAM: ClassVar[str]
    """The module that is run."""
    NAME: ClassVar[str]
    """Of its process, and in messages."""
    ANSWER_S: ClassVar[float] = 2.0
    """An answer takes less than a millisecond; a machine may be busy."""
    PROBES_NETWORKS: ClassVar[bool] = False
    """True when probes show what the network lets pass, whatever processes are up."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._answers = control.makefile("rb")
        self._lock = threading.Lock()

    @classmethod
    def start(cls, supervisor: Supervisor) -> Self:
        """Start it as a process of `supervisor`, ready for commands. Raises `LinkError`."""
        directory = supervisor.directory.absolute()
        process = supervisor.start(
            cls.NAME, python_module(cls.PROGRAM, directory), env=MODULE_ENVIRONMENT
        )
        deadline = time.monotonic() + START_S
        while True:
            try:
                return cls(connected(directory, cls.ANSWER_S))
            except OSError as error:
                if process.ended_within(POLL_S) or time.monotonic() > deadline:
                    said = process.log_tail(4)
                    raise LinkError(f"the {cls.NAME} does not start: {said or error}") from error

    @classmethod
    def found(cls, supervisor: Supervisor) -> Self:
        """The one that runs already in the folder of `supervisor`; raises `LinkError`."""
        try:
            return cls(connected(supervisor.directory.absolute(), cls.ANSWER_S))
        except OSError as error:
            raise LinkError(f"the {cls.NAME} has ended: {error}") from error

    def close(self) -> None:
        """Close the connection; the process runs until the run ends."""
        self._answers.close()
        self._control.close()

    def add(self, rules: Iterable[LinkRule]) -> None:
        """Apply the rules from now on."""
        self.command("add", rules=[rule.to_json() for rule in rules])

    def remove(self, rule_ids: Sequence[str]) -> list[LinkRuleStatus | None]:
        """End the rules; the status of each, None for an unknown one."""
        return _statuses(self.command("remove", rule_ids=list(rule_ids)))

    def status(self, rule_ids: Sequence[str]) -> list[LinkRuleStatus | None]:
        """The status of each rule, None for an unknown one."""
        return _statuses(self.command("status", rule_ids=list(rule_ids)))

    def start_probe(self, probe: str, links: Iterable[Link]) -> None:
        """Send a probe on each of the links, under one name."""
        self.command("probe", probe=probe, links=sorted(links))

    def probed(self, probe: str) -> list[ProbeResult]:
        """The state of the probes of that name."""
        results = self.command("probed", probe=probe)["results"]
        return [
            ProbeResult(link=(sender, receiver), passed_ms=passed_ms, waited_ms=waited_ms)
            for sender, receiver, passed_ms, waited_ms in results
        ]

    def end_probe(self, probe: str) -> None:
        """End the probes of that name."""
        self.command("end_probe", probe=probe)

    def command(self, do: str, **parameters: object) -> dict[str, Any]:
        """The answer to a command; raises `LinkError`."""
        line = json.dumps({"do": do, **parameters}).encode() + b"\n"
        try:
            with self._lock:
                self._control.sendall(line)
                answer = json.loads(self._answers.readline() or b"null")
        except (OSError, ValueError) as error:
            raise LinkError(f"the {self.NAME} does not answer to {do}: {error}") from error
        if answer is None:
            raise LinkError(f"the {self.NAME} has ended; it cannot {do}")
        if "error" in answer:
            raise LinkError(f"the {self.NAME} refused {do}: {answer['error']}")
        found: dict[str, Any] = answer
        return found


def connected(directory: Path, answer_s: float) -> socket.socket:
    """The control socket in a directory, connected; raises `OSError`."""
    control = socket.socket(socket.AF_UNIX)
    control.settimeout(answer_s)
    try:
        with socket_address(directory) as address:
            control.connect(address)
    except OSError:
        control.close()
        raise
    return control


def _statuses(answer: dict[str, Any]) -> list[LinkRuleStatus | None]:
    return [LinkRuleStatus.from_json(one) if one else None for one in answer["statuses"]]
