"""The sequence numbers of nodes in parts of a file: what is missing, and what is there twice."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

RUNS_MAX = 1000
"""Kept of one part: of numbers after these, what is missing is counted within the part."""


@dataclass(slots=True, kw_only=True)
class NodeNumbers:
    """The sequence numbers of one start of a node in one part of a file.

    The first are kept as runs that rise by one, since what came before the part is not known.
    """

    node: str
    incarnation: int
    runs: list[tuple[int, int]] = field(default_factory=list)
    """First and last number of each."""
    last: int = -1
    """The greatest of all."""
    missing: int = 0
    """After the runs."""
    doubled: int = 0

    def add(self, numbers: NDArray[np.int64]) -> None:
        """Take the numbers of the next lines."""
        room = RUNS_MAX - len(self.runs)
        if room > 0 and len(numbers):
            numbers = self._keep(numbers, room)
        if not len(numbers):
            return
        before = np.maximum.accumulate(np.concatenate([[self.last], numbers]))
        grows = numbers > before[:-1]
        self.missing += int((numbers - before[:-1] - 1)[grows].sum())
        self.doubled += int((~grows).sum())
        self.last = int(before[-1])

    def _keep(self, numbers: NDArray[np.int64], room: int) -> NDArray[np.int64]:
        """Those for which there is no room."""
        bounds = np.flatnonzero(np.diff(numbers) != 1) + 1
        starts = np.concatenate([[0], bounds])[:room]
        ends = np.concatenate([bounds, [len(numbers)]])[:room]
        runs = list(zip(numbers[starts].tolist(), numbers[ends - 1].tolist(), strict=True))
        if self.runs and self.runs[-1][1] + 1 == runs[0][0]:
            runs[0] = self.runs.pop()[0], runs[0][1]
        self.runs += runs
        kept = int(ends[-1])
        self.last = max(self.last, int(numbers[:kept].max()))
        return numbers[kept:]

    def after(self, last: int) -> tuple[int, int, int]:
        """What is missing, what is there twice, and the greatest number, with `last` before it."""
        missing, doubled = self.missing, self.doubled
        for first, end in self.runs:
            doubled += max(0, min(end, last) - first + 1)
            missing += max(0, first - last - 1)
            last = max(last, end)
        return missing, doubled, max(last, self.last)
