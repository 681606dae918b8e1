"""What the commands for topics and records print, of a client that answers at once."""

import json
from collections.abc import Iterator

import pytest

from ci.cli import run
from ci.console import counted, printable

VALUE = "a\x1b[31m\tb\r\x07é"
SERVER = ["--bootstrap-server", "127.0.0.1:9092"]
PARTITION = {
    "partition": 0,
    "leader": 2,
    "leader_epoch": 4,
    "isr": [2, 3],
    "assigned_replicas": [1, 2, 3],
}
HEADLESS = {**PARTITION, "partition": 1, "leader": -1, "isr": [1]}
WHOLE = {**PARTITION, "isr": [1, 2, 3]}
CLUSTER = {
    "controller_id": 1,
    "controller_epoch": 7,
    "brokers": [{"broker_id": 2, "address": "127.0.0.1:9092"}],
    "topics": {"orders": [PARTITION, HEADLESS], "paid": [WHOLE]},
}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """One partition with one record, in which there are control characters; what was asked."""
    calls: list[dict[str, object]] = []

    def answers(name: str, servers: str, **arguments: object) -> Iterator[object]:
        calls.append({"name": name, "servers": servers, **arguments})
        given = str(arguments.get("given"))
        placed = {"count": len(json.loads(given)) if name == "produce" else 0, "offset": 5}
        yield {
            "produce": {**placed, "leader": 1},
            "consume": {"offset": 0, "value": VALUE},
            "describe_cluster": CLUSTER,
            "create_topic": {},
        }[name]

    monkeypatch.setattr("ci.client_process.answers", answers)
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
        "Topic: orders\tPartitionCount: 2\tReplicationFactor: 3",
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


def test_a_line_break_and_half_a_surrogate_are_escapes_too() -> None:
    assert printable("a\nb\udcff\u2028\u3000") == "a\\nb\\udcff\\u2028\u3000"
    assert counted(0, "seed") == "0 seeds"
