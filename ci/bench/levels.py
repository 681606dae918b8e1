"""What a level costs beside level 2: `python -m fencepost.ci.bench.levels [ROUNDS]`.

In each round every level has clusters of its own, one after the other, in an order that turns: a
host that slows down hurts all of them. A figure is the median of the rounds, its target that of
level 2 and a tenth.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from statistics import median

from fencepost.ci.bench import produce
from fencepost.ci.bench.control_plane import failover
from fencepost.ci.bench.measured import Measured, show_measured
from fencepost.ci.screens.console import progress
from fencepost.spec.vocabulary import ProtocolLevel

LEVELS = tuple(level for level in ProtocolLevel if level >= ProtocolLevel.LEADER_EPOCH)
ROUNDS = 3
MOST = 1.1
"""Of the figure of level 2."""
PARTITIONS = 3_000
BATCH = 10

Figures = Mapping[str, Callable[[int], Iterator[Measured]]]
FIGURES: Figures = {
    "failover": lambda level: failover(PARTITIONS, leads_all=False, level=level),
    "produce": lambda level: produce.measured([BATCH], level),
}
"""What is measured at a level; the lines of both benches."""


def rounds(count: int) -> Mapping[tuple[str, str], Mapping[int, list[Measured]]]:
    """What and size -> level -> the figures of its rounds."""
    found: dict[tuple[str, str], dict[int, list[Measured]]] = {}
    with progress("levels") as advance:
        for turn in range(count):
            order = (*LEVELS[turn % len(LEVELS) :], *LEVELS[: turn % len(LEVELS)])
            for place, level in enumerate(order, start=1):
                advance(turn * len(LEVELS) + place, count * len(LEVELS), f"level {level:d}")
                for measure in FIGURES.values():
                    for line in measure(level):
                        by_level = found.setdefault((line.what, line.unit), {})
                        by_level.setdefault(level, []).append(line)
    return found


def compared(count: int) -> Iterator[Measured]:
    """One line per figure and level."""
    for (what, unit), by_level in rounds(count).items():
        usual = median(line.figure for line in by_level[ProtocolLevel.LEADER_EPOCH])
        for level, lines in sorted(by_level.items()):
            figures = sorted(line.figure for line in lines)
            spread = f"{figures[0]:.3g} to {figures[-1]:.3g} in {count} rounds"
            yield Measured(
                what=f"level {level}: {what}",
                size=spread,
                figure=median(figures),
                target=round(MOST * usual, 3),
                unit=unit,
            )


def main(arguments: list[str]) -> None:
    """Measure all levels in one run."""
    if wrong := [text for text in arguments if not text.isdecimal() or not int(text)]:
        raise SystemExit(f"{wrong[0]} is no number of rounds")
    show_measured("levels", compared(int(arguments[0]) if arguments else ROUNDS))


if __name__ == "__main__":
    main(sys.argv[1:])
