"""Which hazards of `spec/hazards.toml` are shown on real processes, and why the rest is not."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fencepost.conformance.scenarios import ATTACKS
from fencepost.conformance.whitebox.simulate import load
from fencepost.conformance.whitebox.stepped import is_visible
from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards
from fencepost.spec.tlc.models import load_models


class Way(StrEnum):
    """How far a hazard goes."""

    STEPPED = "stepped"
    """Processes make its counterexample, and the checks see what it leads to."""
    SAME_RULE = "same rule"
    """A row has moves that show what else comes of the same wrong rule."""
    KNOWN_ATTACK = "known attack"
    """A story leads processes to what it violates, at levels that have it: `docs/attacks.md`."""
    NOT_SEEN = "not seen"
    """Processes follow its counterexample, and no check judges what it violates."""
    NOT_STEPPED = "not stepped"
    REFUTED = "refuted"
    """It is no hazard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedHazard:
    """One hazard."""

    id: str
    title: str
    way: Way
    told: str
    """The row that has moves and what it violates, or why none has."""


def stepped_hazards() -> tuple[SteppedHazard, ...]:
    """Every hazard, in the order of the file."""
    simulator = load()
    violates = {one["row"]: one["violates"] for one in simulator.schedules()}
    models = {model.name: model for model in load_models()}
    rules = {_rule(models[row].constants): row for row in violates if is_visible(violates[row])}
    shown = {
        str(record["mutant"]): "along a schedule of its own" if record["shows"] else "by chance"
        for record in simulator.mutants()
    }
    attacks = {
        name: f"fencepost chaos --story {story}"
        for story, attack in ATTACKS.items()
        for name in attack.story.hazards
    }
    found = []
    for hazard in load_hazards():
        rows = [row for row in violates if row in hazard.rows or models[row].hazard == hazard.id]
        way, told = _way(hazard, {row: violates[row] for row in rows}, rules)
        if way is Way.NOT_STEPPED and hazard.id in attacks:
            way, told = Way.KNOWN_ATTACK, attacks[hazard.id]
        if way is Way.NOT_STEPPED:
            reasons = (simulator.why_not_stepped(row) for row in hazard.rows)
            how = shown.get(str(hazard.switch.get("mutants")))
            told = next(filter(None, reasons), "no schedule of it is kept")
            told += (
                f"; the simulator shows it, {how}" if how else "; the reference has no such rule"
            )
        found.append(SteppedHazard(id=hazard.id, title=hazard.title, way=way, told=told))
    return tuple(found)


def _rule(constants: Mapping[str, object]) -> tuple[str, ...]:
    """The wrong rules that a switch, or a row, turns on."""
    mutants = constants.get("mutants", ())
    return (mutants,) if isinstance(mutants, str) else tuple(map(str, mutants))  # type: ignore[call-overload]


def _way(
    hazard: Hazard, stepped: Mapping[str, str], rules: Mapping[tuple[str, ...], str]
) -> tuple[Way, str]:
    """`stepped`: the rows of the hazard that have moves -> what they violate."""
    if hazard.finding is HazardFinding.REFUTED:
        return Way.REFUTED, "there is nothing to show"
    for row, invariant in stepped.items():
        if is_visible(invariant):
            return Way.STEPPED, f"{row} violates {invariant}"
    if stepped:
        return Way.NOT_SEEN, f"no check of a trace judges {next(iter(stepped.values()))}"
    rule = _rule(hazard.switch)
    if rule and rule in rules:
        return Way.SAME_RULE, f"as {rules[rule]}"
    return Way.NOT_STEPPED, ""
