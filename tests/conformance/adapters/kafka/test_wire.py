"""Messages of Kafka are made of plain mappings, in the versions that a broker speaks."""

from io import BytesIO
from typing import Any

import pytest
from kio.index import load_request_schema
from kio.serial import entity_writer

from fencepost.conformance.adapters.kafka import wire

REQUESTS: dict[int, dict[str, Any]] = {
    wire.METADATA: {"topics": None},
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
