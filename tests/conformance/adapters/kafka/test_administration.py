"""Administrative requests go to the controller, wherever that is by now."""

from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from fencepost.conformance.adapters.kafka import transport, wire
from fencepost.conformance.adapters.kafka.transport import KafkaTransport
from fencepost.conformance.clients.administrator import AdminClient, RefusedError
from fencepost.conformance.clients.transport import REQUEST_UNKNOWN, Caller, ClusterUnreachableError
from fencepost.spec.trace import LamportClock
from fencepost.spec.znodes import TopicPartition
from tests.conformance.adapters.kafka.fake_broker import Answers, fake_broker


def deletion(error: ErrorCode) -> dict[str, Any]:
    return {"responses": [{"name": "orders", "error_code": error}]}


@pytest.fixture
def answers() -> Answers:
    return {}


@pytest.fixture
def address(answers: Answers) -> Iterator[str]:
    with fake_broker(answers) as found:
        host, _, port = found.rpartition(":")
        broker = {"node_id": 1, "host": host, "port": int(port), "rack": None}
        answers[wire.METADATA] = {
            "brokers": [broker],
            "cluster_id": "c",
            "controller_id": 1,
            "topics": [],
        }
        yield found


def delete(address: str, *, forwards: bool = False) -> tuple[str | None, str]:
    kafka = KafkaTransport(forwards=forwards)
    try:
        connection = kafka.connect(address, Caller(node="harness", clock=LamportClock()))
        return connection.delete_topic("orders")
    finally:
        kafka.close()


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.unknown_topic_or_partition])
def test_the_answer_of_the_controller_is_the_last_word(
    error: ErrorCode, answers: Answers, address: str
) -> None:
    answers[wire.DELETE_TOPICS] = deletion(error)

    found, _ = delete(address)

    assert found == (None if error is ErrorCode.none else error.name.upper())


def test_a_former_controller_is_asked_until_the_time_is_over(
    answers: Answers, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "CONTROLLER_S", 0.05)
    answers[wire.DELETE_TOPICS] = deletion(ErrorCode.not_controller)

    assert delete(address)[0] == "NOT_CONTROLLER"


def test_a_request_follows_a_controller_that_moves(answers: Answers, address: str) -> None:
    told = iter([deletion(ErrorCode.not_controller), deletion(ErrorCode.none)])
    answers[wire.DELETE_TOPICS] = lambda: next(told)

    assert delete(address) == (None, "")


def test_a_broker_that_forwards_is_asked_whatever_controller_it_names(
    answers: Answers, address: str
) -> None:
    metadata = answers[wire.METADATA]
    assert isinstance(metadata, dict)
    metadata["controller_id"] = 3
    answers[wire.DELETE_TOPICS] = deletion(ErrorCode.none)

    assert delete(address, forwards=True) == (None, "")
    with pytest.raises(ClusterUnreachableError, match="the broker knows no controller"):
        delete(address)


def test_a_request_that_the_broker_does_not_know_is_unknown(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = {**wire.KNOWN, wire.ALTER_PARTITION_REASSIGNMENTS: (9,)}
    monkeypatch.setattr(wire, "KNOWN", newer)
    kafka = KafkaTransport()

    with pytest.raises(RefusedError, match="the broker takes no request 45") as refused:
        AdminClient(lambda: [address], kafka).reassign(TopicPartition("orders", 0), [1])

    kafka.close()
    assert refused.value.error_code == REQUEST_UNKNOWN
