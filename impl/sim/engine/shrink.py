"""Makes a failing run small: fewer faults, calmer weather, fewer clients and operations.

Delta debugging (Zeller and Hildebrandt 2002) on the options of the run: what is left out stays out
when the run fails in the same way without it. All else is drawn from the same seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

from fencepost.fault_injection.stories.schedule import TimedFault
from fencepost.impl.sim.engine.options import CALM, RunOptions
from fencepost.impl.sim.engine.run import run
from fencepost.impl.sim.world.network import Weather
from fencepost.spec.trace import TraceEvent

RUNS_MAX = 250
SHORTEST_MS = 500

Fails = Callable[[Callable[[], list[TraceEvent]]], bool]
"""Plays a run and says whether it fails as the first one did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """The smallest run that was found, and how many were played for it."""

    options: RunOptions
    runs: int


class Shrinker:
    """Holds the smallest failing run so far."""

    def __init__(self, options: RunOptions, fails: Fails, runs_max: int) -> None:
        self.best = options
        self.runs = 0
        self._fails = fails
        self._runs_max = runs_max

    def tries(self, candidate: RunOptions) -> bool:
        """True when the candidate fails as well, and is the best from now on."""
        if self.runs >= self._runs_max or candidate == self.best:
            return False
        self.runs += 1
        if not self._fails(lambda: run(candidate, "shrink")):
            return False
        self.best = candidate
        return True

    def drop_faults(self) -> bool:
        """Leave out ever smaller parts of the schedule; true when something could go."""
        before = len(self.best.schedule.faults)
        size = before
        while size:
            at = 0
            while at < len(self.best.schedule.faults):
                faults = self.best.schedule.faults
                if not self.tries(_with_faults(self.best, faults[:at] + faults[at + size :])):
                    at += size
            size //= 2
        return len(self.best.schedule.faults) < before

    def simplify(self) -> bool:
        """Take the first simpler setting that still fails, until there is none."""
        changed = False
        while any(self.tries(simpler) for simpler in _simpler(self.best)):
            changed = True
        return changed

    def end_early(self) -> None:
        """The run and the work of its clients end as early as they can."""
        for part in (0.25, 0.5, 0.75, 0.9):
            shorter_ms = max(SHORTEST_MS, int(self.best.duration_ms * part))
            if self.tries(replace(self.best, duration_ms=shorter_ms)):
                break
        low, high = 0, 1
        while self.runs < self._runs_max and not self.tries(replace(self.best, operations=high)):
            low, high = high, 2 * high
            if high > self.best.duration_ms:
                return
        while high - low > 1:
            middle = (low + high) // 2
            if self.tries(replace(self.best, operations=middle)):
                high = middle
            else:
                low = middle


def shrink(options: RunOptions, fails: Fails, *, runs_max: int = RUNS_MAX) -> Shrunk:
    """The run with all that could be left out left out; `options` itself if nothing could."""
    shrinker = Shrinker(options, fails, runs_max)
    while shrinker.drop_faults() | shrinker.simplify():
        pass
    shrinker.end_early()
    shrinker.drop_faults()
    return Shrunk(options=shrinker.best, runs=shrinker.runs)


def _with_faults(options: RunOptions, faults: tuple[TimedFault, ...]) -> RunOptions:
    return replace(options, schedule=replace(options.schedule, faults=faults))


def _simpler(options: RunOptions) -> Iterator[RunOptions]:
    """Each leaves out one thing; those that leave out much come first."""
    yield replace(options, weather=CALM)
    for item in fields(Weather):
        usual = getattr(CALM, item.name)
        yield replace(options, weather=replace(options.weather, **{item.name: usual}))
    for usual in _USUAL:
        yield usual(options)
    if options.producers > 1:
        yield replace(options, producers=options.producers - 1)


_USUAL: tuple[Callable[[RunOptions], RunOptions], ...] = (
    lambda options: replace(options, connection_breaks=0.0),
    lambda options: replace(options, unacknowledged=0.0),
    lambda options: replace(options, idempotent=False),
    lambda options: replace(options, survivors_first=False),
    lambda options: replace(options, partitions=1),
    lambda options: replace(options, late_topics=0),
    lambda options: replace(options, brokers=3, replication_factor=3),
    lambda options: replace(options, consumers=0),
    lambda options: replace(options, producers=1),
    lambda options: replace(options, min_insync_replicas=1),
)
"""What most runs have, and none has less of."""
