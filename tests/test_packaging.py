"""Each room is the one of this checkout, and the wheel holds all that the rooms read."""

import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci")
DATA = (".tla", ".cfg", ".toml", ".yaml", ".proto", ".j2", ".json", ".css", ".sql")
"""Suffixes of what the rooms read besides Python."""


@pytest.mark.parametrize("room", ROOMS)
def test_room_resolves_to_this_checkout(room: str) -> None:
    found = find_spec(room)

    assert found is not None
    assert found.origin == str(ROOT / room / "__init__.py")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Names of the files in a wheel that is built here and now, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(path) as archive:
        return frozenset(archive.namelist())


def read_at_run_time(suffix: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).rglob(f"*{suffix}")
        if not {"runs", ".ruff_cache", "states"} & set(path.parts) and path.name != "ruff.toml"
    }


@pytest.mark.parametrize("suffix", [".py", *DATA])
def test_wheel_holds_what_the_rooms_read(wheel: frozenset[str], suffix: str) -> None:
    assert read_at_run_time(suffix) <= wheel


@pytest.mark.parametrize("suffix", [".py", ".tla", ".toml", ".yaml", ".proto", ".j2"])
def test_there_is_something_of_every_kind(suffix: str) -> None:
    assert read_at_run_time(suffix)


def test_wheel_holds_no_tests(wheel: frozenset[str]) -> None:
    assert not [name for name in wheel if name.startswith("tests/")]


def test_wheel_offers_the_command(wheel: frozenset[str]) -> None:
    assert [name for name in wheel if name.endswith("entry_points.txt")]
