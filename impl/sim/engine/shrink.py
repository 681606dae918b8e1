"""Makes a failing run small: fewer faults, calmer weather, fewer clients and operations.

A candidate is the options of a run; all else is drawn from the same seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

from fencepost.fault_injection.stories.ddmin import Minimizer
from fencepost.fault_injection.stories.story import without
from fencepost.impl.sim.engine.options import CALM, RunOptions
from fencepost.impl.sim.engine.run import described, run
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


def shrink(options: RunOptions, fails: Fails, *, runs_max: int = RUNS_MAX) -> Shrunk:
    """The run with all that could be left out left out; `options` itself if nothing could."""
    search = Minimizer(
        best=options,
        fails=lambda candidate: fails(lambda: run(described(candidate), "shrink")),
        tries_max=runs_max,
    )
    while _drop_faults(search) | search.simplify(_simpler):
        pass
    _end_early(search)
    _drop_faults(search)
    return Shrunk(options=search.best, runs=search.tries)


def _drop_faults(search: Minimizer[RunOptions]) -> bool:
    return search.drop_parts(
        lambda options: options.story.actions,
        lambda options, dropped: replace(options, story=without(options.story, dropped)),
    )


def _end_early(search: Minimizer[RunOptions]) -> None:
    """The run and the work of its clients end as early as they can."""
    for part in (0.25, 0.5, 0.75, 0.9):
        shorter_ms = max(SHORTEST_MS, int(search.best.duration_ms * part))
        if search.accepts(replace(search.best, duration_ms=shorter_ms)):
            break
    search.lower(
        lambda options, operations: replace(options, operations=operations),
        most=search.best.duration_ms,
    )


def _simpler(options: RunOptions) -> Iterator[RunOptions]:
    """Each leaves out one thing; the largest come first."""
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
