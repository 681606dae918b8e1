"""The controller mutation quota (KIP-599): a bucket of tokens, and the client that it is for.

`MutationQuota` and `QuotaPrecedence` of the specs. Numbers are exact: rates are fractions.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

DEFAULT = ""
"""In an entity: any user, or client-id, that has no quota of its own; as in the store's names."""
THROTTLE_MAX_MS = 2**31 - 1
"""What a client is told at most: a bucket of rate 0 that owes is never paid."""
REFUSING_VERSIONS: Mapping[str, int] = {
    "CreateTopics": 6,
    "CreatePartitions": 3,
    "DeleteTopics": 5,
}
"""From this version on a request has a word for a refusal (QUOTA-003)."""


class Entity(NamedTuple):
    """What a quota is set for: names, `DEFAULT`, or None where it does not look at that."""

    user: str | None = None
    client_id: str | None = None


class Client(NamedTuple):
    """What mutates: a user, by a program that calls itself `client_id`."""

    user: str
    client_id: str


Rates = Mapping[Entity, Fraction]
"""Partitions per second that are set, each `controller_mutation_rate` (QUOTA-005)."""


class Quota(Struct, frozen=True):
    """Partitions per second, and how many of them may come at once."""

    rate: Fraction
    burst: Fraction


class Bucket(Struct, frozen=True):
    """Tokens at a time, in milliseconds of the node's clock; a partition takes one of them."""

    tokens: Fraction
    counted_at_ms: int


def quota_of(rate: Fraction, samples: int, window_s: int) -> Quota:
    """The burst is what the rate gives in all windows (QUOTA-001, QUOTA-006)."""
    return Quota(rate=rate, burst=rate * samples * window_s)


def tokens_at(bucket: Bucket, quota: Quota, now_ms: int) -> Fraction:
    """K := min(K + (now - T) * R, B) (QUOTA-001); a clock that was set back gives nothing."""
    passed_ms = max(now_ms - bucket.counted_at_ms, 0)
    return min(bucket.tokens + quota.rate * passed_ms / 1000, quota.burst)


def is_admitting(tokens: Fraction) -> bool:
    """A bucket that owes nothing admits any number of partitions once (QUOTA-001)."""
    return tokens >= 0


def charge(tokens: Fraction, partitions: int, quota: Quota) -> Fraction:
    """What is left after so many partitions; partitions below 0 are given back."""
    return min(tokens - partitions, quota.burst)


def validation_cost(_partitions: int) -> int:
    """Partitions that are charged for a request that changes nothing (QUOTA-004)."""
    return 0


def throttle_ms(tokens: Fraction, rate: Fraction) -> int:
    """-K / R, in whole milliseconds that suffice: then the bucket owes nothing (QUOTA-002)."""
    if tokens >= 0:
        return 0
    if rate == 0:
        return THROTTLE_MAX_MS
    return min(-(tokens * 1000 // rate), THROTTLE_MAX_MS)


def larger_throttle(request_throttle_ms: int, controller_throttle_ms: int) -> int:
    """A client is told the larger of both, and its connection is muted for that (QUOTA-010)."""
    return max(request_throttle_ms, controller_throttle_ms)


def is_refusable(method: str, api_version: int) -> bool:
    """An older version is served in any case, and its client muted (QUOTA-003)."""
    return api_version >= REFUSING_VERSIONS[method]


def quota_order(client: Client) -> tuple[Entity, ...]:
    """The entities by which a client may have a quota; the first that has one wins (QUOTA-005)."""
    return (
        Entity(client.user, client.client_id),
        Entity(client.user, DEFAULT),
        Entity(client.user),
        Entity(DEFAULT, client.client_id),
        Entity(DEFAULT, DEFAULT),
        Entity(DEFAULT),
        Entity(None, client.client_id),
        Entity(None, DEFAULT),
    )


def bucket_of(client: Client, applied: Entity) -> Entity:
    """What the quota looks at, by its own name: clients of one default have a bucket each."""
    return Entity(
        None if applied.user is None else client.user,
        None if applied.client_id is None else client.client_id,
    )
