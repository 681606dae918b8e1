"""SIGKILL in the middle of chaos: what the harness started is gone soon."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from tests.recorded import write_run

ROOT = Path(__file__).resolve().parents[2]
MARK = "FENCEPOST_TEST_KILL"
"""Tells the processes of one test from all others."""

RUN = "FENCEPOST_RUN_ID"
PROCESSES = 4
"""A ZooKeeper and three brokers."""

STARTED_DEADLINE_S = 480.0
"""In a gate, specs, proofs and simulations come before the first broker: two minutes on two free
cores with empty caches, and other tests run beside."""

GONE_DEADLINE_S = 60.0
"""How soon it is, `ci/bench/leftovers` measures."""
POLL_S = 0.02

pytestmark = pytest.mark.chaos
ProcessesOf = Callable[[str, str], set[int]]


@pytest.fixture
def harness(tmp_path: Path) -> "Iterator[Harness]":
    started = Harness(tmp_path)
    try:
        yield started
    finally:
        started.end()


class Harness:
    """A `fencepost` command in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder.name + str(os.getpid())
        self.folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    def start(
        self,
        *arguments: str,
        module: str = "fencepost.ci",
        before: Callable[[], object] | None = None,
    ) -> None:
        """Start the command; `before` is called in its process first.

        SIGHUP ends it, also where these tests were started by nohup.
        """

        def prepare() -> None:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            if before is not None:
                before()

        with (self.folder / "output").open("wb") as output:
            self._child = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder,
                env={**os.environ, MARK: self.mark, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=output,
                preexec_fn=prepare,  # noqa: PLW1509  no thread of ours holds a lock meanwhile
            )

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        assert self._child.poll() is None, self.output()
        self._child.send_signal(number)

    def wait(self, deadline_s: float) -> int:
        assert self._child is not None
        return self._child.wait(deadline_s)

    def end(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")


def until(holds: Callable[[], bool], deadline_s: float) -> bool:
    deadline = time.monotonic() + deadline_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(POLL_S)
    return True


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHAOS = ("chaos", "--story", "leader_pause", "--out", "run")
SOAK = ("chaos", "--soak", "5m", "--out", "run")
UP = ("cluster", "up")
GATE = ("gate", "--out", "run")
SHARE = ("gate", "--level", "0", "--shard", "12/16")
"""Of each stage a little; level 0 loses the record of its one scenario, so it ends with FAIL."""
CHECK = ("check",)
REPLAY = ("check", "--trace", "runs")
SIMULATE = ("simulate", "--seeds", "100000")
ENOUGH = {CHAOS: PROCESSES + 1, SOAK: PROCESSES + 1, UP: 3, CHECK: 2, REPLAY: 2}
"""Processes, the command's own among them, when it is at work; of a cluster, that starts."""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("fencepost.ci", CHAOS), ("tests.small_gate", GATE)],
    ids=["chaos", "gate"],
)
def test_a_killed_harness_leaves_no_broker_and_no_zookeeper(
    harness: Harness, processes_of: ProcessesOf, module: str, arguments: Sequence[str]
) -> None:
    def ours() -> set[int]:
        return processes_of(MARK, harness.mark) & processes_of(RUN, "")

    harness.start(*arguments, module=module)
    assert until(lambda: len(ours()) >= PROCESSES, STARTED_DEADLINE_S), harness.output()

    harness.signal(signal.SIGKILL)

    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S), ours()


def await_processes(harness: Harness, processes_of: ProcessesOf, enough: int) -> None:
    def are_there() -> bool:
        return len(processes_of(MARK, harness.mark)) >= enough

    assert until(are_there, STARTED_DEADLINE_S), harness.output()


def test_a_cluster_that_was_killed_while_it_started_is_not_there(
    harness: Harness, processes_of: ProcessesOf
) -> None:
    harness.start(*UP)
    await_processes(harness, processes_of, ENOUGH[UP])

    harness.signal(signal.SIGKILL)

    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)
    assert run(["cluster", "status", "--cluster", str(harness.folder / ".fencepost/cluster")]) == 3


def is_java(pid: int) -> bool:
    """Whether the process is a server, and no launcher any more: that one ends with its harness."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name == "java"
    except OSError:
        return False


def test_what_a_reaper_cannot_end_any_more_is_healed(
    harness: Harness, processes_of: ProcessesOf, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = harness.folder / ".fencepost" / "cluster"

    def servers() -> set[int]:
        ours = processes_of(MARK, harness.mark) & processes_of(RUN, "")
        return {pid for pid in ours if is_java(pid)}

    harness.start(*UP)
    assert until(lambda: bool(servers()), STARTED_DEADLINE_S), harness.output()
    for reaper in processes_of(MARK, harness.mark) - processes_of(RUN, ""):
        if reaper != harness.pid:
            os.kill(reaper, signal.SIGKILL)

    harness.signal(signal.SIGKILL)
    harness.wait(GONE_DEADLINE_S)

    assert run(["cluster", "up", "--cluster", str(cluster)]) == 3
    assert f"end what it has left with: fencepost heal {cluster}" in capsys.readouterr().err
    assert run(["heal", str(cluster)]) == 0
    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)


def test_who_is_started_by_nohup_outlives_its_terminal(
    harness: Harness, processes_of: ProcessesOf
) -> None:
    harness.start(*CHECK, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    await_processes(harness, processes_of, ENOUGH[CHECK])

    status = Path(f"/proc/{harness.pid}/status").read_text().splitlines()

    (ignored,) = (int(line.split()[1], 16) for line in status if line.startswith("SigIgn:"))
    assert ignored & 1 << signal.SIGHUP - 1


def test_a_terminal_that_is_closed_ends_all(harness: Harness, processes_of: ProcessesOf) -> None:
    leader, terminal = os.openpty()
    with os.fdopen(leader, "rb"), os.fdopen(terminal, "rb"):
        harness.start(*CHAOS, before=lambda: os.login_tty(terminal))
        await_processes(harness, processes_of, ENOUGH[CHAOS])

    harness.wait(30.0)
    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)


def has_executor(pid: int) -> bool:
    """Whether the process is a Spark at work; what a report says of that comes seldom."""
    names = Path(f"/proc/{pid}/task").glob("*/comm")
    with suppress(OSError):
        return any(name.read_text().startswith("Executor task") for name in names)
    return False


def test_a_report_whose_java_is_signalled_as_well_ends_without_a_traceback(
    harness: Harness, processes_of: ProcessesOf
) -> None:
    write_run(harness.folder / "run", 1)
    harness.start("report", "run", before=os.setsid)
    assert until(
        lambda: any(map(has_executor, processes_of(MARK, harness.mark))), STARTED_DEADLINE_S
    ), harness.output()

    os.killpg(harness.pid, signal.SIGHUP)

    assert harness.wait(30.0) == 130, harness.output()
    assert "Traceback" not in harness.output()
    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)


@pytest.mark.parametrize("arguments", [CHECK, SIMULATE], ids=["check", "simulate"])
def test_a_killed_command_leaves_no_worker(
    harness: Harness, processes_of: ProcessesOf, arguments: Sequence[str]
) -> None:
    def working() -> bool:
        return len(processes_of(MARK, harness.mark)) > 1

    harness.start(*arguments)
    assert until(working, STARTED_DEADLINE_S), harness.output()

    harness.signal(signal.SIGKILL)

    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)


@pytest.mark.parametrize("arguments", ENOUGH, ids=["chaos", "soak", "up", "check", "replay"])
@pytest.mark.parametrize("number", ENDING, ids=lambda n: n.name)
def test_an_interrupted_command_stops_what_it_started(
    harness: Harness,
    processes_of: ProcessesOf,
    arguments: tuple[str, ...],
    number: signal.Signals,
) -> None:
    if arguments is REPLAY:
        for seed in range(5):
            write_run(harness.folder / "runs" / f"seed-{seed}", seed)

    harness.start(*arguments)
    await_processes(harness, processes_of, ENOUGH[arguments])

    harness.signal(number)

    assert harness.wait(GONE_DEADLINE_S) == 130, harness.output()
    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)
    assert "Traceback" not in harness.output()
    if arguments in (CHAOS, SOAK):
        told = json.loads((harness.folder / "run" / "verdict.json").read_text())
        assert (told["exit_code"], told["verdict"]) == (130, "NOT_RUN")
        assert (harness.folder / "run" / "junit.xml").exists()
        assert (harness.folder / "run" / "report.html").exists()


def found_by_gate(folder: Path) -> tuple[object, ...]:
    """What does not hang on time: the verdict, that of each stage, and each case with its end."""
    told = json.loads((folder / "verdict.json").read_text())
    stages = [(stage["stage"], stage["verdict"]) for stage in told["stages"]]
    simulated = [one["summary"] for one in told["stages"] if one["stage"] == "simulate"]
    tap = (folder / "results.tap").read_text()
    cases = re.findall(r"^ *(?:not )?ok .*$", tap, re.MULTILINE)
    return told["verdict"], told["exit_code"], stages, simulated, cases


def kill_in(
    stage: str, harness: Harness, processes_of: ProcessesOf, arguments: Sequence[str], enough: int
) -> None:
    """SIGKILL in the middle of a stage, while so many processes work in it; nothing is left."""

    def is_at_work() -> bool:
        ours = processes_of(MARK, harness.mark)
        ours = ours & processes_of(RUN, "") if stage == "chaos" else ours
        return f"\n{stage}: " in harness.output() and len(ours) >= enough

    harness.start(*arguments)
    assert until(is_at_work, STARTED_DEADLINE_S), harness.output()
    harness.signal(signal.SIGKILL)
    assert harness.wait(GONE_DEADLINE_S) == -signal.SIGKILL
    assert not re.search(f"^{stage}: [A-Z]", harness.output(), re.MULTILINE), "it had ended"
    assert until(lambda: not processes_of(MARK, harness.mark), GONE_DEADLINE_S)


def test_a_gate_that_was_killed_in_two_stages_finds_what_an_unbroken_one_does(
    harness: Harness, processes_of: ProcessesOf
) -> None:
    folder = harness.folder / "run"
    resume = ("gate", "--resume", "run")

    kill_in("simulate", harness, processes_of, [*SHARE, "--out", "run"], 3)
    after_first = json.loads((folder / "stages.json").read_text())
    kill_in("chaos", harness, processes_of, resume, PROCESSES)
    assert "gate: whole already: spec\n" in harness.output()
    after_second = json.loads((folder / "stages.json").read_text())
    assert not (folder / "verdict.json").exists()
    harness.start(*resume)
    assert harness.wait(STARTED_DEADLINE_S) == 1, harness.output()
    assert "gate: whole already: spec, simulate\n" in harness.output()
    assert not re.search("^(spec|simulate): ", harness.output(), re.MULTILINE)
    in_the_end = json.loads((folder / "stages.json").read_text())

    harness.start(*SHARE, "--out", "unbroken")
    assert harness.wait(STARTED_DEADLINE_S) == 1, harness.output()

    assert [record["stage"] for record in after_second] == ["spec", "simulate"]
    assert after_second[:1] == after_first
    assert in_the_end[:2] == after_second
    assert found_by_gate(folder) == found_by_gate(harness.folder / "unbroken")
