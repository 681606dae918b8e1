"""The quota where topics come, grow and go: what is charged, refused, told and muted."""

import pytest
from msgspec import structs

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    DescribeMutationQuotasRequest,
    DescribeMutationQuotasResponse,
)
from fencepost.impl.core.types.effects import ActionTaken, ListChildren, ReadZnodes
from fencepost.impl.core.types.events import RequestReceived
from fencepost.impl.core.types.messages import (
    AdminRequest,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import Action, ErrorCode
from fencepost.spec.znodes import BROKER_IDS, TOPICS
from tests.impl.core.build import ME
from tests.impl.core.configuration.test_config_store import put
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import elect_other

ANY_USER = ConfigEntity(EntityKind.USER, ("",))
ANN = ConfigEntity(EntityKind.USER, ("ann",))
PROGRAM = ConfigEntity(EntityKind.CLIENT, ("program",))
ANONYMOUS = ConfigEntity(EntityKind.USER, ("ANONYMOUS",))
NEW, OLD = 7, 5
"""Versions with and without a word for a refusal, of every request."""
AdminResponses = (
    CreateTopicResponse
    | CreateTopicsResponse
    | DeleteTopicResponse
    | DeleteTopicsResponse
    | CreatePartitionsResponse
)
NONE, REFUSED = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED


def controlling(rate: str = "2", *, has_quota: bool = True) -> Driver:
    """Broker 1 is controller; every user has `rate`, and ten windows of one second."""
    driver = Driver(Config(broker_id=ME, has_mutation_quota=has_quota, quota_window_num=10))
    driver.start()
    driver.acknowledge_commands()
    put(driver, ANY_USER, rate)
    return driver


@pytest.fixture
def limited() -> Driver:
    return controlling()


def topic(name: str, partitions: int, user: str = "", version: int = NEW) -> CreateTopicRequest:
    return CreateTopicRequest(
        topic=name, partition_count=partitions, user=user, api_version=version
    )


def create(driver: Driver, request: CreateTopicRequest) -> tuple[ErrorCode, int]:
    response = driver.deliver(request, CreateTopicResponse)
    return response.error_code, response.throttle_time_ms


def of_quota(driver: Driver) -> list[ActionTaken]:
    kinds = {Action.ADMIT_MUTATION, Action.REFUSE_MUTATION, Action.VALIDATE_MUTATION}
    return [one for one in driver.effects if isinstance(one, ActionTaken) and one.action in kinds]


def test_kafka_s_two_topics_strict(limited: Driver) -> None:
    topics = (topic("a", 30), topic("b", 30))
    request = CreateTopicsRequest(topics=topics, api_version=NEW)

    response = limited.deliver(request, CreateTopicsResponse)
    assert [one.error_code for one in response.topics] == [NONE, REFUSED]
    assert response.throttle_time_ms == 5000
    assert limited.zookeeper.children(TOPICS) == ("a",)

    limited.tick(5000)
    again = limited.deliver(structs.replace(request, topics=topics[1:]), CreateTopicsResponse)
    assert [one.error_code for one in again.topics] == [NONE]
    assert again.throttle_time_ms == 0


def test_kafka_s_two_topics_permissive(limited: Driver) -> None:
    request = CreateTopicsRequest(topics=(topic("a", 30), topic("b", 30)), api_version=OLD)

    response = limited.deliver(request, CreateTopicsResponse)
    assert [one.error_code for one in response.topics] == [NONE, NONE]
    assert response.throttle_time_ms == 20_000


def test_a_topic_that_grows_is_charged_for_what_is_new(limited: Driver) -> None:
    create(limited, topic("a", 15))
    limited.acknowledge_commands()

    def grow(total: int, version: int) -> tuple[ErrorCode, int]:
        request = CreatePartitionsRequest(topic="a", partition_count=total, api_version=version)
        response = limited.deliver(request, CreatePartitionsResponse)
        return response.error_code, response.throttle_time_ms

    assert grow(25, 3) == (NONE, 0)
    assert grow(26, 3) == (REFUSED, 2500)
    assert grow(26, 2) == (NONE, 3000)


def test_a_deletion_is_charged_for_what_there_is(limited: Driver) -> None:
    create(limited, topic("a", 21))
    limited.tick(500)

    def delete(name: str, version: int) -> tuple[ErrorCode, int]:
        request = DeleteTopicRequest(topic=name, api_version=version)
        response = limited.deliver(request, DeleteTopicResponse)
        return response.error_code, response.throttle_time_ms

    assert delete("a", 5) == (NONE, 0)
    assert delete("none", 5) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
    create(limited, topic("b", 1, user="ann"))
    assert delete("b", 5) == (REFUSED, 10_500)
    assert delete("b", 4) == (NONE, 11_000)


def test_topics_of_one_deletion_end_each_for_itself(limited: Driver) -> None:
    for name in "abc":
        create(limited, topic(name, 15, user=name))

    request = DeleteTopicsRequest(topics=("a", "b", "c"), api_version=NEW)
    response = limited.deliver(request, DeleteTopicsResponse)
    assert [one.error_code for one in response.topics] == [NONE, NONE, REFUSED]
    assert response.throttle_time_ms == 5000


def test_a_flood_of_deletions_is_refused_without_a_look(limited: Driver) -> None:
    for name in "abc":
        create(limited, topic(name, 7, user="ann"))
    limited.acknowledge_commands()
    limited.effects.clear()

    request = DeleteTopicsRequest(topics=("a", "b", "c"), user="ann", api_version=NEW)
    response = limited.deliver(request, DeleteTopicsResponse)
    assert [one.error_code for one in response.topics] == [REFUSED] * 3
    assert not [one for one in limited.effects if isinstance(one, ReadZnodes)]


def test_a_flood_of_creations_is_refused_without_a_look(limited: Driver) -> None:
    create(limited, topic("a", 21, user="ann"))
    limited.acknowledge_commands()
    limited.effects.clear()

    some = tuple(topic(name, 1) for name in "bcd")
    request = CreateTopicsRequest(topics=some, user="ann", api_version=NEW)
    response = limited.deliver(request, CreateTopicsResponse)
    assert [one.error_code for one in response.topics] == [REFUSED] * 3
    assert response.throttle_time_ms == 500
    assert [(one.topic, one.throttle_time_ms) for one in of_quota(limited)] == [(None, 500)]
    assert not [one for one in limited.effects if isinstance(one, ReadZnodes | ListChildren)]

    some = tuple(topic(name, 1) for name in "ab")
    request = CreateTopicsRequest(topics=some, user="ann", api_version=NEW)
    response = limited.deliver(request, CreateTopicsResponse)
    assert [one.error_code for one in response.topics] == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        REFUSED,
    ]


def test_requests_that_came_together_are_refused_once_the_first_is_charged(
    limited: Driver,
) -> None:
    """Each has asked ZooKeeper before any was charged."""
    requests = [
        CreateTopicsRequest(topics=(topic(a, 30), topic(b, 1)), api_version=NEW)
        for a, b in ("ab", "cd")
    ]
    for _ in requests:
        limited.plan_listing(BROKER_IDS, Fate.HOLD)
    tokens = [limited.ask(request) for request in requests]
    limited.release()
    codes = [
        [one.error_code for one in limited.reply(token, CreateTopicsResponse).topics]
        for token in tokens
    ]

    assert codes == [[NONE, REFUSED], [REFUSED, REFUSED]]


def test_what_is_refused_or_validated_or_there_costs_nothing(limited: Driver) -> None:
    create(limited, topic("a", 20))
    for _ in range(3):
        validated = structs.replace(topic("b", 100), validate_only=True)
        assert create(limited, validated) == (NONE, 0)
        assert create(limited, topic("a", 100))[0] is ErrorCode.TOPIC_ALREADY_EXISTS
        assert create(limited, structs.replace(topic("a", 1), validate_only=True))[0] is (
            ErrorCode.TOPIC_ALREADY_EXISTS
        )
    assert limited.zookeeper.children(TOPICS) == ("a",)
    assert create(limited, topic("b", 1)) == (NONE, 0)
    for _ in range(3):
        assert create(limited, topic("c", 1)) == (REFUSED, 500)


def test_many_topics_are_validated_at_no_cost(limited: Driver) -> None:
    request = CreateTopicsRequest(
        topics=(topic("a", 100), topic("!", 1)), api_version=NEW, validate_only=True
    )
    response = limited.deliver(request, CreateTopicsResponse)

    assert [one.error_code for one in response.topics] == [NONE, ErrorCode.INVALID_TOPIC]
    assert limited.zookeeper.children(TOPICS) == ()
    assert create(limited, topic("a", 1)) == (NONE, 0)


def test_a_proven_user_cannot_be_charged_as_another(limited: Driver) -> None:
    """Nor can its requests empty another one's bucket (SEC-002)."""
    proven = Asker("User:ann", is_proven=True)
    limited.ask(topic("a", 30, user="bob"), proven)
    token = limited.ask(topic("b", 1, user="bob"), proven)

    assert limited.reply(token, CreateTopicResponse).error_code is REFUSED
    assert create(limited, topic("c", 1, user="bob"))[0] is NONE


def test_users_have_buckets_of_their_own(limited: Driver) -> None:
    create(limited, topic("a", 30, user="ann"))

    assert create(limited, topic("b", 1, user="ann"))[0] is REFUSED
    assert create(limited, topic("b", 1, user="bob"))[0] is NONE


def test_a_changed_quota_counts_at_once(limited: Driver) -> None:
    create(limited, topic("a", 30, user="ann"))
    assert create(limited, topic("b", 1, user="ann")) == (REFUSED, 5000)

    put(limited, ANN, "100")
    assert create(limited, topic("b", 1, user="ann")) == (REFUSED, 100)
    limited.tick(100)
    assert create(limited, topic("b", 1, user="ann")) == (NONE, 0)
    told = [(one.user, one.mutation_rate) for one in limited.took(Action.ALTER_QUOTA)]
    assert told == [("", "2.0"), ("ann", "100.0")]


def test_a_new_controller_begins_with_full_buckets(limited: Driver) -> None:
    create(limited, topic("a", 30))
    assert create(limited, topic("b", 1))[0] is REFUSED

    limited.lose_session()
    limited.start()
    assert create(limited, topic("b", 1)) == (NONE, 0)


def test_another_broker_takes_no_mutation() -> None:
    driver = Driver(Config(broker_id=ME, has_mutation_quota=True))
    driver.register(2)
    driver.make_controller(2)
    driver.start()
    requests: list[tuple[AdminRequest, type[AdminResponses]]] = [
        (topic("a", 1), CreateTopicResponse),
        (CreateTopicsRequest(topics=(topic("a", 1),)), CreateTopicsResponse),
        (DeleteTopicRequest(topic="a"), DeleteTopicResponse),
        (DeleteTopicsRequest(topics=("a",)), DeleteTopicsResponse),
        (CreatePartitionsRequest(topic="a", partition_count=2), CreatePartitionsResponse),
    ]
    for request, answer in requests:
        assert driver.deliver(request, answer).error_code is ErrorCode.NOT_CONTROLLER


def test_without_the_quota_nothing_is_counted() -> None:
    driver = controlling(has_quota=False)

    assert [create(driver, topic(name, 100, version=OLD)) for name in "abc"] == [(NONE, 0)] * 3
    assert of_quota(driver) == []


def test_the_trace_tells_what_was_admitted_and_refused(limited: Driver) -> None:
    create(limited, topic("a", 30, user="ann"))
    create(limited, topic("b", 4, user="ann"))
    create(limited, structs.replace(topic("c", 5, user="ann"), validate_only=True))

    assert [
        (one.action, one.topic, one.user, one.partition_count, one.throttle_time_ms)
        for one in of_quota(limited)
    ] == [
        (Action.ADMIT_MUTATION, "a", "ann", 30, 0),
        (Action.REFUSE_MUTATION, "b", "ann", 4, 5000),
        (Action.VALIDATE_MUTATION, "c", "ann", 5, None),
    ]


def test_metrics_are_those_of_used_buckets(limited: Driver) -> None:
    create(limited, topic("a", 30, user="ann"))
    create(limited, topic("b", 5, user="bob"))

    told = limited.deliver(DescribeMutationQuotasRequest(), DescribeMutationQuotasResponse)

    assert [structs.astuple(one) for one in told.buckets] == [
        (EntityKind.USER, ("ann",), "2.0", "-10.0", 5000),
        (EntityKind.USER, ("bob",), "2.0", "15.0", 0),
    ]


def test_a_quota_of_one_user_hides_no_bucket_of_all_users() -> None:
    driver = controlling("no number")
    put(driver, PROGRAM, "2")
    put(driver, ANONYMOUS, "3")
    create(driver, structs.replace(topic("a", 30, user="ann"), client_id="program"))

    told = driver.deliver(DescribeMutationQuotasRequest(), DescribeMutationQuotasResponse)

    assert [structs.astuple(one) for one in told.buckets] == [
        (EntityKind.CLIENT, ("program",), "2.0", "-10.0", 5000)
    ]


def test_metrics_are_asked_of_the_controller_and_there_are_none_without_a_quota() -> None:
    other = Driver(Config(broker_id=ME, has_mutation_quota=True))
    elect_other(other, 3)
    other.start()
    without = controlling(has_quota=False)
    told = [
        one.deliver(DescribeMutationQuotasRequest(), DescribeMutationQuotasResponse)
        for one in (other, without)
    ]

    assert [one.error_code for one in told] == [ErrorCode.NOT_CONTROLLER, ErrorCode.NONE]
    assert [one.buckets for one in told] == [(), ()]


# Muting


def ask(
    driver: Driver, token: int, connection: str, name: str, request_throttle_ms: int = 0
) -> None:
    event = RequestReceived(
        token=token,
        request=topic(name, 30, version=OLD),
        connection=connection,
        request_throttle_ms=request_throttle_ms,
    )
    driver.step(event)


def test_a_muted_connection_is_heard_when_its_time_is_over(limited: Driver) -> None:
    ask(limited, 901, "c1", "a")
    ask(limited, 902, "c1", "b")
    ask(limited, 903, "c2", "c")
    assert [token in limited.replies for token in (901, 902, 903)] == [True, False, True]

    limited.tick(4999)
    assert 902 not in limited.replies
    limited.tick(1)
    assert 902 in limited.replies


@pytest.mark.parametrize(("request_throttle_ms", "told"), [(3000, 5000), (7000, 7000)])
def test_the_larger_throttle_is_told_and_kept(
    limited: Driver, request_throttle_ms: int, told: int
) -> None:
    ask(limited, 901, "c1", "a", request_throttle_ms)
    response = limited.replies[901]
    assert isinstance(response, CreateTopicResponse)
    assert response.throttle_time_ms == told

    ask(limited, 902, "c1", "b")
    limited.tick(told - 1)
    assert 902 not in limited.replies
    limited.tick(1)
    assert 902 in limited.replies
