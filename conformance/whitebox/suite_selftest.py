"""Is the suite able to fail? Each case is played on mutants of the reference until one fails it.

A mutant is tried on the cases that say in `kills` that they find it. A case about what the
reference does not have names none: adapters of the zoo that lie about it are tried. Cases that are
left at the end find nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.conformance.adapters.settings import NEWEST, ClusterSettings
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.play import (
    REFERENCE,
    Progress,
    SuitePlan,
    play_anew,
    settings_of_targets,
)
from fencepost.conformance.suite.records import SuiteRun
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.mutants import breaking, require_rule
from fencepost.conformance.whitebox.zoo.animals import liars_of, visit

ZOO = "zoo"
"""The folder of its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A case, and the mutant, or the adapter of the zoo, that it fails."""

    case: str
    mutant: str
    """Empty: none of those that were tried."""
    message: str = ""
    tried: tuple[str, ...] = ()
    """In vain, when it fails none."""


def settings_of_subjects(targets: Sequence[str], level: int = NEWEST) -> dict[str, ClusterSettings]:
    """As `settings_of_targets`, where `reference:MUTANT` breaks a rule; raises `ChoiceError`.

    They play at that level, where a case does not say at which.
    """
    found: dict[str, ClusterSettings] = {}
    for target in targets:
        name, _, rule = target.partition(":")
        if name == REFERENCE and rule:
            found[target] = ClusterSettings(implementation=breaking(rule))
            require_rule(found[target])
        else:
            found |= settings_of_targets([target])
    return {target: replace(settings, level=level) for target, settings in found.items()}


def kills(
    cases: Sequence[SuiteCase],
    folder: Path,
    *,
    only: str = "",
    level: int = NEWEST,
    on_progress: Progress | None = None,
) -> list[Kill]:
    """For each case the first mutant that it fails at that level, in the order of the cases."""
    found: dict[str, Kill] = {}
    tried: dict[str, list[str]] = {case.case_id: [] for case in cases}
    untried = [only] if only else list(dict.fromkeys(m for case in cases for m in case.story.kills))
    while untried:
        left = [case for case in cases if case.case_id not in found]
        mutant = max(untried, key=lambda one: sum(one in case.story.kills for case in left))
        untried.remove(mutant)
        named = [case for case in left if mutant in case.story.kills]
        if not named:
            continue
        if on_progress:
            on_progress(len(found), len(cases), mutant)
        for case in named:
            tried[case.case_id].append(mutant)
        for kill in _killed(_played(mutant, named, folder / mutant, level), mutant):
            found[kill.case] = kill
    for case in cases:
        if not case.story.kills and not only:
            found |= {kill.case: kill for kill in _liars_killed(case, folder / ZOO)}
    nothing = {
        case.case_id: Kill(case=case.case_id, mutant="", tried=tuple(tried[case.case_id]))
        for case in cases
    }
    return list((nothing | found).values())


def _liars_killed(case: SuiteCase, folder: Path) -> Iterator[Kill]:
    for caught in visit(folder / case.folder_name, liars_of(case.case_id)):
        if caught.is_caught:
            yield Kill(case=case.case_id, mutant=caught.name, message=caught.message)


def _played(mutant: str, cases: Sequence[SuiteCase], folder: Path, level: int) -> SuiteRun:
    plan = SuitePlan(
        targets=(f"{REFERENCE}:{mutant}",),
        cases=tuple(cases),
        select=tuple(case.case_id for case in cases),
    )
    return play_anew(plan, settings_of_subjects(plan.targets, level), folder)


def _killed(run: SuiteRun, mutant: str) -> Iterator[Kill]:
    for end in run.ends:
        if end.verdict is Verdict.FAIL:
            yield Kill(case=end.case, mutant=mutant, message=end.message)
