"""The trace line: same event same bytes, unreadable lines counted, the schema tells the truth."""

import json

import jsonschema
import pytest

from fencepost.spec.trace import (
    Kind,
    TraceEvent,
    decode,
    encode,
    encode_fields,
    json_schema,
    line_head,
    parse_trace,
)
from fencepost.spec.vocabulary import Outcome

EVENT = TraceEvent(
    run_id="r",
    node="broker-1",
    seq=3,
    mono_ns=10,
    kind=Kind.COMPLETE,
    action="Produce",
    topic="</script>",
    values=["client-1/1/1"],
    outcome=Outcome.OK,
    offset=0,
)


def test_a_line_survives_and_leaves_out_what_is_absent() -> None:
    line = encode(EVENT)

    assert decode(line) == EVENT
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"null" not in line
    assert "leader_epoch" not in json.loads(line)


def test_zero_is_not_absent() -> None:
    assert json.loads(encode(EVENT))["offset"] == 0


def test_a_torn_line_and_a_foreign_line_are_counted() -> None:
    text = encode(EVENT) + b"hello\n" + encode(EVENT) + encode(EVENT)[:-20]
    trace = parse_trace(text)

    assert trace.events == [EVENT, EVENT]
    assert trace.foreign_lines == [2]
    assert trace.torn_lines == 1


def test_an_empty_file_is_an_empty_trace() -> None:
    trace = parse_trace(b"")

    assert (trace.events, trace.torn_lines, trace.foreign_lines) == ([], 0, [])


@pytest.mark.parametrize("line", [b"{}\n", b'{"run_id":1}\n', b"\n", b"\xff\xfe\n"])
def test_a_line_without_the_fields_of_an_event_is_foreign(line: bytes) -> None:
    assert parse_trace(line).foreign_lines == [1]


def test_the_schema_accepts_every_line_and_refuses_others() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    validator.validate(json.loads(encode(EVENT)))
    assert not validator.is_valid({"run_id": "r"})
    assert not validator.is_valid({**json.loads(encode(EVENT)), "kind": "no such kind"})


@pytest.mark.parametrize("incarnation", [1, 2])
def test_fields_become_the_line_of_their_event(incarnation: int) -> None:
    fields = {"kind": Kind.ACTION, "action": "FenceLeader", "topic": '"\\\u2028', "isr": [1, 2]}
    head = line_head('r"un', "broker-1", incarnation)

    line = encode_fields(head, 4, 5, 6, 7, fields)
    event = decode(line)
    assert event.incarnation == incarnation
    assert (event.run_id, event.node, event.seq) == ('r"un', "broker-1", 4)
    assert (event.mono_ns, event.lamport, event.wall_ns) == (5, 6, 7)
    assert (event.kind, event.action, event.topic) == (Kind.ACTION, "FenceLeader", '"\\\u2028')
    assert line.endswith(b"\n")
    assert len(line) == len(encode(event))
