"""The archive of bugs: `bugs.toml`, and the story that shows each."""

import tomllib
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.fault_injection.stories.story_refusal import instead
from fencepost.spec.vocabulary import Ending, Invariant

FOLDER = Path(__file__).parent


class Bug(msgspec.Struct, frozen=True, kw_only=True):
    """One table of `bugs.toml`."""

    id: str
    """The number of its issue, or of the proposal that repaired it."""
    says: str
    story: str
    """The name of a file in `stories/`."""
    violates: tuple[Invariant, ...] = ()
    """The checks that must find it."""
    owes: tuple[Ending, ...] = ()
    """What must not come to hold at the end of its run."""
    shows_on: tuple[str, ...]
    """Targets on which it was found; none: it did not show, and `tried` says more."""
    absent_on: tuple[str, ...]
    """Targets on which it was looked for in vain, as it should be."""
    measured: Mapping[str, str] = {}
    """By target, how often it showed: `9 of 10` tries."""
    tried: str = ""
    """What was done in vain where it should show."""
    aliases: tuple[str, ...] = ()
    fixed_in: str = ""
    """The first release without it; empty: none."""
    hazard: str = ""
    """The same attack in `spec/hazards.toml`."""
    steps: str = ""
    """The steps that show it on a reference with the same defect, unless the hazard names them."""
    unlinked: str = ""
    """Why there is no counterexample, or why there are no such steps; one sentence."""

    @property
    def path(self) -> Path:
        """Its story file."""
        return FOLDER / "stories" / f"{self.story}.yaml"

    def scenario(self) -> Scenario:
        """Its story, as `fencepost chaos` plays it."""
        return Scenario(story=read_story(self.path), again=f"--story {self.path}")

    @property
    def found_by(self) -> tuple[str, ...]:
        """What sees it in a run."""
        return (*self.violates, *self.owes)

    def shown_in(self, result: ScenarioResult) -> str:
        """The first sentence of a run in which it shows; empty when it does not."""
        checks = (check for check in result.checks if check.invariant in self.violates)
        broken = (check.violations[0].message for check in checks if check.violations)
        owed = (one.sentence for one in result.problems if one.ending in self.owes)
        return next(chain(broken, owed), "").partition("\n")[0]

    def expected_on(self, target: str) -> bool | None:
        """True where it must show, False where it must not, None where nothing is recorded."""
        if target in self.shows_on:
            return True
        return False if target in self.absent_on else None


@cache
def bugs() -> Mapping[str, Bug]:
    """All bugs by id, in the order of the file."""
    with (FOLDER / "bugs.toml").open("rb") as file:
        found = msgspec.convert(tomllib.load(file)["bug"], list[Bug])
    return {bug.id: bug for bug in found}


def find_bug(name: str) -> Bug:
    """The bug of that id or alias; raises `ChoiceError` with what is near."""
    named = {name: bug for bug in bugs().values() for name in (bug.id, *bug.aliases)}
    if name.upper() not in named:
        near = instead(name, named, f"choose one of {', '.join(bugs())}")
        raise ChoiceError(f"unknown bug {name!r}; {near}")
    return named[name.upper()]
