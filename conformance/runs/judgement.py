"""What the trace of a run is worth: its checks, and which of them the run could not decide."""

from collections.abc import Collection, Sequence

from fencepost.conformance.adapters.implementation import TraceSource
from fencepost.conformance.checks.log_history import CLIENT_READS
from fencepost.conformance.checks.registry import CHECKS, ZOOKEEPER, run_checks
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.verdict import CheckResult, Verdict, worst
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

REQUIRED = frozenset({Invariant.LINEARIZABLE_LOG, Invariant.ACKNOWLEDGED_DURABLE})
"""Checks that must have had a premise: a run without acknowledged records shows nothing."""

_CLIENTS = CLIENT_READS | {"Produce"}

WHY_MISSING = {
    TraceSource.BROKERS: "brokers write no trace",
    TraceSource.ZOOKEEPER: "no transaction log of its ZooKeeper can be read",
}


def judge_checks(
    events: Sequence[TraceEvent],
    record: RunRecord,
    missing: Collection[TraceSource],
    dialect: TraceDialect = SPEC,
) -> tuple[tuple[CheckResult, ...], Verdict]:
    """The result of every check, and the verdict of the run with its problems.

    Checks that the run could not decide without a missing source become problems of the record.
    """
    checks = run_checks(events, dialect)
    unseen = not_observable(checks, missing)
    hidden = [check for found in unseen.values() for check in found]
    weights = [_weight(check) for check in checks if check not in hidden]
    verdict = worst([Verdict.PASS, *(problem.verdict for problem in record.problems), *weights])
    for source, found in unseen.items():
        names = ", ".join(check.invariant for check in found)
        record.add(Verdict.NOT_OBSERVABLE, f"{WHY_MISSING[source]}: {names}")
    return checks, verdict


def not_observable(
    checks: Sequence[CheckResult], missing: Collection[TraceSource]
) -> dict[TraceSource, list[CheckResult]]:
    """The checks that were not decided and read lines of a missing source, by that source.

    A check that is required is idle for another reason.
    """
    found: dict[TraceSource, list[CheckResult]] = {}
    for check in checks:
        is_idle = check.verdict is Verdict.VACUOUS and check.invariant not in REQUIRED
        if check.verdict is not Verdict.INCONCLUSIVE and not is_idle:
            continue
        lacks = [source for source in sources_of(check.invariant) if source in missing]
        if lacks:
            found.setdefault(lacks[0], []).append(check)
    return found


def sources_of(invariant: Invariant) -> tuple[TraceSource, ...]:
    """Where the lines come from that the check reads, besides those of clients."""
    reads = CHECKS[invariant].reads
    zookeeper = (TraceSource.ZOOKEEPER,) if reads & ZOOKEEPER else ()
    return (TraceSource.BROKERS, *zookeeper) if reads - _CLIENTS - ZOOKEEPER else zookeeper


def _weight(check: CheckResult) -> Verdict:
    """What a check says of the whole: an idle one says nothing, unless it is required."""
    if check.verdict is Verdict.VACUOUS and check.invariant not in REQUIRED:
        return Verdict.PASS
    return check.verdict
