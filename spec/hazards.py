"""The hazards of `spec/hazards.toml`: what a text says, how it fails, and what repairs it."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from fencepost.spec.tlc.config import tla_value
from fencepost.spec.tlc.models import Model, ModelVerdict

REQUIREMENT = re.compile(r"[A-Z]+-\d+")
"""An id of the catalogue; `H17` and `KIP-599.1` are none."""

HAZARDS = Path(__file__).with_name("hazards.toml")


class HazardError(ValueError):
    """A list of hazards that is not as described; the message is one sentence."""


class HazardFinding(StrEnum):
    """What the specs say of a hazard."""

    SHOWN = "shown"
    """A model with the text's rule violates a property; with the repair it holds."""
    REFUTED = "refuted"
    """Not a hazard: a model with the text's rule holds, and the row shows it."""


class Hazard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry."""

    id: str
    """`H17`, or `KIP-599.1` for what the KIPs bring; several entries may share a hazard's number
    with a letter (`H19b`) when it has several forms."""
    title: str
    source: str
    """Text and section: `V3 C`, `KIP-590`."""
    module: str
    """Where the switch lives."""
    switch: Mapping[str, str | bool]
    """Constant -> value that follows the text; for `mutants` the name that is added. Empty where
    the text has no rule of its own but claims a property (`claims`)."""
    finding: HazardFinding
    text: str
    """What the text says or leaves open, in our words."""
    repair: str
    """The rule that closes it, with requirement ids."""
    story: list[str]
    """Three to eight steps, as the counterexample has them."""
    rows: list[str]
    """The rows of models.toml that run with the text's rule."""
    turns_red: list[str] = []
    """The rows that hold with the repair and fail without it; empty when refuted."""
    claims: list[str] = []
    """The rows that violate what the text claims, where that is not needed; only when refuted."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """The rows that show it, or what is wrong in what the text claims."""
        return (*self.rows, *self.claims)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hazard: list[Hazard] = []


def load_hazards(path: Path = HAZARDS) -> tuple[Hazard, ...]:
    """All hazards in file order; raises `HazardError` for a file that is not as described."""
    try:
        hazards = msgspec.convert(tomllib.loads(path.read_text()), _File).hazard
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise HazardError(f"{path.name}: {error}") from error
    ids = [hazard.id for hazard in hazards]
    if repeated := sorted({name for name in ids if ids.count(name) > 1}):
        raise HazardError(f"{path.name}: two hazards are called {repeated[0]}")
    for hazard in hazards:
        if (hazard.finding is HazardFinding.SHOWN) != bool(hazard.turns_red):
            raise HazardError(
                f"{path.name}: {hazard.id} is {hazard.finding}, so turns_red must "
                f"{'name rows' if hazard.finding is HazardFinding.SHOWN else 'be empty'}"
            )
        if bool(hazard.claims) == bool(hazard.switch):
            raise HazardError(f"{path.name}: {hazard.id} needs either a switch or claims")
        if hazard.claims and hazard.finding is HazardFinding.SHOWN:
            raise HazardError(f"{path.name}: {hazard.id} is shown, so claims must be empty")
        steps = len(hazard.story)
        if not 3 <= steps <= 8:
            raise HazardError(f"{path.name}: the story of {hazard.id} has {steps} steps")
    return tuple(hazards)


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
    given = row.effective_constants
    return all(
        f'"{value}"' in given.get(name, "")
        if isinstance(value, str)
        else given.get(name) == f"= {tla_value(value)}"
        for name, value in hazard.switch.items()
    )


def select_hazards(hazards: Iterable[Hazard], ids: Iterable[str]) -> tuple[Hazard, ...]:
    """Those with these ids, or all; raises `HazardError`."""
    known = {hazard.id: hazard for hazard in hazards}
    wanted = tuple(dict.fromkeys(ids))
    if unknown := [name for name in wanted if name not in known]:
        raise HazardError(f"unknown hazard {unknown[0]}; fencepost check --list names all")
    return tuple(known[name] for name in wanted) if wanted else tuple(known.values())
