"""How long models, proofs and replays take that people wait for: `… -m fencepost.ci.bench.specs`.

Nothing is taken from the cache; the targets are for two cores (`spec/docs/models.md`, `proofs.md`).
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic
from typing import Any

from fencepost.ci.bench.measured import Measured, show_measured, without_words
from fencepost.ci.gate.tiers import EFFORT
from fencepost.spec.proofs.findings import find_all
from fencepost.spec.proofs.modules import MODULES
from fencepost.spec.replay.recorded_run import as_lines, recorded_run
from fencepost.spec.replay.replay import Replayed, replay
from fencepost.spec.tlc.models import Tier, load_models, select
from fencepost.spec.tlc.runner import TlcOptions, check_models
from fencepost.spec.vocabulary import NEWEST_LEVEL

SIMULATE_LONG = ("fencepost.impl.sim.adapter", "simulate_long")
LONG_RUNS_S = (24, 48)
"""Virtual seconds; twice as long has to cost twice as much."""
LONG_SEED = 2
EVENTS_PER_S = 2_500
"""Of a recorded run, per second of processor: 50,000 in 20 s."""
TARGET_S = {Tier.QUICK: 60, Tier.PULL_REQUEST: 300}
PROOFS_TARGET_S = 60


def tiers() -> Iterator[Measured]:
    """One line per tier; raises `SystemExit` for a model that does not end as expected."""
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


def proofs() -> Iterator[Measured]:
    """One line; raises `SystemExit` for an obligation that is not proved."""
    workers = EFFORT[Tier.QUICK].workers
    started = monotonic()
    found = find_all(MODULES, lambda *_: None, jobs=workers, use_cache=False)
    seconds = monotonic() - started
    obligations = [one for findings in found for one in findings.obligations]
    if unproved := [one for one in obligations if not one.is_proved]:
        raise SystemExit(f"{unproved[0].clause} after {unproved[0].way} is not proved")
    size = f"{len(obligations):,} obligations"
    yield Measured(what="proofs", size=size, figure=seconds, target=PROOFS_TARGET_S)


def replays() -> Iterator[Measured]:
    """Processor seconds of TLC on recorded runs; raises `SystemExit` for one that is refused."""
    module, name = SIMULATE_LONG
    simulate_long: Any = getattr(import_module(module), name)
    for seconds in LONG_RUNS_S:
        events = simulate_long(LONG_SEED, level=NEWEST_LEVEL, seconds=seconds)
        begun = _processor_s()
        report = replay([recorded_run("long", as_lines(events))])
        figure = _processor_s() - begun
        if wrong := [one for one in report.results if one.verdict is not Replayed.ACCEPTED]:
            raise SystemExit(f"{wrong[0].partition} is not replayed: {wrong[0].why}")
        size, target = f"{report.events:,} events", report.events / EVENTS_PER_S
        yield Measured(what="replay of a long run", size=size, figure=figure, target=target)


def _processor_s() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    without_words(sys.argv[1:], __doc__)
    show_measured("specs", chain(proofs(), tiers(), replays()))
