"""The list of hazards: what it says of itself, and that models.toml says the same."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from fencepost.spec.hazards import (
    Hazard,
    HazardError,
    HazardFinding,
    load_hazards,
    select_hazards,
)
from fencepost.spec.tlc.config import tla_value
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models

HAZARD = """
[[hazard]]
id = "H99"
title = "A title"
source = "V3 C"
module = "Replication"
switch = { mutants = "no_step_down" }
finding = "shown"
text = "Says nothing."
repair = "ISR-004: step down."
story = ["One.", "Two.", "Three."]
rows = ["no_step_down"]
turns_red = ["isr_changes"]
"""


REQUIREMENT = re.compile(r"[A-Z]+-\d+")
"""An id of the catalogue; `H17` and `KIP-599.1` are none."""


def broken_links(hazards: Iterable[Hazard], models: Iterable[Model]) -> Iterator[str]:
    """What does not fit between the hazards and the rows of models.toml, one sentence each."""
    rows = {model.name: model for model in models}
    listed = tuple(hazards)
    for hazard in listed:
        shown = (
            ModelVerdict.VIOLATES if hazard.finding is HazardFinding.SHOWN else ModelVerdict.HOLDS
        )
        wanted = [(name, shown) for name in hazard.rows]
        wanted += [(name, ModelVerdict.HOLDS) for name in hazard.turns_red]
        wanted += [(name, ModelVerdict.VIOLATES) for name in hazard.claims]
        for name, verdict in wanted:
            if name not in rows:
                yield f"{hazard.id} names row {name}, which models.toml does not have"
            elif rows[name].expected is not verdict:
                yield f"{hazard.id} needs that row {name} {verdict}, but it does not"
        for name in hazard.rows:
            if name in rows and not _is_on(hazard, rows[name]):
                yield f"row {name} shows {hazard.id} without its switch"
    for row in rows.values():
        if row.expected is ModelVerdict.VIOLATES and not REQUIREMENT.fullmatch(row.hazard):
            yield from _owner(row, listed, rows)


def _owner(row: Model, hazards: tuple[Hazard, ...], rows: Mapping[str, Model]) -> Iterator[str]:
    """A row that violates shows the hazard that it says it does.

    One on a root module of its own, or with a switch that the entry does not have, needs no entry.
    """
    names = {hazard.id for hazard in hazards if row.name in hazard.evidence}
    if names and row.hazard not in names and row.hazard not in {_number(name) for name in names}:
        yield f"row {row.name} is of {row.hazard}, but shown for {', '.join(sorted(names))}"
    for hazard in hazards:
        roots = {rows[name].module for name in hazard.rows if name in rows}
        if hazard.id == row.hazard and not names and row.module in roots and _is_on(hazard, row):
            yield f"row {row.name} shows {row.hazard}, which does not name it"


def _number(hazard_id: str) -> str:
    return hazard_id.rstrip("abcdefghijklmnopqrstuvwxyz")


def _is_on(hazard: Hazard, row: Model) -> bool:
    """The row has the switch, or is about a level that has the hazard."""
    given = row.effective_constants
    level = given.get("Level", "").removeprefix("= ")
    if level and hazard.repaired_at is not None and int(level) < hazard.repaired_at:
        return True
    if hazard.repaired_at is not None and given.get("OldBrokers") == given.get("Brokers", "none"):
        return True
    return all(
        f'"{value}"' in given.get(name, "")
        if isinstance(value, str)
        else given.get(name) == f"= {tla_value(value)}"
        for name, value in hazard.switch.items()
    )


def load(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "hazards.toml"
    path.write_text(text)
    return list(broken_links(load_hazards(path), load_models()))


def test_hazards_and_rows_fit() -> None:
    assert list(broken_links(load_hazards(), load_models())) == []


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("isr_changes", "gone", "H99 names row gone, which models.toml does not have"),
        ("isr_changes", "expand_laggards", "H99 needs that row expand_laggards holds, but it"),
        ('["no_step', '["isr_changes", "no_step', "H99 needs that row isr_changes violates, but"),
        (
            '["no_step_down"]',
            '["commit_with_old_isr"]',
            "row commit_with_old_isr shows H99 without",
        ),
        ('= "no_step', '= "other', "row no_step_down shows H99 without its switch"),
    ],
)
def test_a_link_that_does_not_fit_is_told(
    tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    told = load(tmp_path, HAZARD.replace(before, after))

    assert any(one.startswith(sentence) for one in told)


def test_a_claim_that_is_not_needed_has_rows_that_violate_it(tmp_path: Path) -> None:
    claim = HAZARD.replace('switch = { mutants = "no_step_down" }', "switch = {}")
    claim = claim.replace('"shown"', '"refuted"').replace("turns_red", "claims")
    claim = claim.replace('rows = ["no_step_down"]', 'rows = ["isr_changes"]')

    told = load(tmp_path, claim)

    assert "H99 needs that row isr_changes violates, but it does not" in told


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('turns_red = ["isr_changes"]', "", "H99 is shown, so turns_red must name rows"),
        ('"shown"', '"refuted"', "H99 is refuted, so turns_red must be empty"),
        ('{ mutants = "no_step_down" }', "{}", "H99 needs either a switch or claims"),
        ('title = "A', 'claims = ["no_step_down"]\ntitle = "A', "H99 needs either a switch or"),
        (
            'switch = { mutants = "no_step_down" }',
            'switch = {}\nclaims = ["no_step_down"]',
            "H99 is shown, so claims must be empty",
        ),
        ('"Two.", "Three."', "", "the story of H99 has 1 steps"),
        ('id = "H99"', "id = 99", r"hazards\.toml: Expected"),
    ],
)
def test_a_hazard_that_is_not_as_described_is_refused(
    tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    with pytest.raises(HazardError, match=sentence):
        load(tmp_path, HAZARD.replace(before, after))


def test_hazards_are_selected_by_id() -> None:
    hazards = load_hazards()

    assert select_hazards(hazards, []) == hazards
    assert [hazard.id for hazard in select_hazards(hazards, [hazards[-1].id])] == [hazards[-1].id]
    with pytest.raises(HazardError, match="unknown hazard H0x; fencepost check --list"):
        select_hazards(hazards, ["H0x"])
