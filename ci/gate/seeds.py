"""The seeds that the gate plays: first those that were chosen, then the others in their order.

Most are played at the newest level, and some at each level below it, which has rules of its own
that the newest one replaces.
`seeds.toml` is written by `python -m fencepost.ci.bench.mutation.seeds`, which says how.
"""

import tomllib
from collections.abc import Collection, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.spec.vocabulary import NEWEST_LEVEL, ProtocolLevel

CHOSEN = Path(__file__).with_name("seeds.toml")
SCORES = Path(__file__).parents[1] / "edits_at_random.toml"
EARLIER_LEVELS = tuple(range(ProtocolLevel.BROKER_EPOCH, NEWEST_LEVEL))
"""Those below the newest that are played beside it."""


class GateSeed(NamedTuple):
    """A seed, and the level at which it is played; its text is `SEED@LEVEL`."""

    level: int
    seed: int

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.seed}@{self.level:d}"

    @classmethod
    def parse(cls, text: str) -> "GateSeed":
        """Of `SEED@LEVEL`."""
        seed, _, level = text.partition("@")
        return cls(int(level), int(seed))


def gate_seeds(number: int, run: int = 0) -> tuple[int, ...]:
    """So many seeds, none when that is below 1; of another run than 0 others, none chosen."""
    return _of_run(chosen_seeds(), max(0, number), run)


def earlier_seeds(run: int = 0) -> Mapping[int, tuple[int, ...]]:
    """By earlier level as many seeds as are chosen there; of another run than 0 others."""
    earlier = {level: chosen_seeds(level) for level in EARLIER_LEVELS}
    return {level: _of_run(chosen, len(chosen), run) for level, chosen in earlier.items()}


def all_chosen() -> tuple[GateSeed, ...]:
    """The chosen seeds of all these levels, the newest level first."""
    levels = (NEWEST_LEVEL, *EARLIER_LEVELS)
    return tuple(GateSeed(int(level), seed) for level in levels for seed in chosen_seeds(level))


def chosen_seeds(level: int = NEWEST_LEVEL) -> tuple[int, ...]:
    """The seeds in which most rules of the core are decisive at the level, the best first."""
    return tuple(tomllib.loads(CHOSEN.read_text())["seeds"].get(f"{level:d}", ()))


def undecided_rules() -> list[dict[str, Any]]:
    """The functions with rules that are decisive in none of these seeds, and how many of each."""
    return list(tomllib.loads(CHOSEN.read_text())["undecided"])


def edit_scores() -> list[dict[str, Any]]:
    """The last scores of edits at random, one for each goal."""
    return list(tomllib.loads(SCORES.read_text())["score"])


def _of_run(chosen: Collection[int], number: int, run: int) -> tuple[int, ...]:
    others = (seed for seed in count() if seed not in chosen)
    if not run:
        return (*chosen, *islice(others, number))[:number]
    first = max(0, run * number - len(chosen))
    return tuple(islice(others, first, first + number))
