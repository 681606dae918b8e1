"""A class archive for TLC: the classes that every start would load and verify again.

It saves a quarter of the processor time of a small model. Java checks itself whether an archive is
its own and goes on without one that is not, so the archive never matters for a result.
"""

from contextlib import suppress
from pathlib import Path

from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.cache.cache_folder import cache_folder, find_file, keep_file, key_for
from fencepost.spec.tlc.cache.verdict_cache import hash_of_file
from fencepost.spec.tlc.java.process import StopSignal, start

MODELS_THAT_PAY = 8
"""To make an archive costs about as much as this many models save."""

FOLDER = "classes"
SUFFIX = ".jsa"
_TOY = """---- MODULE Toy ----
EXTENDS Integers, Sequences, FiniteSets, TLC
VARIABLES x, log
Init == x = [a |-> 0, b |-> {}] /\\ log = <<>>
Next == \\E n \\in 1..2 : /\\ x' = [x EXCEPT !.a = @ + n, !.b = @ \\cup {n}]
                      /\\ log' = Append(log, n)
Low == Cardinality(x.b) < 2 \\/ Len(log) < 3
====
"""


def class_archive(java: Path, jar: Path) -> Path | None:
    """The archive for this Java and TLC if there is one."""
    with suppress(OSError):
        place, key = _place(java, jar)
        found = find_file(place, key, SUFFIX)
        return found if found and found.stat().st_size > 0 else None
    return None


def make_class_archive(java: Path, jar: Path, stop: StopSignal) -> None:
    """Make the archive unless it is there, or could not be made before: then it is empty."""
    with suppress(OSError):
        place, key = _place(java, jar)
        if find_file(place, key, SUFFIX) is not None:
            return
        place.mkdir(parents=True, exist_ok=True)
        with scratch_folder("tlc") as directory:
            archive = directory / f"made{SUFFIX}"
            _dump(java, jar, directory, archive, stop)
            if not stop.requested.is_set():
                archive.touch()
                keep_file(archive, place, key)


def _dump(java: Path, jar: Path, directory: Path, archive: Path, stop: StopSignal) -> None:
    (directory / "Toy.tla").write_text(_TOY)
    (directory / "Toy.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Low\n")
    options = (str(java), "-XX:+UseSerialGC", f"-Djava.io.tmpdir={directory}")
    run = ("-cp", str(jar), "tlc2.TLC", "-tool", "-deadlock", "-workers", "1", "Toy.tla")
    listed = directory / "classes.txt"
    _wait((*options, f"-XX:DumpLoadedClassList={listed}", *run), directory, stop)
    sharing = ("-Xshare:dump", f"-XX:SharedClassListFile={listed}")
    _wait(
        (*options, *sharing, f"-XX:SharedArchiveFile={archive}", "-cp", str(jar)), directory, stop
    )


def _wait(command: tuple[str, ...], directory: Path, stop: StopSignal) -> None:
    child = start(command, directory)
    with stop.watching(child):
        child.communicate()


def _place(java: Path, jar: Path) -> tuple[Path, str]:
    """The folder and the key of the archive; raises `OSError` where nothing can be kept."""
    folder = cache_folder()
    if folder is None:
        raise FileNotFoundError("no folder can be written to")
    changed = str(jar.stat().st_mtime_ns)  # of a jar that was put there anew Java wants a new one
    return folder / FOLDER, key_for(java, str(jar), changed, hash_of_file(jar))
