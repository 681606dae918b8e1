"""Prepare `.venv` on a machine that has only Python: what `make setup` runs.

It runs on the machine's own Python, before anything is installed: nothing but the standard
library, and no syntax that an older Python 3 could not read before it is told that it is too old.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Sequence  # noqa: UP035 - collections.abc is the newer home

OLDEST = (3, 11)
VENV = Path(".venv")
READY = VENV / "ready"
"""Its date tells make whether the lock or the project's metadata are newer."""


class SetupError(Exception):
    """The machine lacks something; the message says what, and what to do."""


def check_python(version: Sequence[int], executable: str) -> None:
    """Return when `version` will do; raises `SetupError` otherwise."""
    if tuple(version[:2]) < OLDEST:
        raise SetupError(
            f"{executable} is Python {version[0]}.{version[1]}, and Fencepost needs "
            f"{OLDEST[0]}.{OLDEST[1]} or newer; name another: make setup PYTHON=python3.12"
        )


def check_modules(names: Sequence[str] = ("venv", "ensurepip")) -> None:
    """Return when a venv with pip can be made; raises `SetupError` otherwise."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"this Python lacks the module {' and '.join(missing)}, without which there is no "
            ".venv; install it (Debian and Ubuntu: apt-get install python3-venv)"
        )


def run_step(doing: str, command: list[str]) -> None:
    """Run one step; raises `SetupError` when it fails."""
    print(f"setup: {doing}", flush=True)
    code = subprocess.call(command)
    if code:
        raise SetupError(f"{doing} failed with exit code {code}; the lines above say why")


def builder() -> str:
    """The Python that makes `.venv`: never the one inside it, which is removed before."""
    return getattr(sys, "_base_executable", "") or sys.executable


def install() -> None:
    """`.venv` holds the locked packages and the project, editable."""
    check_python(tuple(sys.version_info[:2]), sys.executable)
    check_modules()
    if VENV.exists():
        shutil.rmtree(VENV)
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    locked = ["install", "--require-hashes", "-r", "requirements.lock"]
    project = ["install", "--no-build-isolation", "--no-deps", "--editable", "."]
    run_step(f"making {VENV}", [builder(), "-m", "venv", str(VENV)])
    run_step("installing the locked packages (a minute or two)", pip + locked)
    run_step("installing the project", pip + project)
    READY.write_text(sys.version + "\n")


def main() -> int:
    """Install; one sentence on stderr and exit code 3 when it is not possible, 130 after Ctrl-C."""
    try:
        install()
    except KeyboardInterrupt:
        print("setup: interrupted; the next one begins anew", file=sys.stderr)
        return 130
    except (SetupError, OSError) as error:
        print(f"setup: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
