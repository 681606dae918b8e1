"""Chooses the seeds of the gate: `python -m fencepost.ci.bench.mutation.seeds`.

A rule of the core is one edit of it (`core` beside this); it is decisive in a seed in which, at
least once, the edited place would have had another value. Of a pool of seeds those are chosen in
which each rule is decisive three times, if it is in three of the pool; the others of the gate's
number are those in which most of the rarer rules are, for their length. The pool has seeds of the
newest level, and of those below it that the gate plays too; or, with `--again`, those of the file.
They are written to `ci/gate/seeds.toml`, the best of a level first, with how many rules are
decisive how often; `ci/decisive_rules.md` has the functions with rules that are decisive too
seldom, and `--list` names these rules.
With `--check` nothing is written, and the exit code is 1 when the file is another one.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from fencepost.ci.bench.mutation.python.core_reach import Reach, measured_reach
from fencepost.ci.gate.seeds import CHOSEN, EARLIER_LEVELS, GateSeed, all_chosen
from fencepost.ci.gate.tiers import EFFORT
from fencepost.ci.screens.console import say, show_table
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import NEWEST_LEVEL

POOL = 240
EARLIER_SHARE = 0.4
"""Of as many seeds of each earlier level: most rules of the newest level are theirs, too."""
AnySeed = TypeVar("AnySeed", bound=Hashable)
OFTEN = 3
"""In so many seeds each rule is to be decisive."""
PAGE = CHOSEN.parents[1] / "decisive_rules.md"
PAGE_HEAD = """\
# Rules of the core that seeds do not decide

Written by `python -m fencepost.ci.bench.mutation.seeds`, which says what it counts.
Of the {seeds} seeds that the gate plays first, at the newest level and those below it, these \
functions have rules that are decisive in fewer than three, or in none: there, only a story or a \
unit test can see an edit.
Rules of the levels below those are among them, and what answers malformed requests.

| file | function | rules | in one or two seeds | in none |
|---|---|---|---|---|"""
HEAD = """\
# The seeds that the gate plays first, by level, the best first, and how many rules of the core are
# decisive in them. `python -m fencepost.ci.bench.mutation.seeds` writes this file, and says how.
"""


def main(arguments: Sequence[str]) -> int:
    """Choose and write, or check; 1 when the file is not in step, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.ci.bench.mutation.seeds", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="only say whether the file is so")
    parser.add_argument("--list", action="store_true", help="name the rules of no seed")
    parser.add_argument(
        "--pool", type=int, default=POOL, help="choose among so many of the newest level"
    )
    parser.add_argument("--again", action="store_true", help="choose among those of the file")
    parser.add_argument(
        "--also", nargs="+", default=[], metavar="SEED@LEVEL", help="and among these"
    )
    given = parser.parse_args(arguments)
    pool = all_chosen() if given.again else pool_of(given.pool)
    also = map(GateSeed.parse, given.also)
    reach = measured_reach(dict.fromkeys((*pool, *also)), ())
    seeds = choose(
        {seed: played.decisive for seed, played in reach.seeds.items()},
        EFFORT[Tier.QUICK].seeds,
        {seed: played.events for seed, played in reach.seeds.items()},
    )
    text = document(seeds, reach)
    if given.list:
        show_nowhere(seeds, reach)
    if not given.check:
        CHOSEN.write_text(text)
        PAGE.write_text(page(seeds, reach))
        return 0
    is_same = text == CHOSEN.read_text()
    say(f"{CHOSEN.name} is {'in step' if is_same else 'not in step: write it anew'}")
    return 0 if is_same else 1


def pool_of(number: int) -> list[GateSeed]:
    """So many seeds of the newest level, and fewer of each earlier one."""
    earlier = int(number * EARLIER_SHARE)
    numbers = {NEWEST_LEVEL: number, **dict.fromkeys(EARLIER_LEVELS, earlier)}
    return [GateSeed(int(level), seed) for level, most in numbers.items() for seed in range(most)]


def choose(
    decisive: Mapping[AnySeed, frozenset[int]],
    number: int,
    events: Mapping[AnySeed, int] = MappingProxyType({}),
) -> list[AnySeed]:
    """So many of the seeds, the best first, and of equal ones the first that is given.

    The best is that which has most rules that the ones before it do not have three times; of rules
    that are all there, those count most in which few seeds are decisive, and a run of fewer events
    is better: it costs less.
    """
    left = dict(decisive)
    totals = Counter(rule for rules in decisive.values() for rule in rules)
    times: Counter[int] = Counter()
    chosen: list[AnySeed] = []
    while left and len(chosen) < number:
        best = max(left, key=lambda seed: _worth(left[seed], events.get(seed, 1), times, totals))
        chosen.append(best)
        times.update(left.pop(best))
    return chosen


def _worth(
    rules: frozenset[int], events: int, times: Mapping[int, int], totals: Mapping[int, int]
) -> tuple[int, float]:
    missing = sum(times.get(rule, 0) < OFTEN for rule in rules)
    rare = sum(1 / (totals[rule] * (1 + times.get(rule, 0))) for rule in rules)
    return missing, rare / events


def document(seeds: Sequence[GateSeed], reach: Reach) -> str:
    """The file about the chosen seeds."""
    times = Counter(rule for seed in seeds for rule in reach.seeds[seed].decisive)
    in_functions = [n for n, edit in enumerate(reach.edits) if not edit.is_at_import]
    often = sum(times[number] >= OFTEN for number in in_functions)
    nowhere = sum(not times[number] for number in in_functions)
    return (
        f"{HEAD}rules = {len(in_functions)}\ndecisive_often = {often}\n"
        f"decisive_seldom = {len(in_functions) - often - nowhere}\ndecisive_nowhere = {nowhere}\n"
        f"{undecided(counts_of(seeds, reach))}\n[seeds]\n"
        f"{''.join(rows_of(level, seeds) for level in sorted({one.level for one in seeds}))}"
    )


def rows_of(level: int, seeds: Sequence[GateSeed]) -> str:
    """Those of a level in their order, some in a row."""
    found = [one.seed for one in seeds if one.level == level]
    rows = (
        f"    {', '.join(map(str, found[place : place + 15]))},\n"
        for place in range(0, len(found), 15)
    )
    return f"{level} = [\n{''.join(rows)}]\n"


def undecided(counts: Mapping[tuple[str, str], Sequence[int]]) -> str:
    """The functions with rules that are decisive nowhere, for the report of the gate."""
    rows = "".join(
        f'    {{ module = "{module}", function = "{function}", rules = {len(found)}, '
        f"nowhere = {found.count(0)} }},\n"
        for (module, function), found in sorted(counts.items())
        if 0 in found
    )
    return f"undecided = [\n{rows}]\n"


def counts_of(seeds: Sequence[GateSeed], reach: Reach) -> dict[tuple[str, str], list[int]]:
    """Module and function -> of each of its rules, in how many of the seeds it is decisive."""
    times = Counter(rule for seed in seeds for rule in reach.seeds[seed].decisive)
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, edit in enumerate(reach.edits):
        if not edit.is_at_import:
            counts[edit.module, edit.operator].append(times[number])
    return counts


def page(seeds: Sequence[GateSeed], reach: Reach) -> str:
    """The functions with rules that are decisive in fewer than three of the chosen seeds."""
    rows = (
        f"| {module} | {operator} | {len(found)} "
        f"| {sum(map(is_seldom, found))} | {found.count(0)} |"
        for (module, operator), found in sorted(counts_of(seeds, reach).items())
        if any(count < OFTEN for count in found)
    )
    return "\n".join([PAGE_HEAD.format(seeds=len(seeds)), *rows, ""])


def is_seldom(count: int) -> bool:
    """Decisive in some seeds, and in too few."""
    return 0 < count < OFTEN


def show_nowhere(seeds: Sequence[GateSeed], reach: Reach) -> None:
    """Of each function the rules that are decisive in none of the seeds."""
    known = {rule for seed in seeds for rule in reach.seeds[seed].decisive}
    rows = [
        (f"{edit.module}:{edit.line}", edit.operator, edit.kind, edit.told)
        for number, edit in enumerate(reach.edits)
        if number not in known and not edit.is_at_import
    ]
    show_table("decisive in no seed", ("place", "function", "kind", "edit"), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
