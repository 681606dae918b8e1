"""What TLC found against what a row of `models.toml` says it must."""

from dataclasses import dataclass

from fencepost.spec.tlc.counterexample import Counterexample
from fencepost.spec.tlc.java.output import TlcFinding
from fencepost.spec.tlc.models import Model, ModelVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """What was found, and whether it is what `models.toml` says."""

    model: str
    verdict: ModelVerdict
    violated: str | None
    states_in_counterexample: int | None
    distinct: int
    generated: int
    seconds: float
    agrees: bool
    why: str
    """One sentence: what was found, and how it differs from what was expected."""
    counterexample: Counterexample | None = None
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
        cached=cached,
    )


def _as_expected(model: Model) -> str:
    if model.expected is ModelVerdict.HOLDS:
        return f"holds in all {model.distinct_states:,} states, as expected"
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
    if finding.counts.distinct != model.distinct_states:
        return (
            f"has {finding.counts.distinct:,} distinct states, "
            f"but models.toml says {model.distinct_states:,}"
        )
    return ""


def _found(finding: TlcFinding) -> str:
    return f"violates {finding.violated}" if finding.violated else "held"


def _wanted(model: Model) -> str:
    return f"violated {model.invariant}" if model.invariant else "held"
