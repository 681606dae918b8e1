"""Every repair undone, one at a time: exactly the rows that need it must fail."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.spec.hazards import Hazard, HazardFinding
from fencepost.spec.tlc.config import ConstantValue, tla_value
from fencepost.spec.tlc.java.output import TlcFinding
from fencepost.spec.tlc.models import Model, ModelVerdict, Tier
from fencepost.spec.tlc.mutants import MUTANTS, stand_together
from fencepost.spec.tlc.runner import OnProgress, TlcOptions, findings

TIERS = frozenset({Tier.QUICK, Tier.PULL_REQUEST})
"""Rows of these are tried with every hazard; a nightly row only with the hazards that name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A row that holds, with the rule of the text in place of the repair."""

    hazard: Hazard
    row: str
    model: Model

    @property
    def should_fail(self) -> bool:
        """Whether the hazard's list of red rows has it."""
        return self.row in self.hazard.turns_red


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """How a trial ended."""

    hazard: str
    row: str
    should_fail: bool
    found: str
    """A property, or how the search ended."""
    verdict: ModelVerdict
    error: str = ""

    @property
    def is_as_expected(self) -> bool:
        """Whether it failed if and only if it should."""
        wanted = ModelVerdict.VIOLATES if self.should_fail else ModelVerdict.HOLDS
        return self.verdict is wanted

    @property
    def is_undecided(self) -> bool:
        """Whether the search came to no end."""
        return self.verdict in {ModelVerdict.NOT_EXHAUSTED, ModelVerdict.ERROR}

    @property
    def word(self) -> str:
        """For a table."""
        return "yes" if self.is_as_expected else "NO"

    @property
    def why(self) -> str:
        """What is wrong, after the name of the row."""
        if self.is_undecided:
            return f"decides nothing: {self.error or self.found}"
        return (
            f"violates {self.found}, but is not in turns_red"
            if (self.verdict is ModelVerdict.VIOLATES)
            else "holds, but is in turns_red"
        )

    def as_data(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "hazard": self.hazard,
            "row": self.row,
            "expected": "red" if self.should_fail else "green",
            "found": self.found,
            "as_expected": self.is_as_expected,
        }


def trials(hazards: Iterable[Hazard], models: Iterable[Model]) -> tuple[Trial, ...]:
    """Each hazard that is shown with each row that holds and can express its switch.

    Those are the rows of the root modules in which the hazard is shown; a nightly row is tried
    with the hazards that are to turn it red.
    """
    known = tuple(models)
    roots = {model.name: model.module for model in known}
    rows = [model for model in known if model.expected is ModelVerdict.HOLDS]
    return tuple(
        Trial(hazard=hazard, row=model.name, model=tried)
        for hazard in hazards
        if hazard.finding is HazardFinding.SHOWN
        for model in rows
        if model.tier in TIERS or model.name in hazard.turns_red
        if model.module in {roots.get(name) for name in (*hazard.rows, *hazard.turns_red)}
        if (tried := without_repair(hazard, model)) is not None
    )


def without_repair(hazard: Hazard, model: Model) -> Model | None:
    """The row with the hazard's switch added; None where it is on already, or has no place.

    It has none where the row itself breaks one of the rules that the switch breaks.
    """
    present = model.effective_constants
    if not all(
        model.has_mutant(str(value)) if name == MUTANTS else name in present
        for name, value in hazard.switch.items()
    ):
        return None
    added = {name: _added(name, value, model) for name, value in hazard.switch.items()}
    if all(f"= {tla_value(value)}" == present.get(name) for name, value in added.items()):
        return None
    name = f"{model.name} without the repair of {hazard.id}"
    tried = replace(model, name=name, constants={**model.constants, **added}, reaches=())
    return tried if stand_together(tried.module_path, tried.mutants) else None


def _added(name: str, value: ConstantValue, model: Model) -> ConstantValue:
    before = model.constants.get(MUTANTS, [])
    if name != MUTANTS or not isinstance(before, list):
        return value
    return [*before, *([str(value)] if value not in before else [])]


def undo(
    tried: Sequence[Trial],
    *,
    options: TlcOptions,
    workers: int = 2,
    on_progress: OnProgress | None = None,
) -> tuple[Undone, ...]:
    """Run the trials, in their order."""
    models = [trial.model for trial in tried]
    found = findings(models, workers=workers, on_progress=on_progress, options=options)
    return tuple(_undone(trial, finding) for trial, finding in zip(tried, found, strict=True))


def _undone(trial: Trial, finding: TlcFinding) -> Undone:
    return Undone(
        hazard=trial.hazard.id,
        row=trial.row,
        should_fail=trial.should_fail,
        found=finding.violated or str(finding.verdict),
        verdict=finding.verdict,
        error=finding.error,
    )
