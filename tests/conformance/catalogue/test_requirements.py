"""The real catalogue is sound, and its lint sees what is not."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fencepost.conformance.catalogue.lint import ROOT, Surroundings, coverage, lint, missing, survey
from fencepost.conformance.catalogue.requirements import (
    CATALOGUE,
    CatalogueError,
    Requirement,
    RequirementKind,
    RequirementSource,
    SpecifiedIn,
    Status,
    load_catalogue,
)
from fencepost.conformance.checks.registry import CHECKS
from fencepost.spec.vocabulary import ProtocolLevel

AREAS = {
    "ZK": 8,
    "CTL": 13,
    "FAIL": 9,
    "CMD": 10,
    "START": 5,
    "REPL": 9,
    "ISR": 6,
    "TOP": 4,
    "PART": 2,
    "REAS": 6,
    "CLI": 5,
    "BEP": 7,
    "UMD": 3,
    "FWD": 8,
    "QUOTA": 10,
    "SEC": 4,
}
"""How many rules the protocol has at least; more may come, none may go."""


def test_the_catalogue_is_sound() -> None:
    assert lint(load_catalogue(), survey()) == []


def test_every_rule_of_the_protocol_is_listed() -> None:
    found = Counter(requirement.area for requirement in load_catalogue())

    assert {area: found[area] for area in AREAS if found[area] < AREAS[area]} == {}


def test_an_area_has_a_file_of_its_own() -> None:
    for path in CATALOGUE.glob("*.yaml"):
        assert set(ids_in(path)) == {path.stem.upper()}


def ids_in(path: Path) -> Iterable[str]:
    lines = path.read_text().splitlines()
    return (line.split()[2].partition("-")[0] for line in lines if line.startswith("- id: "))


def test_what_later_levels_bring_is_not_called_covered() -> None:
    newest = max(ProtocolLevel)
    early = [r.id for r in load_catalogue() if r.level > newest and r.status is Status.COVERED]

    assert early == []


def test_the_survey_finds_something_to_link_to() -> None:
    found = survey()

    assert "OneLeaderPerEpoch" in found.operators["LeaderAndIsr"]
    assert ("LeaderAndIsr", "LeaderInIsr", "ISR-006") in found.tags
    assert "no_step_down" in found.mutants
    assert "CMD-005" in found.scenarios["truncation_loss"]


# Lint, on a small world in which one thing at a time is wrong.

WORLD = Surroundings(
    root=ROOT,
    operators={"Zk": frozenset({"Create", "LinearizableZnode"})},
    tags=(("Zk", "LinearizableZnode", "ZK-001"),),
    mutants=frozenset({"careless"}),
    scenarios={"storm": frozenset({"ZK-001"})},
    stories=frozenset({"h1_story"}),
)


def stated(*names: str, module: str = "Zk") -> tuple[SpecifiedIn, ...]:
    return (SpecifiedIn(module=module, names=names),)


SOUND = Requirement(
    id="ZK-001",
    kind=RequirementKind.SAFETY,
    title="A sound rule",
    statement="It holds.",
    source=(RequirementSource(text="V3", section="A"),),
    level=0,
    status=Status.COVERED,
    tla=stated("LinearizableZnode"),
    checks=tuple(invariant.value for invariant in CHECKS),
    tests=("tests/conformance",),
    mutants=("careless",),
    scenarios=("storm",),
    stories=("h1_story",),
)
PLANNED = replace(
    SOUND, status=Status.PLANNED, checks=(), tests=(), mutants=(), scenarios=(), stories=(), tla=()
)


def test_a_sound_requirement_has_no_fault() -> None:
    assert lint([SOUND, replace(PLANNED, id="ZK-002")], WORLD) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda r: replace(r, tla=stated("LinearizableZnode", "Gone")), "does not define Gone"),
        (
            lambda r: replace(r, tla=stated("Create", module="Gone")),
            "no module spec/tla/Gone.tla",
        ),
        (lambda r: replace(r, checks=(*r.checks, "Gone")), "Gone is no invariant"),
        (lambda r: replace(r, checks=r.checks[1:]), "Check LinearizableLog serves no requirement"),
        (lambda r: replace(r, tests=("tests/gone.py",)), "tests/gone.py does not exist"),
        (lambda r: replace(r, mutants=("careless", "gone")), "gone is no mutant"),
        (lambda r: replace(r, mutants=()), "Mutant careless breaks no requirement"),
        (lambda r: replace(r, scenarios=("storm", "calm")), "no scenario calm that names it"),
        (lambda r: replace(r, scenarios=()), "scenario storm names it"),
        (
            lambda r: replace(r, stories=("h1_story", "h2")),
            "there is no h2.yaml in tests/stories",
        ),
        (lambda r: replace(r, stories=()), "Story h1_story.yaml plays no requirement"),
        (lambda r: replace(r, tla=()), "a safety rule without a TLA+ operator needs a note"),
        (lambda r: replace(r, tla=stated("Create")), "tags LinearizableZnode with it"),
        (lambda r: replace(r, status=Status.PARTIAL), "a note must say what is missing"),
        (lambda r: replace(r, status=Status.PLANNED), "something judges it already"),
        (
            lambda r: replace(r, without={"mutant": "No."}),
            "why it cannot have a mutant, and has one",
        ),
        (
            lambda r: replace(r, checks=(), tests=(), scenarios=(), stories=()),
            "it is covered, and no check, test or scenario judges it",
        ),
    ],
)
def test_a_broken_link_or_promise_is_seen(
    change: Callable[[Requirement], Requirement], fault: str
) -> None:
    assert any(fault in line for line in lint([change(SOUND)], WORLD))


def test_what_the_chain_of_a_requirement_lacks_is_told() -> None:
    bare = replace(SOUND, id="ZK-002", tla=(), mutants=(), scenarios=(), stories=())

    told = list(coverage([SOUND, bare]))

    assert told[0] == "ZK: 1 of 2 have TLA+ name, check or case, scenario, mutant, or say why not"
    assert told[1] == "  ZK-002 has no TLA+ name, no scenario, no mutant"
    assert told[2] == "CTL: 0 of 0 have TLA+ name, check or case, scenario, mutant, or say why not"
    assert missing(SOUND) == ()


def test_a_reason_stands_for_what_a_requirement_cannot_have() -> None:
    why = "A number of messages breaks no invariant."
    bare = replace(SOUND, id="ZK-002", mutants=(), without={"mutant": why})

    told = list(coverage([bare]))

    assert told[0].startswith("ZK: 1 of 1 have")
    assert told[1] == f"  ZK-002 cannot have a mutant: {why}"
    assert not any("cannot have" in fault for fault in lint([SOUND, bare], WORLD))


def test_a_repeated_id_is_seen() -> None:
    assert "ZK-001: the id is used 2 times." in lint([SOUND, SOUND], WORLD)


def test_a_dropped_id_is_seen() -> None:
    faults = lint([SOUND, replace(PLANNED, id="ZK-003")], WORLD)

    assert faults == ["ZK-002: the id is missing; ids are never dropped."]


# The loader, on files that are not what they should be.

ENTRY = """
- id: ZK-001
  kind: safety
  title: "A rule about znodes"
  statement: It holds.
  source: [{text: V3, section: A}]
  level: 0
  status: planned
"""


def test_an_entry_becomes_a_requirement(tmp_path: Path) -> None:
    (tmp_path / "zk.yaml").write_text(ENTRY)
    (requirement,) = load_catalogue(tmp_path)

    assert requirement.area == "ZK"
    assert str(requirement.source[0]) == "V3 A"
    assert requirement.checks == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ZK-001", "zk-1", "zk.yaml, zk-1 id: "),
        ("V3", "V9", "zk.yaml, ZK-001 source[0].text: Invalid enum value 'V9'"),
        ("kind: safety", "kind: magic", "ZK-001 kind: Invalid enum value 'magic'"),
        ("level: 0", "level: 9", "ZK-001 level: Expected `int` <= 5"),
        ("status: planned", "status: done", "ZK-001 status: Invalid enum value 'done'"),
        ("It holds.", "it holds", "ZK-001 statement: "),
        ("  status: planned", "  status: planned\n  colour: red", "unknown field `colour`"),
        (
            "  status: planned",
            '  status: planned\n  without: {mutant: ""}',
            "ZK-001 without[...]: Expected `str` of length >= 20",
        ),
        ("  level: 0\n", "", "ZK-001: Object missing required field `level`"),
        ("- id: ZK-001", "- id: [", "zk.yaml is not YAML"),
        (ENTRY, "a: 1", "zk.yaml, top level: "),
        (ENTRY, "- 7", "zk.yaml, entry 1: Expected `object`"),
    ],
)
def test_a_broken_file_gets_one_clear_sentence(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "zk.yaml").write_text(ENTRY.replace(old, new))

    with pytest.raises(CatalogueError) as caught:
        load_catalogue(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_folder_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="holds no catalogue"):
        load_catalogue(tmp_path)
