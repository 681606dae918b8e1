"""Messages of Kafka are made of plain mappings, in the versions that a broker speaks."""

from io import BytesIO
from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KafkaError
from kio.serial import entity_writer

from fencepost.conformance.adapters.kafka import commands, wire
from fencepost.fault_injection.workload.commands import (
    CommandedPartition,
    ControlCommand,
    ControlMethod,
)
from fencepost.spec.znodes import TopicPartition

STALE = KafkaError.stale_controller_epoch

REQUESTS: dict[int, dict[str, Any]] = {
    wire.METADATA: dict(wire.ALL_METADATA),
    wire.CREATE_TOPICS: {
        "topics": [
            {
                "name": "orders",
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [{"partition_index": 0, "broker_ids": [1, 2]}],
                "configs": [],
            }
        ],
        "timeout": 5000,
        "validate_only": False,
    },
    wire.DELETE_TOPICS: {"topic_names": ["orders"], "timeout": 5000},
    wire.ELECT_LEADERS: {
        "election_type": 0,
        "topic_partitions": [{"topic": "orders", "partitions": [0]}],
        "timeout": 5000,
    },
    wire.ALTER_PARTITION_REASSIGNMENTS: {
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "replicas": [2, 1]}]}],
        "timeout": 5000,
    },
    wire.CREATE_PARTITIONS: {
        "topics": [{"name": "orders", "count": 2, "assignments": None}],
        "timeout": 5000,
        "validate_only": False,
    },
}


@pytest.mark.parametrize(
    ("kind", "version"),
    [(kind, version) for kind in REQUESTS for version in wire.KNOWN[kind]],
)
def test_a_request_is_made_in_every_version_that_is_spoken(kind: int, version: int) -> None:
    schema = load_request_schema(kind, version)
    buffer = BytesIO()

    entity_writer(schema)(buffer, wire.message(schema, REQUESTS[kind]))

    assert b"orders" in buffer.getvalue() or kind == wire.METADATA


@pytest.mark.parametrize("method", ControlMethod)
def test_a_command_is_made_in_every_version_that_is_spoken(method: ControlMethod) -> None:
    about = CommandedPartition(
        partition=TopicPartition("orders", 0),
        leader=2,
        leader_epoch=4,
        isr=(2, 3),
        assigned_replicas=(1, 2, 3),
        znode_version=7,
        partition_incarnation=99,
    )
    command = ControlCommand(
        method=method,
        controller_id=3,
        controller_epoch=5,
        broker_id=2,
        broker_epoch=1 << 33,
        addresses={2: "127.0.0.1:9092"},
        about=None if method is ControlMethod.CONTROLLED_SHUTDOWN else about,
    )
    kind = commands.KINDS[method]
    for version in wire.KNOWN[kind]:
        schema = load_request_schema(kind, version)
        buffer = BytesIO()

        entity_writer(schema)(buffer, wire.message(schema, commands.request_of(command)))

        names_epoch = (1 << 33).to_bytes(8, "big") in buffer.getvalue()
        assert names_epoch is ("broker_epoch" in schema.__dataclass_fields__)
        assert b"orders" in buffer.getvalue() or command.about is None


def test_the_answer_to_a_command_is_told_in_names() -> None:
    schema = load_response_schema(wire.LEADER_AND_ISR, 2)
    one = {"topic_name": "orders", "partition_index": 0}
    told = {"error_code": KafkaError.none, "partition_errors": [one | {"error_code": STALE}]}

    answer = commands.answer_of(wire.message(schema, told))

    assert answer.line == "orders/0: STALE_CONTROLLER_EPOCH"
