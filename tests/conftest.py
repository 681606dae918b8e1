"""What all tests share: their processes, and the promise that nothing is left running."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.python import importtestmodule
from hatchling.builders.wheel import WheelBuilder
from hypothesis import HealthCheck, settings
from xdist.workermanage import WorkerController

import fencepost.conformance  # noqa: F401 - before any test imports gRPC, see its docstring
from tests.reports.browser import Browser, find_browser, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

pytest_plugins = ("pytester", "fencepost.conformance.testing.plugin")

# The same examples on every machine, and none judged by the time that it took.
settings.register_profile(
    "fencepost", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fencepost")

ROOT = Path(__file__).resolve().parent.parent

SESSION = "FENCEPOST_TEST_SESSION"
"""Whatever the tests start inherits this variable, through however many processes."""

RUN = "FENCEPOST_RUN_ID"
"""Brokers and ZooKeepers carry it: they must not outlive the tests."""

GONE_DEADLINE_S = 30.0
POLL_S = 0.02

SECONDS = {"spark": 100, "tlc": 60, "zookeeper": 30, "browser": 60, "long": 60}
"""What a test with such a mark takes, where one with none takes 1; the mark itself may say more."""

LEFT = pytest.StashKey[list[int]]()
CLOSING_LINES = pytest.StashKey[list[str]]()
"""What is printed at the end of the run."""
HANDED_OVER = "fencepost_closing_lines"
"""Under this name a worker of pytest-xdist gives its closing lines to the process that prints."""

ProcessesOf = Callable[[str, str], set[int]]


def processes_of(variable: str, value: str) -> set[int]:
    """Pids of living processes that carry `variable=value`; an empty value stands for any."""
    wanted = f"\0{variable}={value}".encode() + (b"\0" if value else b"")
    return {pid for pid, environment in environments() if wanted in environment}


def environments() -> Iterator[tuple[int, bytes]]:
    """Pid and environment of each process that we may look at; a zombie has none."""
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            yield int(path.name), b"\0" + (path / "environ").read_bytes()
        except OSError:
            continue  # gone meanwhile, or of another user


@pytest.fixture(name="processes_of")
def processes_of_fixture() -> ProcessesOf:
    """`processes_of(variable, value)`: the processes that carry it now."""
    return processes_of


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout, built here and now, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """One browser for the tests of a module; each has a page without anything of the others.

    While it runs, its driver's event loop does, and no other can: other modules have their own.
    """
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium on PATH: install Debian's chromium to look at the pages")
    with started(executable) as process:
        yield process


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    with closing(Browser(chromium)) as opened:
        yield opened


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-stories",
        action="store_true",
        help="let the files of tests/stories say what they print now; read the difference",
    )
    parser.addoption(
        "--rewrite-pages",
        action="store_true",
        help="let the first hour and the README say what is printed now; read the difference",
    )


def pytest_configure(config: pytest.Config) -> None:
    # What a shell starts in its background is deaf to Ctrl-C, and the children would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if worker_output(config) is None:  # workers share the session of the process that prints
        os.environ[SESSION] = secrets.token_hex(8)


def worker_output(config: pytest.Config) -> dict[str, Any] | None:
    """What a worker of pytest-xdist hands over at its end; None in any other process."""
    return getattr(config, "workeroutput", None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The tests fail when a broker or a ZooKeeper that they started still runs."""
    config = session.config
    if (output := worker_output(config)) is not None:
        output[HANDED_OVER] = config.stash.get(CLOSING_LINES, [])
        return
    deadline = time.monotonic() + GONE_DEADLINE_S
    while left := processes_of(SESSION, os.environ[SESSION]) & processes_of(RUN, ""):
        if time.monotonic() > deadline:
            config.stash[LEFT] = sorted(left)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return
        threading.Event().wait(POLL_S)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since a third of the tests' time is waiting."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Of all tests, each worker imports a share first, and so compiles it for the others.

    Assertions are rewritten in a fresh checkout: ten seconds of a processor, once.
    """
    config = session.config
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    number = int(worker["workerid"].removeprefix("gw"))
    for path in paths[number :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # told when it is collected
            importtestmodule(path, config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers begin with the files that take long, so that none is still at one in the end."""
    if worker_output(config) is None:
        return
    seconds = Counter[Path]()
    for item in items:
        told = (
            mark.kwargs.get("seconds", SECONDS.get(mark.name, 1)) for mark in item.iter_markers()
        )
        seconds[item.path] += max(told, default=1)
    items.sort(key=lambda item: -seconds[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    output = getattr(node, "workeroutput", {})  # a worker that crashed has none
    node.config.stash.setdefault(CLOSING_LINES, []).extend(output.get(HANDED_OVER, []))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if lines := config.stash.get(CLOSING_LINES, []):
        terminalreporter.section(lines[0])
        for line in lines[1:]:
            terminalreporter.write_line(line)
    if left := config.stash.get(LEFT, []):
        terminalreporter.write_line(f"ERROR: the tests left processes running: {left}", red=True)
