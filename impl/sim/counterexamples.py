"""The counterexamples of the specs on the core: which there are, and what comes of each.

A counterexample is a schedule of steps (`stepped/schedule.py`), or a story (`*.yaml`) where a
mutant is shown by what does not heal.
"""

from functools import cache, lru_cache
from pathlib import Path

from fencepost.fault_injection.stories.story_text import line_of
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name
from fencepost.impl.sim.engine.move_lists import moves_of
from fencepost.impl.sim.stepped.replay import moves_along, replay as replay_steps
from fencepost.impl.sim.stepped.schedule import SCHEDULES, ScheduleError, read_schedule
from fencepost.impl.sim.stepped.sources import MADE_ANEW, SOURCES, obstacle, schedule_of
from fencepost.impl.sim.stories.play import play
from fencepost.impl.sim.stories.story_cluster import Judge
from fencepost.spec.pacing import MoveList
from fencepost.spec.tlc.models import load_models, select

WRONG = ("violated: ", "unhealed: ")
"""Begin what the steps `check` and `heal_all` print of a run that is not as it should be."""


def replay(steps: str, judge: Judge) -> dict[str, object]:
    """What comes of a schedule of steps: a file's path, or the name of a mutant that has one.

    Keys: `name`, `mutant`, `steps` (taken with equal states), `of` (how many there are), `mismatch`
    (where and how the core left the spec's path; empty if it did not), `violated` (properties),
    `wanted` (the property that the schedule is to show), `path`, `events`.
    Raises `ValueError` with one sentence for a file that is no schedule. Of a story the steps are
    counted that print what it says; it violates what does not heal, and what `judge` says.
    """
    if (story := SCHEDULES / f"{steps}.yaml").is_file():
        return _play_story(story, judge)
    shipped = SCHEDULES / f"{steps}.json"
    path = shipped if shipped.is_file() else Path(steps)
    try:
        schedule = read_schedule(path)
    except ScheduleError as error:
        raise ValueError(str(error)) from error
    done = replay_steps(schedule)
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


def _play_story(path: Path, judge: Judge) -> dict[str, object]:
    """What comes of a story that shows a mutant."""
    text = path.read_text(encoding="utf-8")
    played = play(text, judge)
    other = [line_of(text, one.place) for one in played.steps if one.expected != one.printed]
    words = [line for one in played.steps for line in one.printed]
    told = [line.partition(": ")[2] for line in words if line.startswith(WRONG)]
    return {
        "name": path.stem,
        "mutant": path.stem,
        "steps": len(played.steps) - len(other),
        "of": len(played.steps),
        "mismatch": f"line {other[0]}: it prints something else" if other else "",
        "violated": sorted({name for line in told for name in line.split(", ")}),
        "wanted": MUTANTS[mutant_name(path.stem)].shows,
        "path": str(path),
        "events": list(played.traces[0]),
    }


def replayed() -> list[str]:
    """The names that `replay` takes without a file's path."""
    return sorted(path.stem for path in SCHEDULES.iterdir())


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


def why_not_stepped(row: str) -> str:
    """Why processes cannot be led along the counterexample of a row; empty when they can.

    Raises `ValueError` with one sentence for an unknown row.
    """
    (model,) = select(_models(), [row])
    return obstacle(model)


def moves(steps: str, *, is_repaired: bool) -> MoveList:
    """What leads paced processes along a counterexample: a schedule, a row, or a file of steps.

    Or along a story (`*.yaml`, or the name of a mutant that has one), as it was simulated.
    With `is_repaired` the protocol is as it should be. Raises `ValueError` with one sentence.
    """
    kept = SCHEDULES / f"{steps}.yaml"
    story = kept if kept.is_file() else Path(steps)
    if story.suffix == ".yaml":
        return moves_of(story, is_repaired=is_repaired)
    schedule = _schedule_of(steps)
    return moves_along(schedule, is_repaired=is_repaired)


_models = cache(load_models)
_schedule_of = lru_cache(maxsize=8)(schedule_of)
"""TLC is asked once for both."""
