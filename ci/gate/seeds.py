"""The seeds that the gate plays: first those that were chosen, then the others in their order.

`seeds.toml` is written by `python -m fencepost.ci.bench.mutation.seeds`, which says how.
"""

import tomllib
from itertools import count, islice
from pathlib import Path
from typing import Any

CHOSEN = Path(__file__).with_name("seeds.toml")


def gate_seeds(number: int, run: int = 0) -> tuple[int, ...]:
    """So many seeds; of another run than 0 others, of which none is chosen."""
    chosen = chosen_seeds()
    others = (seed for seed in count() if seed not in chosen)
    if not run:
        return (*chosen, *islice(others, number))[:number]
    first = max(0, run * number - len(chosen))
    return tuple(islice(others, first, first + number))


def chosen_seeds() -> tuple[int, ...]:
    """The seeds in which most rules of the core are decisive, the best first."""
    return tuple(tomllib.loads(CHOSEN.read_text())["seeds"])


def undecided_rules() -> list[dict[str, Any]]:
    """The functions with rules that are decisive in none of these seeds, and how many of each."""
    return list(tomllib.loads(CHOSEN.read_text())["undecided"])
