"""What the commands for topics and records print, of a client that answers at once."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.ci.screens.console import printable

VALUE = "a\x1b[31m\tb\r\x07é"
SERVER = ["--bootstrap-server", "127.0.0.1:9092"]
PARTITION = {
    "partition": 0,
    "topic_id": "7-1",
    "leader": 2,
    "leader_epoch": 4,
    "isr": [2, 3],
    "assigned_replicas": [1, 2, 3],
}
HEADLESS = {**PARTITION, "partition": 1, "leader": -1, "isr": [1]}
WHOLE = {**PARTITION, "isr": [1, 2, 3], "assigned_replicas": [2, 1, 3]}
CLUSTER = {
    "controller_id": 1,
    "controller_epoch": 7,
    "brokers": [{"broker_id": 2, "address": "127.0.0.1:9092"}],
    "topics": {"orders": [PARTITION, HEADLESS], "paid": [WHOLE]},
}


MOVE = {
    "topic": "orders",
    "partition": 0,
    "replicas": [],
    "assigned_replicas": [1, 2, 3],
    "adding": [3],
    "removing": [],
}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """One partition with one record, in which there are control characters; what was asked."""
    calls: list[dict[str, object]] = []

    def answers(name: str, servers: str, _: Path, **arguments: object) -> Iterator[object]:
        calls.append({"name": name, "servers": servers, **arguments})
        given = str(arguments.get("given"))
        placed = {"count": len(json.loads(given)) if name == "produce" else 0, "offset": 5}
        yield {
            "produce": {**placed, "leader": 1},
            "consume": {"offset": 0, "value": VALUE},
            "describe_cluster": CLUSTER,
            "create_topic": {"is_done": not arguments.get("if_not_exists")},
            "list_reassignments": MOVE,
            "reassign": {"topic": "orders", "partition": 0, "error": None, "exit_code": 0},
            "elect": {"topic": "orders", "partition": 1, "error": "why not", "exit_code": 4},
        }[name]

    monkeypatch.setattr("fencepost.ci.client_process.answers", answers)
    return calls


def test_control_characters_of_a_record_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["consume", "orders", *SERVER]) == 0
    assert capsys.readouterr().out == "0\ta\\x1b[31m\\tb\\r\\x07é\n"


def test_machines_get_the_exact_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["consume", "orders", "--json", *SERVER]) == 0
    assert json.loads(capsys.readouterr().out) == [{"offset": 0, "value": VALUE}]


@pytest.mark.parametrize(("values", "said"), [(["x"], "1 record "), (["x", "y"], "2 records ")])
def test_records_are_counted_in_grammar(
    values: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["produce", "orders", *SERVER, *(f"--value={value}" for value in values)]) == 0
    assert capsys.readouterr().out == f"orders/0: {said}from offset 5 on\n"


def test_a_topic_is_described_as_kafkas_tool_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topics", "describe", "orders", *SERVER]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Topic: orders\tTopicId: 7-1\tPartitionCount: 2\tReplicationFactor: 3",
        "\tTopic: orders\tPartition: 0\tLeader: 2\tReplicas: 1,2,3\tIsr: 2,3\tLeaderEpoch: 4",
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1,2,3\tIsr: 1\tLeaderEpoch: 4",
    ]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ([], {"orders": [PARTITION, HEADLESS], "paid": [WHOLE]}),
        (["--under-replicated-partitions"], {"orders": [PARTITION, HEADLESS]}),
        (["--unavailable-partitions"], {"orders": [HEADLESS]}),
    ],
)
def test_the_cluster_is_described_with_the_partitions_that_matter(
    options: list[str], left: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["describe", "--json", *options, *SERVER]) == 0
    assert json.loads(capsys.readouterr().out) == {**CLUSTER, "topics": left}


def test_controller_and_brokers_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["describe", *SERVER]) == 0
    assert capsys.readouterr().out.startswith(
        "Controller: 1\tControllerEpoch: 7\nBroker: 2\tAddress: 127.0.0.1:9092\nTopic: orders\t"
    )


def test_a_topic_that_is_not_there_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topics", "describe", "nosuch", *SERVER]) == 4
    assert "there is no topic nosuch; see fencepost topics list" in capsys.readouterr().err


def test_an_assignment_is_given_as_kafkas_tool_takes_it(asked: list[dict[str, object]]) -> None:
    assert run(["topics", "create", "t", "--replica-assignment", "1:2,2:3", *SERVER]) == 0
    assert asked[-1]["assignment"] == [[1, 2], [2, 3]]


def test_moves_are_listed_with_where_they_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reassign", "list", *SERVER]) == 0
    assert capsys.readouterr().out == (
        "orders-0:\tTarget: back\tReplicas: 1,2,3\tAddingReplicas: 3\tRemovingReplicas: \n"
    )


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["orders", "--replicas=2,1"], 3, "orders-0 is still in progress."),
        (["orders", "--partition=1", "--replicas=1,2,3"], 0, "orders-1 is completed."),
        (["orders", "--partition=1", "--replicas=3"], 3, "orders-1 is not under way, and its "),
        (["orders", "--partition=9", "--replicas=3"], 3, "orders-9 is unknown: there is no such"),
    ],
)
def test_a_move_is_verified(
    words: list[str], exit_code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reassign", "verify", *words, *SERVER]) == exit_code
    assert capsys.readouterr().out.startswith(f"Reassignment of partition {said}")


def test_an_existing_topic_is_no_mistake_when_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    for options, otherwise in [
        ([], ""),
        (["--partitions=2", "--replicas=3"], ""),
        (["--partitions=4"], ", with 2 partitions, not 4"),
        (["--replicas=1"], ", with replication factor 3, not 1"),
    ]:
        assert run(["topics", "create", "orders", "--if-not-exists", *options, *SERVER]) == 0
        assert capsys.readouterr().out == f"Topic orders exists already{otherwise}.\n"


def test_acks_are_named_as_in_kafka(
    asked: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    for word, number in [("all", -1), ("-1", -1), ("1", 1), ("0", 0)]:
        assert run(["produce", "orders", "--value=x", "--acks", word, *SERVER]) == 0
        assert asked[-1]["acks"] == number
    assert run(["produce", "orders", "--value=x", "--acks=2", *SERVER]) == 4
    assert "--acks is '2': give all (or -1), 1 (the leader) or 0" in capsys.readouterr().err


def test_a_file_of_kafkas_tool_is_taken(asked: list[dict[str, object]], tmp_path: Path) -> None:
    wanted = [{"topic": "orders", "partition": 0, "replicas": [2, 1]}]
    file = tmp_path / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": wanted}))

    assert run(["reassign", "execute", "--reassignment-json-file", str(file), *SERVER]) == 0
    assert json.loads(str(asked[-1]["given"])) == wanted
    assert run(["reassign", "cancel", "--reassignment-json-file", str(file), *SERVER]) == 0
    assert json.loads(str(asked[-1]["given"])) == [{**wanted[0], "replicas": []}]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"partitions": [{"topic": "t"}]}', "\xff"])
def test_a_file_that_is_no_reassignment_is_told(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "moves.json"
    file.write_bytes(text.encode("latin-1"))

    assert run(["reassign", "execute", "--reassignment-json-file", str(file), *SERVER]) == 4
    assert f"{file} is not a reassignment: give {{" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([], "names no partition: there is nothing to move"),
        ([("t", 0, [1]), ("t", 1, [1]), ("t", 0, [2])], "names t-0 twice: say once where it goes"),
        ([("t", 0, [1]), ("t", 1, [])], "gives t-1 no replicas; a move is taken back by"),
    ],
)
def test_a_reassignment_that_cannot_be_meant_moves_nothing(
    moves: list[tuple[str, int, list[int]]],
    said: str,
    asked: list[dict[str, object]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "moves.json"
    fields = ("topic", "partition", "replicas")
    partitions = [dict(zip(fields, move, strict=True)) for move in moves]
    file.write_text(json.dumps({"partitions": partitions}))

    assert run(["reassign", "execute", "--reassignment-json-file", str(file), *SERVER]) == 4
    assert f"{file} {said}" in capsys.readouterr().err
    assert asked == []


@pytest.mark.parametrize(
    ("options", "partitions"),
    [
        (["orders"], [("orders", 0), ("orders", 1)]),
        (["orders", "--election-type", "unclean"], [("orders", 1)]),
        (["orders", "--partition", "5"], [("orders", 5)]),
        (["--all-topic-partitions"], [("orders", 0), ("orders", 1)]),
    ],
)
def test_only_partitions_that_need_it_elect(
    options: list[str],
    partitions: list[tuple[str, int]],
    asked: list[dict[str, object]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["elect", *options, *SERVER]) == 4
    assert capsys.readouterr().err == "fencepost: why not\n"
    given = json.loads(str(asked[-1]["given"]))
    assert [(one["topic"], one["partition"]) for one in given] == partitions


def test_where_no_election_is_needed_none_is_asked_for(
    asked: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["elect", "paid", "--election-type", "unclean", *SERVER]) == 0
    assert capsys.readouterr().out.startswith("Every leader is the one")
    assert [call["name"] for call in asked] == ["describe_cluster"]


def test_a_line_break_and_half_a_surrogate_are_escapes_too() -> None:
    assert printable("a\nb\udcff\u2028\u3000") == "a\\nb\\udcff\\u2028\u3000"
