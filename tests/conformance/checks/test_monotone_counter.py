"""The kernel against a search over all orders, on small random histories with equal stamps."""

from random import Random

import pytest

from fencepost.conformance.checks.monotone_counter import (
    UNBOUNDED,
    Claim,
    Inversion,
    find_violation,
)


def is_linearizable(claims: list[Claim]) -> bool:
    """By trying every order that respects time; claim `hi + 1 == lo` is a step."""
    dead: set[tuple[frozenset[int], int]] = set()

    def search(remaining: frozenset[int], counter: int) -> bool:
        pending = [index for index in remaining if claims[index].ret < UNBOUNDED]
        if not pending:
            return True
        if (remaining, counter) in dead:
            return False
        first_return = min(claims[index].ret for index in pending)
        for index in remaining:
            claim = claims[index]
            step = claim.lo == claim.hi + 1
            fits = claim.hi == counter if step else claim.lo <= counter <= claim.hi
            if claim.inv <= first_return and fits and search(remaining - {index}, counter + step):
                return True
        dead.add((remaining, counter))
        return False

    return search(frozenset(range(len(claims))), 0)


def random_history(random: Random) -> list[Claim]:
    steps = random.randint(0, 4)
    claims: list[Claim] = []
    for k in range(steps):
        inv = random.randint(0, 8) + k
        ret = UNBOUNDED if random.random() < 0.2 else inv + random.randint(0, 5)
        claims.append(Claim(inv, ret, k + 1, k))
    for _ in range(random.randint(0, 3)):
        inv, lo = random.randint(0, 12), random.randint(0, steps)
        hi = random.choice([lo, random.randint(lo, steps), UNBOUNDED])
        claims.append(Claim(inv, inv + random.randint(0, 5), lo, hi))
    return claims


def later_returns(claims: list[Claim], shift: int) -> list[Claim]:
    return [claim._replace(ret=claim.ret + shift) for claim in claims]


def test_verdict_equals_search_and_the_witness_is_an_inversion() -> None:
    random = Random(20)
    illegal = 0
    for _ in range(4000):
        claims = random_history(random)
        found = find_violation(claims)

        assert (found is None) == is_linearizable(claims), claims
        if found is not None:
            illegal += 1
            assert found.earlier is not None
            earlier, later = claims[found.earlier], claims[found.later]
            assert earlier.ret < later.inv
            assert earlier.lo > later.hi
            assert later.inv - earlier.ret == found.staleness
    assert 800 < illegal < 3200


def test_of_two_that_are_equally_stale_the_lower_is_told_and_below_zero_the_first() -> None:
    equal = [Claim(0, 1, 1, 0), Claim(0, 3, 2, 1), Claim(5, 6, 0, 0), Claim(7, 8, 1, 1)]
    below = [Claim(0, 1, 0, 0), Claim(2, 3, 0, -1), Claim(4, 5, 0, -1)]

    assert find_violation(equal) == Inversion(earlier=0, later=2, staleness=4)
    assert find_violation(below) == Inversion(earlier=None, later=1, staleness=0)


def test_staleness_is_the_least_shift_of_returns_that_heals() -> None:
    random = Random(21)
    healed = 0
    for _ in range(3000):
        claims = random_history(random)
        found = find_violation(claims)
        if found is None:
            continue
        healed += 1

        assert find_violation(later_returns(claims, found.staleness)) is None
        assert find_violation(later_returns(claims, found.staleness - 1)) is not None
    assert healed > 600


def test_order_of_claims_does_not_matter() -> None:
    random = Random(22)
    for _ in range(500):
        claims = random_history(random)
        shuffled = random.sample(claims, len(claims))
        found, again = find_violation(claims), find_violation(shuffled)

        assert (found is None) == (again is None)
        if found is not None and again is not None:
            assert found.staleness == again.staleness


@pytest.mark.parametrize(
    ("claims", "staleness"),
    [
        ([], None),
        ([Claim(0, 5, 1, 0), Claim(5, 6, 0, 0)], None),
        ([Claim(0, 5, 1, 0), Claim(6, 7, 0, 0)], 1),
        ([Claim(0, UNBOUNDED, 1, 0), Claim(6, 7, 0, 0)], None),
        ([Claim(0, 5, 10**15, UNBOUNDED), Claim(9, 9, 0, 10**15 - 1)], 4),
    ],
    ids=["empty", "equal stamps are concurrent", "stale", "never returned", "huge bounds"],
)
def test_known_histories(claims: list[Claim], staleness: int | None) -> None:
    found = find_violation(claims)

    assert (found and found.staleness) == staleness


def test_a_counter_below_zero_has_no_earlier_witness() -> None:
    found = find_violation([Claim(0, 1, 0, 3), Claim(0, 1, 0, -1)])

    assert found is not None
    assert (found.earlier, found.later) == (None, 1)
