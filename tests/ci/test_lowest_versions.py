"""What `make lowest` and `make newest` install; that the gate runs on it is seen by running it."""

import sys
import tomllib

import pytest

from fencepost.ci.lowest_versions import (
    MODULES,
    ROOT,
    broken_extras,
    direct_dependencies,
    lower_bounds,
    wanted,
)


def test_every_direct_dependency_has_a_lower_bound() -> None:
    found = lower_bounds(direct_dependencies())

    assert len(found) == len(direct_dependencies()) > 10
    assert {"pandas==2.2.2", "kio==0.5"} <= set(found)


def test_a_dependency_without_a_lower_bound_is_named() -> None:
    with pytest.raises(SystemExit, match=r"pyproject.toml: rich<14 has no lower bound"):
        lower_bounds(["typer>=0.27", "rich<14"])


def test_every_extra_of_a_user_has_modules_and_they_are_imported_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert set(MODULES) == set(project["optional-dependencies"]) - {"dev"}
    assert broken_extras(sys.executable, MODULES) == []


def test_an_extra_that_is_not_imported_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MODULES, "kafka", ("no_such_module",))

    assert broken_extras(sys.executable, ("containers", "kafka")) == ["kafka"]
    assert "No module named 'no_such_module'" in capfd.readouterr().err


def test_each_end_is_what_pip_is_told() -> None:
    assert wanted(newest=True) == [f"{ROOT}[connect,containers,kafka]"]
    assert wanted(newest=False) == [*lower_bounds(direct_dependencies()), *wanted(newest=True)]
