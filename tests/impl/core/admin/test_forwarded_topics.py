"""Requests about topics and partitions at level 5: forwarded, and the controller's (FWD-001)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import RESPONSES
from fencepost.impl.core.levels import level_5
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectLeadersRequest,
    Reassignment,
    RemovePartitionsRequest,
    TopicRequest,
    TopicResponse,
)
from fencepost.impl.core.types.request_header import (
    CONTROLLER_VERSION,
    ForwardableRequest,
    RequestHeader,
)
from fencepost.impl.core.types.topic_messages import (
    CountedRequest,
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicRequest,
    DeleteTopicsRequest,
)
from fencepost.impl.core.types.zookeeper import SetData
from fencepost.impl.sim.world.clients import error_codes
from fencepost.spec.vocabulary import ANY_VERSION, Action, BrokerId, ElectionKind, ErrorCode
from fencepost.spec.znodes import ADMIN, CONTROLLER_EPOCH
from tests.impl.core.build import T0, state
from tests.impl.core.driver import Driver
from tests.impl.core.moving import governed
from tests.impl.core.roles import beside_controller, everything

ALICE = Asker("User:alice")
CONFIG = Config(broker_id=BrokerId(1), rules=level_5.RULES)
Drive = Callable[[Config], Driver]
NEW = RequestHeader(api_version=CONTROLLER_VERSION)
NOT_CONTROLLER = ErrorCode.NOT_CONTROLLER
REQUESTS: tuple[TopicRequest, ...] = (
    CreateTopicRequest(topic="u"),
    DeleteTopicRequest(topic="t"),
    CreateTopicsRequest(topics=(CreateTopicRequest(topic="u"),)),
    DeleteTopicsRequest(topics=("t",)),
    CreatePartitionsRequest(topic="t", partition_count=3),
    RemovePartitionsRequest(topic="t", partitions=(1,)),
    AlterPartitionReassignmentsRequest(
        reassignments=(Reassignment(topic="t", partition=0, replicas=(BrokerId(3), BrokerId(4))),)
    ),
    ElectLeadersRequest(
        kind=ElectionKind.PREFERRED, partitions=(PartitionId(topic="t", partition=0),)
    ),
)
all_kinds = pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: type(one).__name__)


def written(driver: Driver) -> tuple[list[str], list[str]]:
    """What there is of topics and of requests about them."""
    return everything(driver), everything(driver, ADMIN)


@pytest.fixture
def follower(drive: Drive) -> Driver:
    """Broker 1 at level 5, while broker 3 is controller in epoch 1."""
    return beside_controller(drive(CONFIG))


def forwarded(driver: Driver) -> list[Send]:
    return [one for one in driver.sent if isinstance(one.request, ForwardableRequest)]


def response_to(request: TopicRequest) -> type[TopicResponse]:
    return RESPONSES[type(request).__name__.removesuffix("Request")]


def code_of(driver: Driver, request: TopicRequest) -> ErrorCode:
    return driver.reply(driver.ask(request, ALICE), response_to(request)).error_code


def test_there_is_one_of_each_kind() -> None:
    assert {response_to(request) for request in REQUESTS} == {*RESPONSES.values()}
    assert len(REQUESTS) == len(RESPONSES)


@all_kinds
def test_broker_forwards_and_tells_what_the_controller_says(
    follower: Driver, request_: TopicRequest
) -> None:
    before = written(follower)
    token = follower.ask(request_, ALICE)
    (sent,) = forwarded(follower)
    assert isinstance(sent.request, ForwardableRequest)
    header = sent.request.header
    answer = response_to(request_)(error_code=ErrorCode.INVALID_REQUEST)

    assert not follower.is_answered(token)
    assert structs.replace(sent.request, header=RequestHeader()) == request_
    assert (sent.to, header.principal, header.forwards) == (3, "User:alice", 1)
    follower.respond(sent, answer)
    assert follower.reply(token, type(answer)) == answer
    assert written(follower) == before


@all_kinds
def test_new_version_is_refused_elsewhere(follower: Driver, request_: TopicRequest) -> None:
    assert code_of(follower, structs.replace(request_, header=NEW)) is NOT_CONTROLLER
    assert forwarded(follower) == []


@all_kinds
def test_without_an_answer_it_may_have_happened(follower: Driver, request_: TopicRequest) -> None:
    token = follower.ask(request_, ALICE)
    (sent,) = forwarded(follower)
    follower.fail(sent)

    assert follower.reply(token, response_to(request_)).error_code is ErrorCode.REQUEST_TIMED_OUT


@all_kinds
def test_with_the_quota_on_what_it_counts_is_not_forwarded(
    drive: Drive, request_: TopicRequest
) -> None:
    driver = beside_controller(drive(replace(CONFIG, has_mutation_quota=True)))

    token = driver.ask(request_, ALICE)

    is_counted = isinstance(request_, CountedRequest)
    assert len(forwarded(driver)) == (not is_counted)
    if is_counted:
        assert driver.reply(token, response_to(request_)).error_code is NOT_CONTROLLER


@all_kinds
def test_deposed_controller_writes_nothing(drive: Drive, request_: TopicRequest) -> None:
    """Creations that were asked together may have been written before they are refused."""
    driver = governed(drive(CONFIG), (2, 3), (3, 4))
    driver.put_state(T0, state(3, 1, (2, 3)))
    later = SetData(path=CONTROLLER_EPOCH, data=b"2", expected_version=ANY_VERSION)
    driver.zookeeper.write(driver.outsider, (later,))
    before = written(driver)

    answer = driver.reply(driver.ask(request_, ALICE), response_to(request_))

    is_unknown = isinstance(request_, CreateTopicsRequest)
    expected = ErrorCode.REQUEST_TIMED_OUT if is_unknown else NOT_CONTROLLER
    assert error_codes(answer)[-1] is expected
    assert written(driver) == before
    assert len(driver.took(Action.RESIGN_CONTROLLER)) == 1


def test_controller_tells_for_which_principal_it_writes(drive: Drive) -> None:
    driver = governed(drive(CONFIG), (2, 3), (3, 4))
    for request in (REQUESTS[0], REQUESTS[4], REQUESTS[6], REQUESTS[1]):
        driver.ask(request, ALICE)

    told = {
        action: [line.principal for line in driver.took(action)]
        for action in (
            Action.CREATE_TOPIC,
            Action.START_REASSIGNMENT,
            Action.DELETE_TOPIC,
        )
    }
    assert told == {action: ["User:alice"] for action in told}
