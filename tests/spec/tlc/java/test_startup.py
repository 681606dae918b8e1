"""The class archive is one that Java takes, also after the jar was put there anew."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.spec.tlc.cache.cache_folder import OVERRIDE
from fencepost.spec.tlc.java.installation import Tlc, find_tlc
from fencepost.spec.tlc.java.process import StopSignal
from fencepost.spec.tlc.java.startup import class_archive, make_class_archive


@pytest.fixture(scope="module")
def tlc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tlc]:
    """With a jar and a cache of its own, and an archive there."""
    folder = tmp_path_factory.mktemp("tlc")
    found = find_tlc()
    tlc = Tlc(found.java, Path(shutil.copy(found.jar, folder / "tla2tools.jar")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OVERRIDE, str(folder / "cache"))
        make(tlc)
        yield tlc


def make(tlc: Tlc) -> Path:
    make_class_archive(tlc.java, tlc.jar, StopSignal())
    archive = class_archive(tlc.java, tlc.jar)
    assert archive is not None
    return archive


def starts_from(archive: Path, tlc: Tlc) -> bool:
    """Whether Java starts TLC when it may not go on without the archive."""
    sharing = ("-Xshare:on", f"-XX:SharedArchiveFile={archive}")
    command = (str(tlc.java), "-XX:+UseSerialGC", *sharing, "-cp", str(tlc.jar), "tlc2.TLC", "-h")
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return "shared archive" not in told.stdout + told.stderr


@pytest.mark.long
def test_java_takes_the_archive_until_its_jar_is_put_there_anew(tlc: Tlc) -> None:
    archive = make(tlc)

    assert starts_from(archive, tlc)
    before = tlc.jar.stat().st_mtime_ns
    os.utime(tlc.jar, (1, 1))
    assert class_archive(tlc.java, tlc.jar) is None
    assert not starts_from(archive, tlc)
    os.utime(tlc.jar, ns=(before, before))


@pytest.mark.long
def test_a_torn_archive_is_made_again(tlc: Tlc) -> None:
    torn = make(tlc)
    os.truncate(torn, torn.stat().st_size // 2)

    assert class_archive(tlc.java, tlc.jar) is None
    assert not torn.exists()
    assert starts_from(make(tlc), tlc)
