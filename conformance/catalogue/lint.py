"""Lint of the catalogue: every link leads somewhere, and nothing that links is left out.

Works on a checkout: it reads `spec/tla`, `impl/mutants` and `tests` as text, since this
room knows no implementation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.conformance.catalogue.requirements import Requirement, RequirementKind, Status
from fencepost.conformance.checks.registry import CHECKS, IMPLIED_BY
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.spec.vocabulary import Invariant

ROOT = Path(__file__).resolve().parents[2]

STORIES = ("tests/stories", "impl/sim/schedules")
"""Where text scenarios stand."""
OWED_IN = ("ZK", "CTL", "FAIL", "CMD", "START", "REPL", "ISR", "TOP", "PART", "REAS", "CLI")
"""The areas with requirements that carry all of `PARTS`."""
PARTS = {
    "tla": "TLA+ name",
    "judge": "check or case",
    "scenario": "scenario",
    "mutant": "mutant",
}

_OPERATOR = re.compile(r"^(\w+)(?:\([^)]*\))?\s*==", re.MULTILINE)
_TAG = re.compile(r"^\\\* @req (\S+)$")
_MUTANT = re.compile(r"^def ([a-z0-9_]+)\(rules: Rules\) -> Rules:$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the catalogue may link to, as found in a checkout."""

    root: Path
    operators: Mapping[str, frozenset[str]]
    """TLA+ module -> operators that it defines."""
    tags: tuple[tuple[str, str, str], ...]
    """Module, operator and requirement of each `\\* @req` comment before an operator."""
    mutants: frozenset[str]
    scenarios: Mapping[str, frozenset[str]]
    """Chaos scenario -> requirements that it claims to provoke."""
    stories: frozenset[str] = frozenset()
    """Text scenarios of the simulator."""


def survey(root: Path = ROOT) -> Surroundings:
    """Read a checkout."""
    modules = {path.stem: path.read_text() for path in sorted((root / "spec/tla").glob("*.tla"))}
    mutants = "".join(path.read_text() for path in sorted((root / "impl/mutants").glob("*.py")))
    return Surroundings(
        root=root,
        operators={name: frozenset(_OPERATOR.findall(text)) for name, text in modules.items()},
        tags=tuple(tag for name, text in modules.items() for tag in _tags(name, text)),
        mutants=frozenset(_MUTANT.findall(mutants)),
        scenarios={name: frozenset(one.story.requirements) for name, one in SCENARIOS.items()},
        stories=frozenset(path.stem for place in STORIES for path in root.glob(f"{place}/*.yaml")),
    )


def _tags(module: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Tags wait for the next definition."""
    waiting: list[str] = []
    for line in text.splitlines():
        tag, definition = _TAG.match(line), _OPERATOR.match(line)
        if tag:
            waiting.append(tag[1])
        elif definition:
            yield from ((module, definition[1], requirement) for requirement in waiting)
            waiting = []


def lint(requirements: Sequence[Requirement], found: Surroundings) -> list[str]:
    """What is wrong with the catalogue, one sentence each; empty when it is sound."""
    faults = [*_id_faults(requirements), *_orphans(requirements, found)]
    for requirement in requirements:
        problems = [*_link_faults(requirement, found), *_promise_faults(requirement)]
        faults.extend(f"{requirement.id}: {problem}." for problem in problems)
    return faults


def _id_faults(requirements: Iterable[Requirement]) -> Iterator[str]:
    """Ids are unique, and those of an area count up from 001 without a gap."""
    counts = Counter(requirement.id for requirement in requirements)
    yield from (f"{id_}: the id is used {n} times." for id_, n in counts.items() if n > 1)
    areas: dict[str, list[int]] = {}
    for id_ in counts:
        area, _, number = id_.partition("-")
        areas.setdefault(area, []).append(int(number))
    for area, numbers in areas.items():
        missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
        yield from (f"{area}-{n:03d}: the id is missing; ids are never dropped." for n in missing)


def _orphans(requirements: Sequence[Requirement], found: Surroundings) -> Iterator[str]:
    """Checks, mutants, scenarios and tags of the specs that lead to no requirement."""
    checks = {check for requirement in requirements for check in requirement.checks}
    mutants = {mutant for requirement in requirements for mutant in requirement.mutants}
    for check in CHECKS:
        if check.value not in checks:
            yield f"Check {check.value} serves no requirement."
    for mutant in sorted(found.mutants - mutants):
        yield f"Mutant {mutant} breaks no requirement."
    links = {
        (stated.module, name, requirement.id)
        for requirement in requirements
        for stated in requirement.tla
        for name in stated.names
    }
    for module, name, id_ in found.tags:
        if (module, name, id_) not in links:
            yield f"{id_}: {module} tags {name} with it, and it does not name {module}.{name}."

    told_in = {name for requirement in requirements for name in requirement.stories}
    yield from (f"Story {name}.yaml plays no requirement." for name in found.stories - told_in)
    claims = {(name, id_) for name, ids in found.scenarios.items() for id_ in ids}
    told = {(name, r.id) for r in requirements for name in r.scenarios}
    for name, id_ in sorted(claims - told):
        yield f"{id_}: scenario {name} names it, and it does not name the scenario."


def _link_faults(requirement: Requirement, found: Surroundings) -> Iterator[str]:
    """Ends of its links that do not exist."""
    for stated in requirement.tla:
        if stated.module not in found.operators:
            yield f"there is no module spec/tla/{stated.module}.tla"
            continue
        missing = [name for name in stated.names if name not in found.operators[stated.module]]
        yield from (f"{stated.module} does not define {name}" for name in missing)
    judges = {invariant.value for invariant in (*CHECKS, *IMPLIED_BY)}
    known = {invariant.value for invariant in Invariant}
    for check in requirement.checks:
        if check not in judges:
            problem = "has no check" if check in known else "is no invariant"
            yield f"{check} {problem}"
    for test in requirement.tests:
        if not (found.root / test).exists():
            yield f"{test} does not exist"
    for mutant in requirement.mutants:
        if mutant not in found.mutants:
            yield f"{mutant} is no mutant of impl/mutants"
    for scenario in requirement.scenarios:
        if requirement.id not in found.scenarios.get(scenario, frozenset()):
            yield f"there is no scenario {scenario} that names it"
    gone = sorted({*requirement.stories} - found.stories)
    yield from (f"there is no {story}.yaml in {' or '.join(STORIES)}" for story in gone)


def missing(requirement: Requirement) -> tuple[str, ...]:
    """Which of `PARTS` the requirement does not have, and does not say why."""
    lacks = _lacks(requirement)
    return tuple(name for part, name in PARTS.items() if part in lacks - requirement.without.keys())


def _lacks(requirement: Requirement) -> set[str]:
    has = (
        requirement.tla,
        requirement.checks or requirement.tests or requirement.stories,
        requirement.scenarios or requirement.stories,
        requirement.mutants,
    )
    return {part for part, links in zip(PARTS, has, strict=True) if not links}


def coverage(requirements: Sequence[Requirement]) -> Iterator[str]:
    """Per area of `OWED_IN`: how many requirements have all of `PARTS`, and what others lack.

    A part that a requirement cannot have is told with its reason, and is no gap.
    """
    for area in OWED_IN:
        of_area = [requirement for requirement in requirements if requirement.area == area]
        lacking = {requirement.id: missing(requirement) for requirement in of_area}
        whole = sum(not parts for parts in lacking.values())
        yield f"{area}: {whole} of {len(of_area)} have {', '.join(PARTS.values())}, or say why not"
        told = {id_: ", no ".join(parts) for id_, parts in lacking.items() if parts}
        yield from (f"  {id_} has no {parts}" for id_, parts in told.items())
        for requirement in of_area:
            for part, why in requirement.without.items():
                yield f"  {requirement.id} cannot have a {PARTS[part]}: {' '.join(why.split())}"


def _promise_faults(requirement: Requirement) -> Iterator[str]:
    """What its status promises and its links do not keep."""
    judged = bool(
        requirement.checks or requirement.tests or requirement.scenarios or requirement.stories
    )
    for part in sorted(requirement.without.keys() - _lacks(requirement)):
        yield f"it says why it cannot have a {PARTS[part]}, and has one"
    if requirement.status is Status.PLANNED:
        if judged:
            yield "it is planned, and something judges it already; call it partial"
        return
    if not judged:
        yield f"it is {requirement.status.value}, and no check, test or scenario judges it"
    if requirement.status is Status.PARTIAL and not requirement.note:
        yield "it is partial; a note must say what is missing"
    specified = bool(requirement.tla or requirement.note or "tla" in requirement.without)
    if requirement.kind is RequirementKind.SAFETY and not specified:
        yield "a safety rule without a TLA+ operator needs a note that says why"
