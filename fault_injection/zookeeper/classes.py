"""The classes of controlled servers, built once and cached: a jar, and a class archive of Java.

A server that finds both takes half the processor time to start, for it neither compiles
`ControlledServer.java` nor verifies what it reads from a dozen jars. They are kept in the user's
cache under a hash of all that they follow from, and bear the hash of their own content: what is not
whole is made again, for a torn archive ends Java 17 by a signal. One that is not its own Java goes
on without. A failure costs time and nothing else.
"""

import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.cache.cache_folder import (
    HASH_DIGITS,
    alone_in,
    cache_folder,
    find_file,
    is_whole,
    keep_file,
    key_for,
    tidy,
)
from fencepost.spec.tlc.java.process import ended_in

FOLDER = "zookeeper"
COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"
"""Janino's own command line; a Java that only runs programs has no compiler."""
DUMP = "-Xshare:dump"
PATIENCE_S = 20.0
"""For the jar, and for the archive; three is usual. The server that waits has its own deadline."""
ARCHIVES_MAX = 4
"""Each has 30 MB; the oldest go."""
LOGGING = "log4j2.configurationFile"
FIXED_NS = 946_684_800_000_000_000
"""When a jar was written, for Java compares that: the same content is the same jar."""
WAIT_AND_END = ("-", "127.0.0.1", "-", "-", "--go-fd", "0")
"""It loads what it needs, is not told to go on, and has opened nothing."""

_failed: set[str] = set()
"""What this process could not make, and does not try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The source to compile, and the Java and jars to run it with."""

    java: Path
    options: Sequence[str]
    """Those that every server is started with: some of them decide how an archive is laid out."""
    jars: Sequence[Path]
    source: Path
    logging: str
    """The configuration of log4j, which decides what it loads."""

    @property
    def key(self) -> str:
        """A hash of all that the jar and the archive depend on, with the times of the jars."""
        parts = [*self.options, self.source.read_text(encoding="ascii")]
        for jar in self.jars:
            status = jar.stat()
            parts += [str(jar), str(status.st_size), str(status.st_mtime_ns)]
        return key_for(self.java, *parts)

    def command(self, *more: str, first: Sequence[Path] = ()) -> list[str]:
        """A Java with these jars, and `first` before them."""
        return [str(self.java), *self.options, "-cp", class_path((*first, *self.jars)), *more]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptClasses:
    """The jar and the archive to start with."""

    jar: Path
    archive: Path | None
    """None while another process makes it, and where it cannot be made."""

    @property
    def is_whole(self) -> bool:
        """False when a file is damaged, so that Java would fail."""
        with suppress(OSError):
            return all(is_whole(path) for path in (self.jar, self.archive) if path)
        return False


def class_path(jars: Sequence[Path]) -> str:
    """The class path in the form that Java takes."""
    return ":".join(map(str, jars))


def kept_classes(build: Build) -> KeptClasses | None:
    """The jar and the archive, made if need be; None when there is no such jar."""
    folder = cache_folder()
    if folder is None or not str(folder).isascii() or ":" in str(folder):
        return None  # Java may read the path as another one, or as two
    jar = _kept(folder / FOLDER, build, None)
    return KeptClasses(jar=jar, archive=_kept(jar.parent, build, jar)) if jar else None


def _kept(place: Path, build: Build, jar: Path | None) -> Path | None:
    """The archive over `jar`, or that jar; None when it is not there and cannot be made now."""
    with suppress(OSError):
        key = build.key if jar is None else f"{build.key}-{jar.stem[-HASH_DIGITS:]}"
        suffix = ".jar" if jar is None else ".jsa"
        return find_file(place, key, suffix) or _made_alone(place, build, jar, key)
    return None


def _made_alone(place: Path, build: Build, jar: Path | None, key: str) -> Path | None:
    """Build it in one process at a time: meanwhile, and after a failure, a process goes without."""
    if key in _failed:
        return None
    place.mkdir(parents=True, exist_ok=True)
    with alone_in(place) as is_alone:
        if not is_alone:
            return None
        _failed.add(key)
        with scratch_folder("zookeeper") as directory:
            made = _compiled(build, directory) if jar is None else _dumped(build, jar, directory)
            written_ns = FIXED_NS if jar is None else None
            kept = keep_file(made, place, key, written_ns) if made.is_file() else None
        tidy(place, ARCHIVES_MAX)
        if kept is not None:
            _failed.discard(key)
        return kept


def _compiled(build: Build, directory: Path) -> Path:
    """A jar of our classes, always the same bytes; no file when they do not compile."""
    classes = directory / "classes"
    classes.mkdir()
    words = ("-d", str(classes), "-classpath", class_path(build.jars), str(build.source))
    ours = directory / "ours.jar"
    if ended_in(build.command(COMPILER, *words), directory, PATIENCE_S) != 0:
        return ours
    with zipfile.ZipFile(ours, "w") as jar:
        for path in sorted(classes.iterdir()):
            jar.writestr(zipfile.ZipInfo(path.name), path.read_bytes())
    return ours


def _dumped(build: Build, jar: Path, directory: Path) -> Path:
    """An archive of what a server loads before it waits; no file when Java makes none."""
    listed, archive = directory / "classes.txt", directory / "classes.jsa"
    logging = directory / "log4j2.properties"
    logging.write_text(build.logging, encoding="ascii")
    options = (f"-XX:DumpLoadedClassList={listed}", f"-D{LOGGING}={logging.as_uri()}")
    waiting = (*options, build.source.stem, *WAIT_AND_END)
    since = time.monotonic()
    ended_in(build.command(*waiting, first=[jar]), directory, PATIENCE_S)
    left_s = max(0.0, since + PATIENCE_S - time.monotonic())
    dumping = (DUMP, f"-XX:SharedClassListFile={listed}")
    to = f"-XX:SharedArchiveFile={archive}"
    if ended_in(build.command(*dumping, to, first=[jar]), directory, left_s) != 0:
        archive.unlink(missing_ok=True)
    return archive
