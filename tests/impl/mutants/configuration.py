"""What a mutant of level 5 does to one broker: the observations of the kill table."""

from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.security.token_changes import token_entity
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    EntityChange,
    EntryChange,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from fencepost.impl.mutants.mutants import mutant_name, version_rules
from fencepost.spec.config_store import EntityKind, parse_config
from fencepost.spec.vocabulary import (
    Action,
    BrokerId,
    BrokerVersion,
    ControllerEpoch,
    ErrorCode,
    ProtocolLevel,
)
from fencepost.spec.znodes import TopicPartition
from tests.impl.core.build import state
from tests.impl.core.driver import Driver
from tests.impl.core.roles import elect_other

ALICE = Asker("User:alice")
BROKER_2 = Asker("User:broker-2", BrokerId(2))
PATH = "/config/topics/t"
OFFSETS = "__consumer_offsets"
FORWARDED = RequestHeader(
    api_version=CONTROLLER_VERSION,
    principal="User:alice",
    forwards=1,
    forwarder=BrokerId(2),
    number=7,
    controller_epoch=ControllerEpoch(1),
)


def _driver(mutant: str | None, level: int = ProtocolLevel.CONTROLLER_MUTATIONS) -> Driver:
    """With code of level 5, which speaks this level."""
    name = mutant_name(mutant) if mutant else None
    rules = version_rules(BrokerVersion(ProtocolLevel.CONTROLLER_MUTATIONS, level), name)
    return Driver(Config(broker_id=BrokerId(1), rules=rules))


def _controller(mutant: str | None) -> Driver:
    driver = _driver(mutant)
    driver.start()
    return driver


def _other(mutant: str | None, level: int = ProtocolLevel.CONTROLLER_MUTATIONS) -> Driver:
    driver = _driver(mutant, level)
    elect_other(driver, 3)
    driver.start()
    return driver


def _ask(
    driver: Driver, value: str, header: RequestHeader | None = None, asker: Asker = ALICE
) -> int:
    changes = (EntryChange(name="a", value=value),)
    change = EntityChange(kind=EntityKind.TOPIC, names=("t",), changes=changes)
    given = header or RequestHeader()
    return driver.ask(IncrementalAlterConfigsRequest(header=given, entities=(change,)), asker)


def _error(driver: Driver, token: int) -> ErrorCode:
    return driver.reply(token, IncrementalAlterConfigsResponse).error_code


def _sent(driver: Driver) -> list[tuple[Send, RequestHeader]]:
    return [
        (send, send.request.header)
        for send in driver.sent
        if isinstance(send.request, IncrementalAlterConfigsRequest)
    ]


def writes_without_office(mutant: str | None) -> bool:
    """A broker that is not controller makes a change."""
    driver = _other(mutant)
    _ask(driver, "1")
    return driver.zookeeper.peek(PATH).stat is not None


def topic_without_office(mutant: str | None) -> bool:
    """A broker that is not controller creates a topic."""
    driver = _other(mutant)
    driver.ask(CreateTopicRequest(topic="t"), ALICE)
    return driver.zookeeper.peek("/brokers/topics/t").stat is not None


def forwards_of_a_forwarded(mutant: str | None) -> int:
    """How often a broker forwards what another one has."""
    driver = _other(mutant)
    _ask(driver, "1", FORWARDED, BROKER_2)
    return len(_sent(driver))


def value_after_a_copy(mutant: str | None) -> str:
    """What stands when a forwarded request comes again, after another one."""
    driver = _controller(mutant)
    _ask(driver, "1", FORWARDED, BROKER_2)
    _ask(driver, "2")
    _ask(driver, "1", FORWARDED, BROKER_2)
    return parse_config(PATH, driver.zookeeper.peek(PATH).data)["a"]


def is_indefinite_without_answer(mutant: str | None) -> bool:
    """What the asker hears when the controller does not answer."""
    driver = _other(mutant)
    token = _ask(driver, "1")
    driver.fail(_sent(driver)[0][0])
    return _error(driver, token).is_indefinite


def principal_of_a_liar(mutant: str | None) -> str | None:
    """For which a change is made when a client claims another name."""
    driver = _controller(mutant)
    _ask(driver, "1", replace(FORWARDED, principal="User:root"))
    return driver.took(Action.APPLY_MUTATION)[0].principal


def principal_forwarded(mutant: str | None) -> str:
    """For which a broker forwards a request."""
    driver = _other(mutant)
    _ask(driver, "1")
    return _sent(driver)[0][1].principal


def version_after_two_changes(mutant: str | None) -> int:
    """How many changes a broker has read, counted from 0."""
    driver = _controller(mutant)
    _ask(driver, "1")
    _ask(driver, "2")
    return driver.node.configs.version


def answer_of_an_older_broker(mutant: str | None) -> ErrorCode:
    """Another broker forwards to one of level 4, which is not the controller."""
    driver = _other(mutant, ProtocolLevel.MAX_BROKER_EPOCH)
    return _error(driver, _ask(driver, "1", FORWARDED, BROKER_2))


def internal_topic_asked_for(mutant: str | None) -> str:
    """For which principal a broker asks the controller for the topic that a client needs."""
    driver = _other(mutant)
    driver.ask(FindCoordinatorRequest(key="a"), ALICE)
    (asked,) = [one.request for one in driver.sent if isinstance(one.request, CreateTopicRequest)]
    return asked.header.principal


def coordinator_of_a(mutant: str | None) -> int:
    """Which broker coordinates the group `a`, which belongs to the second partition."""
    driver = _other(mutant)
    driver.create_topic(OFFSETS, (1,), (3,))
    for partition, leader in enumerate((1, 3)):
        driver.put_state(TopicPartition(OFFSETS, partition), state(leader, 0, isr=(leader,)))
    request = FindCoordinatorRequest(key="a")
    return driver.deliver(request, FindCoordinatorResponse).broker_id


def tokens_after_a_look(mutant: str | None) -> tuple[bool, ...]:
    """Whether one that is over, and one that lives, are there after a look of the controller."""
    driver = _controller(mutant)
    made = [_token(driver, lifetime_ms) for lifetime_ms in (1_000, 9_000)]
    driver.tick(driver.config.token_check_ms, 5_000)
    over, living = (token_entity(token_id).path for token_id in made)
    return tuple(driver.zookeeper.peek(path).stat is not None for path in (over, living))


def _token(driver: Driver, lifetime_ms: int) -> str:
    """The id of a token that lives so long from 0 on."""
    token = driver.ask(
        CreateDelegationTokenRequest(
            header=RequestHeader(api_version=CONTROLLER_VERSION), max_lifetime_ms=lifetime_ms
        ),
        ALICE._replace(is_proven=True),
    )
    return driver.reply(token, CreateDelegationTokenResponse).token_id


CASES = [
    ("keep_outlived_tokens", tokens_after_a_look, (False, True), (True, True)),
    ("remove_living_tokens", tokens_after_a_look, (False, True), (False, False)),
    ("coordinator_as_client", internal_topic_asked_for, "User:broker-1", "User:alice"),
    ("one_coordinator_for_all", coordinator_of_a, 3, 1),
    (
        "older_brokers_do_what_is_forwarded",
        answer_of_an_older_broker,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NONE,
    ),
    ("any_broker_writes", writes_without_office, False, True),
    ("any_broker_creates_topics", topic_without_office, False, True),
    ("forward_again", forwards_of_a_forwarded, 0, 1),
    ("apply_again", value_after_a_copy, "2", "1"),
    ("lost_answer_is_refusal", is_indefinite_without_answer, True, False),
    ("believe_any_principal", principal_of_a_liar, "User:alice", "User:root"),
    ("forwarder_is_principal", principal_forwarded, "User:alice", "User:broker-1"),
    ("watch_fires_once", version_after_two_changes, 1, 0),
]
