"""A class archive for each release: what every broker would load from the jars and verify again.

A broker that has one starts in a third of the time. The first processes of a release write down
what they load, and the archive is made of that before the next cluster starts. It is kept in the
user's cache under a hash of all that it follows from; Java goes on without one that is not its own.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fencepost.spec.scratch import PROC, scratch_folder
from fencepost.spec.tlc.cache.cache_folder import (
    alone_in,
    cache_folder,
    find_file,
    keep_file,
    key_for,
    tidy,
)
from fencepost.spec.tlc.java.process import ended_in

FOLDER = "kafka-classes"
ARCHIVES_MAX = 12
"""Each has 50 MB; the oldest go."""
DUMP_DEADLINE_S = 60.0
"""Six is usual."""


def sharing(java: Path, options: Sequence[str], class_path: Sequence[Path]) -> list[str]:
    """Options with which a broker starts from the archive, or writes down what one needs."""
    folder = cache_folder()
    if folder is None or not str(folder).isascii() or ":" in str(folder):
        return []  # Java may read the path as another one, or as two
    place = folder / FOLDER
    with suppress(OSError):
        place.mkdir(exist_ok=True)
        key = _key(java, options, class_path)
        archive = find_file(place, key, ".jsa") or _made(place, key, java, options, class_path)
        if archive is None:
            return [f"-XX:DumpLoadedClassList={place / key}.%p.classes"]
        # An empty one could not be made.
        return [f"-XX:SharedArchiveFile={archive}"] if archive.stat().st_size else []
    return []


def _key(java: Path, options: Sequence[str], class_path: Sequence[Path]) -> str:
    """Java compares the times of the jars, too."""
    jars = ((jar, jar.stat()) for jar in class_path)
    told = (f"{jar} {status.st_size} {status.st_mtime_ns}" for jar, status in jars)
    return key_for(java, *options, *told)


def _made(
    place: Path, key: str, java: Path, options: Sequence[str], class_path: Sequence[Path]
) -> Path | None:
    """The archive of what the largest list names; None while there is none, or one still grows."""
    with alone_in(place) as is_alone:
        lists = sorted(place.glob(f"{key}.*.classes"), key=lambda path: path.stat().st_size)
        if not is_alone or not lists or any(map(_grows, lists)):
            return None
        with scratch_folder("kafka") as directory:
            archive, named = directory / "made.jsa", directory / "made.classes"
            whole, _, _ = lists[-1].read_bytes().rpartition(b"\n")  # a killed broker tore the rest
            named.write_bytes(whole + b"\n")
            words = [f"-XX:SharedClassListFile={named}", f"-XX:SharedArchiveFile={archive}"]
            words += ["-cp", ":".join(map(str, class_path))]
            command = [str(java), *options, "-Xshare:dump", *words]
            if ended_in(command, directory, DUMP_DEADLINE_S) != 0:
                archive.write_bytes(b"")
            kept = keep_file(archive, place, key)
        for path in lists:
            path.unlink(missing_ok=True)
        tidy(place, ARCHIVES_MAX)
    return kept


def _grows(path: Path) -> bool:
    """True while the process that writes the list runs."""
    _, pid, _ = path.name.split(".")
    return (PROC / pid.removeprefix("pid")).exists()
