"""The kernel of counters finds fault where `find_violation` does, with the same two claims."""

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest

from fencepost.conformance.checks.monotone_counter import UNBOUNDED, Claim, find_violation
from fencepost.reports.kernels import claims
from fencepost.reports.kernels.bucket_rows import UNTOLD, Numbers
from fencepost.reports.kernels.claims import Claims, contradicted, contradicting

HISTORIES = 1000
FAR = 1 << 50
"""A bound as a damaged line may tell it."""


def counters(random: Random) -> list[list[Claim]]:
    """Some claims of each of some counters, with ties in stamps."""
    bounds = [-1, 0, 1, 2, 3, 5, random.choice([8, 100, FAR])]
    return [
        [_claim(random, bounds) for _ in range(random.randrange(7))]
        for _ in range(random.randrange(1, 4))
    ]


def _claim(random: Random, bounds: list[int]) -> Claim:
    inv = random.randrange(8)
    lo, hi = random.choice(bounds), random.choice([*bounds, UNBOUNDED, UNBOUNDED])
    ret = random.choice([inv + random.randrange(6), UNBOUNDED])
    return Claim(inv, ret, max(0, lo), hi)


def as_columns(found: list[list[Claim]]) -> Claims:
    """The claims of all counters, one counter after the other."""
    rows = [(group, *claim) for group, own in enumerate(found) for claim in own]
    return Claims(*np.array(rows, np.int64).reshape(-1, 5).T)


def disagreements() -> Iterator[str]:
    """Counters of which the kernel says something else, and claims that it leaves out."""
    random = Random(7)
    for number in range(HISTORIES):
        found = counters(random)
        columns = as_columns(found)
        guilty, kept = set(contradicted(columns).tolist()), contradicting(columns)
        for group, told in enumerate(found):
            violation = find_violation(told)
            if (group in guilty) is not (violation is not None):
                yield f"history {number}, counter {group}: {violation}"
            if violation is not None and violation.earlier is not None:
                own = kept[columns.group == group]
                if not (own[violation.earlier] and own[violation.later]):
                    yield f"history {number}, counter {group}: a claim of {violation} is left out"


def test_the_kernel_finds_what_the_definition_finds() -> None:
    assert next(disagreements(), None) is None


def _first_below(most: claims.ClaimSide, least: claims.ClaimSide) -> Numbers:
    found = np.full(len(least.bound), UNTOLD)
    for place, (group, bound) in enumerate(zip(least.group, least.bound, strict=True)):
        below = most.stamp[(most.group == group) & (most.bound < bound)]
        found[place] = below[0] if len(below) else UNTOLD
    return found


def _of_any_counter(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    def joined(most: claims.ClaimSide, least: claims.ClaimSide) -> Numbers:
        nowhere = [side._replace(group=np.zeros_like(side.group)) for side in (most, least)]
        return function(*nowhere)

    return joined


def _or_equal(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda most, least: function(most, least._replace(bound=least.bound + 1))


@pytest.mark.parametrize(
    "wrong",
    [
        _first_below,
        _of_any_counter(claims.latest_below),
        _or_equal(claims.latest_below),
    ],
    ids=["not the latest", "of any counter", "or an equal bound"],
)
def test_a_wrong_kernel_is_seen(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., Numbers]
) -> None:
    monkeypatch.setattr(claims, "latest_below", wrong)

    assert next(disagreements(), None) is not None
