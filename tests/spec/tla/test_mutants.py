"""A protocol module has no switch; a mutant breaks one of its rules, and a row shows it."""

import re
from pathlib import Path

import pytest

from fencepost.spec.hazards import HazardFinding, load_hazards
from fencepost.spec.tlc.models import MODULES, ModelVerdict, load_models
from fencepost.spec.tlc.modules import defined_operators, modules_read
from fencepost.spec.tlc.mutants import MUTANTS, WRONG

FILES = sorted((MODULES / MUTANTS).glob("*/*.tla"))
NEXT = re.compile(r"^Next ==\n((?:    .*\n)+)", re.MULTILINE)
ACTION = re.compile(r"^    \\/ (?:\\E [\w, \\]+ : )?(\w+)", re.MULTILINE)


def protocol(mutant: Path) -> Path:
    return MODULES / f"{mutant.parent.name}.tla"


@pytest.mark.parametrize("module", sorted({protocol(path) for path in FILES}), ids=lambda p: p.stem)
def test_a_module_with_mutants_has_no_switches(module: Path) -> None:
    for path in modules_read(module):
        assert not re.search(r"\bHas\(|\bmutants\b", path.read_text()), path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_mutant_replaces_a_rule_and_never_an_action(path: Path) -> None:
    read = modules_read(protocol(path))
    there = set().union(*(defined_operators(module) for module in read))
    actions = {
        name
        for module in read
        if (body := NEXT.search(module.read_text()))
        for name in ACTION.findall(body[1])
    }
    replaced = {
        name.removeprefix(WRONG) for name in defined_operators(path) if name.startswith(WRONG)
    }

    assert replaced
    assert replaced <= there - actions


def is_half_of(path: Path, whole: Path) -> bool:
    """Whether it breaks one of two protections, of which each is enough."""
    return path.parent == whole.parent and defined_operators(path) < defined_operators(whole)


def test_every_mutant_is_shown_by_a_row() -> None:
    refuted = {
        row
        for hazard in load_hazards()
        if hazard.finding is HazardFinding.REFUTED
        for row in hazard.rows
    }
    shown = {
        path
        for model in load_models()
        if model.expected is ModelVerdict.VIOLATES or model.name in refuted
        for path in model.mutated.paths
    }

    halves = {path for path in FILES for whole in shown if is_half_of(path, whole)}
    assert set(FILES) - shown - halves == set()
