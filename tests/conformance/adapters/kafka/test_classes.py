"""What brokers load is written down once, and kept as an archive that the next ones start from."""

import os
import subprocess
from pathlib import Path

import pytest

from fencepost.conformance.adapters.kafka.classes import FOLDER, sharing
from fencepost.fault_injection.zookeeper.server import find_jars
from fencepost.spec.java import find_java
from fencepost.spec.tlc.cache.cache_folder import HASH_DIGITS, OVERRIDE

OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
MAIN = "org.apache.zookeeper.Version"
"""Ends at once, and complains that it was given no option."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where lists and archives are kept; there are none."""
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    return tmp_path / FOLDER


def options() -> list[str]:
    return sharing(find_java().executable, OPTIONS, find_jars())


def loaded(*more: str) -> str:
    """What a process prints that is started with the options."""
    jars = ":".join(map(str, find_jars()))
    command = [str(find_java().executable), *OPTIONS, *options(), *more, "-cp", jars, MAIN]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def test_a_second_process_starts_from_what_the_first_one_loaded(place: Path) -> None:
    assert options()[0].startswith(f"-XX:DumpLoadedClassList={place}")

    loaded()
    (option,) = options()

    assert option.startswith(f"-XX:SharedArchiveFile={place}")
    assert f"{MAIN} source: shared objects file" in loaded("-Xshare:on", "-Xlog:class+load")
    assert not [*place.glob("*.classes")]


def written(place: Path, pid: int, text: str) -> None:
    """A process has written such a list."""
    key = Path(options()[0].partition("=")[2]).name.partition(".")[0]
    (place / f"{key}.pid{pid}.classes").write_text(text, encoding="ascii")


def test_a_list_that_still_grows_is_left_alone(place: Path) -> None:
    written(place, os.getpid(), "java/lang/Object id: 0\n")

    assert options()[0].startswith("-XX:DumpLoadedClassList=")


def test_a_list_of_which_java_makes_no_archive_is_not_tried_again(place: Path) -> None:
    written(place, 0, "@no-such-line\n")

    assert options() == []
    assert [path.suffix for path in place.iterdir()] == [".jsa"]
    assert options() == []


def test_a_torn_archive_is_removed(place: Path) -> None:
    key = Path(options()[0].partition("=")[2]).name.partition(".")[0]
    torn = place / f"{key}-{'0' * HASH_DIGITS}.jsa"
    torn.write_bytes(b"torn")

    assert options()[0].startswith("-XX:DumpLoadedClassList=")
    assert not torn.exists()
