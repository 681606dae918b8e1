"""The bucket against a model in rational numbers, Kafka's own vectors, and the order of quotas."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from fencepost.impl.core.rules import quota
from fencepost.impl.core.rules.quota import DEFAULT, Bucket, Client, Entity

PAUSE_MAX_MS = 60_000


class Meter:
    """One bucket that is full at the start, as the rules count it."""

    def __init__(self, rate: Fraction | int, samples: int = 10, window_s: int = 1) -> None:
        self.quota = quota.quota_of(Fraction(rate), samples, window_s)
        self.bucket = Bucket(self.quota.burst, 0)

    def tokens(self, now_ms: int) -> Fraction:
        return quota.tokens_at(self.bucket, self.quota, now_ms)

    def charge(self, partitions: int, now_ms: int) -> Fraction:
        left = quota.charge(self.tokens(now_ms), partitions, self.quota)
        self.bucket = Bucket(left, now_ms)
        return left

    def strict(self, partitions: int, now_ms: int) -> int | None:
        """The throttle time of a refusal; None when the partitions are admitted."""
        if not quota.is_admitting(self.tokens(now_ms)):
            return self.throttle_ms(now_ms)
        self.charge(partitions, now_ms)
        return None

    def permissive(self, partitions: int, now_ms: int) -> int:
        self.charge(partitions, now_ms)
        return self.throttle_ms(now_ms)

    def throttle_ms(self, now_ms: int) -> int:
        return quota.throttle_ms(self.tokens(now_ms), self.quota.rate)


# Kafka's vectors: TokenBucketTest, ControllerMutationQuotaManagerTest, ControllerMutationQuotaTest


def test_the_bucket_of_kafka() -> None:
    meter = Meter(5, samples=10, window_s=2)

    assert meter.tokens(0) == 100
    assert meter.charge(60, 0) == 40
    assert meter.charge(5, 2000) == 45
    assert meter.charge(60, 4000) == -5


def test_the_bucket_of_kafka_given_back() -> None:
    meter = Meter(5, samples=10, window_s=2)

    assert meter.charge(-60, 0) == 100
    assert meter.charge(60, 2000) == 40
    assert meter.charge(-60, 4000) == 100


def test_strict_as_kafka() -> None:
    meter = Meter(10)

    assert meter.strict(90, 0) is None
    assert meter.strict(90, 0) is None
    assert meter.tokens(0) == -80
    assert meter.strict(90, 0) == 8000
    assert meter.throttle_ms(5000) == 3000


def test_permissive_as_kafka() -> None:
    meter = Meter(10)

    assert [meter.permissive(90, 0) for _ in range(3)] == [0, 8000, 17_000]
    assert meter.throttle_ms(5000) == 12_000


@pytest.mark.parametrize(("tokens", "throttle"), [(0, 0), (-5, 500), (-10, 1000)])
def test_throttle_times_of_kafka(tokens: int, throttle: int) -> None:
    assert quota.throttle_ms(Fraction(tokens), Fraction(10)) == throttle


def test_the_manager_of_kafka() -> None:
    meter = Meter(10)

    assert [meter.strict(10, second * 1000) for second in range(10)] == [None] * 10
    assert meter.strict(110, 10_000) is None
    assert meter.strict(110, 10_000) == 1000
    assert meter.strict(110, 11_000) is None


def test_two_large_topics_as_kafka() -> None:
    strict, permissive = Meter(2), Meter(2)

    assert [strict.strict(30, 0), strict.strict(30, 0)] == [None, 5000]
    assert strict.strict(30, 5000) is None
    assert [permissive.permissive(30, 0), permissive.permissive(30, 0)] == [5000, 20_000]


def test_the_example_of_the_text() -> None:
    meter = Meter(5, samples=100)

    assert meter.permissive(560, 0) == 12_000


# Edges


def test_a_rate_of_zero_admits_once_and_never_again() -> None:
    meter = Meter(0)

    assert meter.strict(3, 0) is None
    assert meter.strict(1, 10**9) == quota.THROTTLE_MAX_MS


def test_a_rate_below_one_partition_in_a_second_counts() -> None:
    meter = Meter(Fraction(1, 3), samples=3)

    assert meter.strict(2, 0) is None
    assert meter.strict(1, 0) == 3000
    assert meter.strict(1, 2999) == 1
    assert meter.strict(1, 3000) is None


def test_another_quota_keeps_the_tokens_up_to_its_burst() -> None:
    meter = Meter(10)
    meter.charge(20, 0)
    meter.quota = quota.quota_of(Fraction(2), 10, 1)
    assert meter.tokens(0) == 20
    meter.charge(50, 0)
    meter.quota = quota.quota_of(Fraction(100), 10, 1)
    assert meter.tokens(300) == 0


def test_the_larger_throttle_wins() -> None:
    assert quota.larger_throttle(300, 200) == quota.larger_throttle(200, 300) == 300


@pytest.mark.parametrize(
    ("method", "first"), [("CreateTopics", 6), ("CreatePartitions", 3), ("DeleteTopics", 5)]
)
def test_versions_that_have_a_word_for_a_refusal(method: str, first: int) -> None:
    assert not quota.is_refusable(method, first - 1)
    assert quota.is_refusable(method, first)


# Against a model: all that was ever given, less all that was taken


STEPS = st.lists(
    st.tuples(st.integers(-5_000, PAUSE_MAX_MS), st.integers(0, 300)), min_size=1, max_size=30
)
RATES = st.fractions(min_value=0, max_value=1000, max_denominator=1000)


@given(rate=RATES, samples=st.integers(1, 20), window_s=st.integers(1, 5), steps=STEPS)
def test_the_bucket_is_that_of_a_rational_model(
    rate: Fraction, samples: int, window_s: int, steps: list[tuple[int, int]]
) -> None:
    meter = Meter(rate, samples, window_s)
    full, lack, now_ms = rate * samples * window_s, Fraction(0), 0
    for jump_ms, partitions in steps:
        now_ms += jump_ms
        if jump_ms > 0:
            lack = max(Fraction(0), lack - rate * Fraction(jump_ms, 1000))
        assert meter.tokens(now_ms) == full - lack
        throttle = meter.throttle_ms(now_ms)
        if meter.strict(partitions, now_ms) is None:
            assert lack <= full
            assert throttle == 0
            lack += partitions
            continue
        assert lack > full
        meter.charge(0, now_ms)
        if throttle < quota.THROTTLE_MAX_MS:
            assert meter.tokens(now_ms + throttle) >= 0 > meter.tokens(now_ms + throttle - 1)


@given(
    rate=RATES.filter(bool),
    steps=st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 100)), max_size=30),
)
def test_in_any_time_a_burst_and_the_rate_and_one_topic_are_admitted(
    rate: Fraction, steps: list[tuple[int, int]]
) -> None:
    meter = Meter(rate)
    now_ms, admitted = 0, []
    for pause_ms, partitions in steps:
        now_ms += pause_ms
        if meter.strict(partitions, now_ms) is None:
            admitted.append((now_ms, partitions))
    for first, (from_ms, _) in enumerate(admitted):
        for last in range(first, len(admitted)):
            *others, (until_ms, over) = admitted[first : last + 1]
            allowed = meter.quota.burst + rate * (until_ms - from_ms) / 1000
            assert sum(partitions for _, partitions in others) <= allowed
            assert over > 0


# Names and precedence, as in QuotaPrecedence

USERS = ("ann", "bob", DEFAULT, None)
CLIENT_IDS = ("c", "d", DEFAULT, None)
ENTITIES = [
    Entity(user, one) for user in USERS for one in CLIENT_IDS if (user, one) != (None, None)
]
CLIENTS = [Client(user, one) for user in ("ann", "bob") for one in ("c", "d")]


def applied(client: Client, quotas: set[Entity]) -> Entity | None:
    return next((one for one in quota.quota_order(client) if one in quotas), None)


def closeness(entity: Entity, client: Client) -> tuple[int, int]:
    """How closely the entity names the client: by name, by default, or not at all."""

    def of(said: str | None, name: str) -> int:
        return 2 if said == name else 1 if said == DEFAULT else 0

    return of(entity.user, client.user), of(entity.client_id, client.client_id)


@given(st.sets(st.sampled_from(ENTITIES)), st.sampled_from(CLIENTS))
def test_the_user_comes_first_and_a_name_before_a_default(
    quotas: set[Entity], client: Client
) -> None:
    fitting = [
        one
        for one in quotas
        if one.user in (client.user, DEFAULT, None)
        and one.client_id in (client.client_id, DEFAULT, None)
    ]
    closest = max(fitting, key=lambda one: closeness(one, client), default=None)
    assert applied(client, quotas) == closest


@given(st.sets(st.sampled_from(ENTITIES)), st.sampled_from(CLIENTS), st.sampled_from(CLIENTS))
def test_clients_share_a_bucket_where_their_quota_looks_at_nothing_they_differ_in(
    quotas: set[Entity], client: Client, other: Client
) -> None:
    by, by_other = applied(client, quotas), applied(other, quotas)
    if by is None or by_other is None:
        return
    is_shared = (
        by == by_other
        and (by.user is None or client.user == other.user)
        and (by.client_id is None or client.client_id == other.client_id)
    )
    assert (quota.bucket_of(client, by) == quota.bucket_of(other, by_other)) == is_shared
