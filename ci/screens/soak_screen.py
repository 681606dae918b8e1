"""How a soak goes on: one screen on a terminal that renews itself, one line per round elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fencepost.ci.screens.console import note, printable
from fencepost.conformance.runs.soak import SoakPlan, SoakRound, Totals
from fencepost.reports.page.words import count

LAST_ROUNDS = 8
"""Rounds that the screen shows."""
FINDINGS = 5


@dataclass(slots=True, kw_only=True)
class Screen:
    """What the screen shows now; rich asks for it several times a second."""

    plan: SoakPlan
    totals: Totals | None = None
    last: list[SoakRound] = field(default_factory=list)
    current: str = "starting"
    started: float = field(default_factory=time.monotonic)
    round_started: float = field(default_factory=time.monotonic)
    earlier_s: float = 0.0
    """Of the sittings before this one."""

    def begin(self, number: int, scenario: str, seed: int, totals: Totals) -> None:
        """A round begins."""
        if self.totals is None:
            self.earlier_s = totals.seconds
        self.totals = totals
        self.current = f"round {number}: {scenario}, seed {seed}"
        self.round_started = time.monotonic()

    def end(self, round_: SoakRound, totals: Totals) -> None:
        """A round has ended."""
        self.totals = totals
        self.last = [*self.last, round_][-LAST_ROUNDS:]

    def __rich__(self) -> Table:
        """The whole screen."""
        page = Table.grid(padding=(0, 2))
        for label, text in self.lines():
            page.add_row(label, Text(printable(text)))
        return page

    def lines(self) -> list[tuple[str, str]]:
        """Label and text of each line."""
        now = time.monotonic()
        elapsed_s = self.earlier_s + now - self.started
        shown = [
            ("soak", f"{clock(elapsed_s)} of {clock(self.plan.duration_s)}"),
            ("now", f"{self.current}, for {now - self.round_started:.0f} s"),
        ]
        if self.totals is not None:
            shown += totals_lines(self.totals)
        shown += [(f"  {one.number}", round_line(one)) for one in self.last]
        if self.totals is not None:
            found = self.totals.findings[-FINDINGS:]
            shown += [("found", f"{one.bundle}: {one.why}") for one in found]
        return shown


class Lines:
    """One line per round, on stderr."""

    def begin(self, number: int, scenario: str, seed: int, totals: Totals) -> None:
        """Nothing is said before a round has ended."""

    def end(self, round_: SoakRound, totals: Totals) -> None:
        """A round has ended."""
        note(f"soak: round {round_.number} after {totals.seconds:.0f} s: {round_line(round_)}")


@contextmanager
def soak_screen(plan: SoakPlan) -> Iterator[Screen | Lines]:
    """The observer of a soak; a terminal shows the screen until the end."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines()
        return
    screen = Screen(plan=plan)
    with Live(screen, console=console, refresh_per_second=2, transient=True):
        yield screen


def totals_lines(totals: Totals) -> list[tuple[str, str]]:
    """Label and words of the sums over all rounds."""
    each = verdict_counts(totals)
    work = f"{count(totals.faults, 'fault')}, {count(totals.acknowledged, 'request')} acknowledged"
    return [
        ("rounds", f"{totals.rounds}: {each}" if each else "0"),
        ("work", work),
        ("open", f"{totals.unsettled} of {count(totals.operations, 'operation')} left open"),
        ("host", f"{count(totals.noisy, 'noisy round')}, at most {totals.memory_mb} MB"),
    ]


def verdict_counts(totals: Totals) -> str:
    """`1 FAIL, 3 PASS`; empty before the first round has ended."""
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(totals.verdicts.items()))


def round_line(round_: SoakRound) -> str:
    """One round."""
    told = (
        f"{round_.scenario} seed {round_.seed}: {round_.verdict} in {round_.seconds:.0f} s, "
        f"{round_.faults} faults, {round_.acknowledged} acknowledged"
    )
    return f"{told}: {round_.why}" if round_.why else told


def clock(seconds: float) -> str:
    """`1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
