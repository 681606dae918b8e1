"""Changes of the configuration: which broker makes them, how often, and for which principal."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import level_3, level_5
from fencepost.impl.core.rules.configuration.entries import ENTRIES_MAX
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreateAclsRequest,
    CreateAclsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    EntityChange,
    EntryChange,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.impl.core.types.zookeeper import SetData
from fencepost.spec.config_store import CONFIG_CHANGES, EntityKind, parse_config
from fencepost.spec.vocabulary import ANY_VERSION, Action, BrokerId, ControllerEpoch, ErrorCode
from fencepost.spec.znodes import CONTROLLER_EPOCH
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import elect_other

PATH = "/config/topics/t"
ALICE = Asker("User:alice")
BROKER_2 = Asker("User:broker-2", BrokerId(2))
FORWARDED = RequestHeader(
    api_version=CONTROLLER_VERSION,
    principal="User:alice",
    forwards=1,
    forwarder=BrokerId(2),
    number=7,
    controller_epoch=ControllerEpoch(1),
)
Drive = Callable[[Config], Driver]


def alter(
    value: str, header: RequestHeader | None = None, name: str = "a"
) -> IncrementalAlterConfigsRequest:
    change = EntityChange(
        kind=EntityKind.TOPIC, names=("t",), changes=(EntryChange(name=name, value=value),)
    )
    return IncrementalAlterConfigsRequest(header=header or RequestHeader(), entities=(change,))


def answer(driver: Driver, token: int) -> IncrementalAlterConfigsResponse:
    return driver.reply(token, IncrementalAlterConfigsResponse)


def ask(driver: Driver, request: IncrementalAlterConfigsRequest, asker: Asker = ALICE) -> ErrorCode:
    return answer(driver, driver.ask(request, asker)).error_code


def entries(driver: Driver) -> dict[str, str]:
    return parse_config(PATH, driver.zookeeper.peek(PATH).data)


@pytest.fixture
def controller(drive: Drive) -> Driver:
    """Broker 1 at level 5 is controller in epoch 1."""
    driver = drive(Config(broker_id=BrokerId(1), rules=level_5.RULES))
    driver.start()
    assert driver.node.controller.is_active
    return driver


@pytest.fixture
def follower(drive: Drive) -> Driver:
    """Broker 1 at level 5, while broker 3 is controller in epoch 1."""
    driver = drive(Config(broker_id=BrokerId(1), rules=level_5.RULES))
    elect_other(driver, 3)
    driver.start()
    return driver


def sent(driver: Driver) -> list[Send]:
    return [one for one in driver.sent if isinstance(one.request, IncrementalAlterConfigsRequest)]


def forwarded(driver: Driver) -> tuple[int, Send]:
    """The token of a request of alice, and what the broker has sent for it."""
    token = driver.ask(alter("1"), ALICE)
    (one,) = sent(driver)
    return token, one


def test_controller_writes_and_answers_the_version(controller: Driver) -> None:
    first = answer(controller, controller.ask(alter("1"), ALICE))
    second = answer(controller, controller.ask(alter("2"), ALICE))

    assert entries(controller) == {"a": "2"}
    assert (first.config_version, second.config_version) == (0, 1)


def test_line_of_a_change_names_its_principal(controller: Driver) -> None:
    ask(controller, alter("1"))

    (line,) = controller.took(Action.APPLY_MUTATION)
    assert (line.principal, line.path, line.values) == ("User:alice", PATH, ("a=1",))


def test_entries_that_no_change_names_stay(controller: Driver) -> None:
    ask(controller, alter("1"))
    ask(controller, alter("2", name="b"))

    assert entries(controller) == {"a": "1", "b": "2"}


def test_whole_configuration_replaces_the_other(controller: Driver) -> None:
    ask(controller, alter("1"))
    request = AlterConfigsRequest(entities=alter("2", name="b").entities)

    controller.deliver(request, AlterConfigsResponse)

    assert entries(controller) == {"b": "2"}


def test_refused_entity_leaves_the_others_as_asked(controller: Driver) -> None:
    bad = EntityChange(kind=EntityKind.TOPIC, names=("/",), changes=(EntryChange(name="a"),))
    request = alter("1")

    found = answer(controller, controller.ask(replace(request, entities=(bad, *request.entities))))

    codes = [one.error_code for one in found.results]
    assert codes == [ErrorCode.INVALID_TOPIC, ErrorCode.NONE]
    assert entries(controller) == {"a": "1"}


def test_entity_has_no_more_entries_than_it_may_have(controller: Driver) -> None:
    half = ENTRIES_MAX // 2
    changes = tuple(EntryChange(name=f"{n}", value="1") for n in range(ENTRIES_MAX + 1))

    def asks(part: tuple[EntryChange, ...]) -> ErrorCode:
        entity = EntityChange(kind=EntityKind.TOPIC, names=("t",), changes=part)
        request = IncrementalAlterConfigsRequest(entities=(entity,))
        (result,) = answer(controller, controller.ask(request, ALICE)).results
        return result.error_code

    assert asks(changes[:half]) is ErrorCode.NONE
    assert asks(changes[half:]) is ErrorCode.INVALID_CONFIG
    assert len(entries(controller)) == half
    assert asks(changes[half:ENTRIES_MAX]) is ErrorCode.NONE
    assert len(entries(controller)) == ENTRIES_MAX


def test_request_takes_its_own_kinds_alone(controller: Driver) -> None:
    request = CreateAclsRequest(entities=alter("1").entities)

    found = controller.deliver(request, CreateAclsResponse)

    assert found.results[0].error_code is ErrorCode.INVALID_REQUEST
    assert controller.zookeeper.peek(PATH).stat is None


def test_validation_writes_nothing(controller: Driver) -> None:
    assert ask(controller, replace(alter("1"), validate_only=True)) is ErrorCode.NONE

    assert controller.zookeeper.peek(PATH).stat is None


def test_write_in_between_is_kept(controller: Driver) -> None:
    ask(controller, alter("1"))

    def write() -> None:
        peek = controller.zookeeper.peek
        for path, data in ((PATH, b'{"config":{"b":"9"}}'), (CONFIG_CHANGES, b'{"changes":[]}')):
            assert peek(path).stat is not None
            op = SetData(path=path, data=data, expected_version=ANY_VERSION)
            controller.zookeeper.write(controller.outsider, (op,))

    controller.plan_write(PATH, None, write)

    assert ask(controller, alter("2")) is ErrorCode.NONE
    assert entries(controller) == {"a": "2", "b": "9"}


def test_deposed_controller_writes_nothing_and_resigns(controller: Driver) -> None:
    def depose() -> None:
        op = SetData(path=CONTROLLER_EPOCH, data=b"9", expected_version=ANY_VERSION)
        controller.zookeeper.write(controller.outsider, (op,))

    controller.plan_write(PATH, None, depose)

    assert ask(controller, alter("1")) is ErrorCode.NOT_CONTROLLER
    assert controller.zookeeper.peek(PATH).stat is None
    assert controller.took(Action.RESIGN_CONTROLLER)


def test_change_that_waits_for_another_ends_with_the_office(controller: Driver) -> None:
    """It was asked of a controller, and is not made as any broker's that is none."""

    waiting = []

    def depose() -> None:
        waiting.append(controller.ask(alter("2")))
        op = SetData(path=CONTROLLER_EPOCH, data=b"9", expected_version=ANY_VERSION)
        controller.zookeeper.write(controller.outsider, (op,))

    controller.plan_write(PATH, None, depose)

    assert ask(controller, alter("1")) is ErrorCode.NOT_CONTROLLER
    assert answer(controller, *waiting).error_code is ErrorCode.NOT_CONTROLLER
    assert controller.zookeeper.peek(PATH).stat is None


def test_lost_reply_of_zookeeper_is_indefinite(controller: Driver) -> None:
    controller.plan_write(PATH, Fate.LOSE_REPLY)

    assert ask(controller, alter("1")) is ErrorCode.REQUEST_TIMED_OUT


def test_new_version_is_refused_by_others(follower: Driver) -> None:
    header = RequestHeader(api_version=CONTROLLER_VERSION)

    assert ask(follower, alter("1", header)) is ErrorCode.NOT_CONTROLLER
    assert not sent(follower)


def test_old_version_is_forwarded_for_its_principal(follower: Driver) -> None:
    token, send = forwarded(follower)

    assert isinstance(send.request, IncrementalAlterConfigsRequest)
    header = send.request.header
    assert send.to == 3
    assert (header.forwards, header.principal) == (1, "User:alice")
    assert header.controller_epoch == 1
    assert not follower.is_answered(token)


def test_answer_of_the_controller_is_passed_on(follower: Driver) -> None:
    token, send = forwarded(follower)

    follower.respond(send, IncrementalAlterConfigsResponse(config_version=4))

    assert answer(follower, token).config_version == 4


def test_missing_answer_of_the_controller_is_indefinite(follower: Driver) -> None:
    token, send = forwarded(follower)

    follower.fail(send)

    assert answer(follower, token).error_code is ErrorCode.REQUEST_TIMED_OUT
    assert len(sent(follower)) == 1


def test_forwarded_request_is_not_forwarded_again(follower: Driver) -> None:
    header = replace(FORWARDED, api_version=0)

    assert ask(follower, alter("1", header), BROKER_2) is ErrorCode.NOT_CONTROLLER
    assert not sent(follower)


def test_forwarded_request_is_done_once(controller: Driver) -> None:
    first = ask(controller, alter("1", FORWARDED), BROKER_2)
    ask(controller, alter("2"))
    again = ask(controller, alter("1", FORWARDED), BROKER_2)

    assert (first, again) == (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)
    assert entries(controller) == {"a": "2"}


def test_request_for_another_generation_is_not_done(controller: Driver) -> None:
    header = replace(FORWARDED, controller_epoch=ControllerEpoch(9))

    assert ask(controller, alter("1", header), BROKER_2) is ErrorCode.NOT_CONTROLLER
    assert controller.zookeeper.peek(PATH).stat is None


@pytest.mark.parametrize(("asker", "named"), [(BROKER_2, "User:alice"), (ALICE, "User:alice")])
def test_principal_is_believed_from_brokers_only(
    controller: Driver, asker: Asker, named: str
) -> None:
    claimed = replace(FORWARDED, principal="User:root" if asker is ALICE else "User:alice")

    ask(controller, alter("1", claimed), asker)

    assert [line.principal for line in controller.took(Action.APPLY_MUTATION)] == [named]


def test_any_broker_writes_below_level_5(drive: Drive) -> None:
    driver = drive(Config(broker_id=BrokerId(1), rules=level_3.RULES))
    elect_other(driver, 3)
    driver.start()

    assert ask(driver, alter("1")) is ErrorCode.NONE
    assert entries(driver) == {"a": "1"}


def test_broker_answers_what_it_has_read(controller: Driver) -> None:
    ask(controller, alter("1"))

    found = controller.deliver(
        DescribeConfigsRequest(kind=EntityKind.TOPIC), DescribeConfigsResponse
    )

    (one,) = found.entities
    assert (one.names, one.entries[0].value, found.config_version) == (("t",), "1", 0)
