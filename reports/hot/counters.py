"""Claims about counters that never fall, by ranges of what they bound.

What contradicts each other are a claim of at most so much, by when it was invoked last, and one of
more, by when it had returned first. Each range is judged with the last invocation of all below it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.monotone_counter import UNBOUNDED
from fencepost.reports.hot.carried import Key, coded
from fencepost.reports.hot.spill import NUMBERS_MAX, Spill
from fencepost.reports.kernels.bucket_rows import (
    UNTOLD,
    Claims,
    ClaimSide,
    Mask,
    Numbers,
    joint,
    latest_below,
    sides,
)

_SCHEMA = pa.schema(
    [
        ("group", pa.int64()),
        ("bound", pa.int64()),
        ("stamp", pa.int64()),
        ("is_least", pa.bool_()),
    ]
)


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

    def see(self, claims: Claims, keys: Sequence[Numbers]) -> None:
        """Claims of a piece; `keys` in place of their groups."""
        group, names = coded(keys)
        numbers = [self._groups.setdefault(name, _number(name)) for name in names]
        most, _, least, _ = sides(claims._replace(group=np.array(numbers, np.int64)[group]))
        self._write(_reduced(most, is_least=False), is_least=False)
        self._write(_reduced(least, is_least=True), is_least=True)

    def _write(self, side: ClaimSide, *, is_least: bool) -> None:
        """What is more than `n` lies in one range with what is at most `n`."""
        ranges = np.clip((side.bound - is_least) // self._width, 0, NUMBERS_MAX - 1)
        told = np.full(len(side.bound), is_least)
        self._spill.write(pa.table([*side, told], schema=_SCHEMA), ranges)

    def contradicted(self) -> set[Key]:
        """The counters with two claims that contradict each other; nothing is told after that."""
        known = np.unique(np.array(list(self._groups.values()), np.int64))
        latest, found = np.full(len(known), UNTOLD), np.zeros(len(known), np.bool_)
        for rows in self._spill:
            number, bound, stamp, is_least = (column.to_numpy() for column in rows.columns)
            group = np.searchsorted(known, number)
            most = ClaimSide(group[~is_least], bound[~is_least], stamp[~is_least])
            least = ClaimSide(group[is_least], bound[is_least], stamp[is_least])
            found[least.group[_is_early(most, least, latest)]] = True
            np.maximum.at(latest, most.group, most.stamp)
        wrong = set(known[found].tolist())
        return {key for key, number in self._groups.items() if number in wrong}


def _number(key: Key) -> int:
    """Where two counters had the same one, they would be judged together, and more severely."""
    digest = blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _is_early(most: ClaimSide, least: ClaimSide, latest: Numbers) -> Mask:
    """The claims of `least` that had returned before one of less was invoked.

    `latest`: of each group, the last invocation of a claim with a bound below all of these.
    """
    here = latest_below(most, least)
    return np.asarray(np.maximum(here, latest[least.group]) > least.stamp)


def _reduced(side: ClaimSide, *, is_least: bool) -> ClaimSide:
    """Of equal bounds of a counter the one that decides: the last invocation, the first return."""
    place = joint(side.group, side.bound)
    places = int(place.max(initial=-1)) + 1
    group, bound = np.zeros(places, np.int64), np.zeros(places, np.int64)
    group[place], bound[place] = side.group, side.bound
    stamp = np.full(places, UNBOUNDED if is_least else UNTOLD)
    (np.minimum if is_least else np.maximum).at(stamp, place, side.stamp)
    return ClaimSide(group, bound, stamp)
