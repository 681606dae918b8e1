"""The JSON Schema says of a line what the structs say."""

import json

import jsonschema
import msgspec
import pytest

from fencepost.conformance.adapters.remote.messages import (
    FetchCall,
    Fetched,
    HelloCall,
    NodeStartCall,
    Refused,
    Unsupported,
    schema_text,
)

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_text()))
FETCH = FetchCall(broker_id=1, topic="t", partition=0, offset=0, max_records=1, max_wait_ms=0)


@pytest.mark.parametrize(
    "message",
    [
        HelloCall(id=1),
        NodeStartCall(id=2, broker_id=1),
        FETCH,
        Fetched(id=3, values=("a",), high_watermark=1),
        Refused(id=4, error_code="NOT_LEADER_OR_FOLLOWER", definite=False),
        Unsupported(id=5),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_is_valid(message: msgspec.Struct) -> None:
    assert SCHEMA.is_valid(json.loads(msgspec.json.encode(message)))


@pytest.mark.parametrize(
    "line",
    [
        {"id": 1},
        {"id": 1, "status": "fine"},
        {"id": 1, "status": "ok", "ofset": 1},
        {"id": 1, "verb": "reboot", "deadline_ms": 1},
        {"id": "1", "status": "ok"},
    ],
    ids=str,
)
def test_another_line_is_not(line: dict[str, object]) -> None:
    assert not SCHEMA.is_valid(line)


def test_a_call_names_its_verb() -> None:
    assert NodeStartCall(broker_id=1).verb == "node_start"
    assert json.loads(msgspec.json.encode(FETCH))["verb"] == "fetch"
