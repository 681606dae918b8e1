"""One line of a bench's table: what was measured, its figure, and the target for two cores."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.ci.exit_codes import USAGE
from fencepost.ci.screens.console import complain, say, show_table

Benches = Mapping[str, Callable[[], Iterable["Measured"]]]
"""Name of a bench -> what measures its lines."""
COLUMNS = ("what", "size", "figure", "target", "ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the table."""

    what: str
    size: str
    """How much was done, or how the values spread."""
    figure: float
    target: float | None
    """None: it stands beside the others, and nothing is wanted of it."""
    unit: str = "s"
    parts: str = ""
    """Where the time went."""

    @property
    def ratio(self) -> float | None:
        """The part of the target that it took; below 1 is within. None: it has no target."""
        return None if self.target is None else self.figure / self.target

    @property
    def cells(self) -> Sequence[str]:
        """The line under `COLUMNS`."""
        figure = f"{self.figure:.3g} {self.unit}"
        if self.target is None:
            return self.what, self.size, figure, "-", "-"
        wanted, ratio = f"{self.target:g} {self.unit}", f"{self.figure / self.target:.2f}"
        return self.what, self.size, figure, wanted, ratio


def without_words(words: Sequence[str], told: str | None) -> None:
    """Of a bench that takes no words: raises `SystemExit`, with what it measures for `--help`."""
    if set(words) & {"-h", "--help"}:
        say(told or "")
        raise SystemExit(0)
    if words:
        complain(f"this bench takes no words, and got {' '.join(words)}")
        raise SystemExit(USAGE)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of `values` does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def seconds_of(work: Callable[[], object]) -> float:
    """How long `work` took."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure_all(names: Sequence[str], benches: Benches) -> Iterator[Measured]:
    """The lines of the named benches, by default of all; raises `SystemExit` for an unknown one."""
    if unknown := [name for name in names if name not in benches]:
        raise SystemExit(f"there is no bench {unknown[0]}; known are {', '.join(benches)}")
    for name in names or benches:
        yield from benches[name]()


def show_measured(title: str, measured: Iterable[Measured]) -> None:
    """Print the table, the parts of its lines, and how busy the machine was."""
    load = os.getloadavg()[0]
    lines = list(measured)
    show_table(title, COLUMNS, [line.cells for line in lines])
    for line in lines:
        if line.parts:
            say(f"{line.what}: {line.parts}")
    say("a ratio below 1 is within its target")
    say(f"load of the machine {load:.1f} before and {os.getloadavg()[0]:.1f} after")
