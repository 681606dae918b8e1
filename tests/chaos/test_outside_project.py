"""Another project, with the wheel in a venv of its own, runs chaos tests."""

import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.conformance.runs.run_folder import read_folder
from fencepost.spec.trace import Kind, Phase
from tests.conftest import ProcessesOf

pytestmark = pytest.mark.chaos

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "pytest.md"
CASE = "FENCEPOST_TEST_CASE"
"""Whatever a project starts inherits this variable."""
RUN_S = 180.0
GONE_S = 10.0
POLL_S = 0.05

ROOMS = ("ci", "conformance", "fault_injection", "impl", "reports", "spec")
OWN_TEST = """
from pathlib import Path

import {room}

def test_package_is_the_one_of_this_project():
    assert Path({room}.__file__).parent == Path(__file__).parent
"""

ENDLESS = """
import pytest
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import CONTROLLER

@pytest.mark.chaos
def test_endless(cluster, faults):
    with faults.active(PauseBroker(target=CONTROLLER, for_ms=1)):
        cluster.await_state(lambda: False, "the end of the world", deadline_s=300)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder with tests, and a Python that has Fencepost as a package."""

    folder: Path
    python: Path
    case: str

    def pytest(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )

    @contextmanager
    def started(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            self.command(*args),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield process

    def command(self, *args: str) -> list[str]:
        return [str(self.python), "-m", "pytest", "-p", "no:cacheprovider", *args]

    def output(self, command: str, *args: str) -> str:
        """What a command of the venv prints when it runs in the project's folder."""
        done = subprocess.run(
            [str(self.python.parent / command), *args],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return {**inherited, CASE: self.case}

    @property
    def bundles(self) -> list[Path]:
        return sorted(self.folder.glob(".fencepost/tests/*/"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel is installed; what it depends on is seen in this environment, as packages only."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*pip, *install], check=True)
    (packages,) = venv.glob("lib/*/site-packages")
    # A line of a .pth file is a path; the .pth files in that path, such as the one that would lead
    # back to this checkout, are not read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture
def project(python: Path, tmp_path: Path) -> Project:
    return Project(folder=tmp_path, python=python, case=secrets.token_hex(8))


def example() -> str:
    """The tests that the page on pytest shows; the README has the first of them."""
    found = re.search(r"```python\n(import pytest.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def again(output: str) -> list[str]:
    """The replay line of a failure, as arguments of pytest.

    The closing summary repeats it where the variable CI is set.
    """
    (line,) = set(re.findall(r"^(?:E +)?again: pytest (.*)$", output, re.MULTILINE))
    return shlex.split(line)


def test_example_of_the_page_passes_beside_a_loss_that_is_replayed(project: Project) -> None:
    (project.folder / "test_example.py").write_text(example())
    (project.folder / "test_truncation.py").write_text((HERE / "outside/truncation.py").read_text())

    done = project.pytest("-m", "chaos", "-n", "2", "--fencepost-seed", "1")

    assert done.returncode == 1, done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "AcknowledgedDurable: Acknowledged record second at offset 1 is lost" in done.stdout
    (bundle,) = project.bundles
    assert f"bundle: .fencepost/tests/{bundle.name}" in done.stdout
    assert again(done.stdout)[-2:] == ["--fencepost-replay", f".fencepost/tests/{bundle.name}"]

    replayed = project.pytest(*again(done.stdout))

    assert replayed.returncode == 1, replayed.stdout
    assert "1 failed" in replayed.stdout
    assert "AcknowledgedDurable: Acknowledged record second at offset 1 is lost" in replayed.stdout
    assert "seed 1, level 0" in replayed.stdout


@pytest.fixture
def namesakes(project: Project) -> Project:
    """The project has a package of the name of each room, and of `tests`, with a test each."""
    for room in (*ROOMS, "tests"):
        package = project.folder / room
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "test_own.py").write_text(OWN_TEST.format(room=room))
    return project


def test_project_with_packages_named_like_the_rooms_runs_its_tests(namesakes: Project) -> None:
    (namesakes.folder / "tests" / "test_example.py").write_text(example())

    done = namesakes.pytest("-v", "--fencepost-seed", "1")

    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout
    assert all(f"{room}/test_own.py::test_package_is" in done.stdout for room in ROOMS)


def test_rooms_and_commands_are_those_of_the_wheel(namesakes: Project) -> None:
    files = ", ".join(f"{room}.__file__" for room in ROOMS)
    program = f"from fencepost import {', '.join(ROOMS)}; print({files})"
    venv = namesakes.python.parent.parent

    assert all(
        Path(name).is_relative_to(venv)
        for name in namesakes.output("python", "-c", program).split()
    )
    assert "chaos" in namesakes.output("fencepost", "--help")
    node = namesakes.output("python", "-m", "fencepost.impl", "node", "--help")
    assert "--zookeeper" in node


def test_a_cluster_comes_up_beside_packages_named_like_the_rooms(
    namesakes: Project, processes_of: ProcessesOf
) -> None:
    try:
        namesakes.output("fencepost", "cluster", "up")
        namesakes.output("fencepost", "topics", "create", "orders")
        assert "orders" in namesakes.output("fencepost", "topics", "list")
    finally:
        namesakes.output("fencepost", "cluster", "down")
    await_nobody(processes_of, namesakes.case)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_and_killed_pytest_leaves_nothing(
    number: signal.Signals, project: Project, processes_of: ProcessesOf
) -> None:
    (project.folder / "test_endless.py").write_text(ENDLESS)

    with project.started() as process:
        await_active(project)
        process.send_signal(number)
        process.communicate(timeout=60)

    await_nobody(processes_of, project.case)
    ended = {signal.SIGINT: 2, signal.SIGKILL: -signal.SIGKILL}
    assert process.returncode == ended[number]
    if number is signal.SIGINT:
        assert phases(project)[-2:] == [Phase.HEALING, Phase.HEALED]


def phases(project: Project) -> list[Phase | None]:
    found = [read_folder(bundle)[0] for bundle in project.bundles]
    return [event.phase for events in found for event in events if event.kind is Kind.FAULT]


def await_active(project: Project) -> None:
    deadline, wait = time.monotonic() + 60, threading.Event()
    while Phase.ACTIVE not in phases(project):
        assert time.monotonic() < deadline
        wait.wait(POLL_S)


def await_nobody(processes_of: ProcessesOf, case: str) -> None:
    deadline, wait = time.monotonic() + GONE_S, threading.Event()
    while left := processes_of(CASE, case):
        assert time.monotonic() < deadline, left
        wait.wait(POLL_S)
