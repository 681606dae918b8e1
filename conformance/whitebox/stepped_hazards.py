"""Which hazards of `spec/hazards.toml` are shown on real processes, and why the rest is not."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fencepost.conformance.whitebox.absent_rules import ABSENT_RULES
from fencepost.conformance.whitebox.simulate import load
from fencepost.conformance.whitebox.simulator import Simulator
from fencepost.conformance.whitebox.stepped import is_visible
from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards
from fencepost.spec.tlc.models import load_models


class Way(StrEnum):
    """How far a hazard goes."""

    STEPPED = "stepped"
    """Processes make its counterexample, and the checks see what it leads to."""
    SAME_RULE = "same rule"
    """A row has moves that show what else comes of the same wrong rule."""
    REPEATED = "repeated"
    """Processes repeat a simulated run of its story move by move, and the checks see the same."""
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


ONE_RULE = {"H11b": "H11", "KIP-590.5": "H8"}
"""Hazard -> another one, of which the core's rule is this one's too."""


def stepped_hazards(repeated: Mapping[str, str]) -> tuple[SteppedHazard, ...]:
    """Every hazard, in the order of the file.

    `repeated` has the mutants that processes show along a simulated run -> its schedule or story.
    """
    simulator = load()
    violates = {one["row"]: one["violates"] for one in simulator.schedules()}
    models = {model.name: model for model in load_models()}
    rules = {_rule(models[row].constants): row for row in violates if is_visible(violates[row])}
    found = []
    for hazard in load_hazards():
        rows = [row for row in violates if row in hazard.rows or models[row].hazard == hazard.id]
        way, told = _way(hazard, {row: violates[row] for row in rows}, rules)
        switch = str(hazard.switch.get("mutants"))
        if way is Way.NOT_STEPPED and switch in repeated:
            way, told = Way.REPEATED, f"{repeated[switch]}; {_why_no_steps(hazard, simulator)}"
        elif way is Way.NOT_STEPPED and hazard.id in ONE_RULE:
            way, told = Way.SAME_RULE, f"one rule of the core is this and {ONE_RULE[hazard.id]}"
        elif way is Way.NOT_STEPPED:
            told = ABSENT_RULES[hazard.id].why
        found.append(SteppedHazard(id=hazard.id, title=hazard.title, way=way, told=told))
    return tuple(found)


def _why_no_steps(hazard: Hazard, simulator: Simulator) -> str:
    """Why the counterexample itself has no steps for the core."""
    reasons = (simulator.why_not_stepped(row) for row in hazard.rows)
    return next(filter(None, reasons), "no schedule of it is kept")


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
