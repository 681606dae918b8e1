"""The Java and the tla2tools.jar that run TLC, and the command that they make."""

from dataclasses import dataclass
from pathlib import Path

from fencepost.spec.java import JavaNotFoundError, find_java
from fencepost.spec.tlc.java.dialect import BadJarError, dialect_of
from fencepost.spec.tlc.java.jar import JarNotFoundError, find_jar
from fencepost.spec.tlc.java.startup import class_archive
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
    """A Java and a tla2tools.jar that were found."""

    java: Path
    jar: Path

    def command(
        self, root: str, directory: Path, *, heap_mb: int, is_short: bool, options: tuple[str, ...]
    ) -> list[str]:
        """Runs the module `root`, which is in `directory` with its configuration."""
        dialect = dialect_of(self.jar)
        archive = class_archive(self.java, self.jar)
        return [
            str(self.java),
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",
            DEEP_STACK,
            *([SHORT_RUN] if is_short else []),
            *([f"-XX:SharedArchiveFile={archive}"] if archive else []),
            *dialect.java_options,
            f"-Djava.io.tmpdir={directory}",
            *("-cp", str(self.jar), "tlc2.TLC", "-tool"),
            *dialect.options,
            *("-metadir", str(directory / "states")),
            *("-config", f"{root}.cfg"),
            *options,
            f"{root}.tla",
        ]


def find_tlc() -> Tlc:
    """The Java and jar to use; raises one of `EXPECTED_ERRORS`."""
    return Tlc(find_java().executable, find_jar())
