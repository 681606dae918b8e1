"""All cases and profiles: `cases/<area>/<slug>.yaml`, `suite.toml`, and how cases are selected."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.catalogue.requirements import Requirement, load_catalogue
from fencepost.conformance.suite.axes import Axes, permutations
from fencepost.conformance.suite.case import SuiteCase, is_named
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.fault_injection.stories.story_refusal import instead

ROOM = Path(__file__).parent
CASES = ROOM / "cases"


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of `suite.toml`: the cases that one claim is about."""

    says: str
    brokers: int
    """At most so many in the cluster of a case."""
    needs: frozenset[Capability]
    """All that a case may need."""
    areas: tuple[str, ...] = ()
    """None: any."""

    def has(self, case: SuiteCase) -> bool:
        """True for a case of the profile."""
        fits = case.brokers <= self.brokers and case.needs <= self.needs
        return fits and (not self.areas or case.area in self.areas)


class SuiteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`suite.toml`."""

    profile: Mapping[str, Profile]
    axes: Mapping[str, Axes] = {}
    """By case, the choices that make several cases of it."""


@cache
def suite_file() -> SuiteFile:
    """The profiles and axes."""
    return msgspec.convert(tomllib.loads((ROOM / "suite.toml").read_text("utf-8")), SuiteFile)


@cache
def requirements() -> Mapping[str, Requirement]:
    """The catalogue by id."""
    return {requirement.id: requirement for requirement in load_catalogue()}


@cache
def all_cases(folder: Path = CASES) -> tuple[SuiteCase, ...]:
    """Every case in the order of ids; raises `ChoiceError` for a file that is no story."""
    return tuple(case for path in sorted(folder.glob("*/*.yaml")) for case in _of_file(path))


def _of_file(path: Path) -> Iterator[SuiteCase]:
    case_id = f"{path.parent.name}/{path.stem}"
    try:
        story = read_story(path)
    except FaultError as error:
        raise ChoiceError(str(error)) from error
    for suffix, made in permutations(story, suite_file().axes.get(case_id, {})):
        yield SuiteCase(case_id=f"{case_id}{suffix}", path=path, story=made)


def find_profile(name: str) -> Profile:
    """The profile of that name; raises `ChoiceError`."""
    profiles = suite_file().profile
    if name not in profiles:
        near = instead(name, profiles, f"choose one of {', '.join(profiles)}")
        raise ChoiceError(f"unknown profile {name!r}; {near}")
    return profiles[name]


def find_case(case_id: str) -> SuiteCase:
    """The case of that id; raises `ChoiceError`."""
    by_id = {case.case_id: case for case in all_cases()}
    if case_id not in by_id:
        near = instead(case_id, by_id, "fencepost conform list shows all")
        raise ChoiceError(f"unknown case {case_id!r}; {near}")
    return by_id[case_id]


def selected(
    cases: Iterable[SuiteCase],
    *,
    profile: str = "",
    select: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> tuple[SuiteCase, ...]:
    """The cases of the profile that a pattern selects and none skips.

    A pattern is the id of a case with `*` and `?`, an area, the id of a requirement or the
    beginning of one, or a word of what a case says. Raises `ChoiceError` when a pattern or the
    whole selects nothing.
    """
    chosen = tuple(cases)
    if profile:
        wanted = find_profile(profile)
        chosen = tuple(case for case in chosen if wanted.has(case))
    for pattern in (*select, *skip):
        if not any(_matches(case, pattern) for case in chosen):
            raise ChoiceError(_nothing(pattern, chosen, profile))
    if select:
        chosen = tuple(case for case in chosen if any(_matches(case, one) for one in select))
    chosen = tuple(case for case in chosen if not any(_matches(case, one) for one in skip))
    if not chosen:
        raise ChoiceError("nothing is selected; fencepost conform list shows the cases")
    return chosen


def _matches(case: SuiteCase, pattern: str) -> bool:
    whole = case.case_id
    if is_named(whole, pattern) or is_named(whole.partition("[")[0], pattern):
        return True
    if pattern == case.area or any(fnmatchcase(one, pattern) for one in case.requirements):
        return True
    if any(one.partition("-")[0] == pattern for one in case.requirements):
        return True
    return pattern.isalpha() and pattern.casefold() in _words(case)


def _words(case: SuiteCase) -> frozenset[str]:
    text = f"{case.case_id} {case.story.says}".casefold()
    return frozenset("".join(c if c.isalpha() else " " for c in text).split())


def _nothing(pattern: str, cases: Sequence[SuiteCase], profile: str) -> str:
    known = {name for case in cases for name in (case.case_id, case.area, *case.requirements)}
    where = f" in profile {profile}" if profile else ""
    near = instead(pattern, known, "fencepost conform list shows the cases")
    return f"{pattern!r} selects nothing{where}; {near}"
