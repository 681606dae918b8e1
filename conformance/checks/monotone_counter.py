"""The kernel: is a history of a counter that never falls linearizable?

State is one integer, first 0, raised in steps of one. Each operation that ended claims that the
counter was at least `lo` and at most `hi` at some instant between its invocation and its return.
The operation that takes the counter from k to k+1 claims `hi = k` and `lo = k + 1`.

The history is linearizable iff no operation `earlier` returned before `later` was invoked with
`earlier.lo > later.hi` (Theorem 1: a record log, a versioned znode and an epoch are all this
counter). With `E(k)` the last invocation among claims `hi <= k` and `U(k)` the first return among
claims `lo = k + 1` that is `E(k) <= U(k)` for all k: one pass, one running maximum.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

UNBOUNDED = 1 << 62
"""A `hi` that claims nothing, and the `ret` of an operation that never returned."""


class Claim(NamedTuple):
    """What the answer of one operation says about the counter; stamps of one clock, any unit."""

    inv: int
    ret: int
    """`UNBOUNDED` when the operation has not returned: its `lo` then claims nothing."""
    lo: int
    hi: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inversion:
    """Two claims, by position, that no single counter can have answered in this order of time."""

    earlier: int | None
    """Proved the counter to be `lo` before `later` was invoked; None: below its start at 0."""
    later: int
    """Answered as if the counter were still at most `hi`."""
    staleness: int
    """By how much all returns would have to come later for the history to be linearizable."""


def find_violation(claims: Sequence[tuple[int, int, int, int]]) -> Inversion | None:
    """The two claims of greatest staleness that contradict each other, or None.

    Takes `Claim`s or bare tuples in any order; linear but for a sort of the distinct bounds.
    """
    last_invocation: dict[int, int] = {}
    first_return: dict[int, int] = {}
    for inv, ret, lo, hi in claims:
        if hi < UNBOUNDED and last_invocation.get(hi, -1) < inv:
            last_invocation[hi] = inv
        if ret < first_return.get(lo, UNBOUNDED):
            first_return[lo] = ret
    first_return.pop(0, None)
    if last_invocation and min(last_invocation) < 0:
        return _below_zero(claims)
    return _latest_inversion(claims, last_invocation, first_return)


def _below_zero(claims: Iterable[tuple[int, int, int, int]]) -> Inversion:
    later = next(index for index, claim in enumerate(claims) if claim[3] < 0)
    return Inversion(earlier=None, later=later, staleness=0)


def _latest_inversion(
    claims: Sequence[tuple[int, int, int, int]],
    last_invocation: dict[int, int],
    first_return: dict[int, int],
) -> Inversion | None:
    invocation, worst, at = -1, 0, 0
    bounds = iter(sorted(last_invocation))
    bound = next(bounds, UNBOUNDED)
    for lo in sorted(first_return):
        while bound < lo:
            invocation = max(invocation, last_invocation[bound])
            bound = next(bounds, UNBOUNDED)
        if invocation - first_return[lo] > worst:
            worst, at = invocation - first_return[lo], lo
    return _witness(claims, at, worst) if worst else None


def _witness(claims: Sequence[tuple[int, int, int, int]], lo: int, staleness: int) -> Inversion:
    earlier = min(
        (index for index, claim in enumerate(claims) if claim[2] == lo),
        key=lambda index: claims[index][1],
    )
    later = max(
        (index for index, claim in enumerate(claims) if claim[3] < lo),
        key=lambda index: claims[index][0],
    )
    return Inversion(earlier=earlier, later=later, staleness=staleness)
