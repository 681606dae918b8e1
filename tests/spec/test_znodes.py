"""Paths and documents: what is written can be read, what is malformed names its path."""

import pytest

from fencepost.spec.vocabulary import BrokerId, ControllerEpoch, LeaderEpoch
from fencepost.spec.znodes import (
    BrokerDocument,
    ControllerDocument,
    LeaderAndIsr,
    MalformedZnodeError,
    TopicDocument,
    TopicPartition,
    broker_path,
    document_bytes,
    leader_and_isr_path,
    parse_broker,
    parse_controller,
    parse_controller_epoch,
    parse_leader_and_isr,
    parse_topic,
    partition_of,
    topic_path,
)


def test_paths_are_those_of_the_design() -> None:
    partition = TopicPartition("orders", 7)

    assert broker_path(3) == "/brokers/ids/3"
    assert topic_path("orders") == "/brokers/topics/orders"
    assert leader_and_isr_path(partition) == "/brokers/topics/orders/7/leaderAndISR"


def test_a_partition_is_found_in_its_path_and_nowhere_else() -> None:
    partition = TopicPartition("a.b-c_d", 12)

    assert partition_of(leader_and_isr_path(partition)) == partition
    assert partition_of("/brokers/topics/orders/x/leaderAndISR") is None
    assert partition_of("/brokers/topics/orders/7") is None


def test_the_controller_document_is_the_one_of_the_text() -> None:
    document = ControllerDocument(brokerid=0, timestamp="1593330804078")

    assert document_bytes(document) == b'{"version":1,"brokerid":0,"timestamp":"1593330804078"}'
    assert parse_controller("/controller", document_bytes(document)) == document


def test_a_state_survives_its_document() -> None:
    state = LeaderAndIsr(
        leader=BrokerId(2),
        leader_epoch=LeaderEpoch(5),
        isr=frozenset({BrokerId(3), BrokerId(2)}),
        controller_epoch=ControllerEpoch(4),
    )

    assert parse_leader_and_isr("/p", state.document()) == state
    assert b'"isr":[2,3]' in state.document()


def test_a_broker_document_survives() -> None:
    document = BrokerDocument(host="127.0.0.1", port=9092)

    assert parse_broker("/brokers/ids/1", document_bytes(document)) == document


def test_an_assignment_keeps_the_order_of_its_replicas() -> None:
    data = document_bytes(TopicDocument(partitions={"1": [3, 1], "0": [2, 3]}))

    assert parse_topic("/t", data) == {1: (3, 1), 0: (2, 3)}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"[]",
        b'{"version":1}',
        b'{"version":1,"partitions":{"x":[1]}}',
        b'{"version":1,"partitions":{"0":[]}}',
        b'{"version":1,"partitions":{"0":[1,1]}}',
        b'{"version":1,"partitions":{"0":["1"]}}',
    ],
)
def test_a_malformed_topic_names_its_path(data: bytes) -> None:
    with pytest.raises(MalformedZnodeError, match="/brokers/topics/t") as caught:
        parse_topic("/brokers/topics/t", data)

    assert caught.value.path == "/brokers/topics/t"


@pytest.mark.parametrize("data", [b"", b"-1", b"1.5", b"one", b'{"epoch":1}'])
def test_a_malformed_controller_epoch_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedZnodeError, match="/controller_epoch"):
        parse_controller_epoch(data)


def test_the_controller_epoch_is_a_decimal_number() -> None:
    assert parse_controller_epoch(b"17") == 17


def test_partitions_are_ordered_by_topic_then_number() -> None:
    partitions = [TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)]

    assert [str(p) for p in sorted(partitions)] == ["a/9", "a/10", "b/0"]
