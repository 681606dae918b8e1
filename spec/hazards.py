"""The hazards of `spec/hazards.toml`: what a text says, how it fails, and what repairs it."""

import tomllib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

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
    repaired_at: int | None = None
    """The level that repairs it, where the reference has it at all levels below; else None."""
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


def select_hazards(hazards: Iterable[Hazard], ids: Iterable[str]) -> tuple[Hazard, ...]:
    """Those with these ids, or all; raises `HazardError`."""
    known = {hazard.id: hazard for hazard in hazards}
    wanted = tuple(dict.fromkeys(ids))
    if unknown := [name for name in wanted if name not in known]:
        raise HazardError(f"unknown hazard {unknown[0]}; fencepost check --list names all")
    return tuple(known[name] for name in wanted) if wanted else tuple(known.values())
