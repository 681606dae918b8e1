"""What is known of a name: a requirement, check, mutant, hazard, fault kind, model, bug or story.

One name may stand for several things, as `no_step_down` does for a mutant and for the row of
`models.toml` that breaks the same rule; all of them are told.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from fencepost.ci.commands.mutants import described, killers
from fencepost.ci.results.stored_run import PastRun
from fencepost.conformance.bugs.archive import Bug, bugs
from fencepost.conformance.catalogue.requirements import Requirement
from fencepost.conformance.checks.registry import CHECKS, IMPLIED_BY
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.suite.library import all_cases, requirements
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.reports.page.words import PROMISES
from fencepost.spec.hazards import Hazard, load_hazards
from fencepost.spec.tlc.models import Model, load_models
from fencepost.spec.vocabulary import Invariant, Liveness


class NameKind(StrEnum):
    """What a name can stand for."""

    REQUIREMENT = "requirement"
    CHECK = "check"
    LIVENESS = "liveness"
    MUTANT = "mutant"
    HAZARD = "hazard"
    FAULT = "fault"
    MODEL = "model"
    BUG = "bug"
    STORY = "story"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedName:
    """One thing, as a person asks for it."""

    kind: NameKind
    name: str
    title: str
    """What it says, in one sentence."""
    source: str = ""
    """Where it comes from, or is written down."""
    told: Mapping[str, str] = field(default_factory=dict)
    """More sentences, by what they are about."""
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that it has to do with, by their kind."""
    again: str = ""
    """The command that shows it."""
    cases: tuple[str, ...] = ()
    """How cases of a run begin that say something of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastVerdict:
    """What a stored run says of it."""

    case: str
    verdict: str
    message: str = ""


@cache
def _models() -> tuple[Model, ...]:
    """Read once: it is asked for many names."""
    return load_models()


@cache
def _hazards() -> tuple[Hazard, ...]:
    return load_hazards()


@cache
def _mutants() -> tuple[dict[str, Any], ...]:
    return tuple(described())


@cache
def names() -> dict[NameKind, tuple[str, ...]]:
    """All that can be asked for."""
    return {
        NameKind.REQUIREMENT: tuple(requirements()),
        NameKind.CHECK: tuple(map(str, Invariant)),
        NameKind.LIVENESS: tuple(map(str, Liveness)),
        NameKind.MUTANT: tuple(row["mutant"] for row in _mutants()),
        NameKind.HAZARD: tuple(hazard.id for hazard in _hazards()),
        NameKind.FAULT: tuple(KINDS),
        NameKind.MODEL: tuple(model.name for model in _models()),
        NameKind.BUG: tuple(bugs()),
        NameKind.STORY: tuple(SCENARIOS),
    }


def explanations(name: str) -> list[ExplainedName]:
    """All that has this name, in whatever case it is written; empty when nothing has."""
    wanted, found = name.casefold(), []
    for kind, known in names().items():
        exact = next((one for one in known if one.casefold() == wanted), None)
        if exact is not None:
            found.append(_BY_KIND[kind](exact))
    aliases = [bug for bug in bugs().values() if wanted in map(str.casefold, bug.aliases)]
    return found or [_of_bug(bug) for bug in aliases]


def last_verdicts(about: ExplainedName, run: PastRun | None) -> Iterator[LastVerdict]:
    """What the run says of it, case by case; of a mutant what became of that one."""
    for group in run.groups if run else ():
        for case in group.cases:
            place = f"{group.name}: {case.name}"
            if any(case.name == one or case.name.startswith(f"{one} ") for one in about.cases):
                yield LastVerdict(case=place, verdict=str(case.verdict), message=case.message)
            for member in case.members:
                if about.kind is NameKind.MUTANT and member.startswith(f"{about.name}: "):
                    verdict = "FAIL" if ": not caught" in member else "PASS"
                    yield LastVerdict(case=place, verdict=verdict, message=member)


def _requirement(name: str) -> ExplainedName:
    one: Requirement = requirements()[name]
    tla = tuple(f"{part.module}!{operator}" for part in one.tla for operator in part.names)
    cases = tuple(case.case_id for case in all_cases() if name in case.requirements)
    return ExplainedName(
        kind=NameKind.REQUIREMENT,
        name=name,
        title=one.statement,
        source=", ".join(map(str, one.source)),
        told={
            "about": one.title,
            "kind": f"{one.kind}, from level {one.level} on, {one.status}",
            "note": one.note,
        },
        links={
            "check": one.checks,
            "mutant": one.mutants,
            "story": one.scenarios,
            "specs": tla,
            "case": cases,
            "tests": one.tests,
        },
        cases=tuple(f"check {check}" for check in one.checks)
        or tuple(f"scenario {story}" for story in one.scenarios),
    )


def _check(name: str) -> ExplainedName:
    invariant = Invariant(name)
    parts = IMPLIED_BY.get(invariant, (invariant,))
    modules = [sys.modules[CHECKS[part].run.__module__] for part in parts]
    implied = f"implied by {' and '.join(parts)}" if invariant in IMPLIED_BY else ""
    return ExplainedName(
        kind=NameKind.CHECK,
        name=name,
        title=PROMISES.get(invariant, ""),
        source=", ".join(_place_of(module.__name__) for module in modules),
        told={"judged": implied, "how": _first_paragraph(modules[0].__doc__)},
        links=_judged_by(name),
        cases=tuple(f"check {part}" for part in parts),
    )


def _liveness(name: str) -> ExplainedName:
    return ExplainedName(
        kind=NameKind.LIVENESS,
        name=name,
        title="It must come to hold some day once the faults are over.",
        source="spec/vocabulary.py, and the TLA+ operator of this name",
        links=_judged_by(name),
        cases=(f"check {name}",),
    )


def _judged_by(name: str) -> dict[str, tuple[str, ...]]:
    """What leads to a check, or to a property of liveness."""
    tla = [
        f"{part.module}!{name}"
        for one in requirements().values()
        for part in one.tla
        if name in part.names
    ]
    demanding = [
        one.id
        for one in requirements().values()
        if name in one.checks or any(name in part.names for part in one.tla)
    ]
    return {
        "requirement": tuple(demanding),
        "mutant": tuple(row["mutant"] for row in _mutants() if name in row["caught_by"]),
        "specs": tuple(dict.fromkeys(tla)),
        "model": tuple(model.name for model in _models() if model.invariant == name),
    }


def _mutant(name: str) -> ExplainedName:
    row = next(row for row in _mutants() if row["mutant"] == name)
    again = f"fencepost simulate --mutant {name} --seed {row['seed']}"
    if row["shows"]:
        again = f"fencepost simulate --steps {name}"
    judges = (*row["caught_by"], *([row["shows"]] if row["shows"] else []))
    return ExplainedName(
        kind=NameKind.MUTANT,
        name=name,
        title=row["rule"],
        source=f"impl/mutants/{row['family']}.py",
        told={"found": row["found"]},
        links={
            "requirement": (row["requirement"],),
            "check": judges,
            "hazard": tuple(row["hazards"]),
            "case": tuple(killers(row)),
        },
        again="" if row["found"] == "cases" else again,
    )


def _hazard(name: str) -> ExplainedName:
    one: Hazard = next(hazard for hazard in _hazards() if hazard.id == name)
    steps = {str(number): step for number, step in enumerate(one.story, 1)}
    mutant = one.switch.get("mutants")
    return ExplainedName(
        kind=NameKind.HAZARD,
        name=name,
        title=one.title,
        source=one.source,
        told={"text": one.text, "repair": one.repair, "finding": str(one.finding), **steps},
        links={
            "mutant": (str(mutant),) if mutant else (),
            "model": one.evidence,
            "turns red": tuple(one.turns_red),
            "module": (one.module,),
        },
        again=f"fencepost check {' '.join(one.evidence)}" if one.evidence else "",
        cases=(f"hazard {name}", *(f"model {row}" for row in one.evidence)),
    )


def _fault(name: str) -> ExplainedName:
    kind: FaultKind = KINDS[name]
    stories = [story for story, one in SCENARIOS.items() if name in one.kinds]
    return ExplainedName(
        kind=NameKind.FAULT,
        name=name,
        title=kind.sentence,
        source="fault_injection/faults",
        told={"evidence": kind.evidence, "undone by": kind.undo, "relaxes": kind.relaxes},
        links={
            "backend": tuple(map(str, kind.backends)),
            "requirement": tuple(kind.requirements),
            "parameter": tuple(kind.parameters),
            "story": tuple(stories),
            "specs": tuple(kind.spec_actions),
        },
        again=f"fencepost faults explain {name}",
        cases=tuple(f"scenario {story}" for story in stories),
    )


def _model(name: str) -> ExplainedName:
    one: Model = next(model for model in _models() if model.name == name)
    found = f"{one.expected} {one.invariant}" if one.invariant else str(one.expected)
    known = (NameKind.HAZARD, NameKind.REQUIREMENT)
    stake = next((str(kind) for kind in known if one.hazard in names()[kind]), "at stake")
    return ExplainedName(
        kind=NameKind.MODEL,
        name=name,
        title=one.shows,
        source=f"spec/models.toml, {one.module}",
        told={
            "expected": found,
            "size": f"{one.distinct_states:,} distinct states, tier {one.tier}",
        },
        links={
            stake: (one.hazard,) if one.hazard else (),
            "mutant": one.mutants,
            "property": (one.invariant,) if one.invariant else (),
        },
        again=f"fencepost check {name}",
        cases=(f"model {name}",),
    )


def _bug(name: str) -> ExplainedName:
    return _of_bug(bugs()[name])


def _of_bug(bug: Bug) -> ExplainedName:
    return ExplainedName(
        kind=NameKind.BUG,
        name=bug.id,
        title=bug.says,
        source=f"conformance/bugs/stories/{bug.story}.yaml",
        told={"fixed in": bug.fixed_in or "no release", "tried in vain": bug.tried},
        links={
            "check": tuple(map(str, bug.found_by)),
            "hazard": (bug.hazard,) if bug.hazard else (),
            "shows on": bug.shows_on,
            "not on": bug.absent_on,
            "also called": bug.aliases,
        },
        again=f"fencepost bugs run {bug.id} -t {bug.shows_on[0]}" if bug.shows_on else "",
        cases=(f"scenario {bug.story}",),
    )


def _story(name: str) -> ExplainedName:
    scenario = SCENARIOS[name]
    return ExplainedName(
        kind=NameKind.STORY,
        name=name,
        title=scenario.sentence,
        source=f"conformance/scenarios/stories/{name}.yaml" if scenario.play is None else "",
        told={
            "from level": str(scenario.story.from_level or ""),
            "fails at levels": ", ".join(map(str, scenario.story.fails_at)),
        },
        links={
            "requirement": scenario.story.requirements,
            "fault": scenario.kinds,
            "needs": tuple(sorted(scenario.needs)),
        },
        again=f"fencepost chaos --story {name}",
        cases=(f"scenario {name}",),
    )


_BY_KIND: Mapping[NameKind, Callable[[str], ExplainedName]] = {
    NameKind.REQUIREMENT: _requirement,
    NameKind.CHECK: _check,
    NameKind.LIVENESS: _liveness,
    NameKind.MUTANT: _mutant,
    NameKind.HAZARD: _hazard,
    NameKind.FAULT: _fault,
    NameKind.MODEL: _model,
    NameKind.BUG: _bug,
    NameKind.STORY: _story,
}


def lines_of(about: ExplainedName, verdicts: Sequence[LastVerdict], run: str) -> Iterator[str]:
    """The explanation for people; `run` is the folder that the verdicts are of."""
    yield f"{about.kind} {about.name}: {about.title}".rstrip(": ")
    if about.source:
        yield f"  source: {about.source}"
    yield from (f"  {name}: {' '.join(text.split())}" for name, text in about.told.items() if text)
    yield from (f"  {name}: {', '.join(found)}" for name, found in about.links.items() if found)
    if about.again:
        yield f"  shown by: {about.again}"
    for one in verdicts:
        said = f": {one.message}" if one.message else ""
        yield f"  last verdict: {one.verdict}, {one.case}{said} ({run})"
    if run and not verdicts:
        yield f"  last verdict: none in {run}"


def all_names() -> Iterable[str]:
    """Whatever can be asked for, each once."""
    return dict.fromkeys(name for known in names().values() for name in known)


def as_document(about: ExplainedName, verdicts: Sequence[LastVerdict]) -> dict[str, Any]:
    """The same for machines."""
    return {
        "kind": str(about.kind),
        "name": about.name,
        "title": about.title,
        "source": about.source,
        "told": {name: text for name, text in about.told.items() if text},
        "links": {name: list(found) for name, found in about.links.items() if found},
        "again": about.again,
        "last_verdicts": [
            {"case": one.case, "verdict": one.verdict, "message": one.message} for one in verdicts
        ],
    }


def _first_paragraph(text: str | None) -> str:
    return (text or "").strip().split("\n\n")[0]


def _place_of(module: str) -> str:
    return module.removeprefix("fencepost.").replace(".", "/") + ".py"
