"""Which request is taken from which sender: the table is whole, and closed."""

from typing import get_args

from msgspec import Struct

from fencepost.impl.core.rules.security.access import (
    ACCESS,
    FromBroker,
    ProvenCaller,
    may_see,
    principal_for,
    refuse_request,
)
from fencepost.impl.core.rules.security.acls import Authorizer
from fencepost.impl.core.types.messages import PeerRequest, Request
from fencepost.spec.vocabulary import BrokerId, ErrorCode

BROKER = ProvenCaller(name="broker-1", broker_id=BrokerId(1))
ALICE = ProvenCaller(name="alice", host="127.0.0.1")


class NewRequest(Struct):
    """A request that has no row."""


def test_every_request_has_a_row() -> None:
    assert set(get_args(Request)) == ACCESS.keys()


def test_what_brokers_say_to_each_other_is_taken_from_brokers() -> None:
    from_brokers = {kind for kind, access in ACCESS.items() if isinstance(access, FromBroker)}

    assert {kind.__name__ for kind in get_args(PeerRequest)} - {
        kind.__name__ for kind in from_brokers
    } == {"FetchRequest"}


def test_a_request_without_a_row_is_refused_even_of_a_broker() -> None:
    refusal = refuse_request(NewRequest(), BROKER, None)

    assert refusal is not None
    assert refusal.error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_forwarded_principal_counts_from_a_broker_alone() -> None:
    assert principal_for(BROKER, "User:bob") == "User:bob"
    assert principal_for(ALICE, "User:bob") == "User:alice"
    assert principal_for(BROKER, "") == "User:broker-1"


def test_a_user_sees_no_topic_that_it_may_not_describe() -> None:
    assert may_see("t", BROKER, Authorizer(()))
    assert may_see("t", ALICE, None)
    assert not may_see("t", ALICE, Authorizer(()))
