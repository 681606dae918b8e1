"""What one piece of a partition's lines hands on to the next one, by key."""

from collections.abc import Iterator, Sequence

import numpy as np

from fencepost.reports.kernels.bucket_rows import Numbers, joint, running_maximum

Key = tuple[int, ...]


class Carried:
    """The last number that was told of each key so far."""

    def __init__(self, first: int) -> None:
        """`first` stands before the first number of a key."""
        self._first = first
        self._last: dict[Key, int] = {}

    def before(self, keys: Sequence[Numbers], numbers: Numbers) -> Numbers:
        """The number before each of these, of the same key; their order is that of time."""
        group, names = coded(keys)
        order = np.argsort(group, kind="stable")
        group = group[order]
        known = [self._last.get(name, self._first) for name in names]
        numbers = self._carried(group, numbers[order], np.array(known, np.int64))
        before = np.roll(numbers, 1)
        before[np.flatnonzero(np.diff(group, prepend=-1))] = known
        last = np.flatnonzero(np.diff(group, append=-1))
        self._last.update(zip(names, numbers[last].tolist(), strict=True))
        found = np.empty_like(before)
        found[order] = before
        return found

    def join(self, other: "Carried") -> None:
        """What the other one was told is told here, too; of other keys."""
        self._last |= other._last

    def of(self) -> Iterator[tuple[Key, int]]:
        """Each key, and what it hands on."""
        yield from self._last.items()

    @staticmethod
    def _carried(_group: Numbers, numbers: Numbers, _known: Numbers) -> Numbers:
        """What is handed on by each number, those of a group one after the other."""
        return numbers


class CarriedMaximum(Carried):
    """The greatest number that was told of each key so far."""

    def join(self, other: Carried) -> None:
        """What the other one was told is told here, too."""
        for name, number in other.of():
            self._last[name] = max(number, self._last.get(name, number))

    @staticmethod
    def _carried(group: Numbers, numbers: Numbers, known: Numbers) -> Numbers:
        return running_maximum(group, np.maximum(numbers, known[group]))


def coded(keys: Sequence[Numbers]) -> tuple[Numbers, list[Key]]:
    """A code for each row, from 0 without gaps, and the key of each code."""
    group = joint(*keys)
    some = np.empty(int(group.max(initial=-1)) + 1, np.int64)
    some[group] = np.arange(len(group))
    return group, list(zip(*(key[some].tolist() for key in keys), strict=True))
