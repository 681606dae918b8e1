"""A local cluster is broken by hand, and each command tells what it saw."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from tests import local_cluster

DEADLINE_S = 60.0
ROOT = Path(__file__).resolve().parents[3]
ALTERNATE_SCREEN, USUAL_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"

pytestmark = pytest.mark.zookeeper

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a local cluster is up; its connections can be cut."""
    found = tmp_path_factory.mktemp("by-hand")
    with local_cluster.running(found / DEFAULT_FOLDER, is_wired=True):
        yield found


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The local cluster is the one in the current folder."""
    monkeypatch.chdir(folder)


def brokers(capsys: Captured) -> dict[int, dict[str, Any]]:
    """The brokers now, by id."""
    capsys.readouterr()
    run(["cluster", "status", "--json"])
    return {one["broker_id"]: one for one in json.loads(capsys.readouterr().out)["brokers"]}


def partition(topic: str, capsys: Captured) -> dict[str, Any]:
    """Its first partition now."""
    capsys.readouterr()
    assert run(["topics", "describe", topic, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)[0]
    return found


def test_a_broker_stands_still_and_goes_on(capsys: Captured) -> None:
    assert run(["cluster", "pause", "2"]) == 0
    told = capsys.readouterr().out
    assert "Broker 2 stands still: process " in told
    assert " in state T." in told
    assert "fencepost cluster resume 2" in told
    assert {i: one["is_paused"] for i, one in brokers(capsys).items()} == {
        1: False,
        2: True,
        3: False,
    }

    assert run(["cluster", "expire", "2"]) == 3
    assert "broker 2 stands still; resume it first" in capsys.readouterr().err
    assert run(["cluster", "resume", "2"]) == 0
    assert "Broker 2 goes on: registered at zxid " in capsys.readouterr().out
    assert not brokers(capsys)[2]["is_paused"]
    assert run(["cluster", "resume", "2"]) == 3
    assert capsys.readouterr().err == "fencepost: broker 2 does not stand still\n"


def test_a_leader_dies_and_another_leads(capsys: Captured) -> None:
    assert run(["topics", "create", "orders", "--replica-assignment", "3:2:1"]) == 0
    assert run(["cluster", "kill", "leader(orders/0)"]) == 0
    told = capsys.readouterr().out
    assert "Broker 3 is dead: process " in told
    assert brokers(capsys)[3]["pid"] is None
    deadline = time.monotonic() + DEADLINE_S
    while partition("orders", capsys)["leader"] != 2:
        assert time.monotonic() < deadline

    assert run(["cluster", "start", "3"]) == 0
    assert capsys.readouterr().out == "Broker 3 is registered.\n"
    assert brokers(capsys)[3]["pid"] is not None


def test_a_session_ends_and_its_broker_registers_anew(capsys: Captured) -> None:
    assert run(["cluster", "expire", "1"]) == 0
    assert "The session of broker 1 is over: session 0x" in capsys.readouterr().out

    deadline = time.monotonic() + DEADLINE_S
    while brokers(capsys)[1]["address"] is None:
        assert time.monotonic() < deadline


def test_a_way_is_cut_and_mended(capsys: Captured) -> None:
    # The controller tells of the ISR: it is beside the way.
    one, two = [str(i) for i, broker in brokers(capsys).items() if not broker["is_controller"]]
    assert run(["topics", "create", "cut", "--replica-assignment", f"{one}:{two}"]) == 0
    assert run(["cluster", "cut", one, two]) == 0
    told = capsys.readouterr().out
    assert f"Nothing passes between {one} and {two}: " in told
    assert told.count("closed to probes") == 2
    deadline = time.monotonic() + DEADLINE_S
    while len(partition("cut", capsys)["isr"]) != 1:
        assert time.monotonic() < deadline

    assert run(["cluster", "mend", one, two]) == 0
    assert "open to probes" in capsys.readouterr().out
    while len(partition("cut", capsys)["isr"]) != 2:
        assert time.monotonic() < deadline
    assert run(["cluster", "mend", one, two]) == 3
    assert capsys.readouterr().err == f"fencepost: nothing is cut between {one} and {two}\n"


def test_a_broker_is_cut_from_zookeeper(capsys: Captured) -> None:
    assert run(["cluster", "cut", "zookeeper", "2"]) == 0
    assert "closed to probes" in capsys.readouterr().out
    assert run(["watch", "--once"]) == 0
    assert "FAULT broker 2 is cut from ZooKeeper" in capsys.readouterr().out

    assert run(["cluster", "mend", "2", "zookeeper"]) == 0
    assert "open to probes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["kill", "9"], 3, "there is no broker 9; choose one of 1, 2, 3"),
        (["pause", "leader(absent/0)"], 3, "no broker is leader(absent/0) now"),
        (["kill", "the big one"], 4, "write a broker id, controller, any, leader(<topic>/<p>)"),
        (["cut", "1", "1"], 4, "both are broker 1; name two"),
        (["up", "--network", "kernel"], 3, "is up already"),
    ],
)
def test_what_cannot_be_broken_is_told(
    words: list[str], code: int, told: str, capsys: Captured
) -> None:
    assert run(["cluster", *words]) == code

    assert told in capsys.readouterr().err


def test_one_screen_shows_the_cluster(capsys: Captured) -> None:
    assert run(["topics", "create", "seen", "--replica-assignment", "1:2"]) == 0
    assert run(["produce", "seen", "--value", "a"]) == 0
    assert run(["cluster", "pause", "3"]) == 0
    capsys.readouterr()
    assert run(["watch", "--once"]) == 0
    told = capsys.readouterr().out
    assert run(["watch", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert run(["cluster", "resume", "3"]) == 0

    assert "FAULT broker 3 stands still" in told
    assert len(told.splitlines()) <= 24
    (seen,) = [one for one in plain["partitions"] if one["partition"] == "seen/0"]
    assert (seen["leader"], seen["high_watermark"], seen["lag"]) == (1, 1, 0)
    assert [one["broker_id"] for one in plain["brokers"] if one["is_paused"]] == [3]


def test_the_live_screen_ends_with_ctrl_c(folder: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "fencepost.ci", "watch", "--every", "0.2"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while shown.count(b"controller ") < 2:  # it renews itself
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # Linux says so when the other side is closed
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)

    assert process.wait(DEADLINE_S) == 0
    assert shown.index(ALTERNATE_SCREEN) < shown.index(USUAL_SCREEN)
    assert b"Traceback" not in shown
    assert b"fencepost cluster down ends it" in shown
