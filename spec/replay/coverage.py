"""How much of what a run's processes did is in a replay of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fencepost.spec.replay.projection import Event
from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action

OF_RECORDS = frozenset(
    {
        Action.LEADER_APPEND,
        Action.SERVE_FETCH,
        Action.FOLLOWER_APPEND,
        Action.ADVANCE_HIGH_WATERMARK,
        Action.TRUNCATE_LOG,
    }
)
"""All other actions are of the control plane."""


class Replayable(Protocol):
    """A projection of a run."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What is replayed, in order."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Lines of actions, and those of them that are an event of some replay."""

    lines: int = 0
    replayed: int = 0

    def __add__(self, other: "Coverage") -> "Coverage":
        return Coverage(self.lines + other.lines, self.replayed + other.replayed)

    @property
    def share(self) -> float:
        """Of 1; all of nothing is 1."""
        return self.replayed / self.lines if self.lines else 1.0


NOTHING = Coverage()


def coverage(
    lines: Iterable[TraceFileLine],
    replays: Sequence[Replayable],
    without: frozenset[str] = frozenset(),
) -> Coverage:
    """Of the lines of one run, by the replays of all its partitions; of some actions none."""
    told = {(event.line.file, event.line.number) for one in replays for event in one.events}
    counted = [
        (line.file, line.number) in told
        for line in lines
        if line.event.kind is Kind.ACTION and line.event.action not in without
    ]
    return Coverage(len(counted), sum(counted))
