"""Every message survives the wire; what is no message is told from one."""

from typing import get_args

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import fields

from fencepost.impl.core.types import messages
from fencepost.impl.core.types.messages import (
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
)
from fencepost.impl.shell.rpc.codec import CodecError, SharedBodies, decode, encode
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
