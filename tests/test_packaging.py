"""Each room is the one of this checkout, and the wheel holds all that the rooms read."""

import configparser
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci")
DATA = (".tla", ".cfg", ".toml", ".yaml", ".proto", ".j2", ".json", ".css", ".sql")
"""Suffixes of what the rooms read besides Python."""


def test_rooms_resolve_to_this_checkout() -> None:
    for room in ROOMS:
        found = find_spec(f"fencepost.{room}")

        assert found is not None
        assert found.origin is not None
        assert Path(found.origin).resolve() == ROOT / room / "__init__.py"


@pytest.fixture(scope="module")
def names(wheel: Path) -> frozenset[str]:
    """Of the files in the wheel."""
    return files_in(wheel)


def files_in(wheel: Path) -> frozenset[str]:
    with zipfile.ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


def read_at_run_time(suffix: str) -> set[str]:
    return {
        f"fencepost/{path.relative_to(ROOT).as_posix()}"
        for room in ROOMS
        for path in (ROOT / room).rglob(f"*{suffix}")
        if not {"runs", ".ruff_cache", "states"} & set(path.parts) and path.name != "ruff.toml"
    }


def test_wheel_holds_what_the_rooms_read(names: frozenset[str]) -> None:
    read = set().union(*map(read_at_run_time, (".py", *DATA)))

    assert read
    assert read - names == set()


def test_wheel_installs_one_package(names: frozenset[str]) -> None:
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"fencepost"}
    assert "fencepost/py.typed" in names
    assert not [name for name in names if "tests" in Path(name).parts]


def test_wheel_has_its_license(wheel: Path, names: frozenset[str]) -> None:
    (file,) = [name for name in names if name.endswith("LICENSE")]
    (metadata,) = [name for name in names if name.endswith("dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        assert b"Apache License" in archive.read(file)
        assert "License-Expression: Apache-2.0" in archive.read(metadata).decode().splitlines()


def test_what_is_installed_is_at_least_what_the_generated_code_asks_for() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    messages = (ROOT / "spec" / "wire" / "replication_pb2.py").read_text()
    services = (ROOT / "spec" / "wire" / "fault_control_pb2_grpc.py").read_text()
    protobuf = re.search(r"Protobuf Python Version: (\S+)", messages)
    grpc = re.search(r"GRPC_GENERATED_VERSION = '(\S+)'", services)

    assert protobuf is not None
    assert grpc is not None
    assert {f"protobuf>={protobuf[1]}", f"grpcio>={grpc[1]}"} <= set(asked)


def asked_for() -> dict[str, list[Requirement]]:
    """Each direct dependency, by the lock that has it."""
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = written["project"], written["dependency-groups"]
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    docs = [text for texts in groups.values() for text in texts]
    texts = {
        "requirements.lock": [*project["dependencies"], *extras],
        "ci/site/requirements.lock": docs,
    }
    return {lock: list(map(Requirement, asked)) for lock, asked in texts.items()}


@pytest.mark.parametrize("lock", asked_for())
def test_every_direct_dependency_has_a_lower_bound_and_the_lock_keeps_it(lock: str) -> None:
    asked = asked_for()[lock]
    pinned = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE)
    bounded = [one.name for one in asked if any(part.operator == ">=" for part in one.specifier)]

    assert asked
    assert sorted({one.name for one in asked} - set(bounded)) == []
    for one in asked:
        versions = [version for name, version in pinned if name == one.name]
        assert versions, f"{one.name} is not in the lock"
        assert all(map(one.specifier.contains, versions)), f"{one} is not {versions}"


def test_a_project_may_have_folders_of_every_room(tmp_path: Path) -> None:
    for name in (*ROOMS, "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")

    for words in (["pytest", "-q", "test_own.py"], ["fencepost.ci", "faults", "list"]):
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_wheel_holds_no_runs_and_no_caches(names: frozenset[str]) -> None:
    assert not [name for name in names if name.startswith("fencepost/reports/runs/")]
    assert not [name for name in names if "__pycache__" in name or "/." in name]


def test_wheel_made_from_the_source_archive_is_the_same(
    names: frozenset[str], tmp_path: Path
) -> None:
    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    (wheel,) = WheelBuilder(str(folder)).build(directory=str(tmp_path), versions=["standard"])

    assert files_in(Path(wheel)) == names


def test_make_wheel_builds_what_the_pages_name(tmp_path: Path, names: frozenset[str]) -> None:
    here = (f"BIN={Path(sys.executable).parent}", f"DIST={tmp_path}")
    subprocess.run(
        ["make", "--silent", "-o", ".venv/ready", "wheel", *here],
        cwd=ROOT,
        env={**os.environ, "PIP_NO_INDEX": "1"},
        check=True,
    )

    (built,) = tmp_path.iterdir()
    assert files_in(built) == names
    for page in ("README.md", "docs/pytest.md", "docs/kafka.md", "ci/kit/README.md"):
        assert re.findall(r"fencepost-[\w.-]+\.whl", (ROOT / page).read_text()) == [built.name]


def test_no_page_installs_a_name_that_no_index_has() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("*/README.md")]
    installed = [
        found
        for page in pages
        for found in re.findall(r"pip install [^`\n]*", page.read_text())
        if re.search(r"[ \"']fencepost\b(?!-)", found)
    ]

    assert installed == []


def test_wheel_offers_the_command_and_the_pytest_plugin(wheel: Path, names: frozenset[str]) -> None:
    (entries,) = [name for name in names if name.endswith("entry_points.txt")]
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(entries).decode()

    offered = configparser.ConfigParser(delimiters=["="])
    offered.read_string(text)
    assert offered["console_scripts"]["fencepost"] == "fencepost.ci.__main__:main"
    assert list(offered["pytest11"].values()) == ["fencepost.conformance.testing.plugin"]
