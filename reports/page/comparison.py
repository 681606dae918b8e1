"""Two runs beside each other: what is new, fixed, gone or slower.

`changes.html.j2` shows it: as a page of its own, or beside the baseline of a gate.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from fencepost.conformance.verdict import Verdict
from fencepost.reports.page.words import count, listing, seconds
from fencepost.reports.tables.errors import ReportError

TEMPLATE = "comparison.html.j2"
BASELINE = "baseline.json"
"""In a run folder: what differs from the run that was named as its baseline."""


class ChangeKind(StrEnum):
    """What became of a case; in the order in which they are told."""

    NEW = "new"
    """It is broken now and was not."""
    STILL = "still broken"
    FIXED = "fixed"
    GONE = "gone"
    """It showed something and now does not: it was not tried, or cannot be."""
    SLOWER = "slower"


ORDER = tuple(ChangeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """One case that is not as it was."""

    change: ChangeKind
    group: str
    """The stage, or the target of the suite."""
    name: str
    before: Verdict | None
    """None: that run had no such case."""
    after: Verdict | None
    seconds_before: float
    seconds_after: float
    message: str = ""
    """The first thing that does not hold now."""
    again: str = ""
    """The command that shows it."""

    @property
    def became(self) -> str:
        """Verdicts, or times of what is slower."""
        if self.change is ChangeKind.SLOWER:
            return f"{seconds(self.seconds_before)} → {seconds(self.seconds_after)}"
        return f"{_word(self.before)} → {_word(self.after)}"

    @property
    def sentence(self) -> str:
        """One line for people."""
        told = f"{self.change}: {self.group}: {self.name}: {self.became}"
        return told + (f": {self.message}" if self.message else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """All that differs between two runs."""

    before: str
    """The folder of the run that was first."""
    after: str
    changes: tuple[CaseChange, ...] = ()
    alike: int = 0
    """So many cases are as they were."""
    notes: tuple[str, ...] = ()
    """In what the runs themselves differ, one sentence each."""

    @property
    def summary(self) -> str:
        """How many of each kind."""
        found = Counter(change.change for change in self.changes)
        told = [f"{found[kind]} {kind}" for kind in ORDER if found[kind]]
        return f"{listing(told) or 'nothing differs'}; {count(self.alike, 'case')} as before"

    @property
    def news(self) -> tuple[Verdict, ...]:
        """The verdicts of what is broken now and was not."""
        new = [one.after for one in self.changes if one.change is ChangeKind.NEW]
        return tuple(verdict for verdict in new if verdict is not None)


def load_comparison(run: Path) -> RunComparison | None:
    """What the gate left of its baseline; None without one, `ReportError` when unreadable."""
    try:
        return msgspec.json.decode((run / BASELINE).read_bytes(), type=RunComparison)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ReportError(f"{run / BASELINE} is unreadable", "run the gate again") from error


def _word(verdict: Verdict | None) -> str:
    return str(verdict) if verdict else "not tried"
