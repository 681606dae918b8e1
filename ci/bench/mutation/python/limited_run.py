"""A child process with bounds on its processor time and memory, so that a wrong rule ends."""

import resource
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY_MAX = 3 << 30
WALL_FACTOR = 20
"""A machine may be so busy that a second of processor time takes that long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child ended."""

    code: int
    output: str
    errors: str
    is_endless: bool
    """It used up its processor time."""


def run_limited(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], cpu_s: int
) -> Ended:
    """Run a command for at most so many seconds of processor time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))

    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=cpu_s * WALL_FACTOR,
            stdin=subprocess.DEVNULL,
            preexec_fn=limit,
        )
    except subprocess.TimeoutExpired:
        return Ended(code=-1, output="", errors="no end in time", is_endless=True)
    return Ended(
        code=done.returncode,
        output=done.stdout,
        errors=done.stderr,
        is_endless=done.returncode < 0,
    )
