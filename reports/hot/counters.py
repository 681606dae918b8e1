"""Claims about counters that never fall, by ranges of what they bound.

What contradicts each other are a claim of at most so much, by when it was invoked last, and one of
more, by when it had returned first. Each range is judged with the last invocation of all below it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.reports.hot.carried import Key, coded
from fencepost.reports.hot.spill import NUMBERS_MAX, Spill
from fencepost.reports.kernels.bucket_rows import UNTOLD, Numbers, joint
from fencepost.reports.kernels.claims import Claims, ClaimSide, latest_below, sides

_SCHEMA = pa.schema(
    [
        ("group", pa.int64()),
        ("bound", pa.int64()),
        ("stamp", pa.int64()),
        ("is_least", pa.bool_()),
        ("of_record", pa.bool_()),
    ]
)


class Stale(NamedTuple):
    """The two claims of a counter that contradict each other most."""

    ret: int
    """When the one of more had returned."""
    inv: int
    """When the one of less was invoked."""


class Counters:
    """Claims of all pieces, of counters that are known by their keys."""

    def __init__(self, folder: Path, width: int) -> None:
        """`width`: how many bounds are judged together."""
        self._spill = Spill(folder, _SCHEMA)
        self._width = width
        self._groups: dict[Key, int] = {}
        """Each key, and the number that stands for it, the same wherever it is told."""

    def close(self) -> None:
        """As `Spill.close`."""
        self._spill.close()

    def join(self, other: "Counters") -> None:
        """What the other one has seen is seen here, too."""
        self._spill.join(other._spill)
        self._groups |= other._groups

    def see(self, claims: Claims, keys: Sequence[Numbers], *, of_records: bool = False) -> None:
        """Claims of a piece; `keys` in place of their groups.

        `of_records`: they follow from all that is told of records, which is in no one piece.
        """
        group, names = coded(keys)
        numbers = [self._groups.setdefault(name, _number(name)) for name in names]
        most, _, least, _ = sides(claims._replace(group=np.array(numbers, np.int64)[group]))
        self._write(_reduced(most, is_least=False), is_least=False, of_records=of_records)
        self._write(_reduced(least, is_least=True), is_least=True, of_records=of_records)

    def _write(self, side: ClaimSide, *, is_least: bool, of_records: bool) -> None:
        """What is more than `n` lies in one range with what is at most `n`."""
        ranges = np.clip((side.bound - is_least) // self._width, 0, NUMBERS_MAX - 1)
        told = [np.full(len(side.bound), flag) for flag in (is_least, of_records)]
        self._spill.write(pa.table([*side, *told], schema=_SCHEMA), ranges)

    def least_of(self, key: Key) -> tuple[Numbers, Numbers]:
        """What a counter was at least, and when that had returned first, but for records."""
        bounds, stamps = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for rows in self._spill:
            number, bound, stamp, is_least, of_record = (c.to_numpy() for c in rows.columns)
            own = (number == self._groups.get(key, 0)) & is_least & ~of_record
            bounds.append(bound[own])
            stamps.append(stamp[own])
        return np.concatenate(bounds), np.concatenate(stamps)

    def contradicted(self) -> dict[Key, Stale]:
        """The counters with two claims that contradict each other; nothing is told after that."""
        known = np.unique(np.array(list(self._groups.values()), np.int64))
        latest = np.full(len(known), UNTOLD)
        found: dict[int, Stale] = {}
        for rows in self._spill:
            number, bound, stamp, is_least, _ = (column.to_numpy() for column in rows.columns)
            group = np.searchsorted(known, number)
            most = ClaimSide(group[~is_least], bound[~is_least], stamp[~is_least])
            least = ClaimSide(group[is_least], bound[is_least], stamp[is_least])
            _find(found, least, _last_below(most, least, latest))
            np.maximum.at(latest, most.group, most.stamp)
        by_number = {int(known[group]): stale for group, stale in found.items()}
        return {
            key: by_number[number] for key, number in self._groups.items() if number in by_number
        }


def _find(found: dict[int, Stale], least: ClaimSide, before: Numbers) -> None:
    """The worst of each counter, and of equal ones that with the least bound."""
    early = np.flatnonzero(before > least.stamp)
    staleness = before[early] - least.stamp[early]
    order = np.lexsort((least.bound[early], -staleness))
    group, first = np.unique(least.group[early][order], return_index=True)
    for one, at in zip(group.tolist(), early[order][first].tolist(), strict=True):
        stale = Stale(int(least.stamp[at]), int(before[at]))
        worst = found.get(one, stale)
        found[one] = stale if stale.inv - stale.ret > worst.inv - worst.ret else worst


def _number(key: Key) -> int:
    """Where two counters had the same one, they would be judged together, and more severely."""
    digest = blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _last_below(most: ClaimSide, least: ClaimSide, latest: Numbers) -> Numbers:
    """For each claim of `least` when one of less was invoked last.

    `latest`: of each group, the last invocation of a claim with a bound below all of these.
    """
    return np.maximum(latest_below(most, least), latest[least.group])


def _reduced(side: ClaimSide, *, is_least: bool) -> ClaimSide:
    """Of equal bounds of a counter the one that decides: the last invocation, the first return."""
    place = joint(side.group, side.bound)
    places = int(place.max(initial=-1)) + 1
    group, bound = np.zeros(places, np.int64), np.zeros(places, np.int64)
    group[place], bound[place] = side.group, side.bound
    stamp = np.full(places, UNBOUNDED if is_least else UNTOLD)
    (np.minimum if is_least else np.maximum).at(stamp, place, side.stamp)
    return ClaimSide(group, bound, stamp)
