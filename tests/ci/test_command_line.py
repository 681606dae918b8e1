"""A person's mistakes: one clear sentence on stderr, the right exit code, no traceback."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from fencepost.ci.cli import COMMANDS, command_of, run

ROOT = Path(__file__).resolve().parents[2]

USAGE = [
    (["nosuch"], "No such command 'nosuch'; see fencepost --help"),
    (["gate", "--tier", "huge"], "'huge' is not one of 'quick', 'pull_request', 'nightly'"),
    (["gate", "--level", "7"], "Invalid value for '--level'"),
    (["gate", "--seed", "-1"], "Invalid value for '--seed'"),
    (["gate", "--nosuch"], "No such option"),
    (["gate", "--out", "full"], "full is not empty; name a new folder with --out"),
    (["gate", "--out", "file"], "file is not a folder; name another with --out"),
    (["gate", "--zookeeper", "nowhere"], "'nowhere' is no ZooKeeper address; write HOST:PORT"),
    (["check", "nosuch"], "unknown model nosuch; fencepost check --list names all"),
    (["check", "--tier", "huge"], "'huge' is not one of 'quick'"),
    (["simulate", "--mutant", "nosuch"], "unknown mutant 'nosuch'"),
    (["simulate", "--seeds", "0"], "Invalid value for '--seeds'"),
    (["simulate", "--level", "x"], "Invalid value for '--level'"),
    (["chaos", "--story", "nosuch"], "unknown story 'nosuch'"),
    (["chaos", "--from-counterexample", "nosuch"], "unknown model nosuch"),
    (["chaos", "--from-counterexample", "all", "--story", "x"], "exclude each other"),
    (["chaos", "--moves", "nosuch"], "nosuch: No such file or directory; name a file of moves"),
    (["chaos", "--soak", "soon"], "'soon' is not a duration; write for example 90s, 10m or 1h"),
    (["chaos", "--soak", "1h", "--replay", "x"], "exclude each other; give one"),
    (["chaos", "--resume", "nowhere"], "nowhere holds no soak: soak.json cannot be read"),
    (["chaos", "--resume", "x", "--level", "1"], "give only --soak beside it"),
    (["chaos", "--mutant", "earthquake"], "unknown mutant 'earthquake'"),
    (["chaos", "--zookeeper", "127.0.0.1"], "is no ZooKeeper address; write HOST:PORT"),
    (["report", "nosuch"], "nosuch is not a run folder: there is no such folder"),
    (["report", "file"], "file is a file; name the run folder that holds"),
    (
        ["report", "full", "--spark-master", "nosuch"],
        "'nosuch' is not a Spark master; give spark://",
    ),
    (
        ["gate", "--spark-master", "local["],
        "'local[' is not a Spark master; give spark://HOST:PORT",
    ),
    (["report", "empty"], "empty is not a run folder: it holds no trace-*.ndjson"),
    (
        ["report", "--table", "nosuch"],
        "nosuch holds no analysed run; add one: fencepost report RUN --table",
    ),
    (
        ["report", "full", "--budgets", "file"],
        "file has no table [failover]; give each",
    ),
    (
        ["gate", "--budgets", "nosuch"],
        "nosuch cannot be read: No such file or directory; give",
    ),
    (["gate", "--budgets", "empty"], "empty cannot be read: Is a directory; give each of detected"),
    (["gate", "--workers", "0"], "Invalid value for '--workers'"),
    (["gate", "--shard", "5/4"], "there is no share 5/4; write 1/4 to 4/4 for four, and at most"),
    (["gate", "--shard", "half"], "'half' is no share; write for example 2/4, the second of four"),
    (["gate", "--baseline", "file"], "file is a file; name the run folder that holds it"),
    (["gate", "--baseline", "full"], "full is not a run folder: it holds no stages.json"),
    (["gate", "--resume", "nosuch"], "nosuch is not a run folder: there is no such folder"),
    (["gate", "--resume", "file"], "file is a file; name the run folder that holds it"),
    (["gate", "--resume", "full"], "full holds no session.json: no gate was begun there"),
    (
        ["gate", "--resume", "full", "--seed", "3"],
        "goes on with what a gate was asked for",
    ),
    (["gate", "--summary", "empty"], "empty is a folder; name a file with --summary"),
    (["gate", "--target", "kafka:0.1"], "kafka:0.1"),
    (["merge"], "Missing argument 'RUN...'"),
    (["merge", "nosuch"], "nosuch is not a run folder: there is no such folder"),
    (["merge", "file"], "file is a file; name the run folder that holds it"),
    (["merge", "full"], "full holds no session.json: no gate was begun there"),
    (["diff", "full", "nosuch"], "full is not a run folder: it holds no stages.json"),
    (["diff", "file", "full"], "file is a file; name the run folder that holds it"),
    (["cluster", "up", "--brokers", "0"], "Invalid value for '--brokers'"),
    (["cluster", "up", "--zookeeper-port", "70000"], "Invalid value for '--zookeeper-port'"),
    (["topics", "create"], "Missing argument 'TOPIC'"),
    (["topics", "create", "t", "--replication-factor", "0"], "'--replication-factor'"),
    (["topics", "create", "t", "--replica-assignment", "1:x"], "'1:x' is not an assignment: give"),
    (
        ["topics", "create", "t", "--replica-assignment", "1:2", "--partitions", "2"],
        "--replica-assignment says how many: leave the counts out",
    ),
    (["topics", "list", "--bootstrap-server", "nowhere"], "'nowhere' is no bootstrap server: give"),
    (["consume", "orders", "--offset", "first"], "'first' is not an offset: give a number"),
    (["consume", "orders", "--follow", "--json"], "give --max-messages"),
    (["produce"], "Missing argument 'TOPIC'"),
    (["partitions", "add", "t"], "Missing option '--partitions'"),
    (["partitions", "remove", "t"], "Missing option '--partition'"),
    (["reassign", "execute", "t"], "give brokers with --replicas 1,2,3"),
    (["reassign", "execute", "--replicas", "1"], "give a topic, or --reassignment-json-file"),
    (["reassign", "execute", "--reassignment-json-file", "nosuch"], "nosuch: No such file"),
    (["reassign", "execute", "--reassignment-json-file", "full"], "Is a directory; name a file"),
    (["reassign", "execute", "--reassignment-json-file", "file"], 'give {"partitions": [{"topic"'),
    (
        ["reassign", "execute", "t", "--reassignment-json-file", "file"],
        "--reassignment-json-file names all: leave topic and --replicas out",
    ),
    (["elect"], "give a topic, or --all-topic-partitions"),
    (["elect", "--all-topic-partitions", "--partition", "0"], "--partition names partitions of"),
    (["elect", "t", "--election-type", "best"], "'best' is not one of 'preferred', 'unclean'"),
    (["produce", "orders", "--value", "x", "--acks", "2"], "--acks is '2': give all (or -1), 1"),
    (["produce", "orders", "--value", "x\udcffy"], r"'x\udcffy' is not UTF-8 text"),
    (["topics", "create", "\udcff"], r"'\udcff' is not UTF-8 text"),
]

HARNESS = [
    (
        ["cluster", "status"],
        "no cluster is up in .fencepost/cluster; start one with: fencepost cluster up",
    ),
    (
        ["topics", "list", "--cluster", "my own"],
        "no cluster is up in my own; start one with: fencepost cluster up --cluster 'my own'",
    ),
    (["cluster", "down"], "no cluster is up in .fencepost/cluster; start one with: "),
    (["topics", "list"], "no cluster is up in .fencepost/cluster; start one with: "),
    (["topics", "describe", "orders"], "no cluster is up in "),
    (["produce", "orders", "--value", "x"], "no cluster is up in "),
    (["consume", "orders"], "no cluster is up in "),
    (["describe"], "no cluster is up in "),
    (["partitions", "add", "t", "--partitions", "2"], "no cluster is up in "),
    (["elect", "t"], "no cluster is up in "),
    (["cluster", "up", "--cluster", "file"], "file takes no files: File exists; name another fol"),
    (["cluster", "up", "--cluster", "file/below"], "Not a directory; name another folder with --"),
    (["cluster", "up", "--cluster", "/proc/x"], "/proc/x takes no files: No such file or directo"),
    (["cluster", "up", "--cluster", "3" * 300], "File name too long; name another folder"),
    (["cluster", "status", "--cluster", "3" * 300], "File name too long; choose or make another"),
    (["chaos", "--zookeeper", "127.0.0.1:1"], "no ZooKeeper answers at 127.0.0.1:1: "),
    (["gate", "--zookeeper", "127.0.0.1:1/x"], "no ZooKeeper answers at 127.0.0.1:1: "),
]


def spelled(value: object) -> str:
    """A command line as the name of its test."""
    return " ".join(value) if isinstance(value, list) else ""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder of one's own, with the things that the commands stumble over."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr that is not progress; nothing is on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    lines = [line for line in err.splitlines() if line.startswith("fencepost: ")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(("arguments", "sentence"), USAGE, ids=spelled)
def test_a_mistake_in_the_command_is_usage(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 4
    assert sentence in complaint(capsys)


@pytest.mark.parametrize(("arguments", "sentence"), HARNESS, ids=spelled)
def test_what_the_world_refuses_is_incomplete(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 3
    assert sentence in complaint(capsys)


def test_a_reader_that_went_away_ends_a_command_as_in_a_shell() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "fencepost.ci", "faults", "list"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


def test_what_the_client_says_of_a_silent_cluster_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Path("client").absolute()
    client.write_text("#!/bin/sh\necho no broker answers at h:1 >&2; exit 3\n")
    client.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(client))

    assert run(["describe", "--bootstrap-server", "h:1"]) == 3
    assert "no broker answers at h:1" in complaint(capsys)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which a server listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.zookeeper
def test_a_port_in_use_is_named_and_nothing_is_left(
    taken_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cluster", "up", "--zookeeper-port", str(taken_port)]) == 3
    assert f"port {taken_port} of 127.0.0.1 is in use" in complaint(capsys)
    assert not Path(".fencepost/cluster/cluster.json").exists()


def test_a_server_that_is_no_zookeeper_is_told(
    taken_port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fencepost.conformance.adapters.zookeepers.ANSWER_S", 0.5)

    assert run(["chaos", "--zookeeper", f"127.0.0.1:{taken_port}"]) == 3
    assert f"127.0.0.1:{taken_port}" in complaint(capsys)


@pytest.mark.parametrize("command", ["gate", "chaos"])
def test_a_folder_without_permission_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)

    assert run([command, "--out", "closed"]) == 3
    assert "no permission to write closed; name another with --out" in complaint(capsys)


def test_a_cluster_does_not_begin_on_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = shutil.disk_usage(".")._replace(free=5 * 1024 * 1024)
    monkeypatch.setattr("shutil.disk_usage", lambda _: left)

    assert run(["cluster", "up", "--cluster", "here"]) == 3
    said = "the disk of here is full: 5 MiB are left, and a cluster needs 64; make room"
    assert said in complaint(capsys)


def test_a_defect_of_ours_shows_its_traceback_and_is_no_violation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("fencepost.ci.commands.check.load_models", break_down)

    assert run(["check"]) == 3
    err = capsys.readouterr().err
    assert "ZeroDivisionError: of ours" in err
    assert err.splitlines()[-1].startswith("fencepost: this is a defect of Fencepost itself")


def test_an_interruption_is_exit_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fencepost.ci.commands.check.load_models", interrupt)

    assert run(["check"]) == 130
    assert "interrupted" in complaint(capsys)


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 4
    assert "Usage: fencepost" in capsys.readouterr().err


def test_the_version_is_that_of_the_installed_distribution(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"fencepost {version('fencepost')}\n"


def test_what_is_not_installed_has_no_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.Distribution.discover", lambda **_: iter(()))

    assert run(["--version"]) == 3
    assert "fencepost is not installed here" in complaint(capsys)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_begins_as_in_the_list_of_commands(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, sentence = COMMANDS[name]

    assert run([name, "--help"]) == 0
    assert f"Usage: fencepost {name}" in capsys.readouterr().out
    assert sentence.rstrip(".") in (command_of(name).help or "")


def test_help_imports_no_room_but_its_own() -> None:
    code = (
        "import sys; from fencepost.ci.cli import run; run(['--help']); "
        "print('loaded', *sorted(m for m in sys.modules if {*m.split('.')[:2]} & "
        "{'spec', 'conformance', 'fault_injection', 'reports', 'kazoo', 'grpc', 'pyspark'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert re.search(r"^loaded\s*$", done.stdout, re.MULTILINE)
