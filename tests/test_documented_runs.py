"""Commands of README and docs that need a run, an adapter or a release: as they are written.

Each session is a folder in which its commands are executed in order. What the pages call RUN, FILE
or `my-adapter` is there: a command before them made it, or the session brings it.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from tests.test_documents import ROOT

BROKER_ADAPTER = ROOT / "tests" / "conformance" / "adapters" / "remote" / "broker_adapter.py"
"""What the tutorial of adapters ends with."""
EXPECTATIONS = Path("conformance") / "adapters" / "kafka" / "expectations.toml"
CONTROL = "conform run --profile control-replicas"
MINE = "--target 'cmd:python3 my-adapter/adapter.py'"
UNDECIDED, DIFFERS = 2, 16
"""Exit codes: of one story some checks have nothing to judge; of a comparison."""
SHOWS_A_RACE = -1
"""Exit code 0 or 1: `version_race` meets KAFKA-2729 in most runs, and not in each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Commands that build on each other in one folder."""

    mark: pytest.MarkDecorator
    """When it is played: it takes minutes, or needs releases of Kafka."""
    bring: Callable[[], None] = lambda: None
    """Makes what a reader has: called in the folder."""
    before: tuple[str, ...] = ()
    """Commands of no page; their exit codes are not looked at, for some make a run that failed."""
    ends: dict[str, int]
    """Documented command -> its exit code."""


def a_run() -> None:
    Path("RUN").symlink_to(Path("reports", "runs", "latest"))
    Path("DIR").symlink_to(Path("reports", "runs"))
    shutil.copy(ROOT / "ci" / "budgets.toml", "FILE")


def own_adapter() -> None:
    for place in (Path("my-adapter"), Path()):
        place.mkdir(exist_ok=True)
        shutil.copy(BROKER_ADAPTER, place / "adapter.py")


def own_program() -> None:
    program = Path("my-adapter")
    program.write_text(f"#!{sys.executable}\n{BROKER_ADAPTER.read_text()}")
    program.chmod(0o755)


def expectations() -> None:
    EXPECTATIONS.parent.mkdir(parents=True)
    shutil.copy(ROOT / EXPECTATIONS, EXPECTATIONS)


SESSIONS = {
    "run": Session(
        mark=pytest.mark.long,
        bring=a_run,
        before=("chaos --story leader_kill",),
        ends={
            "fencepost report reports/runs/latest": UNDECIDED,
            "fencepost report RUN": UNDECIDED,
            "fencepost report RUN --budgets FILE": UNDECIDED,
            "fencepost report RUN --table runs": UNDECIDED,
            "fencepost report --table runs": 0,
            "fencepost report --table reports/runs": 0,
            "fencepost report --table DIR": 0,
            "fencepost check --trace reports/runs/latest": 0,
            "fencepost check --trace RUN": 0,
            "fencepost chaos --replay RUN": 0,
        },
    ),
    "suite": Session(
        mark=pytest.mark.long,
        before=(
            f"{CONTROL} -t reference --out OLD",
            f"{CONTROL} -t reference:accept_older_leader_epoch --out RUN",
            f"{CONTROL} -t reference:accept_older_leader_epoch --out NEW",
        ),
        ends={
            "fencepost conform report RUN": 1,
            "fencepost conform validate RUN": 0,
            "fencepost conform rerun RUN": 1,
            "fencepost conform run --resume RUN": 1,
            "fencepost conform diff OLD NEW": DIFFERS,
            "fencepost conform expect update RUN FILE": 0,
            "fencepost conform expect update RUN kafka.toml": 0,
            "fencepost conform expect show RUN kafka.toml": 0,
        },
    ),
    "adapter": Session(
        mark=pytest.mark.long,
        bring=own_adapter,
        ends=dict.fromkeys(
            (
                f"fencepost doctor {MINE}",
                f"fencepost conform run {MINE} --select topics/created_and_read",
                f"fencepost conform run {MINE} --profile core-single",
                f"fencepost chaos {MINE} --story leader_kill",
                "fencepost chaos --target 'cmd:python3 adapter.py' --story leader_kill",
            ),
            0,
        ),
    ),
    "gate": Session(
        mark=pytest.mark.nightly,
        bring=a_run,
        ends={
            "fencepost gate": 0,
            "fencepost gate --resume RUN": 0,
            "fencepost gate --baseline RUN": 0,
            "fencepost gate --level 0": 1,
        },
    ),
    "shares": Session(
        mark=pytest.mark.nightly,
        before=tuple(f"gate --shard {number}/4 --out share-{number}" for number in (1, 3, 4)),
        ends=dict.fromkeys(
            (
                "fencepost gate --shard 2/4",
                "fencepost gate --shard 2/4 --out share-2",
                "fencepost merge share-1 share-2 share-3 share-4",
            ),
            0,
        ),
    ),
    "program": Session(
        mark=pytest.mark.nightly,
        bring=own_program,
        ends={"fencepost gate --target cmd:./my-adapter": 0},
    ),
    "claim": Session(
        mark=pytest.mark.nightly,
        bring=own_adapter,
        ends={f"fencepost conform run {MINE} --profile core": 0},
    ),
    "kafka": Session(
        mark=pytest.mark.kafka,
        bring=expectations,
        ends={
            "fencepost chaos --target kafka:3.9.1 --story leader_kill": 0,
            "fencepost chaos --target kafka:3.9.1 --story random --seed 7": 0,
            "fencepost chaos --target kafka:3.9.1+librdkafka --story quiet": 0,
            "fencepost chaos --target kafka:3.9.1@2.6 --story quiet": 0,
            "fencepost chaos --target kafka:4.4.0 --story leader_kill": 0,
            "fencepost bugs run KIP-101 -t kafka:0.10.2.2": 1,
            "fencepost bugs run KIP-966 -t kafka:4.1.1": 1,
            "fencepost conform run -t kafka:0.10.2.2 --select durability": 1,
            "fencepost gate --target kafka:3.9.1": SHOWS_A_RACE,
            f"fencepost gate --target kafka:3.9.1 --expect {EXPECTATIONS}": SHOWS_A_RACE,
        },
    ),
}
EXECUTED = frozenset(line for session in SESSIONS.values() for line in session.ends)
"""What `make long`, `make nightly` and `make kafka` execute."""


@pytest.mark.zookeeper
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=session.mark) for name, session in SESSIONS.items()]
)
def test_commands_end_as_their_pages_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SESSIONS[name]
    own = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join((own, os.environ["PATH"])))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    session.bring()
    for line in session.before:
        run(shlex.split(line))

    ended = {line: int(run(shlex.split(line)[1:])) for line in session.ends}
    racy = {line for line, code in session.ends.items() if code == SHOWS_A_RACE}

    assert {line: code for line, code in ended.items() if line not in racy} == {
        line: code for line, code in session.ends.items() if line not in racy
    }
    assert {ended[line] for line in racy} <= {0, 1}
