"""Makes the run of a failing seed as small as it gets, as a scenario file that can be kept.

The simulator leaves out what it can; here stands what it means that the run still fails: at least
one property that the seed violated is violated, or the simulator fails in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.registry import judge, run_checks
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.whitebox.simulate import Subject, load
from fencepost.spec.trace import TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkSeed:
    """The smallest run that was found."""

    seed: int
    violated: tuple[str, ...]
    """What the seed violated, and the small run violates at least one of."""
    text: str
    """The scenario."""
    faults: int
    faults_before: int
    runs: int
    """How many runs it took."""


def shrink_seed(subject: Subject, seed: int) -> ShrunkSeed:
    """Shrink the run of a seed; raises `ChoiceError` when it violates nothing."""
    subject.require_known()
    shrink = getattr(load(subject.target), "shrink", None)
    if shrink is None:
        raise ChoiceError(f"the simulator {subject.target} shrinks nothing: it has no shrink()")
    violated = failures(lambda: subject.simulate(seed))
    if not violated:
        raise ChoiceError(
            f"seed {seed} violates nothing at level {subject.level}: nothing to shrink"
        )
    done: dict[str, Any] = shrink(
        seed,
        level=subject.level,
        mutant=subject.mutant,
        fails=lambda play: not violated.isdisjoint(failures(play)),
        judge=judge,
        comment=f"{subject.reproduce(seed)} --shrink\nViolated: {', '.join(sorted(violated))}.",
    )
    return ShrunkSeed(
        seed=seed,
        violated=tuple(sorted(violated)),
        text=done["text"],
        faults=done["faults"],
        faults_before=done["faults_before"],
        runs=done["runs"],
    )


def failures(play: Callable[[], list[TraceEvent]]) -> frozenset[str]:
    """The names of what a run violates; of a simulator that fails, how it does."""
    try:
        events = play()
    except Exception as error:  # whatever a simulator does: that is what is looked for
        return frozenset({f"{type(error).__name__} of the simulator"})
    return failures_in(events)


def failures_in(events: Sequence[TraceEvent]) -> frozenset[str]:
    """The names of what the traces of a run violate, and of what had not come to hold at its end.

    A run that did not heal names the liveness properties of the specs that did not hold then.
    """
    found = {result.invariant.value for result in run_checks(events) if result.violations}
    end = run_end(events)
    ends = {bad.invariant.value for bad in end.bad}
    return frozenset({*found, *(name.value for name in end.unhealed), *ends})
