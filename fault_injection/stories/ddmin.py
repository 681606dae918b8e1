"""Delta debugging (Zeller and Hildebrandt 2002): makes a failing input small.

A caller says what a candidate is and when it fails; what is left out stays out when the rest fails
as well. The order of candidates depends on nothing but the answers of the predicate.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Candidate = TypeVar("Candidate")
Part = TypeVar("Part")


@dataclass(slots=True, kw_only=True)
class Minimizer(Generic[Candidate]):
    """Holds the smallest candidate so far that fails; no candidate is tried twice."""

    best: Candidate
    fails: Callable[[Candidate], bool]
    tries_max: int
    passing: tuple[Candidate, ...] = ()
    """Candidates that are known not to fail."""
    tries: int = field(init=False, default=0)
    _tried: list[Candidate] = field(init=False)

    def __post_init__(self) -> None:
        self._tried = [self.best, *self.passing]

    @property
    def is_exhausted(self) -> bool:
        """True when no more tries are allowed."""
        return self.tries >= self.tries_max

    def accepts(self, candidate: Candidate) -> bool:
        """True when the candidate fails as well, and is the best from now on."""
        if self.is_exhausted or candidate in self._tried:
            return False
        self._tried.append(candidate)
        self.tries += 1
        if not self.fails(candidate):
            return False
        self.best = candidate
        return True

    def drop_parts(
        self,
        parts_of: Callable[[Candidate], tuple[Part, ...]],
        without: Callable[[Candidate, tuple[Part, ...]], Candidate],
    ) -> bool:
        """Leave out ever smaller runs of neighbouring parts; true when some could go."""
        before = size = len(parts_of(self.best))
        while size:
            at = 0
            while at < len(parts := parts_of(self.best)):
                if not self.accepts(without(self.best, parts[at : at + size])):
                    at += size
            size //= 2
        return len(parts_of(self.best)) < before

    def simplify(self, simpler: Callable[[Candidate], Iterable[Candidate]]) -> bool:
        """Take the first simpler candidate that still fails, until there is none."""
        changed = False
        while any(self.accepts(candidate) for candidate in simpler(self.best)):
            changed = True
        return changed

    def lower(self, at: Callable[[Candidate, int], Candidate], *, most: int) -> None:
        """Bring a number down to the least at which it fails, by doubling and then halving."""
        low, high = 0, 1
        while not self.is_exhausted and not self.accepts(at(self.best, high)):
            low, high = high, 2 * high
            if high > most:
                return
        while high - low > 1:
            middle = (low + high) // 2
            if self.accepts(at(self.best, middle)):
                high = middle
            else:
                low = middle
