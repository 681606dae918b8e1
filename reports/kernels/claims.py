"""Claims about counters that never fall, and which of them contradict each other."""

from typing import NamedTuple

import numpy as np

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.reports.kernels.bucket_rows import UNTOLD, Mask, Numbers, running_maximum
from fencepost.reports.tables.buckets import NEAR, ranks


class Claims(NamedTuple):
    """What operations say of counters that never fall, as columns of `monotone_counter.Claim`."""

    group: Numbers
    """Which counter."""
    inv: Numbers
    ret: Numbers
    lo: Numbers
    hi: Numbers


class ClaimSide(NamedTuple):
    """One bound of claims, and the stamp that it holds from or up to."""

    group: Numbers
    bound: Numbers
    stamp: Numbers


def sides(claims: Claims) -> tuple[ClaimSide, Numbers, ClaimSide, Numbers]:
    """What says at most so much, by invocation; what says at least so much, by return.

    Behind each is which claims these are.
    """
    most = np.flatnonzero(claims.hi < UNBOUNDED)
    least = np.flatnonzero((claims.lo > 0) & (claims.ret < UNBOUNDED))
    return (
        ClaimSide(claims.group[most], claims.hi[most], claims.inv[most]),
        most,
        ClaimSide(claims.group[least], claims.lo[least], claims.ret[least]),
        least,
    )


def contradicted(claims: Claims) -> Numbers:
    """The counters that `monotone_counter.find_violation` finds fault with, ascending.

    For each claim of a least value `lo`: no claim of less was invoked after it had returned.
    """
    most, _, least, _ = sides(claims)
    is_early = latest_below(most, least) > least.stamp
    below_zero = claims.group[claims.hi < 0]
    return np.unique(np.concatenate([least.group[is_early], below_zero]))


def contradicting(claims: Claims) -> Mask:
    """The claims among which are the two that `find_violation` finds of each counter.

    Of those that were invoked too late, the latest; of those that had returned before, the first to
    return before any that was invoked too late.
    """
    most, says_most, least, says_least = sides(claims)
    is_early = latest_below(most, least) > least.stamp
    earliest = -latest_below(_mirrored(least), _mirrored(most))
    staleness = most.stamp - earliest
    worst = np.zeros(int(claims.group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(worst, most.group, staleness)
    found = np.zeros(len(claims.lo), np.bool_)
    found[says_least] = is_early & np.isin(least.stamp, earliest[staleness > 0])
    found[says_most] |= (staleness > 0) & (staleness == worst[most.group])
    return found


def _mirrored(side: ClaimSide) -> ClaimSide:
    """With time and counters going backwards: what was more is less, what was late is early."""
    return ClaimSide(side.group, -side.bound, -side.stamp)


def latest_below(most: ClaimSide, least: ClaimSide) -> Numbers:
    """For each claim of `least` the latest stamp of `most` with a lower bound, or `UNTOLD`.

    By direct address: each bound of each counter has its place, in ascending order. Where bounds
    are far apart, only those that are told have one.
    """
    if not (len(most.bound) and len(least.bound)):
        return np.full(len(least.bound), UNTOLD)
    low, high = int(most.bound.min()), int(most.bound.max())
    width = high - low + 2
    counters = int(max(most.group.max(), least.group.max())) + 1
    if counters * width > NEAR * (len(most.bound) + len(least.bound)):
        return _latest_of_far(most, least)
    latest = np.full(counters * width, UNTOLD)
    np.maximum.at(latest, most.group * width + (most.bound - low + 1), most.stamp)
    by_counter = latest.reshape(counters, width)
    np.maximum.accumulate(by_counter, axis=1, out=by_counter)
    below = np.clip(least.bound - low, 0, width - 1)
    return np.asarray(latest[least.group * width + below])


def _latest_of_far(most: ClaimSide, least: ClaimSide) -> Numbers:
    group = np.concatenate([most.group, least.group])
    bound = ranks(np.concatenate([most.bound, least.bound]))
    place = ranks(group * (int(bound.max(initial=0)) + 1) + bound)
    places = int(place.max(initial=-1)) + 1
    owner, latest = np.zeros(places, np.int64), np.full(places, UNTOLD)
    owner[place] = group
    np.maximum.at(latest, place[: len(most.group)], most.stamp)
    latest = running_maximum(owner, latest)
    at = place[len(most.group) :]
    has_one = (at > 0) & (owner[at - 1] == least.group)
    return np.where(has_one, latest[at - 1], UNTOLD)
