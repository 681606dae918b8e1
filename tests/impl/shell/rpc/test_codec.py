"""Every message survives the wire; what is no message is told from one."""

from typing import get_args

import pytest
from hypothesis import example, given, settings, strategies as st
from msgspec.structs import fields

from fencepost.impl.core.types import messages
from fencepost.impl.core.types.messages import (
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
)
from fencepost.impl.shell.rpc.codec import (
    CodecError,
    SharedBodies,
    decode,
    encode,
    leading_topic,
)
from fencepost.spec.vocabulary import BrokerId, ErrorCode, Offset
from fencepost.spec.wire import replication_pb2

KINDS = get_args(Request) + get_args(Response)
st.register_type_strategy(int, st.integers(-(2**31), 2**31 - 1))
st.register_type_strategy(str, st.text(st.characters(codec="utf-8")))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=15)
@given(data=st.data())
def test_every_message_survives_the_wire(kind: type, data: st.DataObject) -> None:
    message = data.draw(st.from_type(kind))

    assert decode(kind, encode(message)) == message


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_wire_and_core_have_the_same_fields(kind: type) -> None:
    wire = getattr(replication_pb2, kind.__name__).DESCRIPTOR

    assert [field.name for field in wire.fields] == [field.name for field in fields(kind)]


def test_every_method_has_a_request_and_a_response() -> None:
    service = replication_pb2.DESCRIPTOR.services_by_name["Replication"]
    plain = [method for method in service.methods if not method.client_streaming]

    assert {method.input_type.name for method in plain} == {
        kind.__name__ for kind in get_args(Request)
    }
    assert {method.output_type.name for method in plain} == {
        kind.__name__ for kind in get_args(Response)
    }


def test_an_error_code_travels_by_name() -> None:
    response = ProduceResponse(error_code=ErrorCode.NOT_ENOUGH_REPLICAS, broker_id=BrokerId(1))
    wire = replication_pb2.ProduceResponse.FromString(encode(response))

    assert wire.error_code == "NOT_ENOUGH_REPLICAS"


def test_an_error_code_of_another_version_is_not_mistaken() -> None:
    wire = replication_pb2.FetchResponse(error_code="THROTTLED", broker_id=1)

    with pytest.raises(CodecError, match="THROTTLED"):
        decode(FetchResponse, wire.SerializeToString())


def test_bytes_that_are_no_message_are_told() -> None:
    with pytest.raises(CodecError, match="not a ProduceRequest"):
        decode(ProduceRequest, b"\xff\xff\xff")


def test_offsets_are_wider_than_epochs() -> None:
    response = ProduceResponse(broker_id=BrokerId(1), base_offset=Offset(2**40))

    assert decode(ProduceResponse, encode(response)) == response
    assert messages.ProduceResponse is ProduceResponse


def test_a_body_for_many_brokers_is_serialised_once_while_it_is_kept() -> None:
    shared = SharedBodies(1)
    one, other = messages.MetadataRequest(), ProduceResponse(broker_id=BrokerId(1))
    first = shared.encode(other)

    assert shared.encode(other) is first
    assert shared.encode(one) == encode(one)
    assert shared.encode(other) == first
    assert shared.encode(other) is not first


FIELDS = st.one_of(
    st.builds(replication_pb2.ProduceRequest, topic=st.text(max_size=200)),
    st.builds(replication_pb2.ProduceRequest, topic=st.just("t" * 300)),
    st.builds(replication_pb2.ProduceRequest, values=st.lists(st.text(), max_size=3)),
    st.builds(replication_pb2.ProduceRequest, partition=st.integers(0, 300)),
    st.just(replication_pb2.CreateTopicRequest(header={"forwards": 1})),
)
"""Parts of a message, whose order and number nothing bounds; the last one has an unknown field."""


@given(request=st.builds(replication_pb2.ProduceRequest, topic=st.text(min_size=1)))
def test_a_produce_as_it_is_written_begins_with_its_topic(
    request: replication_pb2.ProduceRequest,
) -> None:
    request.values.append("v")

    assert leading_topic(request.SerializeToString()) == request.topic


@given(parts=st.lists(FIELDS, max_size=6))
def test_of_an_odd_produce_the_leading_topic_is_the_first(
    parts: list[replication_pb2.ProduceRequest],
) -> None:
    written = [one for one in (part.SerializeToString() for part in parts) if one]
    topics = [one.topic for one in map(replication_pb2.ProduceRequest.FromString, written)]
    topic = leading_topic(b"".join(written))

    assert topic == (topics[0] if topics and topics[0] else None)
    if topic is not None and not any(topics[1:]):
        assert replication_pb2.ProduceRequest.FromString(b"".join(written)).topic == topic


@given(data=st.binary(max_size=8).map(lambda rest: b"\n" + rest) | st.binary())
@example(data=b"\n\x80\0")
@example(data=b"\n\x81\0t")
@example(data=b"\n\1\xff")
def test_of_any_bytes_the_leading_topic_is_one_or_none(data: bytes) -> None:
    topic = leading_topic(data)

    if topic is not None:
        begin = 2 if data[1] < 128 else 3
        field = data[: begin + len(topic.encode())]
        assert replication_pb2.ProduceRequest.FromString(field).topic == topic


@pytest.mark.parametrize("size", [2**14, 2**21, 2**40])
def test_a_text_that_is_longer_than_any_topic_leads_nothing(size: int) -> None:
    head = b"\n" + bytes([size >> at & 127 | 128 for at in range(0, 42, 7)]) + b"\0"

    assert leading_topic(head + b"t" * 2**14) is None
    assert leading_topic(b"\n\xff\x7f" + b"t" * (2**14 - 1)) == "t" * (2**14 - 1)
    assert leading_topic(b"\n\xff\x7f" + b"t") is None
