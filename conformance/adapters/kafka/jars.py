"""The jars of a release: fetched once, kept in the user's cache, and checked by SHA-256.

A release's lock (`locks/<release>.txt`) names each jar by its place in a Maven repository, with its
hash, so what is run is what was tried. Maven fetches them where it is; without it they come from
the repository that the environment names. An unpacked distribution takes their place, as
`kafka:RELEASE=FOLDER`. A new release gets its lock from Maven, by
`python -m fencepost.conformance.adapters.kafka.jars lock RELEASE`.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
from fencepost.conformance.adapters.kafka.maven import JarsError, copy_with_maven, download
from fencepost.conformance.adapters.kafka.releases import KafkaTarget, Release, find_target
from fencepost.spec.tlc.cache.cache_folder import cache_folder

LOCKS = Path(__file__).with_name("locks")
REPOSITORY = "FENCEPOST_MAVEN_REPOSITORY"
"""Address of a Maven repository: `https://...`, or `file:` and a folder."""


def class_path(chosen: KafkaTarget) -> list[Path]:
    """The jars of the target, fetched if need be; raises `JarsError`."""
    if chosen.folder:
        found = sorted(Path(chosen.folder).expanduser().glob("libs/*.jar"))
        if not found:
            raise JarsError(
                f"{chosen.folder} has no libs/*.jar; name an unpacked Kafka distribution"
            )
        return found
    place = fetched(chosen.release)
    remedy = f"remove {place}, and they are fetched again"
    require_locked(chosen.release, place, remedy)
    return sorted(place.glob("*.jar"))


def fetched(release: Release) -> Path:
    """The folder of the release in the cache, with its jars; raises `JarsError`."""
    folder = cache_folder()
    if folder is None:
        raise JarsError(
            "there is no cache folder to keep Kafka's jars in; set FENCEPOST_CACHE to one"
        )
    place = folder / "kafka" / release.version
    if not place.is_dir():
        fetch(release, place)
    return place


def fetch(release: Release, place: Path) -> None:
    """All jars of the release are at `place`, which was not there; raises `JarsError`."""
    repository = os.environ.get(REPOSITORY)
    if not repository and shutil.which("mvn") is None:
        raise JarsError(
            f"the jars of Kafka {release.version} are not here, and there is no mvn on PATH to "
            f"fetch them with; install Maven, or set {REPOSITORY} to the address of a Maven "
            "repository, or name the folder of an unpacked distribution: "
            f"kafka:{release.version}=FOLDER"
        )
    with _draft(place) as draft:
        if repository:
            download(_lines(release), repository, draft)
        else:
            copy_with_maven(release, draft)
        require_locked(release, draft, "what was fetched is thrown away; try another repository")
        draft.replace(place)


def locked(release: Release) -> Mapping[str, str]:
    """Name of each jar of the release -> its SHA-256."""
    return {PurePosixPath(path).name: digest for path, digest in _lines(release).items()}


def write_lock(release: Release) -> Path:
    """The lock of the release is that of the jars which Maven finds now; raises `JarsError`."""
    with tempfile.TemporaryDirectory() as folder:
        copy_with_maven(release, Path(folder), is_flat=False)
        _lock(release).write_text(lock_lines(Path(folder)), encoding="ascii")
    return _lock(release)


def lock_lines(repository: Path) -> str:
    """The lock of the jars in a folder of a repository's layout: a line for each, by place."""
    paths = sorted(jar.relative_to(repository).as_posix() for jar in repository.rglob("*.jar"))
    return "".join(f"{_digest(repository / path)}  {path}\n" for path in paths)


def require_locked(release: Release, place: Path, remedy: str) -> None:
    """Return when these are the jars of the lock, no more and no fewer; raises `JarsError`."""
    found = {jar.name: _digest(jar) for jar in place.glob("*.jar")}
    wanted = locked(release)
    wrong = sorted(name for name in found.keys() | wanted if found.get(name) != wanted.get(name))
    if wrong:
        raise JarsError(
            f"{wrong[0]} is not the jar with which Kafka {release.version} was tried "
            f"({len(wrong)} of {len(wanted)} differ); {remedy}"
        )


def _lines(release: Release) -> Mapping[str, str]:
    """Place of each jar in a repository -> its SHA-256."""
    lines = _lock(release).read_text(encoding="ascii").splitlines()
    return {path: digest for digest, path in (line.split() for line in lines)}


def _lock(release: Release) -> Path:
    return LOCKS / f"{release.version}.txt"


@contextmanager
def _draft(place: Path) -> Iterator[Path]:
    """A folder beside `place`, which is gone afterwards unless it has become `place`."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{place.name}-", dir=place.parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: Sequence[str]) -> None:
    """Fetch the jars of releases, or write their locks; raises `SystemExit`."""
    what, *versions = arguments or ["help"]
    work = {"fetch": fetched, "lock": write_lock}.get(what)
    if work is None:
        raise SystemExit("usage: jars fetch|lock RELEASE...")
    try:
        for version in versions:
            work(find_target(f"kafka:{version}").release)
    except (ClusterError, ChoiceError) as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main(sys.argv[1:])
