"""Which requests a rule takes, and what the weather does to messages."""

from random import Random

import pytest

from fencepost.impl.core.types.messages import (
    FetchRequest,
    LeaderAndIsrRequest,
    MetadataRequest,
    Request,
)
from fencepost.impl.sim.world.network import (
    RequestRule,
    SimulatedNetwork,
    Weather,
    method_of,
    topics_of,
)
from fencepost.spec.vocabulary import BrokerId, ControllerEpoch, Offset
from tests.impl.core.build import command, order

FETCH = FetchRequest(topic="t", partition=0, fetch_offset=Offset(0))
EMPTY = LeaderAndIsrRequest(
    controller_id=BrokerId(1), controller_epoch=ControllerEpoch(1), partitions=()
)


def rule(
    *, method: str = "", sender: int = 1, receiver: int = -1, topic: str = "", count: int = 0
) -> RequestRule:
    return RequestRule(
        method=method,
        sender=sender,
        receiver=receiver,
        topic=topic,
        verb="drop_request",
        count=count,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (rule(), True),
        (rule(sender=2), False),
        (rule(receiver=2), True),
        (rule(receiver=3), False),
        (rule(method="Fetch"), True),
        (rule(method="LeaderAndIsr"), False),
        (rule(topic="t"), True),
        (rule(topic="u"), False),
    ],
)
def test_a_rule_takes_what_it_names(found: RequestRule, expected: bool) -> None:
    assert found.matches(1, 2, FETCH) is expected
    assert found.matched == int(expected)


def test_a_rule_with_a_count_is_used_up() -> None:
    twice = rule(count=2)

    assert [twice.matches(1, 2, FETCH) for _ in range(4)] == [True, True, False, False]
    assert twice.matched == 2


def test_the_first_rule_that_applies_takes_the_request() -> None:
    network = SimulatedNetwork(Random(1), Weather(), Random(2))
    other, first, second = rule(sender=9), rule(count=1), rule()
    network.rules = [other, first, second]

    assert [network.rule_for(1, 2, FETCH) for _ in range(2)] == [first, second]
    assert network.rule_for(2, 1, FETCH) is None


@pytest.mark.parametrize(
    ("request_", "method", "topics"),
    [
        (FETCH, "Fetch", {"t"}),
        (order(command(1, 0)), "LeaderAndIsr", {"t"}),
        (EMPTY, "LeaderAndIsr", set()),
        (MetadataRequest(), "Metadata", set()),
    ],
)
def test_requests_are_known_by_method_and_topic(
    request_: Request, method: str, topics: set[str]
) -> None:
    assert method_of(request_) == method
    assert topics_of(request_) == topics


def test_calm_weather_loses_and_doubles_nothing() -> None:
    network = SimulatedNetwork(Random(1), Weather(loss=1.0, duplication=1.0, slow=1.0), Random(2))
    assert network.loses()
    assert network.duplicates()
    assert network.delay_us() >= Weather().delay_us[1]

    network.calm()

    assert not any(network.loses() or network.duplicates() for _ in range(100))
    low, high = Weather().delay_us
    assert all(low <= network.delay_us() <= high for _ in range(100))
