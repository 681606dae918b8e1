"""What TLC found against what a row of `models.toml` says it must."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.spec.tlc.counterexample import Counterexample
from fencepost.spec.tlc.java.output import TlcFinding
from fencepost.spec.tlc.models import Model, ModelVerdict
from fencepost.spec.tlc.simulation import Simulation, untaken


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """What was found, and whether it is what `models.toml` says."""

    model: str
    verdict: ModelVerdict
    violated: str | None
    """A property, or the states that must be possible and are not."""
    states_in_counterexample: int | None
    distinct: int
    generated: int
    seconds: float
    agrees: bool
    why: str
    """One sentence: what was found, and how it differs from what was expected."""
    counterexample: Counterexample | None = None
    taken: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Module and action -> behaviours of a simulation that take it."""
    cached: bool = False
    """Found before, for the same modules, configuration and TLC."""


def compare(
    model: Model, finding: TlcFinding, *, seconds: float, cached: bool = False
) -> ModelResult:
    """The finding as a result of the row."""
    length = len(finding.counterexample.states) if finding.counterexample else None
    difference = _difference(model, finding, length)
    return ModelResult(
        model=model.name,
        verdict=finding.verdict,
        violated=finding.violated,
        states_in_counterexample=length,
        distinct=finding.counts.distinct,
        generated=finding.counts.generated,
        seconds=seconds,
        agrees=not difference,
        why=difference or _as_expected(model),
        counterexample=finding.counterexample,
        taken=finding.taken,
        cached=cached,
    )


def _as_expected(model: Model) -> str:
    if model.expected is ModelVerdict.HOLDS:
        return f"holds in all {model.distinct_states:,} states, as expected"
    if model.expected is ModelVerdict.NOT_VIOLATED:
        return f"not violated in {model.simulation}, as expected"
    return f"violates {model.invariant} in {model.counterexample_states} states, as expected"


def _difference(model: Model, finding: TlcFinding, length: int | None) -> str:
    """What is not as the row says, as one sentence; empty when everything is."""
    if finding.verdict is ModelVerdict.ERROR:
        return finding.error
    if finding.verdict is ModelVerdict.NOT_EXHAUSTED:
        return (
            f"not exhausted after {model.budget_s:g} s: {finding.counts.distinct:,} states seen, "
            f"{finding.counts.queued:,} waiting"
        )
    if finding.verdict is not model.expected or finding.violated != model.invariant:
        return f"{_found(finding)}, but should have {_wanted(model)}"
    if length != model.counterexample_states:
        return (
            f"violates {model.invariant} in {length} states, "
            f"but the shortest way took {model.counterexample_states}"
        )
    if model.simulation is not None:
        return _difference_of_simulation(model.simulation, finding)
    if finding.counts.distinct != model.distinct_states:
        return (
            f"has {finding.counts.distinct:,} distinct states, "
            f"but models.toml says {model.distinct_states:,}"
        )
    return ""


def _difference_of_simulation(simulation: Simulation, finding: TlcFinding) -> str:
    if finding.counterexample is not None:
        return ""
    if finding.counts.generated != simulation.states:
        return (
            f"visits {finding.counts.generated:,} states, "
            f"but models.toml says {simulation.states:,}"
        )
    if untaken(finding.taken) != simulation.never_taken:
        named = ", ".join(sorted(untaken(finding.taken))) or "none"
        return f"never takes {named}, but never_taken in models.toml says otherwise"
    return ""


def _found(finding: TlcFinding) -> str:
    if finding.verdict is ModelVerdict.NOT_REACHED:
        return f"never reaches {finding.violated}"
    if finding.violated:
        return f"violates {finding.violated}"
    return "held" if finding.verdict is ModelVerdict.HOLDS else "violated nothing"


def _wanted(model: Model) -> str:
    if model.invariant:
        return f"violated {model.invariant}"
    return "held" if model.expected is ModelVerdict.HOLDS else "violated nothing"
