"""How long the specs take on this machine.

Run `python -m fencepost.ci.bench.specs [tiers | replay | long]`.

Each line has the target for two cores. Nothing is taken from the cache.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from fencepost.ci.gate.tiers import EFFORT, Tier
from fencepost.ci.screens.console import say, show_table

if TYPE_CHECKING:
    from fencepost.spec.replay.recorded_run import RecordedRun

TARGET_S = {Tier.QUICK: 60, Tier.PULL_REQUEST: 300}
REPLAY_TARGET_S = 20
EVENTS = 50_000
SEEDS = 30
"""Somewhat fewer events than that; the seconds are scaled."""

SIMULATOR = "fencepost.impl.sim.adapter"
LONG_SEEDS = 10
LONG_S = 120
"""Virtual seconds of a long run."""

LEVEL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line."""

    what: str
    size: str
    seconds: float
    target_s: int

    @property
    def ratio(self) -> float:
        """The part of the target that it took."""
        return self.seconds / self.target_s


def tiers() -> Iterator[Measured]:
    """The models of the two tiers that people wait for."""
    from time import monotonic

    from fencepost.spec.tlc.models import load_models, select
    from fencepost.spec.tlc.runner import Options, check_models

    for tier, target_s in TARGET_S.items():
        models = select(load_models(), tier=tier)
        started = monotonic()
        results = check_models(
            models, workers=EFFORT[tier].workers, options=Options(use_cache=False)
        )
        seconds = monotonic() - started
        if wrong := [result.model for result in results if not result.agrees]:
            raise SystemExit(f"model {wrong[0]} is not as expected: fencepost check {wrong[0]}")
        states = sum(result.distinct for result in results)
        size = f"{len(models)} models, {states:,} distinct states"
        yield Measured(what=f"tier {tier}", size=size, seconds=seconds, target_s=target_s)


def replay() -> Iterator[Measured]:
    """Fully logged runs of the simulator; the seconds are those of as many events as targeted."""
    from fencepost.conformance.whitebox.simulate import load
    from fencepost.spec.replay.recorded_run import as_lines, recorded_run

    simulator = load()
    runs = [
        recorded_run(f"seed {seed}", as_lines(simulator.simulate(seed, level=LEVEL, mutant=None)))
        for seed in range(SEEDS)
    ]
    yield _replayed(f"replay of {EVENTS:,} events", runs)


def long() -> Iterator[Measured]:
    """The same of runs that are ten times as long."""
    from fencepost.spec.replay.recorded_run import as_lines, recorded_run

    simulator = import_module(SIMULATOR)
    runs = [
        recorded_run(
            f"seed {seed}, {LONG_S} s",
            as_lines(simulator.simulate_long(seed, level=LEVEL, seconds=LONG_S)),
        )
        for seed in range(LONG_SEEDS)
    ]
    yield _replayed(f"{EVENTS:,} events of long runs", runs)


def _replayed(what: str, runs: "list[RecordedRun]") -> Measured:
    from fencepost.spec.replay.replay import Replayed, replay as replay_runs

    done = replay_runs(runs)
    if wrong := [one for one in done.results if one.verdict is not Replayed.ACCEPTED]:
        raise SystemExit(f"{wrong[0].run} is not accepted: {wrong[0].why}")
    size = f"{len(runs)} runs, {done.events:,} events"
    return Measured(
        what=what,
        size=size,
        seconds=done.seconds * EVENTS / done.events,
        target_s=REPLAY_TARGET_S,
    )


BENCHES: dict[str, Callable[[], Iterator[Measured]]] = {
    "tiers": tiers,
    "replay": replay,
    "long": long,
}


def main(names: list[str]) -> None:
    """Measure what is named, or all."""
    if unknown := [name for name in names if name not in BENCHES]:
        raise SystemExit(f"there is no bench {unknown[0]}; known are {', '.join(BENCHES)}")
    lines = [one for name in names or BENCHES for one in BENCHES[name]()]
    show_table(
        "specs",
        ("what", "size", "seconds", "target", "ratio"),
        [
            [one.what, one.size, f"{one.seconds:.1f}", str(one.target_s), f"{one.ratio:.2f}"]
            for one in lines
        ],
    )
    say("a ratio below 1 is within its target")


if __name__ == "__main__":
    main(sys.argv[1:])
