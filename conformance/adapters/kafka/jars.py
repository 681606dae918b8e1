"""The jars of a release: resolved once by Maven, kept in the user's cache, and checked by SHA-256.

A release's lock (`locks/<release>.txt`) names each jar with its hash, so what is run is what was
tried. An unpacked distribution takes their place, as `kafka:RELEASE=FOLDER`. A new release gets its
lock by `python -m fencepost.conformance.adapters.kafka.jars RELEASE`.
"""

import hashlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.kafka.releases import KafkaTarget, Release, find_target
from fencepost.spec.tlc.cache.cache_folder import cache_folder

LOCKS = Path(__file__).with_name("locks")
FETCH_DEADLINE_S = 600.0
_POM = """<project>
<modelVersion>4.0.0</modelVersion>
<groupId>fencepost</groupId><artifactId>kafka</artifactId><version>1</version>
{managed}<dependencies>{wanted}</dependencies>
</project>
"""


class JarsError(ClusterError):
    """The jars of a release are not there, or are other ones; says what to do."""


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
    require_locked(chosen.release, place)
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
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsError(
            f"the jars of Kafka {release.version} are not here, and there is no mvn on PATH to "
            f"fetch them with; install Maven, or name the folder of an unpacked distribution: "
            f"kafka:{release.version}=FOLDER"
        )
    with _draft(place) as draft:
        pom = draft / "pom.xml"
        pom.write_text(_pom(release), encoding="utf-8")
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
        command = [maven, "-q", "-B", "-C", "-f", str(pom), goal]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={draft}"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=FETCH_DEADLINE_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise JarsError(
                f"Maven took over {FETCH_DEADLINE_S:g} s: {shlex.join(command)}"
            ) from error
        if done.returncode:
            why = next((one for one in done.stdout.splitlines() if "ERROR" in one), "")
            raise JarsError(
                f"Maven did not find the jars of Kafka {release.version} ({why.strip()}); "
                "this needs a network once"
            )
        pom.unlink()
        draft.replace(place)


def locked(release: Release) -> Mapping[str, str]:
    """Name of each jar of the release -> its SHA-256."""
    lines = _lock(release).read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def write_lock(release: Release) -> Path:
    """The lock of the release is that of the jars which Maven finds now; raises `JarsError`."""
    path = _lock(release)
    path.write_text(lock_lines(fetched(release)), encoding="ascii")
    return path


def lock_lines(place: Path) -> str:
    """The lock of what is at `place`: a line for each jar, by name."""
    return "".join(f"{_digest(jar)}  {jar.name}\n" for jar in sorted(place.glob("*.jar")))


def require_locked(release: Release, place: Path) -> None:
    """Return when these are the jars of the lock, no more and no fewer; raises `JarsError`."""
    found = {jar.name: _digest(jar) for jar in place.glob("*.jar")}
    wanted = locked(release)
    wrong = sorted(name for name in found.keys() | wanted if found.get(name) != wanted.get(name))
    if wrong:
        raise JarsError(
            f"{place / wrong[0]} is not the jar with which Kafka {release.version} was tried "
            f"({len(wrong)} of {len(wanted)} differ); remove {place}, and they are fetched again"
        )


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


def _pom(release: Release) -> str:
    wanted = "".join(map(_dependency, release.coordinates))
    others = (f"{name}:{version}" for name, version in release.replaced.items())
    managed = "".join(map(_dependency, others))
    if managed:
        managed = (
            f"<dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>"
        )
    return _POM.format(managed=managed, wanted=wanted)


def _dependency(coordinates: str) -> str:
    group, artifact, version = map(escape, coordinates.split(":"))
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    for version in sys.argv[1:]:
        print(write_lock(find_target(f"kafka:{version}").release))  # noqa: T201 - a tool by hand
