"""Which request is taken from which sender: the table is whole, and closed."""

from typing import get_args

from msgspec import Struct

from fencepost.impl.core.rules.configuration.redirection import principal_of
from fencepost.impl.core.rules.security.access import (
    ACCESS,
    FromBroker,
    ProvenCaller,
    may_see,
    may_see_token,
    refuse_request,
)
from fencepost.impl.core.rules.security.acls import (
    AclEntry,
    Authorizer,
    Operation,
    Pattern,
    Permission,
    ResourceType,
)
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.broker_reports import LogsFailedRequest
from fencepost.impl.core.types.config_messages import (
    ConfigRequest,
    CreateAclsRequest,
    CreateDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
    TokenDescription,
    TokenRequest,
)
from fencepost.impl.core.types.messages import MetadataRequest, PeerRequest, Request, TopicRequest
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.core.types.topic_messages import DeleteTopicsRequest
from fencepost.spec.vocabulary import BrokerEpoch, BrokerId, ErrorCode

BROKER = ProvenCaller(name="broker-1", broker_id=BrokerId(1))
TOKEN_ID = "t1"  # noqa: S105  an id, which is no secret
ALICE = ProvenCaller(name="alice", host="127.0.0.1")


class NewRequest(Struct):
    """A request that has no row."""


def test_every_request_has_a_row() -> None:
    assert set(get_args(Request)) == ACCESS.keys()


def test_what_brokers_say_to_each_other_is_taken_from_brokers() -> None:
    from_brokers = {kind for kind, access in ACCESS.items() if isinstance(access, FromBroker)}

    assert {kind.__name__ for kind in get_args(PeerRequest)} - {
        kind.__name__ for kind in from_brokers
    } == {
        "FetchRequest",
        *(kind.__name__ for kind in get_args(ConfigRequest | TokenRequest | TopicRequest)),
    }


def test_what_a_broker_says_is_taken_from_that_broker_alone() -> None:
    request = LogsFailedRequest(broker_id=BrokerId(1), broker_epoch=BrokerEpoch(1), partitions=())
    other = ProvenCaller(name="broker-2", broker_id=BrokerId(2))

    assert refuse_request(request, BROKER, Authorizer(())) is None
    assert refuse_request(request, other, None) is not None
    assert refuse_request(request, ALICE, Authorizer((), ("User:alice",))) is not None
    assert refuse_request(request, ProvenCaller(name=""), None) is not None


def test_without_exactly_one_name_nothing_is_taken() -> None:
    assert refuse_request(MetadataRequest(), ALICE, Authorizer(())) is None
    assert refuse_request(MetadataRequest(), ProvenCaller(name=""), None) is not None


def test_one_forbidden_topic_forbids_the_request() -> None:
    allowed = AclEntry(
        ResourceType.TOPIC, Pattern.LITERAL, "t", Permission.ALLOW, Operation.ALL, "User:alice"
    )

    assert refuse_request(DeleteTopicsRequest(topics=("t",)), ALICE, Authorizer([allowed])) is None
    refusal = refuse_request(DeleteTopicsRequest(topics=("t", "u")), ALICE, Authorizer([allowed]))

    assert refusal is not None
    assert refusal.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_request_without_a_row_is_refused_even_of_a_broker() -> None:
    refusal = refuse_request(NewRequest(), BROKER, None)

    assert refusal is not None
    assert refusal.error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_forwarded_request_is_taken_from_the_broker_that_it_names() -> None:
    header = RequestHeader(principal="User:bob", forwards=1, forwarder=BrokerId(1))
    request = CreateAclsRequest(header=header, entities=())
    other = ProvenCaller(name="broker-2", broker_id=BrokerId(2))

    assert refuse_request(request, BROKER, Authorizer(())) is None
    assert refuse_request(request, other, None) is not None
    assert refuse_request(request, ALICE, None) is not None
    assert refuse_request(request, ALICE, Authorizer((), ("User:alice",))) is not None


def test_the_core_is_told_what_the_certificate_proves() -> None:
    claim = RequestHeader(principal="User:bob")

    assert BROKER.asker == Asker("User:broker-1", BrokerId(1), is_proven=True)
    assert principal_of(claim, ALICE.asker) == "User:alice"


def test_a_user_sees_no_topic_that_it_may_not_describe() -> None:
    assert may_see("t", BROKER, Authorizer(()))
    assert may_see("t", ALICE, None)
    assert not may_see("t", ALICE, Authorizer(()))


def test_the_holder_of_a_token_makes_and_changes_none() -> None:
    holder = ProvenCaller(name="alice", by_token=True)
    requests = (
        CreateDelegationTokenRequest(),
        RenewDelegationTokenRequest(token_id=TOKEN_ID),
        ExpireDelegationTokenRequest(token_id=TOKEN_ID),
    )
    for request in requests:
        refusal = refuse_request(request, holder, None)

        assert refuse_request(request, ALICE, Authorizer(())) is None
        assert refusal is not None
        assert refusal.error_code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_a_token_is_known_to_its_owner_its_renewers_and_administrators() -> None:
    bob, root = ProvenCaller(name="bob"), ProvenCaller(name="root")
    closed = Authorizer((), ("User:root",))

    def sees(caller: ProvenCaller, owner: str, *renewers: str) -> bool:
        described = TokenDescription(
            token_id=TOKEN_ID, owner=owner, renewers=renewers, issued_ms=0, expires_ms=1, max_ms=1
        )
        return may_see_token(described, caller, closed)

    assert sees(ALICE, "User:alice")
    assert sees(bob, "User:alice", "User:bob")
    assert sees(root, "User:alice")
    assert not sees(bob, "User:alice")
