"""What drawn runs reach and find: `python -m fencepost.ci.bench.draws BEFORE [AFTER]`.

Seeds of the swarm without a mutant, the levels in turn: which actions occur, and beside which kinds
of faults, how many faults took effect, and violations. Then each mutant on swarm seeds, dense runs,
and variations of the stories that were written for other mutants, up to the first that finds it.
The last file that is named is measured, or finished, first. What a seed draws is changed only if
nothing is worse.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import msgspec

from fencepost.ci.bench.mutants_on_processes import scenarios
from fencepost.ci.screens.console import progress, show_table
from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.whitebox.coverage import covered
from fencepost.conformance.whitebox.mutants_on_processes import is_violated
from fencepost.conformance.whitebox.simulate import load
from fencepost.conformance.worker_pool import in_order
from fencepost.spec.trace import Phase, TraceEvent
from fencepost.spec.vocabulary import NEWEST_LEVEL

SEEDS = 2_000
LEVEL = NEWEST_LEVEL.value
LEVELS = range(NEWEST_LEVEL + 1)
TRIES = {"swarm": 150, "rare": 30, "dense": 4, "variation": 3}
"""So many runs at most until a mutant is found; on the swarm, the mutants that it finds rarely have
fewer, and a schedule of their own."""

Row = dict[str, Any]
Task = tuple[str, str, int]
"""`reach` and a seed, or a kind of run and a mutant."""


def perform(task: Task) -> Row:
    """What the runs of one task give, and their cost in seconds of the processor."""
    kind, mutant, seed = task
    begun = process_time()
    row = _first_find(kind, mutant) if mutant else _reached(seed)
    return {"task": task, **row, "seconds": process_time() - begun}


def _reached(seed: int) -> Row:
    level = LEVELS[seed % len(LEVELS)]
    events = load().simulate(seed, level=level, mutant=None)
    phases = Counter(event.phase for event in events)
    return {
        "violated": _violated(events),
        "pairs": sorted(covered(events)),
        "faults": [phases[Phase.ACTIVE], phases[Phase.INEFFECTIVE]],
    }


def _first_find(kind: str, mutant: str) -> Row:
    for number in range(1, TRIES[kind] + 1):
        try:
            violated = next(filter(None, _played(kind, mutant, number)), None)
        except Exception as error:  # whatever a broken rule leads to
            violated = [type(error).__name__]
        if violated:
            return {"first": number, "violated": violated}
    return {"first": 0, "violated": []}


def _played(kind: str, mutant: str, number: int) -> Iterator[list[str]]:
    """What each trace of a run violates; where disks may fail, elections are not judged."""
    simulator = load()
    if kind in ("swarm", "rare"):
        yield _violated(simulator.simulate(number - 1, level=LEVEL, mutant=mutant))
        return
    if kind == "dense":
        long = simulator.moves_of_number
        traces: Iterable[Sequence[TraceEvent]] = [
            long(number, level=LEVEL, mutant=mutant, is_enough=is_violated)[1]
        ]
    else:
        found = simulator.variations(scenarios(), number, mutant=mutant, skips_own=True)
        traces = (events for _, _, events in found)
    for events in traces:
        yield _violated(events) or ["an election"] * is_violated(events)


def _violated(events: Sequence[TraceEvent]) -> list[str]:
    seen = {check.invariant.value for check in run_checks(events) if check.violations}
    return sorted(seen | {owed.value for owed in run_end(events).unhealed})


def tasks() -> Iterator[Task]:
    """All that is measured."""
    for record in load().mutants():
        for kind in ("rare" if record["shows"] else "swarm", "dense", "variation"):
            yield kind, str(record["mutant"]), 0
    yield from (("reach", "", seed) for seed in range(SEEDS))


def measure(file: Path) -> None:
    """Append one line per task that the file lacks."""
    held = {tuple(row["task"]) for row in _rows(file)}
    wanted = [task for task in tasks() if task not in held]
    done = in_order(perform, wanted, jobs=2, chunk=1)
    with closing(done), progress("draws") as advance, file.open("ab", buffering=0) as out:
        for number, row in enumerate(done, start=1):
            out.write(msgspec.json.encode(row) + b"\n")
            advance(number, len(wanted), row["task"][0])


def _rows(file: Path) -> list[Row]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


def figures(file: Path) -> dict[str, str]:
    """What the file says."""
    rows = _rows(file)
    reach = [row for row in rows if row["task"][0] == "reach"]
    actions = Counter(action for row in reach for action in {pair[1] for pair in row["pairs"]})
    pairs = Counter(tuple(pair) for row in reach for pair in row["pairs"])
    effective, ineffective = (sum(row["faults"][n] for row in reach) for n in (0, 1))
    told = {
        "runs without a mutant": f"{len(reach)}",
        "actions reached": f"{len(actions)}, the rarest in {min(actions.values(), default=0)} runs",
        "pairs of fault and action": f"{len(pairs)}",
        "pairs in ten runs or more": f"{sum(n >= 10 for n in pairs.values())}",
        "faults that took effect": f"{effective} of {effective + ineffective}",
    }
    for turn, level in enumerate(LEVELS):
        found = [s for _, _, s in (row["task"] for row in reach if row["violated"])]
        told[f"violations at level {level}"] = f"{sum(s % len(LEVELS) == turn for s in found)}"
    for kind, most in TRIES.items():
        firsts = [row["first"] for row in rows if row["task"][0] == kind]
        kills = [first for first in firsts if 0 < first <= most]
        told[f"{kind}: mutants found"] = f"{len(kills)} of {len(firsts)}"
        told[f"{kind}: median of first finds"] = f"{median(kills or [0]):g}"
    told["seconds of the processor"] = f"{sum(row['seconds'] for row in rows):.0f}"
    return told


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    files[-1].touch()
    measure(files[-1])
    columns = [figures(file) for file in files]
    rows = [[what, *(column[what] for column in columns)] for what in columns[0]]
    show_table("draws", ("what", *map(str, files)), rows)
