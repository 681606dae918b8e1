"""Ways to reach an adapter: a program that is started here, or one that listens already."""

import os
import shlex
import shutil
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from fencepost.conformance.adapters.choices import ADAPTER, ATTACHED
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.supervisor import Supervisor

PROGRAM = "adapter"
"""Of its process; its standard error goes to `adapter.log` beside the ledger."""
REDIRECT = 'in="$1" out="$2"; shift 2; exec "$@" <"$in" >"$out"'
LAST_LINES = 32
CONNECT_S = 5.0
END_S = 1.0
"""How long a program may take to end after its output has."""


LACKS_VERB = "which every adapter must"
"""How it is told that an adapter does not know a verb without which there is no run."""


class AdapterError(ProcessError):
    """The adapter did not do what the contract says; one sentence, and what it said last."""


class Channel(Protocol):
    """Carries lines to and from one adapter."""

    input: int
    """A file descriptor that does not block; what is written there, the adapter reads."""
    output: int
    """The other direction."""

    @property
    def is_open(self) -> bool:
        """False once nothing more can come than what can be read now."""

    def last_words(self) -> tuple[str, str]:
        """How an adapter without output ended, and what else it left."""

    def await_end(self) -> None:
        """It was told to end: give it a moment."""

    def kill(self) -> None:
        """It does nothing more for us."""

    def close(self) -> None:
        """Nothing is open any more."""


class Program:
    """A program of ours: its standard input and output."""

    def __init__(self, command: str, supervisor: Supervisor) -> None:
        """Start it; raises `ChoiceError` for a program that is not there."""
        words = program_of(command)
        self._folder = TemporaryDirectory(prefix="fencepost-adapter-")
        pipes = [Path(self._folder.name) / name for name in ("in", "out")]
        for pipe in pipes:
            os.mkfifo(pipe)
        # Open for reading too: then neither side waits for the other, nor gets SIGPIPE.
        self.input = os.open(pipes[0], os.O_RDWR | os.O_NONBLOCK)
        self.output = os.open(pipes[1], os.O_RDONLY | os.O_NONBLOCK)
        self._process = supervisor.start(PROGRAM, ["sh", "-c", REDIRECT, PROGRAM, *pipes, *words])

    @property
    def is_open(self) -> bool:
        """What it started may hold the output open when it has ended."""
        return self._process.is_running

    def last_words(self) -> tuple[str, str]:
        """Its exit status and its standard error."""
        is_over = self._process.ended_within(END_S)
        how = f"ended with status {self._process.returncode}" if is_over else "closed its output"
        logged = self._process.log_tail(LAST_LINES) or "(nothing)"
        return how, f"\nstandard error ended with:\n{logged}"

    def await_end(self) -> None:
        """It has ended, or its time is over."""
        self._process.ended_within(END_S)

    def kill(self) -> None:
        """It has ended, with what it started."""
        self._process.kill()

    def close(self) -> None:
        """The pipes are gone."""
        os.close(self.input)
        os.close(self.output)
        self._folder.cleanup()


class Connection:
    """A connection to an adapter that listens; each is a run of it, with one cluster."""

    def __init__(self, place: str) -> None:
        """Connect; raises `ChoiceError` for what is no place, `AdapterError` without a listener."""
        host, _, port = place.rpartition(":")
        if not host or not port.isdecimal():
            raise ChoiceError(f"{ATTACHED}{place} is no place; give {ATTACHED}HOST:PORT")
        try:
            self._socket = socket.create_connection((host, int(port)), timeout=CONNECT_S)
        except (OSError, OverflowError) as error:
            raise AdapterError(f"nothing can be reached there: {error}") from error
        self._socket.settimeout(0.0)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.output = self._socket.fileno()

    is_open = True

    def last_words(self) -> tuple[str, str]:
        """Only that it ended."""
        return "closed the connection", ""

    def await_end(self) -> None:
        """Its run ends with the connection."""

    def kill(self) -> None:
        """No more is read or written; readers wake up."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # closed by the other side
            return

    def close(self) -> None:
        """The connection is closed."""
        self._socket.close()


def open_channel(target: str, supervisor: Supervisor) -> Channel:
    """The adapter that the target names; raises `ChoiceError` and `AdapterError`."""
    if target.startswith(ATTACHED):
        return Connection(target.removeprefix(ATTACHED))
    return Program(target.removeprefix(ADAPTER), supervisor)


def program_of(command: str) -> list[str]:
    """The words of the command; raises `ChoiceError` unless the first is a program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ChoiceError(f"{ADAPTER}{command} is no command line: {error}") from error
    if not words or not shutil.which(words[0]):
        raise ChoiceError(f"{ADAPTER}{command} names no program that can be run; give its path")
    return words
