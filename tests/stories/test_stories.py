"""Every story prints what its file says, and every hazard has one, or a reason why not.

`--rewrite-stories` lets the files say what they print.
"""

import re
from pathlib import Path

import pytest

from fencepost.conformance.whitebox.absent_rules import ABSENT_RULES
from fencepost.conformance.whitebox.stepped_hazards import ONE_RULE
from fencepost.conformance.whitebox.story_play import play_file
from fencepost.fault_injection.stories.steps.printed import printed_in
from fencepost.fault_injection.stories.story import StoryRun
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name
from fencepost.impl.sim.stepped.schedule import SCHEDULES
from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards
from fencepost.spec.vocabulary import NEWEST_LEVEL

HERE = Path(__file__).resolve().parent
OWN = sorted(SCHEDULES.glob("*.yaml"))
"""They show a mutant that random runs do not, so the simulator carries them."""
SCENARIOS = [*sorted(HERE.glob("*.yaml")), *OWN]
HAZARDS = {hazard.id: hazard for hazard in load_hazards()}
WRONG = ("violated: ", "unhealed: ")
NEWEST = NEWEST_LEVEL
REFUTED = HazardFinding.REFUTED


STORIES = {path: read_story(path) for path in SCENARIOS}
SHOWN = {name: path for path, story in STORIES.items() for name in story.hazards}


def reasons() -> dict[str, str]:
    """Why a hazard has no scenario."""
    refuted = {one.id: one.repair for one in load_hazards() if one.finding is REFUTED}
    absent = {name: reason.why for name, reason in ABSENT_RULES.items()}
    others = {name: f"one rule is its and {other}'s" for name, other in ONE_RULE.items()}
    kept = {
        one.id: "its counterexample, or its schedule, is kept in impl/sim/schedules"
        for one in load_hazards()
        for suffix in (".json", ".yaml")
        if (SCHEDULES / f"{one.switch.get('mutants')}{suffix}").is_file()
    }
    told = {**refuted, **absent, **others, **kept}
    return {name: why for name, why in told.items() if name not in SHOWN}


def follows(run: StoryRun, hazard: Hazard) -> bool:
    """True of a run that has the hazard."""
    level = int(run.cluster.get("level", NEWEST))
    if hazard.repaired_at is not None and level < hazard.repaired_at:
        return True
    return "mutants" in hazard.switch and run.cluster.get("mutant") == hazard.switch["mutants"]


def is_known_attack(hazard: Hazard) -> bool:
    """True of a hazard that the newest level has: a run without the occasion is its control."""
    return hazard.repaired_at is not None and hazard.repaired_at > NEWEST


def wrongs(run: StoryRun) -> list[str]:
    """What a run prints of violations, and of what does not heal."""
    printed = (line for step in run.steps for line in printed_in(step, run.run_id))
    return [line for line in printed if line.startswith(WRONG)]


def goes_wrong(run: StoryRun) -> bool:
    return wrongs(run) != []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_prints_what_its_file_says(path: Path, request: pytest.FixtureRequest) -> None:
    played = play_file(path)
    if request.config.getoption("--rewrite-stories"):
        path.write_text(played.after, encoding="utf-8")
        return

    assert "\n".join(played.difference) == ""


def test_the_story_of_a_mutant_prints_what_its_record_says_it_shows() -> None:
    shown = {
        path.stem: {
            name
            for run in STORIES[path].played
            for line in wrongs(run)
            for name in line.partition(": ")[2].split(", ")
        }
        for path in OWN
    }

    assert [name for name in shown if MUTANTS[mutant_name(name)].shows not in shown[name]] == []


def test_every_hazard_has_a_scenario_or_a_reason() -> None:
    told = reasons()

    assert {name for name in HAZARDS if name not in SHOWN and name not in told} == set()
    assert set(ABSENT_RULES) & set(SHOWN) == set()
    assert set(told) | set(SHOWN) <= set(HAZARDS)
    assert all(len(why) > 20 for why in told.values())


def test_a_hazard_is_seen_where_it_is_and_not_where_it_is_repaired() -> None:
    runs = {
        name: {(follows(run, HAZARDS[name]), goes_wrong(run)) for run in STORIES[path].played}
        for name, path in SHOWN.items()
    }
    refuted = {name for name in SHOWN if HAZARDS[name].finding is HazardFinding.REFUTED}

    assert {name for name in runs if (True, True) not in runs[name]} <= refuted
    control = {name: (is_known_attack(HAZARDS[name]), False) for name in runs}
    assert [name for name in runs if control[name] not in runs[name]] == []
    assert [name for name in runs if (False, True) in runs[name]] == []


def test_a_file_has_the_name_of_its_story_and_of_its_first_hazard() -> None:
    strays = [
        path.name
        for path, story in STORIES.items()
        if path.stem != story.story_id
        or (
            story.hazards
            and path not in OWN
            and not path.stem.startswith(re.sub(r"[.-]", "_", story.hazards[0].lower()) + "_")
        )
    ]
    assert strays == []
