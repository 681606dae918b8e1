"""How the conformance suite reaches the simulator: by name, at run time.

The target is called `python:fencepost.impl.sim.adapter`. Everything that crosses is plain: numbers,
names and events of `fencepost.spec.trace`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from fencepost.fault_injection.stories.story_file import story_from_document
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name
from fencepost.impl.sim.draw.draw import DrawKind, draw
from fencepost.impl.sim.draw.story_mutations import deal, scenario_of
from fencepost.impl.sim.draw.swarm import swarm
from fencepost.impl.sim.engine.move_lists import moves_of, moves_of_run, moves_of_variation
from fencepost.impl.sim.engine.run import IsEnough, described, run
from fencepost.impl.sim.engine.shrink import Fails, shrink as shrink_run
from fencepost.impl.sim.engine.story_run import Host, described_story
from fencepost.impl.sim.script.play import play as play_script, scenario_text
from fencepost.impl.sim.script.stage import Judge
from fencepost.impl.sim.stepped.replay import moves_along, replay as replay_schedule
from fencepost.impl.sim.stepped.schedule import SCHEDULES, ScheduleError, read_schedule
from fencepost.impl.sim.stepped.sources import MADE_ANEW, SOURCES, obstacle, schedule_of
from fencepost.spec.pacing import MoveList
from fencepost.spec.tlc.models import load_models, select
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import ProtocolLevel

VARIATIONS = 16
"""So many make one run: processes take some minutes for them."""
WRONG = ("violated: ", "unhealed: ")
"""Begin what the verbs `check` and `settle` print of a run that is not as it should be."""


def simulate(seed: int, *, level: int, mutant: str | None = None) -> list[TraceEvent]:
    """The trace of the run that belongs to `seed`.

    Raises `ValueError` with one sentence for an unknown level or mutant.
    """
    drawn = draw(DrawKind.SWARM, seed, level=_level(level), mutant=_mutant(mutant))
    return run(drawn, f"sim-{seed}-level-{level}" + (f"-{mutant}" if mutant else ""))


def simulate_long(seed: int, *, level: int, seconds: int) -> list[TraceEvent]:
    """The trace of a run like that of `seed`, of so many virtual seconds."""
    options = swarm(seed, level=_level(level), duration_ms=seconds * 1000)
    return run(described(options), f"sim-{seed}-level-{level}-long")


def play_story(
    document: dict[str, object], *, level: int, mutant: str | None = None, host: str = Host.QUICK
) -> list[TraceEvent]:
    """The trace of a schedule file as plain values, on a `quick` or a `busy` host.

    Raises `ValueError` with one sentence.
    """
    story = story_from_document(document)
    given = described_story(story, level=_level(level), mutant=_mutant(mutant), host=Host(host))
    return run(given, f"sim-{story.story_id}-level-{level}")


def mutants() -> list[dict[str, object]]:
    """What can be made wrong on purpose, and which checks must see it."""
    return [
        {
            "mutant": record.name,
            "rule": record.rule,
            "requirement": record.requirement,
            "caught_by": sorted(invariant.value for invariant in record.caught_by),
            "seed": record.seed,
            "shows": record.shows,
        }
        for record in MUTANTS.values()
    ]


def replay(steps: str, judge: Judge) -> dict[str, object]:
    """What comes of a schedule of steps: a file's path, or the name of a mutant that has one.

    Keys: `name`, `mutant`, `steps` (taken with equal states), `of` (how many there are), `mismatch`
    (where and how the core left the spec's path; empty if it did not), `violated` (properties),
    `wanted` (the property that the schedule is to show), `path`, `events`.
    Raises `ValueError` with one sentence for a file that is no schedule. A mutant whose schedule is
    a scenario has blocks for steps; it violates what does not heal, and what `judge` says of it.
    """
    if (scenario := SCHEDULES / f"{steps}.txt").is_file():
        return _play_schedule(scenario, judge)
    shipped = SCHEDULES / f"{steps}.json"
    path = shipped if shipped.is_file() else Path(steps)
    try:
        schedule = read_schedule(path)
    except ScheduleError as error:
        raise ValueError(str(error)) from error
    done = replay_schedule(schedule)
    return {
        "name": schedule.name,
        "mutant": next(iter(schedule.setting.mutants), None),
        "steps": done.steps,
        "of": len(schedule.steps),
        "mismatch": str(done.mismatch) if done.mismatch else "",
        "violated": sorted(done.violated),
        "wanted": schedule.violates,
        "path": str(path),
        "events": done.events,
    }


def schedules() -> list[dict[str, str]]:
    """The counterexamples that are led when all are: `schedule`, its `row`, what it `violates`.

    A row that is no schedule's is asked of TLC when it is wanted.
    """
    kept = [
        {"schedule": name, "row": source.row, "violates": schedule_of(name).violates or ""}
        for name, source in SOURCES.items()
    ]
    models = select(_models(), MADE_ANEW)
    return kept + [
        {"schedule": model.name, "row": model.name, "violates": model.invariant or ""}
        for model in models
    ]


def why_not_led(row: str) -> str:
    """Why processes cannot be led along the counterexample of a row; empty when they can.

    Raises `ValueError` with one sentence for an unknown row.
    """
    (model,) = select(_models(), [row])
    return obstacle(model)


def moves(steps: str, *, is_repaired: bool) -> MoveList:
    """What leads paced processes along a counterexample: a schedule, a row, or a file of steps.

    Or along a scenario (`*.txt`, or the name of a mutant that has one), as it was simulated.
    With `is_repaired` the protocol is as it should be. Raises `ValueError` with one sentence.
    """
    kept = SCHEDULES / f"{steps}.txt"
    scenario = kept if kept.is_file() else Path(steps)
    if scenario.suffix == ".txt":
        return moves_of(scenario, is_repaired=is_repaired)
    schedule = _schedule_of(steps)
    return moves_along(schedule, is_repaired=is_repaired)


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
    """The variations of that number, from 1 on, of these scenarios (name -> text) at level 2.

    Of each: what it is, what makes a list of its moves or raises `ValueError`, and its trace. With
    `skips_own` the scenarios that were written for the mutant are left out.
    """
    found = [scenario_of(text, name) for name, text in sorted(texts.items())]
    scenarios = [one for one in found if one is not None]
    for place, one in enumerate(deal(scenarios, number, VARIATIONS), start=1):
        if skips_own and mutant in one.scenario.mutants:
            continue
        name = f"variation-{number}-{place}" + (f"-{mutant}" if mutant else "")
        yield one.told, *moves_of_variation(one, _mutant(mutant), name)


_models = cache(load_models)
_schedule_of = lru_cache(maxsize=8)(schedule_of)
"""TLC is asked once for both."""


def _play_schedule(path: Path, judge: Judge) -> dict[str, object]:
    """What comes of a scenario that shows a mutant; it has a block for every step."""
    played = play_script(path.read_text(encoding="utf-8"), path.name, judge)
    pairs = zip(played.blocks, played.outputs, strict=True)
    other = [block.first for block, output in pairs if block.expected != output]
    words = [line for output in played.outputs for line in output]
    told = [line.partition(": ")[2] for line in words if line.startswith(WRONG)]
    return {
        "name": path.stem,
        "mutant": path.stem,
        "steps": len(played.blocks) - len(other),
        "of": len(played.blocks),
        "mismatch": f"line {other[0]}: it prints something else" if other else "",
        "violated": sorted({name for line in told for name in line.split(", ")}),
        "wanted": MUTANTS[mutant_name(path.stem)].shows,
        "path": str(path),
        "events": list(played.traces[0]),
    }


def play(text: str, name: str, judge: Judge) -> dict[str, object]:
    """What a scenario prints; `judge` gives the lines of its verb `check`.

    Keys: `text` (the scenario with what it prints now), `blocks` (of each its `line`, and the lines
    `expected` and `found`). Raises `ValueError` with one sentence that begins with file and line.
    """
    played = play_script(text, name, judge)
    blocks = [
        {"line": block.first, "expected": list(block.expected), "found": list(output)}
        for block, output in zip(played.blocks, played.outputs, strict=True)
    ]
    return {"text": played.text, "blocks": blocks}


def shrink(
    seed: int,
    *,
    level: int,
    mutant: str | None,
    fails: Fails,
    judge: Judge,
    comment: str,
) -> dict[str, object]:
    """The smallest run of that seed for which `fails` is true, as the text of a scenario.

    Keys: `text`, `faults`, `faults_before`, `runs`. Raises `ValueError` as `simulate` does.
    """
    options = swarm(seed, level=_level(level), mutant=_mutant(mutant))
    shrunk = shrink_run(options, fails)
    text = scenario_text(shrunk.options, comment=comment)
    return {
        "text": play_script(text, f"seed-{seed}", judge).text,
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
        known = ", ".join(MUTANTS)
        raise ValueError(f"unknown mutant {name!r}; choose one of {known}") from None
