"""How long the specs take on this machine.

Run `python -m fencepost.ci.bench.specs [tiers | replay | long]`.

Each line has the target for two cores. Nothing is taken from the cache.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from fencepost.ci.bench.measured import Benches, Measured, measure_all, show_measured
from fencepost.ci.gate.tiers import EFFORT, GateTier

if TYPE_CHECKING:
    from fencepost.spec.replay.recorded_run import RecordedRun

TARGET_S = {GateTier.QUICK: 60, GateTier.PULL_REQUEST: 300}
REPLAY_TARGET_S = 20
EVENTS = 50_000
SEEDS = 30
"""Somewhat fewer events than that; the seconds are scaled."""

SIMULATOR = "fencepost.impl.sim.adapter"
LONG_SEEDS = 10
LONG_S = 120
"""Virtual seconds of a long run."""

LEVEL = 2


def tiers() -> Iterator[Measured]:
    """The models of the two tiers that people wait for."""
    from time import monotonic

    from fencepost.spec.tlc.models import load_models, select
    from fencepost.spec.tlc.runner import TlcOptions, check_models

    for tier, target_s in TARGET_S.items():
        models = select(load_models(), tier=tier)
        started = monotonic()
        results = check_models(
            models, workers=EFFORT[tier].workers, options=TlcOptions(use_cache=False)
        )
        seconds = monotonic() - started
        if wrong := [result.model for result in results if not result.agrees]:
            raise SystemExit(f"model {wrong[0]} is not as expected: fencepost check {wrong[0]}")
        states = sum(result.distinct for result in results)
        size = f"{len(models)} models, {states:,} distinct states"
        yield Measured(what=f"tier {tier}", size=size, figure=seconds, target=target_s)


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
        figure=done.seconds * EVENTS / done.events,
        target=REPLAY_TARGET_S,
    )


BENCHES: Benches = {
    "tiers": tiers,
    "replay": replay,
    "long": long,
}


def main(names: list[str]) -> None:
    """Measure what is named, or all."""
    show_measured("specs", measure_all(names, BENCHES))


if __name__ == "__main__":
    main(sys.argv[1:])
