"""Prepare `.venv` on a machine that has only Python: what `make setup` runs.

It runs on the machine's own Python, before anything is installed: nothing but the standard
library, and no syntax that an older Python 3 could not read before it is told that it is too old.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Sequence  # noqa: UP035 - collections.abc is the newer home

OLDEST = (3, 11)
LOCK = Path("requirements.lock")
VENV = Path(".venv")
READY = VENV / "ready"
"""Its date tells make whether the lock or the project's metadata are newer."""
APART = "pyspark"
"""Comes as source of 450 MB, which is packed and unpacked: half of the time, beside all others."""
NOT_COMPILED = r"[/\\]tests[/\\]"


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
    check_ended(doing, subprocess.call(command))


def check_ended(doing: str, code: int) -> None:
    """Return after a step that went well; raises `SetupError` otherwise."""
    if code:
        raise SetupError(f"{doing} failed with exit code {code}; the lines above say why")


def split_lock(text: str, name: str) -> tuple[str, str]:
    """The lines of a lock file that lock `name`, and all others."""
    apart: list[str] = []
    others: list[str] = []
    lines = others
    for line in text.splitlines(keepends=True):
        if line[:1] not in " #":
            lines = apart if line.startswith(f"{name}==") else others
        lines.append(line)
    return "".join(apart), "".join(others)


def install_locked(pip: list[str]) -> None:
    """All that is locked, with its hashes; `APART` is built while the others are installed."""
    wheels = VENV / "wheels"
    wheels.mkdir()
    apart, others = wheels / "apart.txt", wheels / "others.txt"
    locked_apart, locked_others = split_lock(LOCK.read_text(), APART)
    apart.write_text(locked_apart)
    others.write_text(locked_others)
    hashed = ["--require-hashes", "-r"]
    build = [*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), *hashed, str(apart)]
    install = [*pip, "install", "--no-compile"]
    temporary = {**os.environ, "TMPDIR": str(wheels.absolute())}
    building = subprocess.Popen(build, start_new_session=True, env=temporary)
    try:
        run_step(
            "installing the locked packages (a minute or two)",
            [*install, *hashed, str(others)],
        )
        check_ended(f"building {APART}", building.wait())
    finally:
        if building.poll() is None:
            os.killpg(building.pid, signal.SIGTERM)
            building.wait()
    built = [str(path) for path in sorted(wheels.glob("*.whl"))]
    run_step(f"installing {APART}", [*install, "--no-deps", "--no-index", *built])
    shutil.rmtree(wheels)


def compile_modules(python: str) -> None:
    """Modules that are imported are compiled once, by all processors; tests of others are not."""
    compiling = ["-m", "compileall", "-q", "-q", "-j", "0", "-x", NOT_COMPILED, str(VENV / "lib")]
    subprocess.call([python, *compiling])  # what does not compile is no module of this Python


def builder() -> str:
    """The Python that makes `.venv`: never the one inside it, which is removed before."""
    return getattr(sys, "_base_executable", "") or sys.executable


def install() -> None:
    """`.venv` holds the locked packages and the project, editable."""
    check_python(tuple(sys.version_info[:2]), sys.executable)
    check_modules()
    if VENV.exists():
        shutil.rmtree(VENV)
    python = str(VENV / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    project = ["install", "--no-build-isolation", "--no-deps", "--editable", "."]
    run_step(f"making {VENV}", [builder(), "-m", "venv", str(VENV)])
    install_locked(pip)
    compile_modules(python)
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
