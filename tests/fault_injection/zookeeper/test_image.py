import tarfile
from pathlib import Path

import pytest

from fencepost.fault_injection.processes.container_engine import HOST_VARIABLE
from fencepost.fault_injection.zookeeper import image as zookeeper_image
from fencepost.fault_injection.zookeeper.server import find_jars
from fencepost.spec.java import find_java


def test_image_holds_java_its_libraries_and_the_jars_of_the_server(tmp_path: Path) -> None:
    java, archive = find_java().executable.resolve(), tmp_path / "root.tar"
    with tarfile.open(archive, "w", dereference=True) as tar:
        zookeeper_image.fill(tar, java, find_jars())
    with tarfile.open(archive) as tar:
        names = set(tar.getnames())
        kinds = {entry.type for entry in tar}

    assert str(java).lstrip("/") in names
    assert {f"zookeeper/{jar.name}" for jar in find_jars()} <= names
    assert any(Path(name).name.startswith("libc.so") for name in names)
    assert any(Path(name).name == "libjvm.so" for name in names)
    assert not any("jmods" in Path(name).parts for name in names)
    assert kinds == {tarfile.REGTYPE, tarfile.DIRTYPE}


def test_what_is_missing_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(HOST_VARIABLE, f"unix://{tmp_path}/no.sock")
    assert zookeeper_image.main([]) == zookeeper_image.EXIT_FAILED
    assert capsys.readouterr().err == (
        f"zookeeper_image: no container engine answers at unix://{tmp_path}/no.sock\n"
    )

    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert zookeeper_image.cannot_build("") == "ldd is not on the PATH; install it first"
    assert zookeeper_image.main(["--help"]) == zookeeper_image.EXIT_USAGE
