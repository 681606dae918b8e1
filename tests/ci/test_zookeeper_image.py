import os
from pathlib import Path

import pytest

from ci import zookeeper_image


def test_packages_come_from_where_apt_gets_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sources.list.d"
    folder.mkdir()
    (folder / "debian.sources").write_text("Types: deb\nURIs: http://archive/debian\nSuites: a\n")
    (tmp_path / "os-release").write_text('NAME="Debian"\nVERSION_CODENAME=bookworm\n')
    monkeypatch.setattr(zookeeper_image, "SOURCES", (tmp_path / "sources.list", folder))
    monkeypatch.setattr(zookeeper_image, "RELEASE", tmp_path / "os-release")
    assert (zookeeper_image.mirror(), zookeeper_image.suite()) == (
        "http://archive/debian",
        "bookworm",
    )

    (tmp_path / "sources.list").write_text("# none\ndeb [signed-by=x] http://first/debian a main\n")
    assert zookeeper_image.mirror() == "http://first/debian"


def test_what_is_missing_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert zookeeper_image.main([]) == zookeeper_image.EXIT_FAILED
    assert capsys.readouterr().err == (
        "zookeeper_image: only root can build an image from Debian packages\n"
    )

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert zookeeper_image.cannot_build() == "debootstrap is not on the PATH; install it first"
    assert zookeeper_image.main(["--help"]) == zookeeper_image.EXIT_USAGE
