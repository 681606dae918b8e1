"""How the conformance suite reaches the simulator: by name, at run time.

The target is called `python:fencepost.impl.sim.adapter`. Everything that crosses is plain: numbers,
names and events of `fencepost.spec.trace`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from fencepost.fault_injection.stories.story_file import story_from_document
from fencepost.impl.mutants.mutant import Mutant, MutantName
from fencepost.impl.mutants.mutants import MUTANTS, SUITE_MUTANTS, mutant_name
from fencepost.impl.sim.counterexamples import moves, replay, replayed, schedules, why_not_stepped
from fencepost.impl.sim.draw.draw import DrawKind, draw, draw_variations, swarm
from fencepost.impl.sim.draw.upgrades import upgrading
from fencepost.impl.sim.engine.move_lists import moves_of_run, moves_of_variation
from fencepost.impl.sim.engine.run import IsEnough, described, run
from fencepost.impl.sim.engine.shrink import Fails, shrink as shrink_run
from fencepost.impl.sim.engine.story_run import Host, described_story
from fencepost.impl.sim.stories.play import play as play_steps, story_text
from fencepost.impl.sim.stories.story_cluster import Judge
from fencepost.spec.pacing import MoveList
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import ProtocolLevel

__all__ = [
    "moves",
    "moves_of_number",
    "mutants",
    "play",
    "play_story",
    "replay",
    "replayed",
    "schedules",
    "shrink",
    "simulate",
    "simulate_long",
    "simulate_upgrade",
    "suite_mutants",
    "variations",
    "why_not_stepped",
]

VARIATIONS = 16
"""So many make one run: processes take some minutes for them."""


def simulate(seed: int, *, level: int, mutant: str | None = None) -> list[TraceEvent]:
    """The trace of the run that belongs to `seed`.

    Raises `ValueError` with one sentence for an unknown level or mutant.
    """
    drawn = draw(DrawKind.SWARM, seed, level=_level(level), mutant=_mutant(mutant))
    return run(drawn, f"sim-{seed}-level-{level}" + (f"-{mutant}" if mutant else ""))


def simulate_upgrade(
    seed: int, *, level: int, upgrade_from: int, mutant: str | None = None
) -> list[TraceEvent]:
    """The run of `seed` in which brokers that speak `upgrade_from` come to speak `level`.

    Raises `ValueError` with one sentence.
    """
    first, last = _level(upgrade_from), _level(level)
    if not ProtocolLevel.LEADER_EPOCH <= first < last:
        raise ValueError(f"no upgrade leads from level {first:d} to {last:d}; begin at 2 or above")
    options = upgrading(seed, upgrade_from=first, level=last, mutant=_mutant(mutant))
    return run(described(options), f"sim-{seed}-level-{first:d}-to-{last:d}")


def simulate_modelled(seed: int, *, level: int, mutant: str | None = None) -> list[TraceEvent]:
    """The same without its last requests, which the specs do not have: TLC replays this one."""
    options = swarm(seed, level=_level(level), mutant=_mutant(mutant))
    return run(described(replace(options, asks_last=False)), f"sim-{seed}-level-{level}-modelled")


def simulate_long(seed: int, *, level: int, seconds: int) -> list[TraceEvent]:
    """The trace of a run like that of `seed`, of so many virtual seconds."""
    options = swarm(seed, level=_level(level), duration_ms=seconds * 1000)
    options = replace(options, asks_last=False)
    return run(described(options), f"sim-{seed}-level-{level}-long")


def play_story(
    document: dict[str, object], *, level: int, mutant: str | None = None, host: str = Host.QUICK
) -> list[TraceEvent]:
    """The trace of a story file as plain values, on a `quick` or a `busy` host.

    Raises `ValueError` with one sentence.
    """
    story = story_from_document(document)
    given = described_story(story, level=_level(level), mutant=_mutant(mutant), host=Host(host))
    return run(given, f"sim-{story.story_id}-level-{level}")


def mutants() -> list[dict[str, object]]:
    """What can be made wrong on purpose, and which checks must see it."""
    return _records(MUTANTS.values())


def suite_mutants() -> list[dict[str, object]]:
    """What else can be made wrong, for the cases of the conformance suite."""
    return _records(SUITE_MUTANTS.values())


def _records(declared: Iterable[Mutant]) -> list[dict[str, object]]:
    return [
        {
            "mutant": record.name,
            "family": record.family,
            "rule": record.rule,
            "requirement": record.requirement,
            "caught_by": sorted(invariant.value for invariant in record.caught_by),
            "seed": record.seed,
            "level": record.level.value,
            "upgrade_from": None if record.upgrade_from is None else record.upgrade_from.value,
            "hunted_at": None if record.hunted_at is None else record.hunted_at.value,
            "shows": record.shows,
        }
        for record in declared
    ]


def moves_of_number(
    number: int, *, level: int, mutant: str | None, is_enough: IsEnough
) -> tuple[MoveList, list[TraceEvent]]:
    """What leads paced processes along the multi-round run of that number, and its trace.

    The run ends after the first round of which `is_enough` says so. Raises `ValueError`.
    """
    drawn = draw(DrawKind.MULTI_ROUND, number, level=_level(level), mutant=_mutant(mutant))
    name = f"number-{number}-level-{level}" + (f"-{mutant}" if mutant else "")
    return moves_of_run(drawn, name, is_enough)


def variations(
    texts: Mapping[str, str], number: int, *, mutant: str | None, skips_own: bool
) -> Iterator[tuple[str, Callable[[], MoveList], list[TraceEvent]]]:
    """The variations of that number, from 1 on, of these stories (name -> text) at level 2.

    Of each: what it is, what makes a list of its moves or raises `ValueError`, and its trace. With
    `skips_own` the stories that were written for the mutant are left out.
    """
    for place, one in enumerate(draw_variations(texts, number, VARIATIONS), start=1):
        if skips_own and mutant in one.story.mutants:
            continue
        name = f"variation-{number}-{place}" + (f"-{mutant}" if mutant else "")
        yield one.told, *moves_of_variation(one, _mutant(mutant), name)


def play(text: str, judge: Judge, *, is_looked_at: bool = False) -> dict[str, object]:
    """What the steps of a story print; `judge` gives the lines of its step `check`.

    Keys: `text` (the story with what it prints now), `steps` (of each its `run`, the lines
    `expected` and `printed`, and with `is_looked_at` the state `seen` after it), `traces` (one per
    run). Raises `ValueError` with one sentence.
    """
    played = play_steps(text, judge, is_looked_at=is_looked_at)
    steps = [
        {
            "run": one.run_id,
            "expected": list(one.expected),
            "printed": list(one.printed),
            "seen": one.seen,
        }
        for one in played.steps
    ]
    return {"text": played.text, "steps": steps, "traces": [list(one) for one in played.traces]}


def shrink(
    seed: int,
    *,
    level: int,
    mutant: str | None,
    fails: Fails,
    judge: Judge,
    comment: str,
) -> dict[str, object]:
    """The smallest run of that seed for which `fails` is true, as the text of a story.

    Keys: `text`, `faults`, `faults_before`, `runs`. Raises `ValueError` as `simulate` does.
    """
    options = swarm(seed, level=_level(level), mutant=_mutant(mutant))
    shrunk = shrink_run(options, fails)
    text = story_text(shrunk.options, story_id=f"seed-{seed}", comment=comment)
    return {
        "text": play_steps(text, judge).text,
        "faults": len(shrunk.options.story.actions),
        "faults_before": len(options.story.actions),
        "runs": shrunk.runs,
    }


def _level(level: int) -> ProtocolLevel:
    try:
        return ProtocolLevel(level)
    except ValueError:
        known = ", ".join(f"{known:d}" for known in ProtocolLevel)
        raise ValueError(f"level {level} is not implemented; choose one of {known}") from None


def _mutant(name: str | None) -> MutantName | None:
    if name is None:
        return None
    try:
        return mutant_name(name)
    except ValueError:
        known = ", ".join([*MUTANTS, *SUITE_MUTANTS])
        raise ValueError(f"unknown mutant {name!r}; choose one of {known}") from None
