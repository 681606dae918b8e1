"""A fetch names the epoch in which metadata has the leader, where the release knows of epochs."""

from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from fencepost.conformance.adapters.kafka import wire
from fencepost.conformance.adapters.kafka.transport import KafkaTransport
from fencepost.conformance.clients.transport import Caller
from fencepost.fault_injection.workload.operations import Answer, Fetch
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import NO_EPOCH, LeaderEpoch, Outcome
from fencepost.spec.znodes import TopicPartition
from tests.conformance.adapters.kafka.fake_broker import Answers, Heard, fake_broker

EPOCH = LeaderEpoch(4)
KEY = TopicPartition("orders", 0)


def metadata(address: str, leader: int) -> dict[str, Any]:
    host, _, port = address.rpartition(":")
    led = {"error_code": ErrorCode.none, "partition_index": 0, "leader_id": leader}
    topic = {"error_code": ErrorCode.none, "name": KEY.topic, "is_internal": False}
    return {
        "brokers": [{"node_id": 1, "host": host, "port": int(port), "rack": None}],
        "cluster_id": "c",
        "controller_id": 1,
        "topics": [topic | {"partitions": [led | {"leader_epoch": EPOCH}]}],
    }


def fetched(error: ErrorCode) -> dict[str, Any]:
    one = {"partition_index": 0, "error_code": error, "high_watermark": 3, "records": None}
    told = one | {"aborted_transactions": None}
    return {"error_code": ErrorCode.none, "responses": [{"topic": "orders", "partitions": [told]}]}


@pytest.fixture
def answers() -> Answers:
    return {wire.FETCH: fetched(ErrorCode.none)}


@pytest.fixture
def heard() -> list[Heard]:
    return []


@pytest.fixture
def address(answers: Answers, heard: list[Heard]) -> Iterator[str]:
    with fake_broker(answers, heard) as found:
        answers[wire.METADATA] = metadata(found, leader=1)
        yield found


def fetch(address: str, operation: Fetch, *, has_metadata: bool = True) -> Answer:
    kafka = KafkaTransport()
    caller = Caller(node="client-1", clock=LamportClock())
    try:
        if has_metadata:
            kafka.connect(address, caller).routing_view()
        return kafka.connect(address, caller, 1).perform(operation)
    finally:
        kafka.close()


def named(heard: list[Heard]) -> int:
    (request,) = (one.message for one in heard if one.kind == wire.FETCH)
    return int(request.topics[0].partitions[0].current_leader_epoch)


def test_the_epoch_of_the_metadata_is_named_and_told(address: str, heard: list[Heard]) -> None:
    answer = fetch(address, Fetch(partition=KEY, offset=3))

    assert named(heard) == EPOCH
    assert (answer.outcome, answer.leader_epoch, answer.high_watermark) == (Outcome.OK, EPOCH, 3)


def test_an_epoch_that_is_asked_for_comes_first(address: str, heard: list[Heard]) -> None:
    answer = fetch(address, Fetch(partition=KEY, offset=3, leader_epoch=LeaderEpoch(7)))

    assert named(heard) == answer.leader_epoch == 7


def test_without_metadata_no_epoch_is_named(address: str, heard: list[Heard]) -> None:
    answer = fetch(address, Fetch(partition=KEY, offset=3), has_metadata=False)

    assert named(heard) == NO_EPOCH
    assert answer.leader_epoch is None


def test_a_broker_that_does_not_lead_is_told_no_epoch(
    address: str, answers: Answers, heard: list[Heard]
) -> None:
    answers[wire.METADATA] = metadata(address, leader=2)

    fetch(address, Fetch(partition=KEY, offset=3))

    assert named(heard) == NO_EPOCH


@pytest.mark.parametrize("error", [ErrorCode.fenced_leader_epoch, ErrorCode.unknown_leader_epoch])
def test_a_fetch_of_another_epoch_had_no_effect(
    error: ErrorCode, address: str, answers: Answers
) -> None:
    answers[wire.FETCH] = fetched(error)

    answer = fetch(address, Fetch(partition=KEY, offset=3))

    assert (answer.outcome, answer.error_code) == (Outcome.DEFINITE_ERROR, error.name.upper())
    assert answer.leader_epoch is None
