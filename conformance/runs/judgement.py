"""What the trace of a run is worth: its checks, and which of them the run could not decide."""

from collections.abc import Sequence

from fencepost.conformance.checks.observations import (
    EVERYTHING,
    Observations,
    is_sound,
    lacking,
    lacks,
)
from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.runs.scenario import Problem, RunRecord
from fencepost.conformance.verdict import CheckResult, Verdict, worst
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

REQUIRED = frozenset({Invariant.LINEARIZABLE_LOG, Invariant.ACKNOWLEDGED_DURABLE})
"""Checks that must have had a premise: a run without acknowledged records shows nothing."""


def judge_checks(
    events: Sequence[TraceEvent],
    record: RunRecord,
    observed: Observations = EVERYTHING,
    dialect: TraceDialect = SPEC,
) -> tuple[tuple[CheckResult, ...], Verdict]:
    """The result of every check, and the verdict of the run with its problems.

    Checks that the run could not decide by what was observed become a problem of the record.
    """
    checks = tuple(_sound(check, observed) for check in run_checks(events, dialect))
    unseen = not_observable(checks, observed)
    weights = [_weight(check) for check in checks if check.invariant not in unseen]
    verdict = worst([Verdict.PASS, *(problem.verdict for problem in record.problems), *weights])
    if unseen:
        record.problems.append(
            Problem(
                verdict=Verdict.NOT_OBSERVABLE,
                sentence="; ".join(f"{name} needs {why}" for name, why in unseen.items()),
                unseen=frozenset(unseen),
            )
        )
    return checks, verdict


def not_observable(checks: Sequence[CheckResult], observed: Observations) -> dict[Invariant, str]:
    """The checks that were not decided and lack something, with what that is.

    A check that is required is idle for another reason.
    """
    found = {}
    for check in checks:
        is_idle = check.verdict is Verdict.VACUOUS and check.invariant not in REQUIRED
        if check.verdict is not Verdict.INCONCLUSIVE and not is_idle:
            continue
        if missing := lacks(check.invariant, observed):
            found[check.invariant] = lacking(check.invariant, missing)
    return found


def _sound(check: CheckResult, observed: Observations) -> CheckResult:
    """The check, or an idle one where it would not be sound."""
    if is_sound(check.invariant, observed):
        return check
    return CheckResult(invariant=check.invariant, premise_count=0)


def _weight(check: CheckResult) -> Verdict:
    """What a check says of the whole: an idle one says nothing, unless it is required."""
    if check.verdict is Verdict.VACUOUS and check.invariant not in REQUIRED:
        return Verdict.PASS
    return check.verdict
