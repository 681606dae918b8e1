"""The commands of topics and records, as a person types them, on a real cluster."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from tests import local_cluster

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 60.0

pytestmark = pytest.mark.zookeeper


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a local cluster is up."""
    found = tmp_path_factory.mktemp("session")
    with local_cluster.running(found / DEFAULT_FOLDER):
        yield found


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The local cluster is the one in the current folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def piped(*words: str, stdin: bytes) -> "subprocess.CompletedProcess[bytes]":
    """`fencepost` at the end of a pipe."""
    command = [sys.executable, "-m", "fencepost.ci", *words]
    return subprocess.run(
        command, input=stdin, capture_output=True, timeout=DEADLINE_S, check=False
    )


def test_a_session(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topics", "create", "orders", "--partitions=2", "--replication-factor=3"]) == 0
    assert run(["produce", "orders", "--value", "hello", "--value", "a\nb"]) == 0
    assert piped("produce", "orders", stdin="three\nfoür".encode()).returncode == 0
    assert capsys.readouterr().out.splitlines() == [
        "Created topic orders.",
        "orders/0: 2 records from offset 0 on",
    ]

    assert run(["consume", "orders", "--json"]) == 0
    read = [(record["offset"], record["value"]) for record in json.loads(capsys.readouterr().out)]
    assert read == [(0, "hello"), (1, "a\nb"), (2, "three"), (3, "foür")]

    assert run(["consume", "orders", "--follow", "--max-messages=1", "--offset=3"]) == 0
    assert capsys.readouterr().out == "3\tfoür\n"

    assert run(["describe", "--json"]) == 0
    (first, second) = json.loads(capsys.readouterr().out)["topics"]["orders"]
    assert (first["leader"], second["leader"]) == (1, 2)


def test_partitions_are_added_removed_and_led(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topics", "create", "paid", "--replica-assignment", "1:2"]) == 0
    assert run(["topics", "create", "paid", "--if-not-exists"]) == 0
    assert run(["partitions", "add", "paid", "--partitions=2"]) == 0
    assert run(["partitions", "remove", "paid", "--partition=1"]) == 0
    assert run(["elect", "paid", "--partition=0"]) == 4
    assert run(["reassign", "execute", "paid", "--replicas=9"]) == 4
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1:] == [
        "Topic paid exists already.",
        "Topic paid has 2 partitions.",
        "Removed 1 partition of topic paid.",
    ]
    not_needed, nobody = shown.err.splitlines()
    assert not_needed == "fencepost: paid/0: ELECTION_NOT_NEEDED paid/0 is led by 1 already"
    assert "INVALID_REPLICA_ASSIGNMENT" in nobody

    assert run(["topics", "delete", "paid"]) == 0
    assert run(["topics", "delete", "paid", "--if-exists"]) == 0
    assert run(["topics", "delete", "paid"]) == 4
    shown = capsys.readouterr()
    assert shown.out == "Deleted topic paid.\nThere is no topic paid.\n"
    assert "UNKNOWN_TOPIC_OR_PARTITION topic paid does not exist" in shown.err


def test_a_broker_ends_once_others_lead_and_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topics", "create", "kept", "--replica-assignment", "3:2:1"]) == 0
    assert run(["cluster", "stop", "3"]) == 0
    capsys.readouterr()
    assert run(["describe", "--json"]) == 0
    [kept] = json.loads(capsys.readouterr().out)["topics"]["kept"]
    assert (kept["leader"], kept["isr"], kept["leader_epoch"]) == (2, [1, 2], 1)

    assert run(["cluster", "stop", "3"]) != 0
    assert run(["cluster", "start", "2"]) != 0
    assert run(["cluster", "stop", "9"]) != 0
    assert run(["cluster", "start", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "Broker 3 is registered.\n"
    down, up, unknown = shown.err.splitlines()
    assert down == "fencepost: broker 3 does not run"
    assert up.startswith("fencepost: broker 2 runs already, as pid ")
    assert unknown == "fencepost: there is no broker 9; choose one of 1, 2, 3"
    assert run(["cluster", "cut", "1", "2"]) == 3
    assert "start it again with: fencepost cluster up --network proxy" in capsys.readouterr().err


def test_a_partition_moves_and_a_topic_of_the_same_name_is_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["topics", "create", "moved", "--replica-assignment", "1:2"]) == 0
    assert run(["produce", "moved", "--value=first"]) == 0
    assert run(["reassign", "execute", "moved", "--replicas=3"]) == 0
    deadline = time.monotonic() + DEADLINE_S
    while run(["reassign", "verify", "moved", "--replicas=3"]) != 0:
        assert time.monotonic() < deadline
    capsys.readouterr()
    assert run(["consume", "moved"]) == 0
    assert capsys.readouterr().out == "0\tfirst\n"

    described = ["topics", "describe", "moved", "--json"]
    assert run(described) == 0
    (before,) = json.loads(capsys.readouterr().out)
    assert (before["leader"], before["isr"], before["assigned_replicas"]) == (3, [3], [3])
    assert run(["topics", "delete", "moved"]) == 0
    assert run(["topics", "create", "moved", "--replica-assignment", "1:2"]) == 0
    capsys.readouterr()
    assert run(described) == 0
    (after,) = json.loads(capsys.readouterr().out)
    assert after["topic_id"] not in ("", before["topic_id"])
    assert run(["consume", "moved"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["topics", "delete", "moved"]) == 0


def test_entries_are_set_shown_and_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    of_both = ["--user=ann", "--client-id="]
    assert run(["configs", "set", "color=red", "size=", "--topic=orders"]) == 0
    assert run(["configs", "set", "controller_mutation_rate=2.5", *of_both]) == 0
    assert run(["configs", "delete", "size", "--topic=orders"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "topic orders: color=red, size=.",
        "user ann, client-id <default>: controller_mutation_rate=2.5.",
        "topic orders: no size.",
    ]
    wanted: list[dict[str, object]] = [
        {"kind": "topic", "names": ["orders"], "entries": {"color": "red"}},
        {
            "kind": "user_client",
            "names": ["ann", ""],
            "entries": {"controller_mutation_rate": "2.5"},
        },
    ]
    assert shown_in_time(capsys, ["configs", "describe", "--json"], wanted) == wanted


def test_permissions_are_added_shown_and_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    reads = ["--allow-principal=User:ann", "--operation=Read", "--topic=orders"]
    denied = ["--deny-principal=User:bob", "--operation=All", "--prefix=or", "--host=10.0.0.1"]
    assert run(["acls", "add", *reads]) == 0
    assert run(["acls", "add", *denied]) == 0
    assert run(["acls", "remove", *reads]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Added: User:ann may Read topic orders.",
        "Added: User:bob may not All topic or... from 10.0.0.1.",
        "No more: User:ann may Read topic orders.",
    ]
    wanted: list[dict[str, object]] = [
        {
            "pattern": "prefixed",
            "resource_type": "topic",
            "name": "or",
            "permission": "DENY",
            "operation": "All",
            "host": "10.0.0.1",
            "principal": "User:bob",
        }
    ]
    assert shown_in_time(capsys, ["acls", "list", "--json"], wanted) == wanted


def shown_in_time(
    capsys: pytest.CaptureFixture[str], words: list[str], wanted: list[dict[str, object]]
) -> list[dict[str, object]]:
    """What the command shows once a broker has read the changes, or at the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        assert run(words) == 0
        found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
        if found == wanted or time.monotonic() > deadline:
            return found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["configs", "set", "min.insync.replicas=0", "--topic=orders"],
            "INVALID_CONFIG topic orders: min.insync.replicas='0' cannot be",
        ),
        (
            ["acls", "add", "--allow-principal=User:ann", "--operation=Rad", "--topic=orders"],
            "INVALID_CONFIG acl literal/topic/orders: 'Rad' is no operation of an ACL",
        ),
        (["topics", "create", "a/b"], "INVALID_TOPIC 'a/b' is no topic name"),
        (["produce", "nosuch", "--value=x"], "there is no topic nosuch"),
        (["consume", "orders", "--offset", "99"], "has offsets 0 to 4, not 99"),
    ],
)
def test_a_mistake_gets_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fencepost: ")
    assert said in line


def test_a_line_that_is_no_text_is_named_and_what_was_appended_is_told() -> None:
    done = piped("produce", "orders", stdin=b"five\nsix\n\xff\nseven\n")

    assert done.returncode == 4
    assert done.stderr == (
        b"fencepost: line 3 of standard input is not UTF-8 text; 2 other records were appended\n"
    )


@pytest.mark.parametrize(
    ("topic", "records", "code"),
    [("one", 1, 0), ("many", 200, 141)],
    ids=["all-is-written-before", "more-than-a-pipe-holds"],
)
def test_a_reader_of_records_that_went_away_is_no_failure(
    topic: str, records: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["topics", "create", topic]) == 0
    lines = "".join(f"{number:<2000}\n" for number in range(records))
    assert piped("produce", topic, stdin=lines.encode()).returncode == 0
    capsys.readouterr()
    consume = f"{sys.executable} -m fencepost.ci consume {topic}"

    done = subprocess.run(
        ["bash", "-c", f"{consume} | head -n 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.split() == ["0", "0"]


def test_what_the_terminal_cannot_show_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = piped("consume", "orders", "--offset=3", "--max-messages=1", stdin=b"")

    assert (done.returncode, done.stdout) == (0, b"3\tfo\\xfcr\n")
