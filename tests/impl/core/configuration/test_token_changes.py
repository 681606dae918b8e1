"""Delegation tokens of a node: which one makes the change, for which owner, and until when."""

from collections.abc import Callable
from typing import get_args

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.stored_tokens import stored_token
from fencepost.impl.core.levels import level_3, level_5
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.security.tokens import EXPIRY_MS, DelegationToken
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    RedirectedResponse,
    RenewDelegationTokenRequest,
    TokenRequest,
)
from fencepost.impl.core.types.events import RequestReceived
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.spec.vocabulary import Action, BrokerId, ControllerEpoch, ErrorCode
from tests.impl.core.driver import Driver
from tests.impl.core.roles import elect_other

Drive = Callable[[Config], Driver]
ALICE = Asker("User:alice", is_proven=True)
BOB = Asker("User:bob", is_proven=True)
BROKER_2 = Asker("User:broker-2", BrokerId(2), is_proven=True)
NEW = RequestHeader(api_version=CONTROLLER_VERSION)
FORWARDED = RequestHeader(
    api_version=CONTROLLER_VERSION,
    principal="User:alice",
    forwards=1,
    forwarder=BrokerId(2),
    number=7,
    controller_epoch=ControllerEpoch(1),
)
TOKEN_ID = "1-2-3"  # noqa: S105  an id, which is no secret
MADE_MS = 1_000_000


def ask(
    driver: Driver, request: TokenRequest, asker: Asker = ALICE, wall_ms: int = MADE_MS
) -> RedirectedResponse:
    """What is answered to the request when it comes at that time."""
    token = 1000 + len(driver.replies)
    driver.step(RequestReceived(token=token, request=request, asker=asker, wall_ms=wall_ms))
    response = driver.replies[token]
    assert isinstance(response, RedirectedResponse)
    return response


def create(driver: Driver, header: RequestHeader = NEW, asker: Asker = ALICE) -> str:
    """The id of a token that bob may renew."""
    request = CreateDelegationTokenRequest(header=header, renewers=("User:bob",))
    made = ask(driver, request, asker)
    assert isinstance(made, CreateDelegationTokenResponse)
    return made.token_id


def token_of(driver: Driver, token_id: str) -> DelegationToken | None:
    """As ZooKeeper holds it, and the node has read it."""
    driver.node.configs.begin()
    driver.tick()
    return stored_token(driver.node.configs, token_id)


def node(drive: Drive, rules: Rules, controller_id: int) -> Driver:
    driver = drive(Config(broker_id=BrokerId(1), rules=rules))
    if controller_id != 1:
        elect_other(driver, controller_id)
    driver.start()
    return driver


@pytest.fixture
def controller(drive: Drive) -> Driver:
    """Broker 1 at level 5 is controller in epoch 1."""
    return node(drive, level_5.RULES, 1)


@pytest.fixture
def follower(drive: Drive) -> Driver:
    """Broker 1 at level 5, while broker 3 is controller."""
    return node(drive, level_5.RULES, 3)


def test_a_token_is_its_askers_and_has_no_secret_in_zookeeper(controller: Driver) -> None:
    token_id = create(controller)

    (line,) = controller.took(Action.APPLY_MUTATION)
    assert token_of(controller, token_id) == DelegationToken(
        token_id=token_id,
        owner="User:alice",
        renewers=frozenset({"User:bob"}),
        issued_ms=MADE_MS,
        expires_ms=MADE_MS + EXPIRY_MS,
        max_ms=MADE_MS + 7 * EXPIRY_MS,
    )
    assert line.principal == "User:alice"
    assert {one.partition("=")[0] for one in line.values or ()} == {
        *("owner", "renewers", "issued_ms", "expires_ms", "max_ms")
    }


def test_each_token_has_its_own_id(controller: Driver) -> None:
    assert create(controller) != create(controller)


def test_a_forwarded_token_is_that_of_the_user_that_asked(controller: Driver) -> None:
    made = token_of(controller, create(controller, FORWARDED, BROKER_2))

    assert made is not None
    assert made.owner == "User:alice"


def test_a_renewer_lets_it_live_and_a_foreigner_changes_nothing(controller: Driver) -> None:
    token_id = create(controller)
    renewal = RenewDelegationTokenRequest(header=NEW, token_id=token_id, renew_ms=EXPIRY_MS)
    later_ms = MADE_MS + EXPIRY_MS // 2

    by_bob = ask(controller, renewal, BOB, later_ms)
    by_broker = ask(controller, renewal, BROKER_2, later_ms + 1)

    renewed = token_of(controller, token_id)
    assert by_bob.error_code is ErrorCode.NONE
    assert by_broker.error_code is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert renewed is not None
    assert renewed.expires_ms == later_ms + EXPIRY_MS


def test_an_expired_token_is_gone_and_never_lives_again(controller: Driver) -> None:
    token_id = create(controller)
    expired = ask(controller, ExpireDelegationTokenRequest(header=NEW, token_id=token_id))
    renewed = ask(controller, RenewDelegationTokenRequest(header=NEW, token_id=token_id))

    assert expired.error_code is ErrorCode.NONE
    assert token_of(controller, token_id) is None
    assert renewed.error_code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_a_token_that_ran_out_is_not_renewed(controller: Driver) -> None:
    renewal = RenewDelegationTokenRequest(header=NEW, token_id=create(controller))

    late = ask(controller, renewal, wall_ms=MADE_MS + EXPIRY_MS)

    assert late.error_code is ErrorCode.DELEGATION_TOKEN_EXPIRED


@pytest.mark.parametrize("renewers", [("",), ("User:a,User:b",), ("User:a",) * 21])
def test_renewers_that_are_none_are_refused(controller: Driver, renewers: tuple[str, ...]) -> None:
    made = ask(controller, CreateDelegationTokenRequest(header=NEW, renewers=renewers))

    assert made.error_code is ErrorCode.INVALID_REQUEST


OF_REQUEST = pytest.mark.parametrize("kind", get_args(TokenRequest))


def of_version(kind: type[TokenRequest], header: RequestHeader) -> TokenRequest:
    if kind is CreateDelegationTokenRequest:
        return CreateDelegationTokenRequest(header=header)
    if kind is RenewDelegationTokenRequest:
        return RenewDelegationTokenRequest(header=header, token_id=TOKEN_ID)
    return ExpireDelegationTokenRequest(header=header, token_id=TOKEN_ID)


@OF_REQUEST
def test_another_broker_forwards_the_old_version(
    follower: Driver, kind: type[TokenRequest]
) -> None:
    request = of_version(kind, RequestHeader())
    follower.step(RequestReceived(token=9, request=request, asker=ALICE, wall_ms=MADE_MS))

    (sent,) = (one for one in follower.sent if isinstance(one.request, kind))
    assert sent.to == 3
    assert isinstance(sent.request, TokenRequest)
    assert sent.request.header.principal == "User:alice"
    assert not follower.is_answered(9)


@OF_REQUEST
def test_another_broker_refuses_the_new_version(follower: Driver, kind: type[TokenRequest]) -> None:
    assert ask(follower, of_version(kind, NEW)).error_code is ErrorCode.NOT_CONTROLLER


@OF_REQUEST
def test_a_name_that_no_certificate_proves_gets_no_token(
    controller: Driver, kind: type[TokenRequest]
) -> None:
    refused = ask(controller, of_version(kind, NEW), Asker("User:alice"))

    assert refused.error_code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_below_level_5_every_broker_makes_tokens(drive: Drive) -> None:
    follower = node(drive, level_3.RULES, 3)

    assert token_of(follower, create(follower, RequestHeader())) is not None


def test_tokens_are_described_by_owner(controller: Driver) -> None:
    token_id = create(controller)
    request = DescribeDelegationTokenRequest(owners=("User:alice",))
    controller.node.configs.begin()
    found = controller.reply(controller.ask(request, ALICE), DescribeDelegationTokenResponse)
    none = controller.ask(DescribeDelegationTokenRequest(owners=("User:x",)), ALICE)
    unproven = controller.ask(request)

    assert [(one.token_id, one.owner) for one in found.tokens] == [(token_id, "User:alice")]
    assert controller.reply(none, DescribeDelegationTokenResponse).tokens == ()
    refused = controller.reply(unproven, DescribeDelegationTokenResponse)
    assert refused.error_code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
