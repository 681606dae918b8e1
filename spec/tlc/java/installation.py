"""The Java and the jars that run TLC, and what both are asked."""

import os
from dataclasses import dataclass
from pathlib import Path

from fencepost.spec.java import JavaNotFoundError, find_java
from fencepost.spec.tlc.java.dialect import BadJarError, dialect_of
from fencepost.spec.tlc.java.jar import JarNotFoundError, find_jar, find_py4j_jar
from fencepost.spec.tlc.models import ModelError

EXPECTED_ERRORS = (ModelError, JarNotFoundError, BadJarError, JavaNotFoundError)
"""Nothing to check with, or nothing that can be checked: one sentence."""

SHORT_RUN = "-XX:TieredStopAtLevel=1"
"""Without the optimising compiler: what it costs, a run of some seconds does not earn back. A model
of 200 states takes 1.8 s of processor time with this and 3.5 s without; at 28,000 it is even."""

DEEP_STACK = "-Xss16m"
"""Of a thread: TLC evaluates a recursive operator on the stack, and a multi of a hundred operations
in `Znodes!Applied` takes more than the one megabyte that a thread has by default."""


@dataclass(frozen=True, slots=True)
class Tlc:
    """A Java, a tla2tools.jar and the jar of Py4J that were found."""

    java: Path
    jar: Path
    py4j: Path

    @property
    def is_reusable(self) -> bool:
        """Whether one Java checks many models with it."""
        return dialect_of(self.jar).is_reusable

    def java_command(self, folder: Path, *, heap_mb: int, is_short: bool) -> list[str]:
        """A Java that runs TLC in `folder`, where both find and leave their files."""
        return [
            str(self.java),
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",
            DEEP_STACK,
            *([SHORT_RUN] if is_short else []),
            *dialect_of(self.jar).java_options,
            f"-Djava.io.tmpdir={folder}",
            *("-cp", os.pathsep.join((str(self.jar), str(self.py4j)))),
        ]

    def arguments(self, root: str, options: tuple[str, ...] = ()) -> list[str]:
        """Of TLC, for the module `root`, which is in its folder with its configuration."""
        return [
            "-tool",
            *dialect_of(self.jar).options,
            *("-metadir", "states"),
            *("-config", f"{root}.cfg"),
            *options,
            f"{root}.tla",
        ]


def find_tlc() -> Tlc:
    """The Java and jars to use; raises one of `EXPECTED_ERRORS`."""
    return Tlc(find_java().executable, find_jar(), find_py4j_jar())
