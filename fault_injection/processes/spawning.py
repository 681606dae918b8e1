"""Tasks, and how a process is forked: behind a launcher that waits for a byte to go."""

import fcntl
import os
import sys
import termios
from dataclasses import dataclass
from pathlib import Path

import fencepost

GO_FD = 3
"""Where a new process reads from the pipe that its harness holds the other end of."""
GO = b"g"
"""What the launcher waits for there."""
GO_AND_WAIT = GO + b" "
"""The blank is left to a command that waits itself: it begins what that reads when it is ready."""


MODULE_ENVIRONMENT = {"PYTHONPATH": str(Path(fencepost.__file__).parents[1])}
"""Where a module of ours is found by a Python without site-packages."""


def python_module(module: str, *arguments: str | Path) -> list[str]:
    """The command that runs a module of the standard library and ours alone: it is up at once."""
    return [sys.executable, "-S", "-m", module, *map(str, arguments)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A command to run under a name."""

    name: str
    command: tuple[str, ...]
    """The rest of the launcher's command line."""
    environment: dict[str, str]
    log: Path

    def rest_after(self, prepared: "Task") -> tuple[str, ...] | None:
        """The words of this command line after those of `prepared`; None for another command."""
        size = len(prepared.command)
        is_same = self.command[:size] == prepared.command and self.log == prepared.log
        return self.command[size:] if is_same and self.environment == prepared.environment else None


def spawn(argv: list[str], environment: dict[str, str], log: Path) -> tuple[int, int]:
    """Start `argv` with a pipe to read from at `GO_FD`; its pid and our end of the pipe."""
    read_end, write_end = os.pipe()
    log.parent.mkdir(parents=True, exist_ok=True)
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, read_end, GO_FD),
    ]
    try:
        pid = os.posix_spawn(argv[0], argv, environment, file_actions=actions, setsid=True)
    except OSError:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return pid, write_end


def is_empty(pipe: int) -> bool:
    """True when all that was written into our end of a pipe has been read."""
    unread = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return not any(unread)
