"""Wrong rules of the mutation quota: what is charged, refused, told and muted (QUOTA)."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from fencepost.impl.core.rules.quota import Client, Entity
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant

_CAUGHT = {Invariant.MUTATION_QUOTA_KEPT}


@mutant(130, "QUOTA-001", _CAUGHT, seed=201)
def charge_per_topic(rules: Rules) -> Rules:
    """A topic costs one token, however many partitions it has."""
    return replace(rules, charge=lambda tokens, _n, quota: rules.charge(tokens, 1, quota))


@mutant(131, "QUOTA-001", _CAUGHT, seed=201)
def refuse_for_ever(rules: Rules) -> Rules:
    """A bucket that owes is not filled again."""
    return replace(
        rules,
        tokens_at=lambda bucket, quota, now_ms: (
            bucket.tokens if bucket.tokens < 0 else rules.tokens_at(bucket, quota, now_ms)
        ),
    )


@mutant(132, "QUOTA-001", _CAUGHT, seed=509)
def unbounded_bucket(rules: Rules) -> Rules:
    """Unused rate is kept without end."""
    return replace(
        rules,
        tokens_at=lambda bucket, quota, now_ms: (
            bucket.tokens + quota.rate * max(now_ms - bucket.counted_at_ms, 0) / 1000
        ),
    )


@mutant(133, "QUOTA-004", _CAUGHT, seed=201)
def charge_validate_only(rules: Rules) -> Rules:
    """What is only validated is charged."""
    return replace(rules, validation_cost=lambda partitions: partitions)


@mutant(134, "QUOTA-005", _CAUGHT, seed=201)
def client_id_before_user(rules: Rules) -> Rules:
    """The quota of a client-id comes before that of its user."""

    def order(client: Client) -> Sequence[Entity]:
        return sorted(rules.quota_order(client), key=lambda one: one.user is not None)

    return replace(rules, quota_order=order)


@mutant(135, "QUOTA-005", _CAUGHT, seed=201)
def bucket_of_the_quota(rules: Rules) -> Rules:
    """All clients of a quota share one bucket."""
    return replace(rules, bucket_of=lambda _client, applied: Entity(*applied))


@mutant(136, "QUOTA-003", _CAUGHT, seed=201)
def request_throttle_only(rules: Rules) -> Rules:
    """The connection of a client is not muted for what it owes."""
    return replace(rules, larger_throttle=lambda request_ms, _own_ms: request_ms)


@mutant(137, "QUOTA-002", _CAUGHT, seed=201)
def throttle_multiplies_rate(rules: Rules) -> Rules:
    """The throttle time is K times R, as the text has it in one place."""

    def throttle_ms(tokens: Fraction, rate: Fraction) -> int:
        return int(max(-tokens, Fraction(0)) * rate * 1000)

    return replace(rules, throttle_ms=throttle_ms)


@mutant(138, "QUOTA-003", _CAUGHT, seed=201)
def refuse_old_clients(rules: Rules) -> Rules:
    """Every version is taken for one that has a word for a refusal."""
    return replace(rules, is_refusable=lambda _method, _api_version: True)


@mutant(139, "QUOTA-001", _CAUGHT, seed=509)
def admit_in_debt(rules: Rules) -> Rules:
    """A bucket that owes less than a partition admits."""
    return replace(rules, is_admitting=lambda tokens: tokens > -1)
