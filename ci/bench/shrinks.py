"""How small the runs become that find mutants.

Run `python -m fencepost.ci.bench.shrinks [--only NAMES]`.

Each mutant is run along the seeds of the simulator until one violates something, and that run is
made small, as `fencepost simulate --shrink` does. A mutant that no seed finds is not counted: it is
shown along a schedule, which is as small as one written by hand. Rows come as they are
measured, in seconds of processor time.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time

from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.whitebox.shrink import failures, shrink_seed
from fencepost.conformance.whitebox.simulate import Subject, load
from fencepost.spec.vocabulary import NEWEST_LEVEL

SEEDS = 100
TARGET_FAULTS = 5
TARGET_SHARE = 0.9
TARGET_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrink:
    """One mutant's first failing seed, made small."""

    mutant: str
    seed: int
    faults_before: int
    faults: int
    runs: int
    """How many runs it took."""
    seconds: float

    @property
    def is_small(self) -> bool:
        """No more faults are left than the target allows."""
        return self.faults <= TARGET_FAULTS


def first_failing(mutant: str, seeds: int) -> int | None:
    """The first seed that violates something; None when none does."""
    subject = Subject(level=NEWEST_LEVEL, mutant=mutant)
    known = {record["mutant"]: record["seed"] for record in load(subject.target).mutants()}
    order = dict.fromkeys([known[mutant], *range(seeds)])
    return next((seed for seed in order if failures(partial(subject.simulate, seed))), None)


def measure(mutant: str, seed: int) -> Shrink:
    """The run of the seed, made small."""
    subject = Subject(level=NEWEST_LEVEL, mutant=mutant)
    started = process_time()
    done = shrink_seed(subject, seed)
    return Shrink(
        mutant=mutant,
        seed=seed,
        faults_before=done.faults_before,
        faults=done.faults,
        runs=done.runs,
        seconds=round(process_time() - started, 1),
    )


def is_enough(found: Sequence[Shrink]) -> bool:
    """The share of small ones is what is wanted, and none took too long."""
    small = sum(one.is_small for one in found)
    return small >= TARGET_SHARE * len(found) and all(one.seconds <= TARGET_S for one in found)


def main(arguments: Sequence[str]) -> int:
    """Print the table; 0 when the targets are met, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.ci.bench.shrinks", description=__doc__
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="mutants, with commas")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="tried for each mutant at most")
    given = parser.parse_args(arguments)
    known = [str(record["mutant"]) for record in load().mutants()]
    names = given.only.split(",") if given.only else known
    if unknown := sorted({*names} - {*known}):
        parser.error(f"unknown mutant {unknown[0]}; fencepost mutants list names all")
    found: list[Shrink] = []
    for mutant in names:
        seed = first_failing(mutant, given.seeds)
        if seed is None:
            note(f"{mutant}: no seed of {given.seeds} finds it")
            continue
        one = measure(mutant, seed)
        found.append(one)
        note(f"{mutant}: seed {seed}, {one.faults_before} faults to {one.faults}, {one.seconds} s")
    columns = ("mutant", "seed", "faults", "left", "runs", "processor s")
    show_table(
        "failing seeds, made small",
        columns,
        [(o.mutant, o.seed, o.faults_before, o.faults, o.runs, o.seconds) for o in found],
    )
    small = sum(one.is_small for one in found)
    say(
        f"{small} of {len(found)} have at most {TARGET_FAULTS} faults left; wanted "
        f"{TARGET_SHARE:.0%}, in {TARGET_S:.0f} s each"
    )
    return 0 if is_enough(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
