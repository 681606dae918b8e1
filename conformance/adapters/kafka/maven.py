"""Jars of a Maven repository: what a release needs, by Maven, or named ones, by place."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.request import urlopen
from xml.sax.saxutils import escape

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.kafka.releases import Release
from fencepost.spec.java import JavaNotFoundError, find_java

MAVEN_DEADLINE_S = 600.0
JAR_DEADLINE_S = 60.0
AT_A_TIME = 8
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_POM = """<project>
<modelVersion>4.0.0</modelVersion>
<groupId>fencepost</groupId><artifactId>kafka</artifactId><version>1</version>
{managed}<dependencies>{wanted}</dependencies>
</project>
"""


class JarsError(ClusterError):
    """The jars of a release are not there, or are other ones; says what to do."""


def copy_with_maven(release: Release, folder: Path, *, is_flat: bool = True) -> None:
    """All jars that the release needs are in the folder, or under it as in a repository.

    Raises `JarsError`.
    """
    pom = folder / "pom.xml"
    pom.write_text(_pom(release), encoding="utf-8")
    command = ["mvn", "-q", "-B", "-C", "-f", str(pom), _GOAL]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    if not is_flat:
        command.append("-Dmdep.useRepositoryLayout=true")
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"JAVA_HOME": str(find_java().home)},
            capture_output=True,
            text=True,
            timeout=MAVEN_DEADLINE_S,
            check=False,
        )
    except JavaNotFoundError as error:
        raise JarsError(f"Maven needs a Java: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise JarsError(f"Maven took over {MAVEN_DEADLINE_S:g} s: {shlex.join(command)}") from error
    if done.returncode:
        told = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        why = next((one.strip() for one in told if "ERROR" in one), " ".join(told))
        raise JarsError(
            f"Maven did not find the jars of Kafka {release.version} "
            f"({why or f'exit code {done.returncode}'}); this needs a network once"
        )
    pom.unlink()


def download(paths: Iterable[str], repository: str, folder: Path) -> None:
    """The jars at these places of the repository are in the folder; raises `JarsError`."""

    def one(path: str) -> None:
        address = f"{repository.rstrip('/')}/{path}"
        try:
            with (
                urlopen(address, timeout=JAR_DEADLINE_S) as answer,  # noqa: S310 - the user names it
                (folder / PurePosixPath(path).name).open("wb") as jar,
            ):
                shutil.copyfileobj(answer, jar)
        except (OSError, HTTPException, ValueError) as error:
            raise JarsError(f"{address} cannot be fetched: {error}") from error

    with ThreadPoolExecutor(AT_A_TIME) as loaders:
        list(loaders.map(one, paths))


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
